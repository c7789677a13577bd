/* What the compiled parts share: how the slots of the graph's Python classes are reached. */

#ifndef AUTOGRAD_GPU_CORE_H
#define AUTOGRAD_GPU_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#include <structmember.h>

#if defined(Py_GIL_DISABLED) || defined(PYPY_VERSION)
#error "slots are read by offset, without a lock: the Python code serves other interpreters"
#endif

/* No program that exports a variable of the same name, or imports with RTLD_GLOBAL, gets at these. */
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

/* Raised with every change of what the Python modules and these files expect of each other, there
   (autograd_gpu/extension.py) and here: an editable install may have been built from older sources. */
#define INTERFACE 11

/* Classes, tables and functions of the Python modules, given once by `configure`. */
typedef struct {
    PyObject *variable;       /* the class Variable */
    PyObject *node;           /* the class Node */
    PyObject *leaf_node;      /* the class AccumulateGrad */
    PyObject *namespaces;
    PyObject *on_one_device;
    PyObject *backends;
    PyObject *recording;      /* context variables */
    PyObject *casting;
    PyObject *watching;
    PyObject *replaced_slots;
    PyObject *gradient_edge;
    PyObject *scalar;
    PyObject *fit;
    PyObject *added;
    PyObject *finish_leaf;
    PyObject *run_hooks;
    PyObject *run_prehooks;
} Known;

/* Names of attributes. */
typedef struct {
    PyObject *after, *asarray, *backward, *backward_recorded, *base, *dtype, *edges, *hooks;
    PyObject *keep_for, *kind, *release, *shape, *value, *variable;
} Names;

/* Where slots lie in their objects. */
typedef struct {
    Py_ssize_t value, grad, grad_fn, requires_grad, accumulator, hooks_of_leaf, post_hooks;
    Py_ssize_t edges, shape, dtype, hooks, variable;
} Offsets;

extern Known known;
extern Names names;
extern Offsets at;
extern PyObject *empty_tuple;
extern PyTypeObject OpType;

PyObject *count_all(PyObject *module, PyObject *root);
PyObject *run_ready(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *unchanged(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *adam_steps(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gelu(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *loops_program(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *loops_run(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *norm_rows(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *norm_rows_back(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *philox(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *pieces_combined(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *pieces_moments(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *pieces_scaled(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *pieces_sums(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *sgd_steps(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* Functions of NumPy's namespace. */
PyObject *configure_arithmetic(PyObject *module, PyObject *const *args, Py_ssize_t given);
PyObject *numpy_add(PyObject *module, PyObject *const *args, Py_ssize_t given,
                    PyObject *keywords);
PyObject *numpy_subtract(PyObject *module, PyObject *const *args, Py_ssize_t given,
                         PyObject *keywords);
PyObject *numpy_multiply(PyObject *module, PyObject *const *args, Py_ssize_t given,
                         PyObject *keywords);
PyObject *numpy_divide(PyObject *module, PyObject *const *args, Py_ssize_t given,
                       PyObject *keywords);
PyObject *configure_numpy(PyObject *module, PyObject *args, PyObject *given);
PyObject *numpy_matmul(PyObject *module, PyObject *const *args, Py_ssize_t given,
                       PyObject *keywords);
PyObject *numpy_maximum(PyObject *module, PyObject *const *args, Py_ssize_t given,
                        PyObject *keywords);
PyObject *numpy_sum(PyObject *module, PyObject *const *args, Py_ssize_t given,
                    PyObject *keywords);

/* NumPy's class of arrays; NULL until its backend is loaded, as this takes longer to import than the
   rest of the package. */
extern PyTypeObject *ndarray;

/* Sets it; -1 with an error. */
int import_numpy(void);

/* Attributes of an array, owned, or NULL with an error. */
PyObject *shape_of(PyObject *array);
PyObject *dtype_of(PyObject *array);

/* Whether an array has this shape; -1 with an error. */
int has_shape(PyObject *array, PyObject *shape);

/* The array, of class `type`, of a scalar that NumPy has made in its place; or NULL. */
PyObject *from_scalar(PyTypeObject *type, PyObject *y);

/* A new array of the shape and type of one of NumPy's. */
PyObject *new_like(void *array);

/* Where a slot of a class lies in its objects, or -1 with an error. */
Py_ssize_t offset_of(PyObject *type, const char *name);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

static inline PyObject **
slot(PyObject *object, Py_ssize_t offset)
{
    return (PyObject **)((char *)object + offset);
}

/* What a slot holds, owned; an AttributeError if it was never set, or deleted. */
static inline PyObject *
load(PyObject *object, Py_ssize_t offset, PyObject *name)
{
    PyObject *value = *slot(object, offset);
    return value != NULL ? Py_NewRef(value) : PyObject_GetAttr(object, name);
}

/* Whether an object has the slots of a Node: user code can put others into `edges`. */
static inline int
is_node(PyObject *object)
{
    return PyObject_TypeCheck(object, (PyTypeObject *)known.node);
}

#endif
