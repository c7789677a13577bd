/* What an optimiser's step gets, of all parameters in one call. */

#include "core.h"

/* 1 if an array may be written into: nobody but a Variable's slot holds it, it is no view, and not
   read-only; 0 if not, or if it does not say, and -1 with an error. */
static int
is_free(PyObject *array)
{
    PyObject *base, *flags, *writeable;
    int yes;
    if (Py_REFCNT(array) != 1)
        return 0;
    if ((base = PyObject_GetAttr(array, names.base)) == NULL)
        return -1;
    Py_DECREF(base);
    if (base != Py_None)
        return 0;
    if ((flags = PyObject_GetAttr(array, names.flags)) == NULL)
        return -1;
    writeable = PyObject_GetAttr(flags, names.writeable);
    Py_DECREF(flags);
    if (writeable == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    yes = writeable == Py_True;
    Py_DECREF(writeable);
    return yes;
}

/* 1 if a gradient has the shape of its parameter and its dtype, which is not a half type. */
static int
fits(PyObject *grad, PyObject *value)
{
    PyObject *mine = dtype_of(grad), *other = dtype_of(value), *size;
    int same = mine == NULL || other == NULL ? -1 : mine == other;
    if (same > 0) {
        if ((size = PyObject_GetAttr(mine, names.itemsize)) == NULL)
            same = -1;
        else {
            same = PyLong_AsLong(size) > 2;
            Py_DECREF(size);
        }
    }
    Py_XDECREF(mine);
    Py_XDECREF(other);
    if (same <= 0)
        return same;
    mine = shape_of(grad);
    other = shape_of(value);
    same = mine == NULL || other == NULL ? -1 : PyObject_RichCompareBool(mine, other, Py_EQ);
    Py_XDECREF(mine);
    Py_XDECREF(other);
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
        if (PyObject_Size(name))
            array = PyDict_GetItemWithError(state, name);
        if (array == NULL || (array != Py_None && Py_TYPE(array) != Py_TYPE(value))) {
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
    int done;
    if (!PyObject_TypeCheck(parameter, (PyTypeObject *)known.variable))
        return 0;
    value = *slot(parameter, at.value);
    grad = *slot(parameter, at.grad);
    if (value == NULL || grad == NULL)
        return 0;
    if (grad == Py_None)
        return 1;
    if (Py_TYPE(grad) != Py_TYPE(value) || !PyDict_Contains(known.backends, (PyObject *)Py_TYPE(grad)))
        return 0;
    if (PyList_GET_SIZE(rows)
        && Py_TYPE(PyTuple_GET_ITEM(PyList_GET_ITEM(rows, 0), 0)) != Py_TYPE(value))
        return 0;
    if ((done = is_free(value)) <= 0 || (done = fits(grad, value)) <= 0)
        return done;
    state = PyDict_GetItemWithError(known_states, parameter);
    if (state == NULL || !PyDict_CheckExact(state))
        return PyErr_Occurred() ? -1 : 0;
    if ((row = row_of(value, grad, state, wanted)) == NULL)
        return PyErr_Occurred() ? -1 : 0;
    done = PyList_Append(rows, row) < 0 || PyList_Append(states, state) < 0 ? -1 : 1;
    Py_DECREF(row);
    return done;
}

/* gather(parameters, states, names): for each parameter with a gradient, (its array, its gradient,
   *what its state has under the names, None under ''), and a list of these states.  None unless all of it is as in
   most steps: of one array type, gradients like their parameters, which nobody else holds. */
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
