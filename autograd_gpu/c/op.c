/* The type of a compiled op: what Python sees of it is the function that it stands for. */

#include "op.h"

static PyObject *
op_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *parameters[] = {"python", "node_type", "forward", "function", "constants", "statics",
                                 "defaults", "operands", "optional", "wanted", "reflected", "casts",
                                 "aux", "saved", NULL};
    PyObject *python, *node_type, *forward, *function, *constants, *statics, *defaults, *saved;
    int operands, reflected, casts, aux;
    unsigned optional, wanted;
    Py_ssize_t i, count;
    Op *op;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOO!O!O!iIIpppO!", parameters, &python,
                                     &node_type, &forward, &function, &PyTuple_Type, &constants,
                                     &PyTuple_Type, &statics, &PyTuple_Type, &defaults, &operands,
                                     &optional, &wanted, &reflected, &casts, &aux, &PyTuple_Type,
                                     &saved))
        return NULL;
    count = PyTuple_GET_SIZE(saved);
    if (operands + PyTuple_GET_SIZE(statics) > MOST_PARAMETERS || count > MOST_SAVED
        || PyTuple_GET_SIZE(defaults) != PyTuple_GET_SIZE(statics) || !PyType_Check(node_type)
        || operands < 1 || PyTuple_GET_SIZE(constants) > MOST_PARAMETERS
        || (function != Py_None && !PyUnicode_CheckExact(function))) {
        PyErr_SetString(PyExc_ValueError, "an op of another form than a compiled call has");
        return NULL;
    }
    op = (Op *)type->tp_alloc(type, 0);
    if (op == NULL)
        return NULL;
    op->vectorcall = call_op;
    op->python = Py_NewRef(python);
    op->node_type = Py_NewRef(node_type);
    op->forward = Py_NewRef(forward);
    op->function = Py_NewRef(function);
    op->constants = Py_NewRef(constants);
    op->statics = Py_NewRef(statics);
    op->defaults = Py_NewRef(defaults);
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
    Py_XDECREF(op->constants);
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
