// cuda.h and the headers that CuPy puts before nearly every kernel, for one precompiled header.
#pragma once
#include "cuda.h"
// Without this, abs of a double is that of its integer part in CuPy's complex division.
using std::abs;
#include <cupy/complex.cuh>
// As they stand, g++ translates the functions of these headers anew for each kernel, used or not.
#undef __device__
#undef __forceinline__
#define __device__ inline
#define __forceinline__
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#undef __device__
#undef __forceinline__
#define __device__
#define __forceinline__ inline
#include <cupy/math_constants.h>
