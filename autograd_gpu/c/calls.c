/* The compiled form of an op's call.

   An Op does what the Python source of the op does (autograd_gpu/codegen.py) for the operands that
   programs have nearly always: Variables, arrays of one backend on one device, and numbers.  For
   anything else, errors included, it calls that Python function, which stays the definition of
   what happens.  Objects of the graph are the Python classes; their slots are reached by offset. */

#include "op.h"

static int
is_on(PyObject *variable, PyObject *off)
{
    PyObject *value;
    int on;
    if (PyContextVar_Get(variable, NULL, &value) < 0)
        return -1;
    on = value != off;
    Py_XDECREF(value);
    return on;
}

/* A function of a namespace, owned.  The dictionary of a module is asked without the detour by the
   attributes that all modules have. */
static PyObject *
function_of(PyObject *xp, PyObject *name)
{
    PyObject *function;
    if (!PyModule_CheckExact(xp))
        return PyObject_GetAttr(xp, name);
    function = PyDict_GetItemWithError(PyModule_GetDict(xp), name);
    if (function != NULL)
        return Py_NewRef(function);
    return PyErr_Occurred() ? NULL : PyObject_GetAttr(xp, name);
}

static PyObject *
compute(Op *op, PyObject *xp, PyObject **raw, PyObject **values)
{
    PyObject *call[2 * MOST_PARAMETERS + 1], *function, *y;
    Py_ssize_t statics = PyTuple_GET_SIZE(op->statics), given = 0, i;
    if (op->function == Py_None)
        call[given++] = xp;
    for (i = 0; i < op->operands; i++)
        call[given++] = raw[i];
    for (i = 0; i < PyTuple_GET_SIZE(op->constants); i++)
        call[given++] = PyTuple_GET_ITEM(op->constants, i);
    for (i = 0; i < statics; i++)
        call[given + i] = values[op->operands + i];
    function = op->function == Py_None ? Py_NewRef(op->forward) : function_of(xp, op->function);
    if (function == NULL)
        return NULL;
    y = PyObject_Vectorcall(function, call, given, statics ? op->statics : NULL);
    Py_DECREF(function);
    return y;
}

/* The shape of an array, owned: the tuple that a node has already, if that is equal, as every tuple
   in a graph is one more for the garbage collector to look at. */
static PyObject *
shape_like(PyObject *array, PyObject *node)
{
    if (node != NULL && is_node(node) && *slot(node, at.shape) != NULL) {
        int same = has_shape(array, *slot(node, at.shape));
        if (same)
            return same < 0 ? NULL : Py_NewRef(*slot(node, at.shape));
    }
    return shape_of(array);
}

/* What the backward will need, owned, or NULL with an error. */
static PyObject *
kept(Op *op, const Saved *saved, PyObject **edges, PyObject **raw, PyObject **values, PyObject *y,
     PyObject *aux)
{
    PyObject *x, *shape;
    switch (saved->what) {
    case RESULT: return Py_NewRef(y);
    case AUX: return Py_NewRef(aux);
    case STATIC: return Py_NewRef(values[op->operands + saved->index]);
    case OPERAND:
        x = raw[saved->index];
        if (op->operands == 1 || Py_IS_TYPE(x, Py_TYPE(y)))
            return Py_NewRef(x);
        return PyObject_CallFunctionObjArgs(known.scalar, x, y, NULL);
    default:
        x = raw[saved->index];
        if (is_number(Py_TYPE(x)))
            return Py_NewRef(empty_tuple);
        shape = shape_like(x, edges[saved->index]);
        if (shape == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            return Py_NewRef(empty_tuple);
        }
        return shape;
    }
}

/* The node of a call. */
static PyObject *
record(Op *op, PyObject **edges, PyObject **raw, PyObject **values, PyObject *y, PyObject *aux)
{
    unsigned needed = 0;
    int i, j = 0, inputs = 0;
    PyObject *node = PyType_GenericAlloc((PyTypeObject *)op->node_type, 0), *tuple;
    PyObject *earlier = NULL;
    if (node == NULL)
        return NULL;
    for (i = 0; i < op->operands; i++) {
        inputs += (op->wanted >> i) & 1;
        needed |= (unsigned)(edges[i] != NULL) << i;
        if (earlier == NULL)
            earlier = edges[i];
    }
    if ((tuple = *slot(node, at.edges) = PyTuple_New(inputs)) == NULL
        || (*slot(node, at.shape) = shape_like(y, earlier)) == NULL
        || (*slot(node, at.dtype) = dtype_of(y)) == NULL)
        goto failed;
    *slot(node, at.hooks) = Py_NewRef(Py_None);
    for (i = 0; i < op->operands; i++)
        if ((op->wanted >> i) & 1)
            PyTuple_SET_ITEM(tuple, j++, Py_NewRef(edges[i] != NULL ? edges[i] : Py_None));
    for (i = 0; i < op->count; i++) {
        const Saved *saved = &op->saved[i];
        if (saved->users == 0 || (saved->users & needed)) {
            PyObject *x = kept(op, saved, edges, raw, values, y, aux);
            if (x == NULL)
                goto failed;
            *slot(node, saved->offset) = x;
        }
    }
    return node;
failed:
    Py_DECREF(node);
    return NULL;
}

PyObject *
call_op(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Op *op = (Op *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    PyObject *values[MOST_PARAMETERS], *raw[MOST_PARAMETERS] = {NULL};
    PyObject *edges[MOST_PARAMETERS] = {NULL};
    PyObject *xp = NULL, *y = NULL, *aux = NULL, *node = NULL, *result = NULL;
    PyTypeObject *type;
    int i, recorded = 1, any = 0, floats = 0, found, first = -1, array;

    if (PyList_GET_SIZE(known.watching) || PyList_GET_SIZE(known.replaced_slots)
        || !bind(op, args, given, keywords, values))
        return PyObject_Vectorcall(op->python, args, flags, keywords);
    if (op->casts && (found = is_on(known.casting, Py_None)) != 0) {
        if (found < 0)
            return NULL;
        return PyObject_Vectorcall(op->python, args, flags, keywords);
    }
    if (op->wanted && (recorded = is_on(known.recording, Py_False)) < 0)
        return NULL;
    for (i = 0; i < op->operands; i++) {
        if (values[i] == Py_None && ((op->optional >> i) & 1)) {
            raw[i] = Py_NewRef(Py_None);
            continue;
        }
        found = unwrap(values[i], recorded && ((op->wanted >> i) & 1), &raw[i], &edges[i]);
        if (found <= 0)
            goto python;
        if (first < 0)
            first = i;
        any |= edges[i] != NULL;
        floats |= PyFloat_CheckExact(raw[i]);
    }
    if (first < 0)
        goto python;
    array = first;
    type = Py_TYPE(raw[first]);
    for (i = first + 1; i < op->operands; i++)
        if (!Py_IS_TYPE(raw[i], type) && raw[i] != Py_None && !is_number(Py_TYPE(raw[i]))) {
            /* a number first, an array second */
            if (first != 0 || op->operands != 2 || !is_number(type))
                goto python;
            type = Py_TYPE(raw[i]);
            array = i;
        }
    if (floats && !is_number(type) && widened_by_floats(raw[array]) != 0)
        goto python;
    xp = PyDict_GetItemWithError(known.on_one_device, (PyObject *)type);
    if (xp == NULL)
        goto python;
    Py_INCREF(xp);
    y = compute(op, xp, raw, values);
    if (y == NULL)
        goto python;
    if (op->aux) {
        PyObject *pair = y;
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2)
            goto python;
        y = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        aux = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        Py_DECREF(pair);
    }
    if (!Py_IS_TYPE(y, type)
        && PyDict_GetItemWithError(known.namespaces, (PyObject *)Py_TYPE(y)) == NULL) {
        PyObject *scalar_y = y;
        if (PyErr_Occurred())
            goto done;
        y = from_scalar(type, scalar_y);
        if (y == NULL && !PyErr_Occurred())
            y = PyObject_CallMethodOneArg(xp, names.asarray, scalar_y);
        Py_DECREF(scalar_y);
        if (y == NULL)
            goto done;
    }
    if (any && (node = record(op, edges, raw, values, y, aux)) == NULL)
        goto done;
    result = PyType_GenericAlloc((PyTypeObject *)known.variable, 0);
    if (result != NULL && PyList_GET_SIZE(known.replaced_slots)) {
        /* Another thread has begun to look at what is made, meanwhile. */
        if (PyObject_SetAttr(result, names.value, y) < 0) {
            Py_CLEAR(result);
            goto done;
        }
    }
    else if (result != NULL)
        *slot(result, at.value) = Py_NewRef(y);
    if (result != NULL) {
        if (node != NULL)
            *slot(result, at.grad_fn) = Py_NewRef(node);
        else {
            *slot(result, at.grad_fn) = Py_NewRef(Py_None);
            *slot(result, at.requires_grad) = Py_NewRef(Py_False);
        }
    }
    goto done;

python:
    /* An error is raised by the Python function, which knows how to explain it. */
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        goto done;
    PyErr_Clear();
    result = PyObject_Vectorcall(op->python, args, flags, keywords);
done:
    for (i = 0; i < op->operands; i++) {
        Py_XDECREF(raw[i]);
        Py_XDECREF(edges[i]);
    }
    Py_XDECREF(xp);
    Py_XDECREF(y);
    Py_XDECREF(aux);
    Py_XDECREF(node);
    return result;
}
