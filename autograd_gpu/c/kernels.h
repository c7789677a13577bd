/* For loops over the elements of arrays. */

#ifndef AUTOGRAD_GPU_KERNELS_H
#define AUTOGRAD_GPU_KERNELS_H

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION

#include "core.h"

#include <math.h>
#include <numpy/ndarraytypes.h>

#ifdef _MSC_VER
#define restrict __restrict
#endif

/* A function is compiled for wider registers too, and the processor has its choice.  No result
   depends on it: sums are taken in an order that is written down. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* Elements from which on other threads may run meanwhile. */
#define LONG_ENOUGH (1 << 12)

#endif
