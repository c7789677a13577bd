/* The compiled form of the engine's first loop: how many gradients each node waits for. */

#include "core.h"

/* Adds one to the count of edges into `node`: 1 if it is the first, -1 with an error. */
static int
count_edge(PyObject *counts, PyObject *node)
{
    PyObject *count = PyDict_GetItemWithError(counts, node);
    int first = count == NULL;
    if (first && PyErr_Occurred())
        return -1;
    count = PyLong_FromLong(first ? 1 : PyLong_AsLong(count) + 1);
    if (count == NULL || PyDict_SetItem(counts, node, count) < 0) {
        Py_XDECREF(count);
        return -1;
    }
    Py_DECREF(count);
    return first;
}

/* The number of edges into each node beneath `root`; None for a graph that the Python function has
   to look at: one with a released node, or whose slots user code has edited. */
PyObject *
count_all(PyObject *module, PyObject *root)
{
    PyObject *counts = PyDict_New(), *stack = PyList_New(0), *zero = PyLong_FromLong(0);
    Py_ssize_t i, depth;
    if (counts == NULL || stack == NULL || zero == NULL || PyDict_SetItem(counts, root, zero) < 0
        || PyList_Append(stack, root) < 0)
        goto failed;
    if (!is_node(root))
        goto python;
    while ((depth = PyList_GET_SIZE(stack))) {
        /* Borrowed: `counts` holds it. */
        PyObject *node = PyList_GET_ITEM(stack, depth - 1), *edges, *edge, *further;
        int first = 0;
        if (PyList_SetSlice(stack, depth - 1, depth, NULL) < 0)
            goto failed;
        edges = *slot(node, at.edges);
        if (edges == NULL || !PyTuple_Check(edges) || *slot(node, at.shape) == NULL
            || *slot(node, at.shape) == Py_None)
            goto python;
        Py_INCREF(edges);
        for (i = 0; i < PyTuple_GET_SIZE(edges) && first >= 0; i++) {
            edge = PyTuple_GET_ITEM(edges, i);
            if (edge == Py_None)
                continue;
            if (!is_node(edge)) {
                Py_DECREF(edges);
                goto python;
            }
            first = count_edge(counts, edge);
            further = *slot(edge, at.edges);
            if (first > 0 && further != empty_tuple) /* a leaf leads nowhere */
                first = PyList_Append(stack, edge);
        }
        Py_DECREF(edges);
        if (first < 0)
            goto failed;
    }
    Py_DECREF(stack);
    Py_DECREF(zero);
    return counts;
python:
    Py_DECREF(counts);
    Py_DECREF(stack);
    Py_DECREF(zero);
    Py_RETURN_NONE;
failed:
    Py_XDECREF(counts);
    Py_XDECREF(stack);
    Py_XDECREF(zero);
    return NULL;
}
