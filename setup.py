"""The compiled core, for which pyproject.toml has no words: where NumPy's headers lie, NumPy says.

Where it can't be built, the same is done in Python.
"""

import os
from glob import glob

import numpy
from setuptools import Extension, setup

# Loops in vector registers, roots among them; no product goes into a sum without rounding.
FLAGS = ["-O3", "-fno-math-errno", "-ffp-contract=off"]

setup(
    ext_modules=[
        Extension(
            "autograd_gpu._core",
            sorted(glob("autograd_gpu/c/*.c")),
            depends=sorted(glob("autograd_gpu/c/*.h")),
            include_dirs=[numpy.get_include()],
            extra_compile_args=[] if os.name == "nt" else FLAGS,
            optional=True,
        )
    ]
)
