/* Philox4x32-10, a generator whose word i is a function of seed, offset and i alone; the Python form
   (backends/philox.py) says where it comes from, and gives the same words. */

#include "kernels.h"

#include <stdint.h>

#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u
#define ROUNDS 10

/* Blocks of four words that are computed side by side, each word in 64 bits as its products are. */
#define LANES 32

/* The words of LANES blocks from `first` on. */
static WIDE void
blocks(uint64_t first, uint64_t seed, uint64_t offset, uint32_t *restrict words)
{
    uint64_t a[LANES], b[LANES], c[LANES], d[LANES];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    int i, round;
    for (i = 0; i < LANES; i++) {
        a[i] = (uint32_t)(first + i);
        b[i] = (first + i) >> 32;
        c[i] = (uint32_t)offset;
        d[i] = offset >> 32;
    }
    for (round = 0; round < ROUNDS; round++, k0 += W0, k1 += W1)
        for (i = 0; i < LANES; i++) {
            uint64_t p = (uint64_t)M0 * (uint32_t)a[i], q = (uint64_t)M1 * (uint32_t)c[i];
            a[i] = (q >> 32) ^ b[i] ^ k0;
            b[i] = (uint32_t)q;
            c[i] = (p >> 32) ^ d[i] ^ k1;
            d[i] = (uint32_t)p;
        }
    for (i = 0; i < LANES; i++) {
        words[4 * i] = (uint32_t)a[i];
        words[4 * i + 1] = (uint32_t)b[i];
        words[4 * i + 2] = (uint32_t)c[i];
        words[4 * i + 3] = (uint32_t)d[i];
    }
}

/* philox(out, start, stop, seed, offset): fills out[start:stop] with words, or with numbers in [0, 1)
   that have their upper 24 bits; `out` is a vector of uint32 or float32, `start` a multiple of four. */
PyObject *
philox(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    PyArrayObject *out;
    npy_intp start, stop, at;
    uint64_t seed, offset;
    uint32_t words[4 * LANES];
    char *target;
    PyThreadState *state;
    int is_float;
    if (given != 5) {
        PyErr_SetString(PyExc_TypeError, "philox takes five arguments");
        return NULL;
    }
    if (ndarray == NULL && import_numpy() < 0)
        return NULL;
    start = PyLong_AsSsize_t(args[1]), stop = PyLong_AsSsize_t(args[2]);
    seed = PyLong_AsUnsignedLongLong(args[3]), offset = PyLong_AsUnsignedLongLong(args[4]);
    if (PyErr_Occurred())
        return NULL;
    out = (PyArrayObject *)args[0];
    if (!Py_IS_TYPE(args[0], ndarray) || PyArray_NDIM(out) != 1
        || (PyArray_TYPE(out) != NPY_FLOAT && PyArray_TYPE(out) != NPY_UINT32)
        || !PyArray_ISCARRAY(out) || start < 0 || start % 4 || stop < start
        || stop > PyArray_DIM(out, 0)) {
        PyErr_SetString(PyExc_ValueError, "philox: out is no such vector, or too short");
        return NULL;
    }
    is_float = PyArray_TYPE(out) == NPY_FLOAT;
    target = PyArray_BYTES(out);
    state = stop - start >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
    for (at = start; at < stop; at += 4 * LANES) {
        npy_intp i, n = stop - at < 4 * LANES ? stop - at : 4 * LANES;
        blocks((uint64_t)at / 4, seed, offset, words);
        if (is_float)
            for (i = 0; i < n; i++)
                ((float *)target)[at + i] = (float)(words[i] >> 8) * (1.0f / (1 << 24));
        else
            memcpy((uint32_t *)target + at, words, n * 4);
    }
    if (state != NULL)
        PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}
