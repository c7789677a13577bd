/* Gradients on their way along the edges: fitted, added up, and handed to the nodes that are due. */

#include "run.h"

int
append_both(PyObject *nodes, PyObject *node, PyObject *list, PyObject *gradient)
{
    int failed = PyList_Append(nodes, node) < 0 || PyList_Append(list, gradient) < 0;
    Py_DECREF(gradient);
    return failed ? -1 : 0;
}

/* The sum of a gradient in its slot, borrowed from there, and another one, in the buffer of the
   first if nothing else holds that. */
static PyObject *
sum(PyObject *old, PyObject *grad)
{
    PyObject *base, *total;
    int alone = Py_REFCNT(old) == 1;
    if (alone && (alone = PyDict_Contains(known.backends, (PyObject *)Py_TYPE(old))) > 0) {
        if ((base = PyObject_GetAttr(old, names.base)) == NULL)
            return NULL;
        alone = base == Py_None;
        Py_DECREF(base);
    }
    if (alone < 0)
        return NULL;
    Py_INCREF(old);
    total = alone ? PyNumber_InPlaceAdd(old, grad)
                  : PyObject_CallFunctionObjArgs(known.added, old, grad, NULL);
    Py_DECREF(old);
    return total;
}

int
deliver(Run *run, PyObject *edge, PyObject *grad)
{
    PyObject *old = PyDict_GetItemWithError(run->slots, edge), *count;
    long missing;
    int failed = 0, waited = old != NULL;
    if (!waited && PyErr_Occurred())
        goto failed;
    if (waited && grad != Py_None) {
        PyObject *total = sum(old, grad);
        if (total == NULL)
            goto failed;
        if (total != old)
            failed = PyDict_SetItem(run->slots, edge, total);
        Py_DECREF(total);
        if (failed)
            goto failed;
    }
    count = PyDict_GetItemWithError(run->counts, edge);
    if (count == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, edge);
        goto failed;
    }
    missing = PyLong_AsLong(count) - 1;
    if (missing) {
        count = PyLong_FromLong(missing);
        failed = count == NULL || PyDict_SetItem(run->counts, edge, count) < 0;
        Py_XDECREF(count);
        if (!failed && !waited && grad != Py_None)
            failed = PyDict_SetItem(run->slots, edge, grad) < 0;
        Py_DECREF(grad);
        return failed ? -1 : 0;
    }
    if (waited) {
        PyObject *all = PyDict_GetItemWithError(run->slots, edge);
        if (all == NULL)
            goto failed;
        Py_SETREF(grad, Py_NewRef(all));
        if (PyDict_DelItem(run->slots, edge) < 0)
            goto failed;
    }
    return append_both(run->ready, edge, run->arrived, grad);
failed:
    Py_DECREF(grad);
    return -1;
}

/* Whether a gradient has the class that it came from and the shape and dtype of its value. */
static int
fits(PyObject *grad, PyTypeObject *type, PyObject *node)
{
    PyObject *dtype;
    int same;
    if (!Py_IS_TYPE(grad, type))
        return 0;
    if ((dtype = dtype_of(grad)) == NULL)
        return -1;
    same = dtype == *slot(node, at.dtype);
    Py_DECREF(dtype);
    if (!same)
        return 0;
    return has_shape(grad, *slot(node, at.shape));
}

int
hand_on(Run *run, PyObject *edges, PyObject *grads, PyTypeObject *type)
{
    Py_ssize_t i, count = PyTuple_GET_SIZE(edges);
    for (i = 0; i < count && i < PyTuple_GET_SIZE(grads); i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        PyObject *grad = PyTuple_GET_ITEM(grads, i);
        if (edge == Py_None)
            continue;
        if (!is_node(edge)) {
            PyErr_Format(PyExc_TypeError, "a graph has Nodes, not %R", edge);
            return -1;
        }
        if (grad == Py_None)
            Py_INCREF(grad);
        else {
            int same = fits(grad, type, edge);
            if (same < 0)
                return -1;
            grad = same ? Py_NewRef(grad)
                        : PyObject_CallFunctionObjArgs(known.fit, grad, edge, NULL);
            if (grad == NULL)
                return -1;
        }
        if (deliver(run, edge, grad) < 0)
            return -1;
    }
    return 0;
}
