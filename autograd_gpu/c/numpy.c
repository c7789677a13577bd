/* Functions of NumPy's namespace for small arrays, of which a call is all that they cost.

   Each has a Python function that defines it (backends/numpy_functions.py, numpy_matmul.py) and is
   called for whatever is not usual.  Arrays are read by NumPy's headers, and computed with by calls
   of its Python objects. */

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION

#include "core.h"

#include <math.h>
#include <numpy/ndarraytypes.h>

#define MOST_ONES 256

/* Elements of a result up to which a product is left to `dot`, which fills it with zeros first. */
#define SMALL_PRODUCT 4096

enum { FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, USUAL };

static struct {
    PyObject *matmul, *sum, *maximum;    /* the definitions */
    PyObject *zeros;                     /* 0 in each of the usual dtypes, a tuple */
    PyObject *ones;                      /* ones(n, dtype), the same array each time */
    PyObject *add_reduce, *larger;       /* np.add.reduce, np.maximum */
    PyObject *small;                     /* elements up to which only the call counts */
    PyObject *many;                      /* elements from which on NumPy's own sum is slower */
    PyObject *axis, *dtype, *keepdims, *dot, *ravel;
    PyObject *known_ones[2][MOST_ONES + 1];
    Py_ssize_t most, least;              /* these two numbers */
} np;

/* The call of a definition. */
static PyObject *
defined(PyObject *definition, PyObject *const *args, Py_ssize_t given, PyObject *keywords)
{
    if (definition == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the NumPy backend is not loaded");
        return NULL;
    }
    return PyObject_Vectorcall(definition, args, given, keywords);
}

/* Which of the usual dtypes an array has, or -1 for other arrays and whatever else. */
static int
usual(PyObject *x)
{
    if (!Py_IS_TYPE(x, ndarray) || !PyArray_ISNOTSWAPPED((PyArrayObject *)x))
        return -1;
    switch (PyArray_TYPE((PyArrayObject *)x)) {
    case NPY_FLOAT: return FLOAT32;
    case NPY_DOUBLE: return FLOAT64;
    case NPY_CFLOAT: return COMPLEX64;
    case NPY_CDOUBLE: return COMPLEX128;
    default: return -1;
    }
}

/* The two lengths of a matrix with its elements by rows or by columns, if both are larger than 1;
   or NULL. */
static const npy_intp *
matrix(PyObject *x)
{
    PyArrayObject *array = (PyArrayObject *)x;
    const npy_intp *lengths = PyArray_DIMS(array);
    if (PyArray_NDIM(array) != 2 || lengths[0] < 2 || lengths[1] < 2
        || !(PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array)))
        return NULL;
    return lengths;
}

/* The number of elements, or `most` + 1 if there are more. */
static Py_ssize_t
size_up_to(PyObject *x, Py_ssize_t most)
{
    const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)x);
    int i, count = PyArray_NDIM((PyArrayObject *)x);
    Py_ssize_t size = 1;
    for (i = 0; i < count; i++)
        if (lengths[i] == 0)
            return 0;
    for (i = 0; i < count && size <= most; i++)
        size = lengths[i] <= most ? size * lengths[i] : most + 1;
    return size <= most ? size : most + 1;
}

/* `n` ones, borrowed, or NULL. */
static PyObject *
ones(Py_ssize_t n, PyObject *like, int dtype)
{
    PyObject **place = &np.known_ones[dtype][n];
    if (*place == NULL) {
        PyObject *count = PyLong_FromSsize_t(n);
        if (count == NULL)
            return NULL;
        *place = PyObject_CallFunctionObjArgs(
            np.ones, count, (PyObject *)PyArray_DESCR((PyArrayObject *)like), NULL);
        Py_DECREF(count);
    }
    return *place;
}

static PyObject *
dot(PyObject *a, PyObject *b)
{
    PyObject *both[2] = {a, b};
    return a != NULL && b != NULL ? PyObject_VectorcallMethod(np.dot, both, 2, NULL) : NULL;
}

/* matmul(a, b).  Of two matrices `dot` is the same product by the same function of BLAS, and its
   call takes a third of the time. */
PyObject *
numpy_matmul(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given,
             PyObject *keywords)
{
    const npy_intp *a, *b;
    if (given == 2 && keywords == NULL && usual(args[0]) >= 0 && usual(args[0]) == usual(args[1])
        && (a = matrix(args[0])) != NULL && (b = matrix(args[1])) != NULL && a[1] == b[0]
        && b[1] <= SMALL_PRODUCT && a[0] <= SMALL_PRODUCT / b[1])
        return dot(args[0], args[1]);
    return defined(np.matmul, args, given, keywords);
}

/* The sum over all elements of a few, or over an axis of a small matrix, as a product with ones;
   NULL without an error where that is not the way. */
static PyObject *
few(PyObject *x, PyObject *axis, int dtype)
{
    const npy_intp *lengths;
    long along;
    if (axis == Py_None) {
        Py_ssize_t n = size_up_to(x, MOST_ONES);
        PyObject *flat, *total;
        if (n < 2 || n > MOST_ONES || (flat = PyObject_CallMethodNoArgs(x, np.ravel)) == NULL)
            return NULL;
        total = dot(flat, ones(n, x, dtype));
        Py_DECREF(flat);
        return total;
    }
    if (!PyLong_CheckExact(axis) || (lengths = matrix(x)) == NULL || lengths[0] > MOST_ONES
        || lengths[1] > MOST_ONES || lengths[0] * lengths[1] > np.most)
        return NULL;
    along = PyLong_AsLong(axis);
    if (along == 0 || along == -2)
        return dot(ones(lengths[0], x, dtype), x);
    if (along == 1 || (along == -1 && !PyErr_Occurred()))
        return dot(x, ones(lengths[1], x, dtype));
    PyErr_Clear();
    return NULL;
}

/* sum(x, *, axis=None, dtype=None, keepdims=False) */
PyObject *
numpy_sum(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given, PyObject *keywords)
{
    PyObject *call[5] = {NULL, Py_None, Py_None, Py_None, Py_False}, *total;
    Py_ssize_t i, named = keywords != NULL ? PyTuple_GET_SIZE(keywords) : 0;
    int plain = given == 1, dtype;
    for (i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i), *value = args[given + i];
        if (name == np.axis)
            call[1] = value;
        else if (name == np.keepdims)
            call[4] = value;
        else if (name != np.dtype || value != Py_None)
            plain = 0;
    }
    if (plain && (dtype = usual(args[0])) >= 0) {
        if (call[4] == Py_False && dtype <= FLOAT64) {
            total = few(args[0], call[1], dtype);
            if (total != NULL || PyErr_Occurred())
                return total;
        }
        Py_ssize_t most = call[1] == Py_None ? np.least - 1 : np.most;
        if (size_up_to(args[0], most) <= most) {
            call[0] = args[0];
            return PyObject_Vectorcall(np.add_reduce, call, 5, NULL);
        }
    }
    return defined(np.sum, args, given, keywords);
}

/* maximum(a, b); b may be 0, which NumPy would make an array of each time. */
PyObject *
numpy_maximum(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given,
              PyObject *keywords)
{
    int dtype, zero = 0;
    if (given == 2 && keywords == NULL) {
        if (PyLong_CheckExact(args[1]))
            zero = PyObject_Not(args[1]);
        else if (PyFloat_CheckExact(args[1]))
            zero = PyFloat_AS_DOUBLE(args[1]) == 0 && !signbit(PyFloat_AS_DOUBLE(args[1]));
        if (zero && (dtype = usual(args[0])) >= 0 && size_up_to(args[0], np.most) <= np.most) {
            PyObject *call[2] = {args[0], PyTuple_GET_ITEM(np.zeros, dtype)};
            return PyObject_Vectorcall(np.larger, call, 2, NULL);
        }
    }
    return defined(np.maximum, args, given, keywords);
}

static int
take(PyObject *given, const char *name, PyObject **place)
{
    PyObject *value = PyDict_GetItemString(given, name);
    if (value == NULL) {
        PyErr_Format(PyExc_TypeError, "configure_numpy: %s is missing", name);
        return -1;
    }
    Py_XSETREF(*place, Py_NewRef(value));
    return 0;
}

PyObject *
configure_numpy(PyObject *Py_UNUSED(module), PyObject *args, PyObject *given)
{
    if (PyTuple_GET_SIZE(args) || given == NULL) {
        PyErr_SetString(PyExc_TypeError, "configure_numpy takes keywords");
        return NULL;
    }
    if (import_numpy() < 0)
        return NULL;
    if (take(given, "matmul", &np.matmul) < 0 || take(given, "sum", &np.sum) < 0
        || take(given, "maximum", &np.maximum) < 0 || take(given, "zeros", &np.zeros) < 0
        || take(given, "ones", &np.ones) < 0 || take(given, "add_reduce", &np.add_reduce) < 0
        || take(given, "larger", &np.larger) < 0 || take(given, "small", &np.small) < 0
        || take(given, "many", &np.many) < 0)
        return NULL;
    np.most = PyLong_AsSsize_t(np.small);
    np.least = PyLong_AsSsize_t(np.many);
    if (PyErr_Occurred())
        return NULL;
    if (!PyTuple_CheckExact(np.zeros) || PyTuple_GET_SIZE(np.zeros) != USUAL) {
        PyErr_Format(PyExc_TypeError, "configure_numpy: zeros is a tuple of %d", USUAL);
        return NULL;
    }
    if ((np.axis = PyUnicode_InternFromString("axis")) == NULL
        || (np.dtype = PyUnicode_InternFromString("dtype")) == NULL
        || (np.keepdims = PyUnicode_InternFromString("keepdims")) == NULL
        || (np.dot = PyUnicode_InternFromString("dot")) == NULL
        || (np.ravel = PyUnicode_InternFromString("ravel")) == NULL)
        return NULL;
    Py_RETURN_NONE;
}
