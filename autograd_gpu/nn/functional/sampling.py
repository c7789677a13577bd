"""Images read at positions that need not be pixels: spatial transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_gpu import ops
from autograd_gpu.nn.functional.arguments import backend_near
from autograd_gpu.placement import on_its_device
from autograd_gpu.variable import Variable


@on_its_device
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Variable:
    """Positions [N, H, W, 2] for `grid_sample`: those of the pixels of images of `size`
    (N, C, H, W), mapped by the matrices `theta` [N, 2, 3].  For volumes of `size` (N, C, D, H, W)
    and `theta` [N, 3, 4] they are [N, D, H, W, 3].

    >>> affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    theta = ops.asarray(theta)
    d = len(size) - 2
    if d not in (2, 3) or theta.shape != (size[0], d, d + 1):
        raise ValueError(
            f"affine_grid: theta {list(theta.shape)} must be [N, 2, 3] for a size (N, C, H, W), or "
            f"[N, 3, 4] for (N, C, D, H, W), not {tuple(size)}"
        )
    extent = tuple(size[2:])
    backend = backend_near(theta)
    xp = backend.xp
    axes: list[Any] = [xp.ones(extent, dtype=theta.dtype)]
    for axis, n in enumerate(extent):
        reach = 1.0 if align_corners else (n - 1) / n
        positions = xp.linspace(-reach, reach, n) if n > 1 else xp.zeros(1)
        shape = [n if i == axis else 1 for i in range(d)]
        positions = positions.astype(theta.dtype).reshape(shape)
        axes.insert(0, xp.broadcast_to(positions, extent))  # the last axis is x, the first
    base = xp.stack(axes, axis=-1).reshape((-1, d + 1))
    grid = ops.matmul(base, ops.matrix_transpose(theta))
    return ops.reshape(grid, (size[0], *extent, d))


@on_its_device
def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Variable:
    """The images `x` [N, C, H, W] at positions `grid` [N, h, w, 2]: an array [N, C, h, w].

    Or volumes [N, C, D, H, W] at [N, d, h, w, 3].

    Parameters
    ----------
    grid
        Pairs (x, y), or triples (x, y, z), where -1 and 1 are the edges of the image: those of the
        outer pixels, or their middles if `align_corners`.
    mode
        'bilinear' (also the name for volumes), 'nearest', or 'bicubic' for images.
    padding_mode
        What is outside: 'zeros', the nearest pixel of the 'border', or a 'reflection'.

    >>> x = reshape(arange(4.0), (1, 1, 2, 2))
    >>> grid_sample(x, [[[[0.0, 0.0], [-0.5, -0.5]]]]).tolist()
    [[[[1.5, 0.0]]]]
    """
    x, grid = ops.asarray(x), ops.asarray(grid)
    d = x.ndim - 2
    if (
        d not in (2, 3)
        or grid.ndim != d + 2
        or (grid.shape[0], grid.shape[-1]) != (x.shape[0], d)
        or not min(x.shape[2:])
    ):
        raise ValueError(
            f"grid_sample: x {list(x.shape)} and grid {list(grid.shape)} must be [N, C, H, W] and "
            f"[N, h, w, 2], or [N, C, D, H, W] and [N, d, h, w, 3]"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and d == 3):
        raise ValueError(
            f"grid_sample: mode is 'bilinear', 'nearest' or, for images, 'bicubic', not {mode!r}"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: padding_mode is 'zeros', 'border' or 'reflection', not {padding_mode!r}"
        )
    taps = []
    for axis, n in enumerate(x.shape[2:]):
        at = grid[..., d - 1 - axis]
        at = (at + 1) * ((n - 1) / 2) if align_corners else ((at + 1) * n - 1) / 2
        taps.append(_taps(at, n, mode, padding_mode, bool(align_corners)))
    flat = ops.reshape(x, (*x.shape[:2], -1))
    total: Any = 0
    for corner in _products(taps):
        place: Any = 0
        weight: Any = 1
        for (position, part), n in zip(corner, x.shape[2:], strict=True):
            place, weight = place * n + position, weight * part
        index = place.reshape((x.shape[0], 1, -1))
        total = total + _picked(flat, index, weight)
    return ops.reshape(total, (*x.shape[:2], *grid.shape[1:-1]))


def _picked(flat: Variable, index: Any, weight: Any) -> Variable:
    n = flat.shape[0]
    values = ops.take_along_axis(flat, index, axis=-1)
    return values * ops.reshape(weight, (n, 1, -1))


def _products(taps: list[list[Any]]) -> list[list[Any]]:
    """All ways to take one of each list."""
    rows: list[list[Any]] = [[]]
    for choices in taps:
        rows = [[*row, choice] for row in rows for choice in choices]
    return rows


def _taps(
    at: Variable, n: int, mode: str, padding_mode: str, align_corners: bool
) -> list[tuple[Any, Any]]:
    """Which elements of an axis of `n` are read, raw integers, each with its weight."""
    if padding_mode != "zeros" and mode != "bicubic":
        at = _inside(at, n, padding_mode, align_corners)
    xp = backend_near(at).xp
    parts: list[tuple[Any, Any]]
    if mode == "nearest":
        parts = [(xp.round(at.value), xp.ones_like(at.value))]  # half to even, as in PyTorch
    else:
        floor = xp.floor(at.value)
        t = at - floor
        if mode == "bilinear":
            parts = [(floor, 1 - t), (floor + 1, t)]
        else:
            parts = [(floor + i - 1, weight) for i, weight in enumerate(_cubic(t))]
    taps = []
    for position, weight in parts:
        if mode == "bicubic" and padding_mode != "zeros":
            position = _inside(Variable(position), n, padding_mode, align_corners).value
        bounded = xp.clip(position, 0, n - 1)
        if padding_mode == "zeros":
            weight = ops.where(position == bounded, weight, 0)
        taps.append((bounded.astype("int64"), weight))
    return taps


def _inside(at: Variable, n: int, padding_mode: str, align_corners: bool) -> Variable:
    """Positions in [0, n - 1], clipped or reflected at the edges."""
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return ops.multiply(at, 0.0)
        xp = backend_near(at).xp
        at = ops.abs_(at - low)
        flips = xp.floor(at.value / span)
        rest = at - flips * span
        at = ops.where(flips % 2 == 0, rest + low, span - rest + low)
    return ops.clip(at, 0, n - 1)


def _cubic(t: Variable) -> list[Variable]:
    """The weights of the elements at distance 1 + t, t, 1 - t and 2 - t, of slope -3/4 at 1."""
    a = -0.75

    def near(t: Variable) -> Variable:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Variable) -> Variable:
        return (((t - 5) * t + 8) * t - 4) * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]
