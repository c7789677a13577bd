/* Sums, differences, products and quotients of small arrays: NumPy takes longer to find its loop than
   to run it.

   Of two arrays of one shape, or of one and a number, in float32 or float64; bit for bit what NumPy
   computes.  Where a number overflows, or anything else is to be warned of, NumPy does it again and
   does the warning. */

#include "kernels.h"

#include <fenv.h>
#include <float.h>

#define MOST 1024

/* Numbers up to which a Python int is the same in float32. */
#define EXACT (1 << 24)

#define FLAGS (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW)

/* The compiler does not know that arithmetic sets flags. */
#ifdef __GNUC__
#define DONE_BEFORE_THIS __asm__ volatile("" : : : "memory")
#endif

enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, KINDS };

static PyObject *definitions[KINDS];

#define LOOPS(sign)                                                                              \
    do {                                                                                         \
        if (a == NULL)                                                                           \
            for (i = 0; i < n; i++)                                                              \
                y[i] = number sign b[i];                                                         \
        else if (b == NULL)                                                                      \
            for (i = 0; i < n; i++)                                                              \
                y[i] = a[i] sign number;                                                         \
        else                                                                                     \
            for (i = 0; i < n; i++)                                                              \
                y[i] = a[i] sign b[i];                                                           \
    } while (0)

/* y = a sign b, where `number` stands for the one that is NULL. */
#define ARITHMETIC(name, real)                                                                   \
    static void name(int kind, npy_intp n, const real *a, const real *b, real number,            \
                     real *restrict y)                                                           \
    {                                                                                            \
        npy_intp i;                                                                              \
        switch (kind) {                                                                          \
        case ADD: LOOPS(+); break;                                                               \
        case SUBTRACT: LOOPS(-); break;                                                          \
        case MULTIPLY: LOOPS(*); break;                                                          \
        default: LOOPS(/); break;                                                                \
        }                                                                                        \
    }

ARITHMETIC(of_floats, float)
ARITHMETIC(of_doubles, double)

/* Whether an array is as usual: a few elements, one behind the other. */
static int
is_plain(PyArrayObject *x)
{
    int i, type = PyArray_TYPE(x);
    npy_intp size = 1;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(x) == 0
        || !PyArray_CHKFLAGS(x, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)
        || !PyArray_ISNOTSWAPPED(x))
        return 0;
    for (i = 0; i < PyArray_NDIM(x); i++) {
        if (PyArray_DIM(x, i) > MOST)
            return 0;
        if ((size *= PyArray_DIM(x, i)) > MOST)
            return 0;
    }
    return 1;
}

static int
have_one_shape(PyArrayObject *x, PyArrayObject *y)
{
    int i, count = PyArray_NDIM(x), same = PyArray_NDIM(y) == count;
    for (i = 0; same && i < count; i++)
        same = PyArray_DIM(x, i) == PyArray_DIM(y, i);
    return same;
}

/* A Python number as one of a type, if that is the number that NumPy makes of it. */
static int
as_number(PyObject *x, int type, double *number)
{
    if (PyFloat_CheckExact(x))
        *number = PyFloat_AS_DOUBLE(x);
    else if (PyLong_CheckExact(x)) {
        *number = PyLong_AsDouble(x);
        if ((*number == -1 && PyErr_Occurred()) || fabs(*number) > EXACT) {
            PyErr_Clear();
            return 0;
        }
    }
    else
        return 0;
    return type != NPY_FLOAT || isfinite((float)*number) || !isfinite(*number);
}

/* The result, or NULL without an error if this is for NumPy. */
static PyObject *
computed(int kind, PyObject *a, PyObject *b)
{
#if defined(DONE_BEFORE_THIS) && FLT_EVAL_METHOD == 0
    PyArrayObject *x = Py_IS_TYPE(a, ndarray) ? (PyArrayObject *)a : NULL;
    PyArrayObject *z = Py_IS_TYPE(b, ndarray) ? (PyArrayObject *)b : NULL;
    PyArrayObject *like = x != NULL ? x : z;
    PyObject *y;
    double number = 0;
    npy_intp n = 1;
    int i, type;
    if (like == NULL || !is_plain(like))
        return NULL;
    type = PyArray_TYPE(like);
    if (x != NULL && z != NULL) {
        if (PyArray_TYPE(z) != type || !is_plain(z) || !have_one_shape(x, z))
            return NULL;
    }
    else if (!as_number(x == NULL ? a : b, type, &number))
        return NULL;
    if ((y = new_like(like)) == NULL)
        return NULL;
    for (i = 0; i < PyArray_NDIM(like); i++)
        n *= PyArray_DIM(like, i);
    if (fetestexcept(FLAGS))
        feclearexcept(FLAGS);
    DONE_BEFORE_THIS;
    if (type == NPY_FLOAT)
        of_floats(kind, n, x != NULL ? PyArray_DATA(x) : NULL, z != NULL ? PyArray_DATA(z) : NULL,
                  (float)number, PyArray_DATA((PyArrayObject *)y));
    else
        of_doubles(kind, n, x != NULL ? PyArray_DATA(x) : NULL, z != NULL ? PyArray_DATA(z) : NULL,
                   number, PyArray_DATA((PyArrayObject *)y));
    DONE_BEFORE_THIS;
    if (fetestexcept(FLAGS))
        Py_CLEAR(y);
    return y;
#else
    return NULL;
#endif
}

static PyObject *
arithmetic(int kind, PyObject *const *args, Py_ssize_t given, PyObject *keywords)
{
    if (given == 2 && keywords == NULL && ndarray != NULL) {
        PyObject *y = computed(kind, args[0], args[1]);
        if (y != NULL || PyErr_Occurred())
            return y;
    }
    if (definitions[kind] == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the NumPy backend is not loaded");
        return NULL;
    }
    return PyObject_Vectorcall(definitions[kind], args, given, keywords);
}

#define FUNCTION(name, kind)                                                                     \
    PyObject *name(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given,         \
                   PyObject *keywords)                                                           \
    {                                                                                            \
        return arithmetic(kind, args, given, keywords);                                          \
    }

FUNCTION(numpy_add, ADD)
FUNCTION(numpy_subtract, SUBTRACT)
FUNCTION(numpy_multiply, MULTIPLY)
FUNCTION(numpy_divide, DIVIDE)

/* configure_arithmetic(add, subtract, multiply, divide): NumPy's functions. */
PyObject *
configure_arithmetic(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    int kind;
    if (given != KINDS) {
        PyErr_Format(PyExc_TypeError, "configure_arithmetic takes %d functions", KINDS);
        return NULL;
    }
    if (ndarray == NULL && import_numpy() < 0)
        return NULL;
    for (kind = 0; kind < KINDS; kind++)
        Py_XSETREF(definitions[kind], Py_NewRef(args[kind]));
    Py_RETURN_NONE;
}
