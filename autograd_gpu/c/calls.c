/* The compiled form of an op's call.

   An Op does what the Python source of the op does (autograd_gpu/codegen.py) for the operands that
   programs have nearly always: Variables, arrays of one backend on one device, and numbers.  For
   anything else, errors included, it calls that Python function, which stays the definition of
   what happens.  Objects of the graph are the Python classes; their slots are reached by offset. */

#include "core.h"

#define MOST_PARAMETERS 16
#define MOST_SAVED 16

typedef enum { CALL_FORWARD, CALL_NAMESPACE, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE } How;
typedef enum { OPERAND, SHAPE, STATIC, RESULT, AUX } What;

typedef struct {
    What what;
    int index;            /* of the operand or the static parameter */
    unsigned users;       /* operands whose derivative needs it, one bit each; 0: always kept */
    Py_ssize_t offset;
} Saved;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict;
    PyObject *weakreflist;
    PyObject *python;     /* the definition */
    PyObject *node_type;
    PyObject *forward;
    PyObject *function;   /* CALL_NAMESPACE: the name in the namespace */
    PyObject *statics;    /* names, a tuple */
    PyObject *defaults;   /* of the statics; a missing one is the Op's type */
    How how;
    int operands;
    unsigned optional;    /* operands that may be None */
    unsigned wanted;      /* operands that have a derivative */
    int reflected;        /* two operands, given the other way round */
    int casts;
    int aux;
    int count;            /* of `saved` */
    Saved saved[MOST_SAVED];
} Op;

static inline int
is_number(PyTypeObject *type)
{
    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type
           || type == &PyComplex_Type;
}

/* The values of operands and static parameters, borrowed; 0 if this call is one for the Python function. */
static int
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

/* Whether an array holds numbers, rather than objects, strings or dates. */
static int
is_numeric(PyObject *array)
{
    PyObject *kind, *dtype = PyObject_GetAttr(array, names.dtype);
    int numeric = -1;
    if (dtype == NULL)
        return -1;
    kind = PyObject_GetAttr(dtype, names.kind);
    Py_DECREF(dtype);
    if (kind == NULL)
        return -1;
    if (PyUnicode_Check(kind) && PyUnicode_GET_LENGTH(kind) == 1)
        numeric = strchr("OSUTMm", (int)PyUnicode_READ_CHAR(kind, 0)) == NULL;
    Py_DECREF(kind);
    return numeric;
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
    PyObject *node = NULL, *shape, *dtype, *reference;
    if (*slot(x, at.accumulator) == NULL)
        return PyObject_CallOneArg(known.gradient_edge, x);
    if ((shape = PyObject_GetAttr(value, names.shape)) == NULL)
        return NULL;
    if ((dtype = PyObject_GetAttr(value, names.dtype)) == NULL)
        goto failed;
    node = known_node(x);
    if (node != NULL) {
        int same = *slot(node, at.dtype) == dtype;
        if (same)
            same = PyObject_RichCompareBool(*slot(node, at.shape), shape, Py_EQ);
        Py_DECREF(shape);
        Py_DECREF(dtype);
        if (same > 0)
            return node;
        Py_DECREF(node);
        return same < 0 ? NULL : PyObject_CallOneArg(known.gradient_edge, x);
    }
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
    Py_DECREF(shape);
    Py_XDECREF(dtype);
    return NULL;
}

/* The value of an operand and the node that its gradient goes to, both owned.
   1: found; 0: a case for the Python function; -1: an error. */
static int
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

static PyObject *
compute(Op *op, PyObject *xp, PyObject **raw, PyObject **values)
{
    PyObject *call[MOST_PARAMETERS + 2];
    PyObject *function, *y;
    Py_ssize_t statics, i;
    switch (op->how) {
    case ADD: return PyNumber_Add(raw[0], raw[1]);
    case SUBTRACT: return PyNumber_Subtract(raw[0], raw[1]);
    case MULTIPLY: return PyNumber_Multiply(raw[0], raw[1]);
    case DIVIDE: return PyNumber_TrueDivide(raw[0], raw[1]);
    case NEGATE: return PyNumber_Negative(raw[0]);
    case CALL_NAMESPACE:
        function = PyObject_GetAttr(xp, op->function);
        if (function == NULL)
            return NULL;
        y = PyObject_Vectorcall(function, raw, op->operands, NULL);
        Py_DECREF(function);
        return y;
    default:
        statics = PyTuple_GET_SIZE(op->statics);
        call[0] = xp;
        for (i = 0; i < op->operands; i++)
            call[1 + i] = raw[i];
        for (i = op->operands; i < op->operands + statics; i++)
            call[1 + i] = values[i];
        return PyObject_Vectorcall(op->forward, call, 1 + op->operands,
                                   statics ? op->statics : NULL);
    }
}

/* What the backward will need, owned, or NULL with an error. */
static PyObject *
kept(Op *op, const Saved *saved, PyObject **raw, PyObject **values, PyObject *y, PyObject *aux)
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
        shape = PyObject_GetAttr(x, names.shape);
        if (shape == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            return Py_NewRef(empty_tuple);
        }
        return shape;
    }
}

/* The node of a call; takes the edges over. */
static PyObject *
record(Op *op, PyObject **edges, PyObject **raw, PyObject **values, PyObject *y, PyObject *aux)
{
    unsigned needed = 0;
    int i, j = 0, inputs = 0;
    PyObject *tuple, *node;
    for (i = 0; i < op->operands; i++) {
        inputs += (op->wanted >> i) & 1;
        needed |= (unsigned)(edges[i] != NULL) << i;
    }
    tuple = PyTuple_New(inputs);
    if (tuple == NULL)
        return NULL;
    for (i = 0; i < op->operands; i++)
        if ((op->wanted >> i) & 1) {
            PyTuple_SET_ITEM(tuple, j++, edges[i] != NULL ? edges[i] : Py_NewRef(Py_None));
            edges[i] = NULL;
        }
    node = PyType_GenericAlloc((PyTypeObject *)op->node_type, 0);
    if (node == NULL) {
        Py_DECREF(tuple);
        return NULL;
    }
    *slot(node, at.edges) = tuple;
    *slot(node, at.hooks) = Py_NewRef(Py_None);
    if ((*slot(node, at.shape) = PyObject_GetAttr(y, names.shape)) == NULL
        || (*slot(node, at.dtype) = PyObject_GetAttr(y, names.dtype)) == NULL)
        goto failed;
    for (i = 0; i < op->count; i++) {
        const Saved *saved = &op->saved[i];
        if (saved->users == 0 || (saved->users & needed)) {
            PyObject *x = kept(op, saved, raw, values, y, aux);
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

static PyObject *
call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Op *op = (Op *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    PyObject *values[MOST_PARAMETERS], *raw[MOST_PARAMETERS] = {NULL};
    PyObject *edges[MOST_PARAMETERS] = {NULL};
    PyObject *xp = NULL, *y = NULL, *aux = NULL, *node = NULL, *result = NULL;
    PyTypeObject *type;
    int i, recorded = 1, any = 0, found, first = -1;

    if (PyList_GET_SIZE(known.watching) || !bind(op, args, given, keywords, values))
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
    }
    if (first < 0)
        goto python;
    type = Py_TYPE(raw[first]);
    for (i = first + 1; i < op->operands; i++)
        if (!Py_IS_TYPE(raw[i], type) && raw[i] != Py_None && !is_number(Py_TYPE(raw[i]))) {
            /* a number first, an array second */
            if (first != 0 || op->operands != 2 || !is_number(type))
                goto python;
            type = Py_TYPE(raw[i]);
        }
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
        y = PyObject_CallMethodOneArg(xp, names.asarray, scalar_y);
        Py_DECREF(scalar_y);
        if (y == NULL)
            goto done;
    }
    if (any && (node = record(op, edges, raw, values, y, aux)) == NULL)
        goto done;
    result = PyType_GenericAlloc((PyTypeObject *)known.variable, 0);
    if (result != NULL) {
        *slot(result, at.value) = Py_NewRef(y);
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

/* The type ------------------------------------------------------------------------------------ */

static PyObject *
op_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *parameters[] = {"python", "node_type", "forward", "function", "statics", "defaults",
                            "how", "operands", "optional", "wanted", "reflected", "casts", "aux",
                            "saved", NULL};
    PyObject *python, *node_type, *forward, *function, *statics, *defaults, *saved;
    int how, operands, reflected, casts, aux;
    unsigned optional, wanted;
    Py_ssize_t i, count;
    Op *op;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOUO!O!iiIIpppO!", parameters, &python,
                                     &node_type, &forward, &function, &PyTuple_Type, &statics,
                                     &PyTuple_Type, &defaults, &how, &operands, &optional, &wanted,
                                     &reflected, &casts, &aux, &PyTuple_Type, &saved))
        return NULL;
    count = PyTuple_GET_SIZE(saved);
    if (operands + PyTuple_GET_SIZE(statics) > MOST_PARAMETERS || count > MOST_SAVED
        || PyTuple_GET_SIZE(defaults) != PyTuple_GET_SIZE(statics) || !PyType_Check(node_type)
        || operands < 1) {
        PyErr_SetString(PyExc_ValueError, "an op of another form than a compiled call has");
        return NULL;
    }
    op = (Op *)type->tp_alloc(type, 0);
    if (op == NULL)
        return NULL;
    op->vectorcall = call;
    op->python = Py_NewRef(python);
    op->node_type = Py_NewRef(node_type);
    op->forward = Py_NewRef(forward);
    op->function = Py_NewRef(function);
    op->statics = Py_NewRef(statics);
    op->defaults = Py_NewRef(defaults);
    op->how = how;
    op->operands = operands;
    op->optional = optional;
    op->wanted = wanted;
    op->reflected = reflected;
    op->casts = casts;
    op->aux = aux;
    op->count = (int)count;
    for (i = 0; i < count; i++) {
        const char *name;
        int what;
        Saved *one = &op->saved[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(saved, i), "siiI", &name, &what, &one->index,
                              &one->users)
            || (one->offset = offset_of(node_type, name)) < 0) {
            Py_DECREF(op);
            return NULL;
        }
        one->what = what;
    }
    return (PyObject *)op;
}

static int
op_traverse(Op *op, visitproc visit, void *arg)
{
    Py_VISIT(op->dict);
    Py_VISIT(op->python);
    Py_VISIT(op->node_type);
    Py_VISIT(op->forward);
    Py_VISIT(op->defaults);
    return 0;
}

/* The rest stays: an Op that is called while its garbage is collected still works, and functions
   and classes break cycles themselves. */
static int
op_clear(Op *op)
{
    Py_CLEAR(op->dict);
    return 0;
}

static void
op_dealloc(Op *op)
{
    PyObject_GC_UnTrack(op);
    if (op->weakreflist != NULL)
        PyObject_ClearWeakRefs((PyObject *)op);
    Py_XDECREF(op->dict);
    Py_XDECREF(op->python);
    Py_XDECREF(op->node_type);
    Py_XDECREF(op->forward);
    Py_XDECREF(op->function);
    Py_XDECREF(op->statics);
    Py_XDECREF(op->defaults);
    Py_TYPE(op)->tp_free(op);
}

static PyObject *
op_get(PyObject *self, PyObject *object, PyObject *type)
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *
op_repr(Op *op)
{
    return PyObject_Repr(op->python);
}

static PyObject *
op_reduce(Op *op, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(op->python, "__qualname__");
}

static PyMethodDef op_methods[] = {
    {"__reduce__", (PyCFunction)op_reduce, METH_NOARGS, NULL},
    {NULL},
};

static PyMemberDef op_members[] = {
    {"python", T_OBJECT, offsetof(Op, python), READONLY, NULL},
    {NULL},
};

static PyGetSetDef op_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

PyTypeObject OpType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "autograd_gpu._core.Op",
    .tp_doc = "An op whose usual calls are compiled.",
    .tp_basicsize = sizeof(Op),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL
                | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Op, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = op_new,
    .tp_traverse = (traverseproc)op_traverse,
    .tp_clear = (inquiry)op_clear,
    .tp_dealloc = (destructor)op_dealloc,
    .tp_repr = (reprfunc)op_repr,
    .tp_descr_get = op_get,
    .tp_dictoffset = offsetof(Op, dict),
    .tp_weaklistoffset = offsetof(Op, weakreflist),
    .tp_methods = op_methods,
    .tp_members = op_members,
    .tp_getset = op_attributes,
};
