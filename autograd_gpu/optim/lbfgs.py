"""L-BFGS by way of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autograd_gpu.backend import backend_of, load_backend
from autograd_gpu.optim.groups import Group
from autograd_gpu.optim.optimizer import Optimizer
from autograd_gpu.variable import Variable


class LBFGS(Optimizer):
    """Minimises a function that is the same each time, by SciPy's L-BFGS-B in float64 on the host.

    A step is a run of up to `max_iter` iterations from where the parameters are, with a history of
    its own.

    >>> x = Variable([3.0, 1.0], requires_grad=True)
    >>> optimizer = LBFGS([x])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 2.0) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> np.round(x.value, 1).tolist()
    [2.0, 2.0]
    """

    def __init__(
        self,
        params: Iterable[Variable] | Iterable[Mapping[str, Any]],
        max_iter: int = 20,
        history_size: int = 10,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
    ) -> None:
        super().__init__(
            params,
            {
                "max_iter": max_iter,
                "history_size": history_size,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
            },
        )
        if len(self.param_groups) > 1:
            raise ValueError("LBFGS: all parameters are in one group")
        if any(x.dtype.kind == "c" for x in self.parameters()):
            raise TypeError("LBFGS: complex parameters are not supported; use real and imag")

    def check(self, group: Group) -> None:
        if group["max_iter"] < 1 or group["history_size"] < 1:
            raise ValueError("LBFGS: max_iter and history_size must be positive")

    def step(self, closure: Callable[[], Variable] | None = None) -> float:
        """Call `closure`, which computes loss and gradients anew, until a minimum or `max_iter`.

        Returns the last loss.  Raises ValueError without a closure or for a loss that is not
        finite at the start, ImportError without SciPy.
        """
        if closure is None:
            raise ValueError("LBFGS: step needs a closure that computes loss and gradients")
        try:
            from scipy.optimize import minimize
        except ImportError as error:
            raise ImportError("LBFGS needs SciPy: pip install scipy") from error
        group = self.param_groups[0]
        params = list(self.parameters())
        xp = load_backend("numpy").xp

        def joined(arrays: list[Any]) -> Any:
            hosts = [backend_of(a).to_host(a).reshape(-1).astype("float64") for a in arrays]
            return xp.concat(hosts)

        def place(flat: Any) -> None:
            start = 0
            for x in params:
                backend = backend_of(x.value)
                part = flat[start : start + x.size].reshape(x.shape).astype(x.dtype)
                device = None if backend.name == "numpy" else backend.device(x.value)
                x.value = backend.from_host(part, device)
                start += x.size

        def evaluate(flat: Any) -> tuple[float, Any]:
            place(flat)
            loss = float(closure().item())
            grads = [
                backend_of(x.value).xp.zeros_like(x.value) if x.grad is None else x.grad
                for x in params
            ]
            return loss, joined(grads)

        start = joined([x.value for x in params])
        first, grad = evaluate(start)
        if first != first or abs(first) == float("inf"):
            raise ValueError(f"LBFGS: the loss is {first} at the start")
        known: list[Any] = [(first, grad)]  # SciPy asks for it again

        found = minimize(
            lambda flat: known.pop() if known else evaluate(flat),
            start,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": group["max_iter"],
                "maxcor": group["history_size"],
                "gtol": group["tolerance_grad"],
                "ftol": group["tolerance_change"],
            },
        )
        place(found.x)
        return float(found.fun)
