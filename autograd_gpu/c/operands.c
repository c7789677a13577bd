/* Operands of a call: their parameters, their values, and the nodes that their gradients go to. */

#include "op.h"

int
bind(Op *op, PyObject *const *args, Py_ssize_t given, PyObject *keywords, PyObject **values)
{
    Py_ssize_t statics = PyTuple_GET_SIZE(op->statics), all = op->operands + statics, i, j;
    if (given > all || given == 0)
        return 0;
    for (i = 0; i < given; i++)
        values[i] = args[i];
    for (i = given; i < op->operands; i++) {
        if (!((op->optional >> i) & 1))
            return 0;
        values[i] = Py_None;
    }
    for (i = given > op->operands ? given : op->operands; i < all; i++)
        values[i] = PyTuple_GET_ITEM(op->defaults, i - op->operands);
    if (keywords != NULL)
        for (j = 0; j < PyTuple_GET_SIZE(keywords); j++) {
            PyObject *name = PyTuple_GET_ITEM(keywords, j);
            for (i = 0; i < statics; i++)
                if (PyTuple_GET_ITEM(op->statics, i) == name)
                    break;
            if (i == statics || op->operands + i < given)
                return 0;
            values[op->operands + i] = args[given + j];
        }
    for (i = given; i < all; i++)
        if (values[i] == (PyObject *)&OpType)
            return 0;
    if (op->reflected) {
        PyObject *first = values[0];
        values[0] = values[1];
        values[1] = first;
    }
    return 1;
}

/* The letter for the kind of a dtype, or -1. */
static int
letter(PyObject *dtype)
{
    PyObject *kind = PyObject_GetAttr(dtype, names.kind);
    int found = -1;
    if (kind != NULL && PyUnicode_Check(kind) && PyUnicode_GET_LENGTH(kind) == 1)
        found = (int)PyUnicode_READ_CHAR(kind, 0);
    Py_XDECREF(kind);
    return found;
}

/* Whether an array holds numbers, rather than objects, strings or dates. */
static int
is_numeric(PyObject *array)
{
    PyObject *dtype = dtype_of(array);
    int kind;
    if (dtype == NULL)
        return -1;
    kind = letter(dtype);
    Py_DECREF(dtype);
    return kind < 0 ? -1 : strchr("OSUTMm", kind) == NULL;
}

int
widened_by_floats(PyObject *array)
{
    static PyObject *seen = NULL; /* the dtype last found not to be: nearly always the one */
    PyObject *dtype = dtype_of(array);
    int kind;
    if (dtype == NULL)
        return -1;
    if (dtype == seen) {
        Py_DECREF(dtype);
        return 0;
    }
    kind = letter(dtype);
    if (kind == 'V' || kind < 0) {
        Py_DECREF(dtype);
        return kind < 0 ? -1 : 1;
    }
    Py_XSETREF(seen, dtype);
    return 0;
}

/* The Node that a leaf knows, owned, if that is in use still. */
static PyObject *
known_node(PyObject *x)
{
    PyObject *weak = *slot(x, at.accumulator), *node = NULL;
    if (weak != NULL && PyWeakref_Check(weak)) {
#if PY_VERSION_HEX >= 0x030D0000
        (void)PyWeakref_GetRef(weak, &node);
#else
        node = PyWeakref_GET_OBJECT(weak);
        node = node != Py_None ? Py_NewRef(node) : NULL;
#endif
    }
    return node;
}

/* `gradient_edge` of a leaf that requires a gradient: its Node, as long as that is in use and fits
   the value; or else a new one.  Owned. */
static PyObject *
leaf_edge(PyObject *x, PyObject *value)
{
    PyObject *node, *shape = NULL, *dtype, *reference;
    if (*slot(x, at.accumulator) == NULL)
        return PyObject_CallOneArg(known.gradient_edge, x);
    if ((dtype = dtype_of(value)) == NULL)
        return NULL;
    node = known_node(x);
    if (node != NULL) {
        int same = *slot(node, at.dtype) == dtype;
        if (same)
            same = has_shape(value, *slot(node, at.shape));
        Py_DECREF(dtype);
        if (same > 0)
            return node;
        Py_DECREF(node);
        return same < 0 ? NULL : PyObject_CallOneArg(known.gradient_edge, x);
    }
    if ((shape = shape_of(value)) == NULL)
        goto failed;
    node = PyType_GenericAlloc((PyTypeObject *)known.leaf_node, 0);
    if (node == NULL)
        goto failed;
    *slot(node, at.variable) = Py_NewRef(x);
    *slot(node, at.edges) = Py_NewRef(empty_tuple);
    *slot(node, at.shape) = shape;
    *slot(node, at.dtype) = dtype;
    *slot(node, at.hooks) = Py_NewRef(Py_None);
    reference = PyWeakref_NewRef(node, NULL);
    if (reference == NULL) {
        Py_DECREF(node);
        return NULL;
    }
    Py_XSETREF(*slot(x, at.accumulator), reference);
    return node;
failed:
    Py_XDECREF(shape);
    Py_DECREF(dtype);
    return NULL;
}

int
unwrap(PyObject *x, int wanted, PyObject **raw, PyObject **edge)
{
    PyTypeObject *type = Py_TYPE(x);
    if ((PyObject *)type == known.variable) {
        *raw = *slot(x, at.value);
        if (*raw == NULL)
            return 0;
        Py_INCREF(*raw);
        if (!wanted)
            return 1;
        *edge = *slot(x, at.grad_fn);
        if (*edge == NULL)
            return 0;
        if (*edge != Py_None) {
            Py_INCREF(*edge);
            return 1;
        }
        *edge = NULL;
        if (*slot(x, at.requires_grad) == Py_False)
            return 1;
        if (*slot(x, at.requires_grad) == Py_True) {
            *edge = leaf_edge(x, *raw);
            return *edge == NULL ? -1 : 1;
        }
    }
    else if (is_number(type)) {
        *raw = Py_NewRef(x);
        return 1;
    }
    else if (PyDict_GetItemWithError(known.on_one_device, (PyObject *)type) != NULL) {
        int numeric = is_numeric(x);
        if (numeric == 1)
            *raw = Py_NewRef(x);
        return numeric;
    }
    else if (!PyErr_Occurred() && PyType_IsSubtype(type, (PyTypeObject *)known.variable)) {
        *raw = PyObject_GetAttr(x, names.value);
        if (*raw == NULL)
            return -1;
        if (!wanted)
            return 1;
    }
    else
        return PyErr_Occurred() ? -1 : 0;
    *edge = PyObject_CallOneArg(known.gradient_edge, x);
    if (*edge == NULL)
        return -1;
    if (*edge == Py_None)
        Py_CLEAR(*edge);
    return 1;
}
