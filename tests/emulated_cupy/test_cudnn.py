"""The emulated cuDNN: its graphs are checked, and what it computes is right."""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np
import pytest
from cupy_on_cpu import IllegalCall, counting
from cupy_on_cpu.cudnn import WORKSPACE, make_module


@pytest.fixture
def cudnn() -> Any:
    return make_module(lambda: cp.cuda.get_current_stream().ptr)


X, W, Y = (
    ([2, 3, 5, 5], [75, 25, 5, 1]),
    ([4, 3, 3, 3], [27, 9, 3, 1]),
    ([2, 4, 3, 3], [36, 9, 3, 1]),
)
PLAIN = {"pre_padding": [0, 0], "post_padding": [0, 0], "stride": [1, 1], "dilation": [1, 1]}


def graph_of(cudnn: Any, upto: int = 5, **changes: Any) -> Any:
    half, wide = cudnn.data_type.HALF, cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=half, intermediate_data_type=wide, compute_data_type=wide,
        handle=cudnn.create_handle(),
    )  # fmt: skip
    x, w = (
        graph.tensor(dim=dim, stride=stride, data_type=half, uid=uid)
        for uid, (dim, stride) in enumerate((X, W), 1)
    )
    y = graph.conv_fprop(image=x, weight=w, **{**PLAIN, **changes.pop("window", {})})
    y.set_uid(changes.pop("uid", 3)).set_output(True).set_data_type(half)
    y.set_dim(changes.pop("dim", Y[0])).set_stride(Y[1])
    steps = (
        graph.validate,
        graph.build_operation_graph,
        lambda: graph.create_execution_plans([cudnn.heur_mode.A]),
        graph.check_support,
        graph.build_plans,
    )
    for step in steps[:upto]:
        step()
    return graph


def arrays() -> list[Any]:
    return [cp.ones(dim, "f2") for dim, _ in (X, W, Y)]


def run(cudnn: Any, graph: Any, *given: Any, size: int = WORKSPACE, shift: int = 0) -> None:
    handle = cudnn.create_handle()
    pointers = {uid: x.data.ptr + shift for uid, x in enumerate(given, 1)}
    graph.execute(pointers, cp.empty(size, "u1").data.ptr, handle=handle)


def test_a_convolution(cudnn: Any) -> None:
    x, w, y = arrays()
    with counting() as c:
        run(cudnn, graph_of(cudnn), x, w, y)
    assert [call.op for call in c.cudnn] == ["conv_fprop"]
    np.testing.assert_array_equal(y.get(), np.full(Y[0], 27))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"uid": 2}, "not one for each tensor"),
        ({"dim": [2, 4, 3, 4]}, "do not go together"),
        ({"window": {"stride": [2, 2]}}, "do not go together"),
    ],
)
def test_wrong_graphs(cudnn: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(IllegalCall, match=message):
        graph_of(cudnn, **changes)


def test_wrong_executions(cudnn: Any) -> None:
    x, w, y = arrays()
    graph = graph_of(cudnn)
    with pytest.raises(IllegalCall, match="pointers for uids"):
        run(cudnn, graph, x, w)
    with pytest.raises(IllegalCall, match="not aligned"):
        run(cudnn, graph, x, w, y, shift=2)
    with pytest.raises(IllegalCall, match="uid 3 reaches"):
        run(cudnn, graph, x, w, y[:1].copy())
    with pytest.raises(IllegalCall, match="the workspace reaches"):
        run(cudnn, graph, x, w, y, size=WORKSPACE - 1)
    with pytest.raises(IllegalCall, match="another stream"), cp.cuda.Stream():
        run(cudnn, graph, x, w, y)
    with pytest.raises(IllegalCall, match="build_plans is due"):
        run(cudnn, graph_of(cudnn, upto=4), x, w, y)


def test_steps_come_in_their_order(cudnn: Any) -> None:
    graph = graph_of(cudnn, upto=1)
    with pytest.raises(IllegalCall, match="build_operation_graph is due"):
        graph.check_support()
    with pytest.raises(IllegalCall, match="among plans"):
        graph.deselect_numeric_notes([])


def test_declining(cudnn: Any) -> None:
    cudnn.declines = lambda graph: "no engine"
    with pytest.raises(cudnn.cudnnGraphNotSupportedError, match="no engine"):
        graph_of(cudnn)
