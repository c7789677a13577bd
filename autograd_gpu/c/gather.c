/* What an optimiser's step gets, of all parameters in one call. */

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION

#include "core.h"

#include <numpy/ndarraytypes.h>

/* Whether an array may be written into: nobody but a Variable's slot holds it, it is no view, and
   not read-only. */
static int
is_free(PyArrayObject *array)
{
    return Py_REFCNT(array) == 1 && PyArray_BASE(array) == NULL && PyArray_ISWRITEABLE(array);
}

/* Whether two arrays have one shape and one dtype, which is none that is computed in another. */
static int
are_alike(PyArrayObject *x, PyArrayObject *y)
{
    int i, count = PyArray_NDIM(x), type = PyArray_TYPE(x);
    int is_usual = type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT
                   || type == NPY_CDOUBLE;
    int same = is_usual && PyArray_DESCR(x) == PyArray_DESCR(y) && PyArray_NDIM(y) == count;
    for (i = 0; same && i < count; i++)
        same = PyArray_DIM(x, i) == PyArray_DIM(y, i);
    return same;
}

/* (value, gradient, *the state's arrays), or NULL, with an error or without. */
static PyObject *
row_of(PyObject *value, PyObject *grad, PyObject *state, PyObject *wanted)
{
    Py_ssize_t i, count = PyTuple_GET_SIZE(wanted);
    PyObject *row = PyTuple_New(2 + count);
    if (row == NULL)
        return NULL;
    PyTuple_SET_ITEM(row, 0, Py_NewRef(value));
    PyTuple_SET_ITEM(row, 1, Py_NewRef(grad));
    for (i = 0; i < count; i++) {
        PyObject *name = PyTuple_GET_ITEM(wanted, i), *array = Py_None;
        if (PyObject_Size(name) != 0)
            array = PyDict_GetItemWithError(state, name);
        if (array == NULL || (array != Py_None && !Py_IS_TYPE(array, ndarray))) {
            Py_DECREF(row);
            return NULL;
        }
        PyTuple_SET_ITEM(row, 2 + i, Py_NewRef(array));
    }
    return row;
}

/* The row and the state of a parameter, appended; 0 if it is not as usual, -1 with an error. */
static int
add(PyObject *parameter, PyObject *known_states, PyObject *wanted, PyObject *rows, PyObject *states)
{
    PyObject *value, *grad, *state, *row;
    int failed;
    if (!PyObject_TypeCheck(parameter, (PyTypeObject *)known.variable))
        return 0;
    value = *slot(parameter, at.value);
    grad = *slot(parameter, at.grad);
    if (grad == Py_None || grad == NULL) /* which was never set */
        return 1;
    if (value == NULL || !Py_IS_TYPE(value, ndarray) || !Py_IS_TYPE(grad, ndarray)
        || !is_free((PyArrayObject *)value)
        || !are_alike((PyArrayObject *)value, (PyArrayObject *)grad))
        return 0;
    state = PyDict_GetItemWithError(known_states, parameter);
    if (state == NULL || !PyDict_CheckExact(state)
        || (row = row_of(value, grad, state, wanted)) == NULL)
        return PyErr_Occurred() ? -1 : 0;
    failed = PyList_Append(rows, row) < 0 || PyList_Append(states, state) < 0;
    Py_DECREF(row);
    return failed ? -1 : 1;
}

/* gather(parameters, states, names): for each parameter with a gradient, (its array, its gradient,
   *what its state has under the names, None under ''), and a list of these states.  None unless all
   of it is as in most steps: NumPy's arrays, which nobody else holds, and gradients like them. */
PyObject *
gather(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    PyObject *rows, *states, *found = NULL;
    Py_ssize_t i;
    int done = 1;
    if (count != 3 || known.variable == NULL || !PyList_CheckExact(args[0])
        || !PyDict_CheckExact(args[1]) || !PyTuple_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "gather takes a list, a dictionary and a tuple");
        return NULL;
    }
    if (PyList_GET_SIZE(known.replaced_slots))
        Py_RETURN_NONE;
    rows = PyList_New(0);
    states = PyList_New(0);
    if (rows == NULL || states == NULL)
        done = -1;
    for (i = 0; done > 0 && i < PyList_GET_SIZE(args[0]); i++)
        done = add(PyList_GET_ITEM(args[0], i), args[1], args[2], rows, states);
    if (done > 0)
        found = PyTuple_Pack(2, rows, states);
    else if (done == 0)
        found = Py_NewRef(Py_None);
    Py_XDECREF(rows);
    Py_XDECREF(states);
    return found;
}
