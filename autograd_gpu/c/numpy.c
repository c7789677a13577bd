/* Functions of NumPy's namespace for small arrays, of which a call is all that they cost.

   Each has a Python function that defines it (backends/numpy_functions.py, numpy_matmul.py) and is
   called for whatever is not usual.  NumPy is reached through its Python objects. */

#include <math.h>

#include "core.h"

#define USUAL 4
#define REAL 2
#define MOST_ONES 256

/* Elements of a result up to which a product is left to `dot`, which fills it with zeros first. */
#define SMALL_PRODUCT 4096

static struct {
    PyObject *array;                     /* the class ndarray */
    PyObject *dtypes, *zeros;            /* float32, float64, complex64, complex128, and their 0 */
    PyObject *matmul, *sum, *maximum;    /* the definitions */
    PyObject *ones;                      /* ones(n, dtype), the same array each time */
    PyObject *add_reduce, *larger;       /* np.add.reduce, np.maximum */
    PyObject *small;                     /* elements up to which only the call counts */
    PyObject *axis, *dtype, *keepdims, *dot, *ravel;
    PyGetSetDef *strides;
    PyObject *known_ones[REAL][MOST_ONES + 1];
    Py_ssize_t most, width[USUAL];
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
    PyObject *dtype;
    int i;
    if ((PyObject *)Py_TYPE(x) != np.array)
        return -1;
    if ((dtype = dtype_of(x)) == NULL) {
        PyErr_Clear();
        return -1;
    }
    Py_DECREF(dtype);  /* which the array holds */
    for (i = 0; i < USUAL; i++)
        if (PyTuple_GET_ITEM(np.dtypes, i) == dtype)
            return i;
    return -1;
}

/* The numbers in a tuple; how many there are, or -1 if these are more than `most`, or an error. */
static Py_ssize_t
numbers(PyObject *tuple, Py_ssize_t *into, Py_ssize_t most)
{
    Py_ssize_t i, count = -1;
    if (tuple != NULL && PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) <= most) {
        count = PyTuple_GET_SIZE(tuple);
        for (i = 0; i < count; i++)
            into[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    }
    Py_XDECREF(tuple);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    return count;
}

/* Whether an array is a matrix with its elements, of `width` bytes, by rows or by columns; and its
   two lengths, both of which are larger than 1 then. */
static int
is_matrix(PyObject *x, Py_ssize_t width, Py_ssize_t *lengths)
{
    Py_ssize_t steps[2];
    if (numbers(shape_of(x), lengths, 2) != 2 || lengths[0] < 2 || lengths[1] < 2
        || numbers(np.strides->get(x, np.strides->closure), steps, 2) != 2)
        return 0;
    return (steps[1] == width && steps[0] == lengths[1] * width)
           || (steps[0] == width && steps[1] == lengths[0] * width);
}

/* The number of elements, or -1 if there are more than `most`. */
static Py_ssize_t
size_up_to(PyObject *x, Py_ssize_t most)
{
    Py_ssize_t lengths[8], i, count = numbers(shape_of(x), lengths, 8), size = 1;
    if (count < 0)
        return -1;
    for (i = 0; i < count; i++) {
        if (lengths[i] > most)
            return -1;
        if ((size *= lengths[i]) > most)
            return -1;
    }
    return size;
}

/* `n` ones, borrowed, or NULL. */
static PyObject *
ones(Py_ssize_t n, int dtype)
{
    PyObject **place = &np.known_ones[dtype][n];
    if (*place == NULL) {
        PyObject *count = PyLong_FromSsize_t(n);
        if (count == NULL)
            return NULL;
        *place = PyObject_CallFunctionObjArgs(np.ones, count,
                                              PyTuple_GET_ITEM(np.dtypes, dtype), NULL);
        Py_DECREF(count);
    }
    return *place;
}

static PyObject *
dot(PyObject *a, PyObject *b)
{
    PyObject *both[2] = {a, b};
    return b != NULL ? PyObject_VectorcallMethod(np.dot, both, 2, NULL) : NULL;
}

/* matmul(a, b).  Of two matrices `dot` is the same product by the same function of BLAS, and its
   call takes a third of the time. */
PyObject *
numpy_matmul(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given,
             PyObject *keywords)
{
    Py_ssize_t a[2], b[2];
    int dtype;
    if (given == 2 && keywords == NULL && (dtype = usual(args[0])) >= 0
        && usual(args[1]) == dtype && is_matrix(args[0], np.width[dtype], a)
        && is_matrix(args[1], np.width[dtype], b) && a[1] == b[0] && b[1] <= SMALL_PRODUCT
        && a[0] <= SMALL_PRODUCT / b[1])
        return dot(args[0], args[1]);
    return defined(np.matmul, args, given, keywords);
}

/* The sum over all elements of a few, or over an axis of a small matrix, as a product with ones;
   NULL without an error where that is not the way. */
static PyObject *
few(PyObject *x, PyObject *axis, int dtype)
{
    Py_ssize_t lengths[2], n;
    PyObject *flat, *total;
    long along;
    if (axis == Py_None) {
        if ((n = size_up_to(x, MOST_ONES)) < 2)
            return NULL;
        if ((flat = PyObject_CallMethodNoArgs(x, np.ravel)) == NULL)
            return NULL;
        total = dot(flat, ones(n, dtype));
        Py_DECREF(flat);
        return total;
    }
    if (!PyLong_CheckExact(axis) || !is_matrix(x, np.width[dtype], lengths)
        || lengths[0] > MOST_ONES || lengths[1] > MOST_ONES || lengths[0] * lengths[1] > np.most)
        return NULL;
    along = PyLong_AsLong(axis);
    if (along == 0 || along == -2)
        return dot(ones(lengths[0], dtype), x);
    if (along == 1 || along == -1)
        return dot(x, ones(lengths[1], dtype));
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
        if (call[4] == Py_False && dtype < REAL) {
            total = few(args[0], call[1], dtype);
            if (total != NULL || PyErr_Occurred())
                return total;
        }
        if (call[1] == Py_None || size_up_to(args[0], np.most) >= 0) {
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
        if (zero && (dtype = usual(args[0])) >= 0 && size_up_to(args[0], np.most) >= 0) {
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
    PyObject *strides;
    int i;
    if (PyTuple_GET_SIZE(args) || given == NULL) {
        PyErr_SetString(PyExc_TypeError, "configure_numpy takes keywords");
        return NULL;
    }
    if (take(given, "array", &np.array) < 0 || take(given, "dtypes", &np.dtypes) < 0
        || take(given, "zeros", &np.zeros) < 0 || take(given, "matmul", &np.matmul) < 0
        || take(given, "sum", &np.sum) < 0 || take(given, "maximum", &np.maximum) < 0
        || take(given, "add_reduce", &np.add_reduce) < 0 || take(given, "larger", &np.larger) < 0
        || take(given, "ones", &np.ones) < 0 || take(given, "small", &np.small) < 0)
        return NULL;
    np.most = PyLong_AsSsize_t(np.small);
    if (PyErr_Occurred())
        return NULL;
    if (!PyTuple_CheckExact(np.dtypes) || PyTuple_GET_SIZE(np.dtypes) != USUAL
        || !PyTuple_CheckExact(np.zeros) || PyTuple_GET_SIZE(np.zeros) != USUAL) {
        PyErr_Format(PyExc_TypeError, "configure_numpy: dtypes and zeros are tuples of %d", USUAL);
        return NULL;
    }
    for (i = 0; i < USUAL; i++) {
        PyObject *width = PyObject_GetAttrString(PyTuple_GET_ITEM(np.dtypes, i), "itemsize");
        if (width == NULL)
            return NULL;
        np.width[i] = PyLong_AsSsize_t(width);
        Py_DECREF(width);
    }
    if ((np.axis = PyUnicode_InternFromString("axis")) == NULL
        || (np.dtype = PyUnicode_InternFromString("dtype")) == NULL
        || (np.keepdims = PyUnicode_InternFromString("keepdims")) == NULL
        || (np.dot = PyUnicode_InternFromString("dot")) == NULL
        || (np.ravel = PyUnicode_InternFromString("ravel")) == NULL
        || (strides = PyUnicode_InternFromString("strides")) == NULL)
        return NULL;
    np.strides = PyType_Check(np.array) ? getter_of((PyTypeObject *)np.array, strides) : NULL;
    Py_DECREF(strides);
    if (np.strides == NULL) {
        PyErr_SetString(PyExc_TypeError, "configure_numpy: arrays have strides");
        return NULL;
    }
    Py_RETURN_NONE;
}
