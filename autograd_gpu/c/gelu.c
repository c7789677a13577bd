/* GELU in its tanh form and its gradient, in float32 and one pass each.

   With u = C x + K x^3 and e = exp(-2u) it is x s, where s = (1 + tanh(u)) / 2 = 1 / (1 + e); and its
   derivative is s + x s (1 - s) 2u', where 1 - s = e s. */

#include "kernels.h"

/* GELU is 0 below -FAR and x above FAR; between them float32 has e and 1 / e. */
#define FAR 10.0f
#define C 0.7978845608028654f /* sqrt(2 / pi) */
#define K (0.044715f * C)

static inline float
bounded(float x, float low, float high)
{
    x = x < low ? low : x; /* NaN stays */
    return x > high ? high : x;
}

/* exp(x) for x between -87.3 and 88, to an error of about one unit in the last place: 2^n exp(r),
   where r = x - n log(2) is at most log(2) / 2 and exp(r) = 1 + r + r^2 p(r).  The polynomial p is
   the one of its degree whose largest relative error is smallest, 3e-9. */
static inline float
exponential(float x)
{
    const float whole = 12582912.0f; /* 1.5 * 2^23: added, it leaves no digits behind the point */
    float shifted = x * 1.44269504f + whole, n = shifted - whole, r, y, scale;
    npy_int32 bits;
    r = x - n * 0.693359375f; /* log(2) in two parts, so that the first product is exact */
    r = r + n * 2.12194440e-4f;
    y = 1.3814593e-3f * r + 8.3687084e-3f;
    y = y * r + 4.1668388e-2f;
    y = y * r + 1.6666521e-1f;
    y = y * r + 4.9999993e-1f;
    y = y * (r * r) + r + 1.0f;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (npy_int32)((npy_uint32)(bits - 0x4b400000 + 127) << 23); /* n + 127 as an exponent */
    memcpy(&scale, &bits, sizeof scale);
    return y * scale;
}

WIDE static void
values(npy_intp n, const float *x, float *restrict y)
{
    npy_intp i;
    for (i = 0; i < n; i++) {
        float near = bounded(x[i], -FAR, FAR);
        float e = exponential(-2 * near * (C + K * (near * near)));
        float rest = x[i] < -FAR ? x[i] * 0 : x[i]; /* of -inf NaN, as in the formula */
        y[i] = rest / (1 + e);
    }
}

WIDE static void
gradients(npy_intp n, const float *g, const float *x, float *restrict y)
{
    npy_intp i;
    for (i = 0; i < n; i++) {
        float near = bounded(x[i], -FAR, FAR), square = near * near;
        float e = exponential(-2 * near * (C + K * square));
        float s = 1 / (1 + e);
        float slope = s + near * (2 * C + 6 * K * square) * (e * s) * s;
        y[i] = g[i] * (x[i] < -FAR ? 0 : slope);
    }
}

/* gelu(arrays, start, stop): writes the elements from start to stop of the last of two or three
   arrays of float32, (x, y) or (g, x, y), which are as large as each other and contiguous. */
PyObject *
gelu(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    float *data[3] = {NULL, NULL, NULL};
    npy_intp start, stop;
    Py_ssize_t i, count;
    PyThreadState *others;
    if (given != 3 || !PyTuple_CheckExact(args[0]) || PyTuple_GET_SIZE(args[0]) < 2
        || PyTuple_GET_SIZE(args[0]) > 3) {
        PyErr_SetString(PyExc_TypeError, "gelu takes a tuple of two or three arrays and two numbers");
        return NULL;
    }
    start = PyLong_AsSsize_t(args[1]);
    stop = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred() || (ndarray == NULL && import_numpy() < 0))
        return NULL;
    count = PyTuple_GET_SIZE(args[0]);
    for (i = 0; i < count; i++)
        if (!(data[i] = elements_of(PyTuple_GET_ITEM(args[0], i), NPY_FLOAT, start, stop))) {
            PyErr_SetString(PyExc_TypeError, "gelu: arrays of float32 with so many elements");
            return NULL;
        }
    others = stop - start >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
    if (count == 2)
        values(stop - start, data[0], data[1]);
    else
        gradients(stop - start, data[0], data[1], data[2]);
    if (others != NULL)
        PyEval_RestoreThread(others);
    Py_RETURN_NONE;
}
