"""The compiled core, for which pyproject.toml has no words: where NumPy's headers lie, NumPy says.

Where it can't be built, the same is done in Python.
"""

import os
from glob import glob

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "autograd_gpu._core",
            sorted(glob("autograd_gpu/c/*.c")),
            depends=sorted(glob("autograd_gpu/c/*.h")),
            include_dirs=[numpy.get_include()],
            # Roots in vector registers, and no product that goes into a sum without rounding.
            extra_compile_args=[] if os.name == "nt" else ["-fno-math-errno", "-ffp-contract=off"],
            optional=True,
        )
    ]
)
