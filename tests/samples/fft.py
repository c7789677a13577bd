"""Fourier transforms."""

import numpy as np

from samples.sample import Table, draw

TABLE = Table()
REFERENCES = {
    "fftn": np.fft.fftn,
    "ifftn": np.fft.ifftn,
    "rfftn": np.fft.rfftn,
    "irfftn": np.fft.irfftn,
}

for name, reference in REFERENCES.items():
    for shape, s, axes in [
        ((6,), (6,), (0,)),
        ((5,), (5,), (0,)),
        ((4,), (7,), (0,)),
        ((7,), (4,), (0,)),
        ((4,), (6,), (0,)),
        ((1,), (1,), (-1,)),
        ((3,), (2,), (-1,)),
        ((3, 4), (3, 5), (0, 1)),
        ((4, 3), (3, 4), (1, 0)),
        ((2, 3, 4), (2, 3), (-2, -1)),
        ((2, 3, 4), (3, 2, 5), (0, 1, 2)),
        ((4, 2), (3,), (0,)),
        ((0, 3), (3,), (-1,)),
    ]:
        x = draw(name, shape)
        z = x + 1j * draw(name + "i", shape)
        for norm in ("backward", "ortho", "forward"):
            if norm != "backward" and shape not in ((5,), (3, 4), (4, 3)):
                continue
            statics = {"s": s, "axes": axes, "norm": norm}
            for kind, operand in (("", x), ("complex ", z)):
                if kind and name == "rfftn":
                    continue
                TABLE.add(name, reference, (operand,), f"{kind}{shape} {s} {axes} {norm}", statics,
                          dtypes=("float32",))  # fmt: skip
