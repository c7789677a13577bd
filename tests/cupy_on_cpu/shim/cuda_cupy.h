// cuda.h and the headers that CuPy puts before nearly every kernel, for one precompiled header.
#pragma once
#include "cuda.h"
// Without this, abs of a double is that of its integer part in CuPy's complex division.
using std::abs;
#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
