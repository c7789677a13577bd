/* The extension module: what it needs to know of the Python modules, and what it offers them. */

#include "core.h"

Known known;
Names names;
Offsets at;
PyObject *empty_tuple;

Py_ssize_t
offset_of(PyObject *type, const char *name)
{
    PyObject *member = PyObject_GetAttrString(type, name);
    Py_ssize_t offset = -1;
    if (member == NULL)
        return -1;
    if (Py_IS_TYPE(member, &PyMemberDescr_Type)
        && ((PyMemberDescrObject *)member)->d_member->type == T_OBJECT_EX)
        offset = ((PyMemberDescrObject *)member)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, name);
    Py_DECREF(member);
    return offset;
}

typedef struct {
    const char *name;
    PyObject **place;
} Object;

typedef struct {
    const char *name;
    Py_ssize_t *place;
    PyObject **type;
} Slot;

static const Object OBJECTS[] = {
    {"Variable", &known.variable},
    {"Node", &known.node},
    {"AccumulateGrad", &known.leaf_node},
    {"NAMESPACES", &known.namespaces},
    {"ON_ONE_DEVICE", &known.on_one_device},
    {"BACKENDS", &known.backends},
    {"recording", &known.recording},
    {"casting", &known.casting},
    {"watching", &known.watching},
    {"replaced_slots", &known.replaced_slots},
    {"gradient_edge", &known.gradient_edge},
    {"scalar", &known.scalar},
    {"fit", &known.fit},
    {"added", &known.added},
    {"finish_leaf", &known.finish_leaf},
    {"run_hooks", &known.run_hooks},
    {"run_prehooks", &known.run_prehooks},
    {NULL, NULL},
};

static const Slot SLOTS[] = {
    {"value", &at.value, &known.variable},
    {"grad", &at.grad, &known.variable},
    {"grad_fn", &at.grad_fn, &known.variable},
    {"_requires_grad", &at.requires_grad, &known.variable},
    {"_accumulator", &at.accumulator, &known.variable},
    {"_hooks", &at.hooks_of_leaf, &known.variable},
    {"_post_hooks", &at.post_hooks, &known.variable},
    {"edges", &at.edges, &known.node},
    {"shape", &at.shape, &known.node},
    {"dtype", &at.dtype, &known.node},
    {"hooks", &at.hooks, &known.node},
    {"variable", &at.variable, &known.leaf_node},
    {NULL, NULL, NULL},
};

static const Object NAMES[] = {
    {"after", &names.after},
    {"asarray", &names.asarray},
    {"backward", &names.backward},
    {"backward_recorded", &names.backward_recorded},
    {"base", &names.base},
    {"dtype", &names.dtype},
    {"edges", &names.edges},
    {"hooks", &names.hooks},
    {"keep_for", &names.keep_for},
    {"kind", &names.kind},
    {"release", &names.release},
    {"shape", &names.shape},
    {"value", &names.value},
    {"variable", &names.variable},
    {NULL, NULL},
};

/* Takes classes, tables and functions by their names, before the first call of anything else. */
static PyObject *
configure(PyObject *module, PyObject *args, PyObject *keywords)
{
    const Object *object;
    const Slot *one;
    if (PyTuple_GET_SIZE(args) || keywords == NULL) {
        PyErr_SetString(PyExc_TypeError, "configure takes keywords");
        return NULL;
    }
    if (known.variable != NULL && known.variable != PyDict_GetItemString(keywords, "Variable")) {
        PyErr_SetString(PyExc_ImportError, "the core serves the first import in a process only");
        return NULL;
    }
    for (object = OBJECTS; object->name != NULL; object++) {
        PyObject *value = PyDict_GetItemString(keywords, object->name);
        if (value == NULL) {
            PyErr_Format(PyExc_TypeError, "configure: %s is missing", object->name);
            return NULL;
        }
        Py_XSETREF(*object->place, Py_NewRef(value));
    }
    if (!PyDict_Check(known.namespaces) || !PyDict_Check(known.on_one_device)
        || !PyDict_Check(known.backends) || !PyList_Check(known.watching) || !PyList_Check(known.replaced_slots)
        || !PyType_Check(known.variable) || !PyType_Check(known.node)
        || !PyType_Check(known.leaf_node)) {
        PyErr_SetString(PyExc_TypeError, "configure: tables are dictionaries, watching is a list");
        return NULL;
    }
    for (one = SLOTS; one->name != NULL; one++)
        if ((*one->place = offset_of(*one->type, one->name)) < 0)
            return NULL;
    Py_RETURN_NONE;
}

#define FUNCTION(f) (PyCFunction)(void (*)(void))f

static PyMethodDef functions[] = {
    {"configure", FUNCTION(configure), METH_VARARGS | METH_KEYWORDS, NULL},
    {"add", FUNCTION(numpy_add), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"configure_arithmetic", FUNCTION(configure_arithmetic), METH_FASTCALL, NULL},
    {"configure_numpy", FUNCTION(configure_numpy), METH_VARARGS | METH_KEYWORDS, NULL},
    {"adam_steps", FUNCTION(adam_steps), METH_FASTCALL, NULL},
    {"count_all", count_all, METH_O, NULL},
    {"divide", FUNCTION(numpy_divide), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"gather", FUNCTION(gather), METH_FASTCALL, NULL},
    {"gelu", FUNCTION(gelu), METH_FASTCALL, NULL},
    {"matmul", FUNCTION(numpy_matmul), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"maximum", FUNCTION(numpy_maximum), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"multiply", FUNCTION(numpy_multiply), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"norm_rows", FUNCTION(norm_rows), METH_FASTCALL, NULL},
    {"norm_rows_back", FUNCTION(norm_rows_back), METH_FASTCALL, NULL},
    {"pieces_combined", FUNCTION(pieces_combined), METH_FASTCALL, NULL},
    {"pieces_moments", FUNCTION(pieces_moments), METH_FASTCALL, NULL},
    {"pieces_scaled", FUNCTION(pieces_scaled), METH_FASTCALL, NULL},
    {"loops_program", FUNCTION(loops_program), METH_FASTCALL, NULL},
    {"loops_run", FUNCTION(loops_run), METH_FASTCALL, NULL},
    {"philox", FUNCTION(philox), METH_FASTCALL, NULL},
    {"pieces_sums", FUNCTION(pieces_sums), METH_FASTCALL, NULL},
    {"run_ready", FUNCTION(run_ready), METH_FASTCALL, NULL},
    {"sgd_steps", FUNCTION(sgd_steps), METH_FASTCALL, NULL},
    {"subtract", FUNCTION(numpy_subtract), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"sum", FUNCTION(numpy_sum), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"unchanged", FUNCTION(unchanged), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_core",
    .m_doc = "Compiled forms of an op's call, of the engine's loops and of functions of NumPy.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    const Object *name;
    PyObject *module;
    for (name = NAMES; name->name != NULL; name++)
        if ((*name->place = PyUnicode_InternFromString(name->name)) == NULL)
            return NULL;
    if ((empty_tuple = PyTuple_New(0)) == NULL || (module = PyModule_Create(&definition)) == NULL)
        return NULL;
    if (PyModule_AddType(module, &OpType) < 0
        || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
