// cuda.h and the headers that CuPy puts before nearly every kernel, for one precompiled header.
#pragma once
#include "cuda.h"
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
