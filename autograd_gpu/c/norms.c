/* Layer norm and RMS norm of rows in one pass, of which NumPy's functions take a dozen. */

#include "kernels.h"

/* Parts of a sum, and elements of a row for which one is taken in a row's own type. */
#define LANES 32
#define STRETCH 1024

#define REAL float
#define NAME(function) function##_float
#include "norm_rows.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(function) function##_double
#include "norm_rows.h"
#undef REAL
#undef NAME

/* The elements of an array from `first` on, or NULL for None; -1 in `failed` unless it has at least
   `least` of the type, one behind the other. */
static void *
elements(PyObject *array, int type, npy_intp first, npy_intp least, int *failed)
{
    PyArrayObject *x = (PyArrayObject *)array;
    npy_intp size = 1;
    int i;
    if (array == Py_None)
        return NULL;
    if (!Py_IS_TYPE(array, ndarray) || PyArray_TYPE(x) != type || !PyArray_ISNOTSWAPPED(x)
        || !PyArray_CHKFLAGS(x, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
        *failed = -1;
        return NULL;
    }
    for (i = 0; i < PyArray_NDIM(x); i++)
        size *= PyArray_DIM(x, i);
    if (size < least) {
        *failed = -1;
        return NULL;
    }
    return PyArray_BYTES(x) + first * (type == NPY_FLOAT ? 4 : 8);
}

/* The type, and the rows from `start` to `stop` and their width as numbers, of a call's first array
   and three of its arguments; -1 with an error. */
static int
extent(PyObject *x, PyObject *const *args, npy_intp *start, npy_intp *rows, npy_intp *width)
{
    npy_intp stop;
    if (ndarray == NULL && import_numpy() < 0)
        return -1;
    *start = PyLong_AsSsize_t(args[0]);
    stop = PyLong_AsSsize_t(args[1]);
    *width = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred())
        return -1;
    *rows = stop - *start;
    if (!Py_IS_TYPE(x, ndarray) || *start < 0 || *rows < 0 || *width < 1
        || stop > NPY_MAX_INTP / *width
        || (PyArray_TYPE((PyArrayObject *)x) != NPY_FLOAT
            && PyArray_TYPE((PyArrayObject *)x) != NPY_DOUBLE)) {
        PyErr_SetString(PyExc_TypeError, "rows of float32 or float64 are to be normalised");
        return -1;
    }
    return PyArray_TYPE((PyArrayObject *)x);
}

static PyObject *
done(PyThreadState *others)
{
    if (others != NULL)
        PyEval_RestoreThread(others);
    Py_RETURN_NONE;
}

static PyObject *
refused(void)
{
    PyErr_SetString(PyExc_TypeError, "arrays are contiguous, of one type and as large as the rows");
    return NULL;
}

/* norm_rows(x, weight, bias, y, means, inverses, start, stop, width, eps): for the rows from start
   to stop.  Without `means` it is RMS norm; weight and bias may be None. */
PyObject *
norm_rows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    npy_intp start, rows, width, end;
    PyThreadState *others;
    void *x, *w, *b, *y, *means, *inverses;
    double eps;
    int type, failed = 0;
    if (given != 10) {
        PyErr_SetString(PyExc_TypeError, "norm_rows takes 10 arguments");
        return NULL;
    }
    if ((type = extent(args[0], args + 6, &start, &rows, &width)) < 0)
        return NULL;
    eps = PyFloat_AsDouble(args[9]);
    if (eps == -1 && PyErr_Occurred())
        return NULL;
    end = (start + rows) * width;
    x = elements(args[0], type, start * width, end, &failed);
    w = elements(args[1], type, 0, width, &failed);
    b = elements(args[2], type, 0, width, &failed);
    y = elements(args[3], type, start * width, end, &failed);
    means = elements(args[4], type, start, start + rows, &failed);
    inverses = elements(args[5], type, start, start + rows, &failed);
    if (failed || x == NULL || y == NULL || inverses == NULL || (w == NULL && b != NULL))
        return refused();
    others = rows * width >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
    if (type == NPY_FLOAT)
        normalise_float(rows, width, x, w, b, y, means, inverses, eps);
    else
        normalise_double(rows, width, x, w, b, y, means, inverses, eps);
    return done(others);
}

/* norm_rows_back(g, x, weight, means, inverses, dx, dw, db, start, stop, width): the gradients for
   the rows from start to stop, of which those for weight and bias are added to rows of zeros. */
PyObject *
norm_rows_back(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    npy_intp start, rows, width, end;
    PyThreadState *others;
    void *g, *x, *w, *means, *inverses, *dx, *dw, *db;
    int type, failed = 0;
    if (given != 11) {
        PyErr_SetString(PyExc_TypeError, "norm_rows_back takes 11 arguments");
        return NULL;
    }
    if ((type = extent(args[1], args + 8, &start, &rows, &width)) < 0)
        return NULL;
    end = (start + rows) * width;
    g = elements(args[0], type, start * width, end, &failed);
    x = elements(args[1], type, start * width, end, &failed);
    w = elements(args[2], type, 0, width, &failed);
    means = elements(args[3], type, start, start + rows, &failed);
    inverses = elements(args[4], type, start, start + rows, &failed);
    dx = elements(args[5], type, start * width, end, &failed);
    dw = elements(args[6], type, 0, width, &failed);
    db = elements(args[7], type, 0, width, &failed);
    if (failed || g == NULL || x == NULL || inverses == NULL)
        return refused();
    others = rows * width >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
    if (type == NPY_FLOAT)
        normalise_back_float(rows, width, g, x, w, means, inverses, dx, dw, db);
    else
        normalise_back_double(rows, width, g, x, w, means, inverses, dx, dw, db);
    return done(others);
}
