/* What is known of an op, and what its call is made of. */

#ifndef AUTOGRAD_GPU_OP_H
#define AUTOGRAD_GPU_OP_H

#include "core.h"

#define MOST_PARAMETERS 16
#define MOST_SAVED 16

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
    PyObject *function;   /* a name in the namespace, to be called in place of `forward`; or None */
    PyObject *constants;  /* what `function` gets after the operands, a tuple */
    PyObject *statics;    /* names, a tuple */
    PyObject *defaults;   /* of the statics; a missing one is the Op's type */
    int operands;
    unsigned optional;    /* operands that may be None */
    unsigned wanted;      /* operands that have a derivative */
    int reflected;        /* two operands, given the other way round */
    int casts;
    int aux;
    int count;            /* of `saved` */
    Saved saved[MOST_SAVED];
} Op;

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

/* The values of operands and static parameters, borrowed; 0 if this call is one for the Python
   function. */
int bind(Op *op, PyObject *const *args, Py_ssize_t given, PyObject *keywords, PyObject **values);

/* The value of an operand and the node that its gradient goes to, both owned.
   1: found; 0: a case for the Python function; -1: an error. */
int unwrap(PyObject *x, int wanted, PyObject **raw, PyObject **edge);

/* Whether an operation with a Python float would widen this array, as it does bfloat16: then it is
   for the Python function, which casts the float.  -1: an error. */
int widened_by_floats(PyObject *array);

/* The call of an Op. */
PyObject *call_op(PyObject *op, PyObject *const *args, size_t flags, PyObject *keywords);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

static inline int
is_number(PyTypeObject *type)
{
    return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type
           || type == &PyComplex_Type;
}

#endif
