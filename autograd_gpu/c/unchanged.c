/* Whether Variables are as they were when a step was recorded, which every replay asks. */

#include "core.h"

enum { OTHERS, OTHER_ARRAYS, SAME };

static int
is_empty(PyObject *hooks)
{
    return hooks == NULL || hooks == Py_None
           || (PyList_CheckExact(hooks) && PyList_GET_SIZE(hooks) == 0);
}

/* Whether all are leaves that require a gradient and have no hooks, or, `frozen`, that require
   none; -1 if one is no Variable. */
static int
are_leaves(PyObject *variables, int frozen)
{
    Py_ssize_t i;
    for (i = 0; i < PyTuple_GET_SIZE(variables); i++) {
        PyObject *x = PyTuple_GET_ITEM(variables, i);
        if (!PyObject_TypeCheck(x, (PyTypeObject *)known.variable))
            return -1;
        /* Slots that were never set are NULL, and read as False and None. */
        if (frozen) {
            if (*slot(x, at.requires_grad) != NULL && *slot(x, at.requires_grad) != Py_False)
                return 0;
        }
        else if (*slot(x, at.requires_grad) != Py_True || !is_empty(*slot(x, at.hooks_of_leaf))
                 || !is_empty(*slot(x, at.post_hooks)))
            return 0;
    }
    return 1;
}

/* Whether what a weak reference refers to is this very object. */
static int
refers_to(PyObject *reference, PyObject *object)
{
    if (!PyWeakref_CheckRef(reference))
        return 0;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found = NULL;
    if (PyWeakref_GetRef(reference, &found) < 0)
        PyErr_Clear();
    Py_XDECREF(found);
    return found == object && found != NULL;
#else
    return PyWeakref_GetObject(reference) == object;
#endif
}

/* Whether the Variables hold what the references refer to; -1 if one is no Variable, or with an
   error. */
static int
hold(PyObject *variables, PyObject *references)
{
    Py_ssize_t i;
    int same = 1;
    for (i = 0; same > 0 && i < PyTuple_GET_SIZE(variables); i++) {
        PyObject *x = PyTuple_GET_ITEM(variables, i), *value;
        if (!PyObject_TypeCheck(x, (PyTypeObject *)known.variable))
            return -1;
        /* While another thread records, its stand-ins are in the slots. */
        value = PyList_GET_SIZE(known.replaced_slots) ? PyObject_GetAttr(x, names.value)
                                                      : load(x, at.value, names.value);
        if (value == NULL)
            return -1;
        same = refers_to(PyList_GET_ITEM(references, i), value);
        Py_DECREF(value);
    }
    return same;
}

/* unchanged(required, frozen, variables, references): 2 if all is as it was, 1 if some of
   `variables` hold other arrays than the weak `references` refer to, 0 if what a backward does with
   `required` or `frozen` has changed; None where these are not the Variables that the core knows. */
PyObject *
unchanged(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    int leaves, frozen, same;
    if (count != 4 || !PyTuple_CheckExact(args[0]) || !PyTuple_CheckExact(args[1])
        || !PyTuple_CheckExact(args[2]) || !PyList_CheckExact(args[3])
        || PyList_GET_SIZE(args[3]) != PyTuple_GET_SIZE(args[2])) {
        PyErr_SetString(PyExc_TypeError, "unchanged takes three tuples and a list");
        return NULL;
    }
    if (known.variable == NULL)
        Py_RETURN_NONE;
    leaves = are_leaves(args[0], 0);
    frozen = are_leaves(args[1], 1);
    if (leaves < 0 || frozen < 0)
        Py_RETURN_NONE;
    if (!leaves || !frozen)
        return PyLong_FromLong(OTHERS);
    if ((same = hold(args[2], args[3])) < 0) {
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    return PyLong_FromLong(same ? SAME : OTHER_ARRAYS);
}
