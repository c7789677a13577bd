/* SGD's and Adam's steps in one pass over each parameter.

   They take the very operations of backends/numpy_steps.py, in the same order, each rounded by
   itself: bit for bit the results are those.  That needs a compiler that keeps products and sums
   apart (-ffp-contract=off, see setup.py). */

#include "kernels.h"

#include <float.h>

enum { SGD_NUMBERS = 6, ADAM_NUMBERS = 8, MOST_ARRAYS = 4 };

/* Elements up to which a parameter is done here; larger ones come in blocks, on several threads. */
#define MOST_ELEMENTS (1 << 17)

#define ADAM(name, real, root)                                                                   \
    WIDE static void name(npy_intp n, real *restrict p, const real *restrict g,                  \
                          real *restrict m, real *restrict v, const double *numbers)             \
    {                                                                                            \
        real old = (real)numbers[0], new = (real)numbers[1];                                     \
        real old_square = (real)numbers[2], new_square = (real)numbers[3];                       \
        real eps = (real)numbers[4], size = (real)numbers[5];                                    \
        real decay = (real)numbers[6], shrink = (real)numbers[7];                                \
        npy_intp i;                                                                              \
        if (shrink != 1)                                                                         \
            for (i = 0; i < n; i++)                                                              \
                p[i] *= shrink;                                                                  \
        for (i = 0; i < n; i++) {                                                                \
            real d = decay != 0 ? p[i] * decay + g[i] : g[i];                                    \
            real x = m[i] * old, y = v[i] * old_square, s;                                       \
            x += d * new;                                                                        \
            s = d * d;                                                                           \
            y += s * new_square;                                                                 \
            m[i] = x;                                                                            \
            v[i] = y;                                                                            \
            s = root(y) + eps;                                                                   \
            s = x / s;                                                                           \
            p[i] -= s * size;                                                                    \
        }                                                                                        \
    }

#define SGD(name, real)                                                                          \
    WIDE static void name(npy_intp n, real *restrict p, const real *restrict g,                  \
                          real *restrict buffer, const double *numbers)                          \
    {                                                                                            \
        real lr = (real)numbers[0], momentum = (real)numbers[1];                                 \
        real keep = (real)numbers[2], decay = (real)numbers[3];                                  \
        int nesterov = numbers[4] != 0, first = numbers[5] != 0;                                 \
        npy_intp i;                                                                              \
        if (buffer == NULL) {                                                                    \
            for (i = 0; i < n; i++) {                                                            \
                real d = decay != 0 ? p[i] * decay + g[i] : g[i];                                \
                p[i] -= d * lr;                                                                  \
            }                                                                                    \
            return;                                                                              \
        }                                                                                        \
        for (i = 0; i < n; i++) {                                                                \
            real d = decay != 0 ? p[i] * decay + g[i] : g[i];                                    \
            real x = first ? d : buffer[i] * momentum + d * keep;                                \
            buffer[i] = x;                                                                       \
            d = nesterov ? d + x * momentum : x;                                                 \
            p[i] -= d * lr;                                                                      \
        }                                                                                        \
    }

ADAM(adam_float, float, sqrtf)
ADAM(adam_double, double, sqrt)
SGD(sgd_float, float)
SGD(sgd_double, double)

static int
overlap(PyArrayObject *x, PyArrayObject *y, npy_intp bytes)
{
    const char *a = PyArray_BYTES(x), *b = PyArray_BYTES(y);
    return a < b + bytes && b < a + bytes;
}

/* The arrays of a row, of which the last may be None, and how many elements each has; -1 unless they
   are plain memory of one real type, as large as each other and nowhere the same. */
static npy_intp
arrays_of(PyObject *row, PyArrayObject **arrays)
{
    npy_intp n = -1;
    Py_ssize_t i, k, count;
    int type = -1;
    if (FLT_EVAL_METHOD != 0 || !PyTuple_CheckExact(row))
        return -1;
    count = PyTuple_GET_SIZE(row);
    if (count < 2 || count > MOST_ARRAYS)
        return -1;
    arrays[count - 1] = NULL;
    if (PyTuple_GET_ITEM(row, count - 1) == Py_None)
        count--;
    for (i = 0; i < count; i++) {
        PyArrayObject *x = (PyArrayObject *)PyTuple_GET_ITEM(row, i);
        npy_intp size = 1;
        if (!Py_IS_TYPE(x, ndarray))
            return -1;
        for (k = 0; k < PyArray_NDIM(x); k++)
            size *= PyArray_DIM(x, k);
        if (i == 0) {
            n = size;
            type = PyArray_TYPE(x);
        }
        if (size != n || PyArray_TYPE(x) != type || !PyArray_CHKFLAGS(x, NPY_ARRAY_CARRAY_RO)
            || (i != 1 && !PyArray_ISWRITEABLE(x)) || PyArray_DESCR(x)->byteorder == NPY_OPPBYTE)
            return -1;
        arrays[i] = x;
    }
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || n > MOST_ELEMENTS)
        return -1;
    for (i = 0; i < count; i++)
        for (k = 0; k < i; k++)
            if (overlap(arrays[i], arrays[k], n * (type == NPY_FLOAT ? 4 : 8)))
                return -1;
    return n;
}

static void
step(int is_adam, npy_intp n, PyArrayObject **arrays, const double *numbers)
{
    void *p = PyArray_DATA(arrays[0]), *g = PyArray_DATA(arrays[1]);
    int is_float = PyArray_TYPE(arrays[0]) == NPY_FLOAT;
    PyThreadState *others = n >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
    if (is_adam) {
        void *m = PyArray_DATA(arrays[2]), *v = PyArray_DATA(arrays[3]);
        if (is_float)
            adam_float(n, p, g, m, v, numbers);
        else
            adam_double(n, p, g, m, v, numbers);
    }
    else {
        void *buffer = arrays[2] != NULL ? PyArray_DATA(arrays[2]) : NULL;
        if (is_float)
            sgd_float(n, p, g, buffer, numbers);
        else
            sgd_double(n, p, g, buffer, numbers);
    }
    if (others != NULL)
        PyEval_RestoreThread(others);
}

/* The rows that are left: those that are not as usual. */
static PyObject *
steps(int is_adam, PyObject *const *args, Py_ssize_t given)
{
    double numbers[ADAM_NUMBERS];
    PyArrayObject *arrays[MOST_ARRAYS];
    Py_ssize_t i, count = is_adam ? ADAM_NUMBERS : SGD_NUMBERS, width = is_adam ? 4 : 3;
    PyObject *left;
    if (given != 1 + count || !PyList_CheckExact(args[0])) {
        PyErr_Format(PyExc_TypeError, "a step takes a list of rows and %zd numbers", count);
        return NULL;
    }
    for (i = 0; i < count; i++) {
        numbers[i] = PyFloat_AsDouble(args[1 + i]);
        if (numbers[i] == -1 && PyErr_Occurred())
            return NULL;
    }
    left = PyList_New(0);
    for (i = 0; left != NULL && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(args[0], i));
        npy_intp n = arrays_of(row, arrays);
        if (n >= 0 && PyTuple_GET_SIZE(row) == width && !(is_adam && arrays[3] == NULL))
            step(is_adam, n, arrays, numbers);
        else if (PyList_Append(left, row) < 0)
            Py_CLEAR(left);
        Py_DECREF(row);
    }
    return left;
}

/* adam_steps(rows of (parameter, gradient, m, v), old, new, old_square, new_square, eps, size,
   decay, shrink), the numbers of numpy_steps.py. */
PyObject *
adam_steps(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    return steps(1, args, given);
}

/* sgd_steps(rows of (parameter, gradient, momentum or None), lr, momentum, keep, decay, nesterov,
   first), where keep is what is left of the gradient after dampening. */
PyObject *
sgd_steps(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    return steps(0, args, given);
}
