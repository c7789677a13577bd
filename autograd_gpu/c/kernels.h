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

/* The elements of an array from `first` on, or NULL unless it has at least `least` of a type, float or
   double, one behind the other. */
static inline void *
elements_of(PyObject *array, int type, npy_intp first, npy_intp least)
{
    PyArrayObject *x = (PyArrayObject *)array;
    npy_intp size = 1;
    int i;
    if (!Py_IS_TYPE(array, ndarray) || PyArray_TYPE(x) != type || !PyArray_ISNOTSWAPPED(x)
        || !PyArray_CHKFLAGS(x, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED))
        return NULL;
    for (i = 0; i < PyArray_NDIM(x); i++)
        size *= PyArray_DIM(x, i);
    if (first < 0 || first > least || size < least)
        return NULL;
    return PyArray_BYTES(x) + first * (type == NPY_FLOAT ? 4 : 8);
}

#endif
