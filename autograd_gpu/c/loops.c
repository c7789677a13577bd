/* A fused program on a tile: NumPy's own loops, one after the other, on pieces that stay in the nearest
   cache, without Python in between.

   Where a loop raises a flag of arithmetic, the caller does the tile again by calls of NumPy, which
   warn. */

#include "kernels.h"

#include <fenv.h>

#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

/* Elements of a piece: a few buffers of them fill half of the first-level cache. */
#define PIECE 2048

/* Columns of several rows below which calls of NumPy, which see an array as one row, are faster. */
#define NARROWEST 256

/* Tiny numbers are rounded to zero without a word, as NumPy has it unless told otherwise. */
#define FLAGS (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW)

#define OPERANDS 5

enum { UFUNC, COPY, SELECT, BOOL_TO_FLOAT, BOOL_TO_DOUBLE, FLOAT_TO_DOUBLE, DOUBLE_TO_FLOAT, KINDS };

typedef struct {
    int kind, count, slots[OPERANDS]; /* operands, the result last */
    PyUFuncGenericFunction loop;
    void *data;
} Op;

/* Adds up a slot: over all (axis -1), rows (0) or columns (1), with the loop of a type's addition. */
typedef struct {
    int slot, axis;
    PyUFuncGenericFunction loop;
    void *data;
} Sum;

/* Slots are inputs, constants, outputs and buffers, in that order. */
typedef struct {
    int inputs, constants, outputs, buffers, slots, ops, sums;
    Op *op;
    Sum *sum;
    npy_intp *widths; /* bytes of an element of each slot */
    PyObject *kept;   /* the constants, a tuple of arrays */
} Program;

/* Where a slot begins, and bytes from row to row and from column to column. */
typedef struct {
    char *start;
    npy_intp row, column;
} Place;

static const char capsule_name[] = "autograd_gpu.loops";

static void
discard(PyObject *capsule)
{
    Program *p = PyCapsule_GetPointer(capsule, capsule_name);
    if (p == NULL)
        return;
    PyMem_Free(p->op);
    PyMem_Free(p->sum);
    PyMem_Free(p->widths);
    Py_XDECREF(p->kept);
    PyMem_Free(p);
}

/* The loop of a ufunc with that number; 0 without an error if there is none. */
static int
find_loop(PyObject *ufunc, long number, int operands, PyUFuncGenericFunction *loop, void **data)
{
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (number < 0 || number >= u->ntypes || u->nargs != operands || u->nout != 1
        || u->core_enabled || u->functions == NULL || u->functions[number] == NULL)
        return 0;
    *loop = u->functions[number];
    *data = u->data != NULL ? u->data[number] : NULL;
    return 1;
}

/* loops_program(add, inputs, constants, widths, outputs, ops, sums): a program, or None.

   `constants` are arrays of one element, `widths` the bytes of each slot's elements.  An op is (kind,
   ufunc, number of its loop, slots...), a sum (slot, axis, number of the loop of `add`). */
PyObject *
loops_program(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Program *p;
    PyObject *capsule, *constants, *widths, *ops, *sums;
    Py_ssize_t i, k;
    if (given != 7 || !PyTuple_Check(args[2]) || !PyTuple_Check(args[3]) || !PyTuple_Check(args[5])
        || !PyTuple_Check(args[6])) {
        PyErr_SetString(PyExc_TypeError, "loops_program takes seven arguments, four of them tuples");
        return NULL;
    }
    if (ndarray == NULL && import_numpy() < 0)
        return NULL;
    constants = args[2], widths = args[3], ops = args[5], sums = args[6];
    if ((p = PyMem_Calloc(1, sizeof(Program))) == NULL)
        return PyErr_NoMemory();
    if ((capsule = PyCapsule_New(p, capsule_name, discard)) == NULL) {
        PyMem_Free(p);
        return NULL;
    }
    p->inputs = (int)PyLong_AsLong(args[1]);
    p->outputs = (int)PyLong_AsLong(args[4]);
    p->constants = (int)PyTuple_GET_SIZE(constants);
    p->slots = (int)PyTuple_GET_SIZE(widths);
    p->ops = (int)PyTuple_GET_SIZE(ops);
    p->sums = (int)PyTuple_GET_SIZE(sums);
    p->buffers = p->slots - p->inputs - p->outputs - p->constants;
    p->kept = Py_NewRef(constants);
    p->op = PyMem_Calloc(p->ops + 1, sizeof(Op));
    p->sum = PyMem_Calloc(p->sums + 1, sizeof(Sum));
    p->widths = PyMem_Calloc(p->slots + 1, sizeof(npy_intp));
    if (p->op == NULL || p->sum == NULL || p->widths == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    for (i = 0; i < p->slots; i++)
        p->widths[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(widths, i));
    for (i = 0; i < p->ops; i++) {
        PyObject *op = PyTuple_GET_ITEM(ops, i);
        Op *o = p->op + i;
        if (!PyTuple_Check(op) || PyTuple_GET_SIZE(op) < 5 || PyTuple_GET_SIZE(op) > 3 + OPERANDS)
            goto none;
        o->kind = (int)PyLong_AsLong(PyTuple_GET_ITEM(op, 0));
        o->count = (int)PyTuple_GET_SIZE(op) - 3;
        if (o->kind < 0 || o->kind >= KINDS || (o->kind == SELECT && o->count != 4)
            || (o->kind != SELECT && o->kind != UFUNC && o->count != 2))
            goto none;
        for (k = 0; k < o->count; k++) {
            o->slots[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(op, k + 3));
            if (o->slots[k] < 0 || o->slots[k] >= p->slots)
                goto none;
        }
        if (o->kind == UFUNC
            && !find_loop(PyTuple_GET_ITEM(op, 1), PyLong_AsLong(PyTuple_GET_ITEM(op, 2)), o->count,
                          &o->loop, &o->data))
            goto none;
    }
    for (i = 0; i < p->sums; i++) {
        PyObject *sum = PyTuple_GET_ITEM(sums, i);
        Sum *s = p->sum + i;
        if (!PyTuple_Check(sum) || PyTuple_GET_SIZE(sum) != 3)
            goto none;
        s->slot = (int)PyLong_AsLong(PyTuple_GET_ITEM(sum, 0));
        s->axis = (int)PyLong_AsLong(PyTuple_GET_ITEM(sum, 1));
        if (s->slot < 0 || s->slot >= p->slots
            || !find_loop(args[0], PyLong_AsLong(PyTuple_GET_ITEM(sum, 2)), 3, &s->loop, &s->data))
            goto none;
    }
    if (PyErr_Occurred() || p->inputs < 0 || p->outputs < 0 || p->buffers < 0)
        goto fail;
    return capsule;
none:
    if (!PyErr_Occurred()) {
        Py_DECREF(capsule);
        Py_RETURN_NONE;
    }
fail:
    Py_DECREF(capsule);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "loops_program: a number is out of range");
    return NULL;
}

/* Finds where the elements of an array of one element, or of a matrix of these sizes (or 1), are; 0 if
   it is of another kind. */
static int
place(PyObject *array, npy_intp width, npy_intp rows, npy_intp columns, Place *at)
{
    PyArrayObject *x = (PyArrayObject *)array;
    if (!Py_IS_TYPE(array, ndarray) || !PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)
        || PyArray_ITEMSIZE(x) != width)
        return 0;
    at->start = PyArray_BYTES(x);
    at->row = at->column = 0;
    if (PyArray_NDIM(x) == 0)
        return 1;
    if (PyArray_NDIM(x) != 2)
        return 0;
    if (PyArray_DIM(x, 0) != 1) {
        if (PyArray_DIM(x, 0) != rows)
            return 0;
        at->row = PyArray_STRIDE(x, 0);
    }
    if (PyArray_DIM(x, 1) != 1) {
        if (PyArray_DIM(x, 1) != columns)
            return 0;
        at->column = PyArray_STRIDE(x, 1);
    }
    return 1;
}

static void
copy(char *const *at, const npy_intp *steps, npy_intp n, npy_intp width)
{
    npy_intp i;
    if (steps[0] == width && steps[1] == width)
        memmove(at[1], at[0], n * width);
    else
        for (i = 0; i < n; i++)
            memcpy(at[1] + i * steps[1], at[0] + i * steps[0], width);
}

#define SELECTED(type)                                                                           \
    for (i = 0; i < n; i++)                                                                      \
        *(type *)(at[3] + i * steps[3]) = at[0][i * steps[0]]                                    \
                                              ? *(const type *)(at[1] + i * steps[1])            \
                                              : *(const type *)(at[2] + i * steps[2])

static void
chosen(char *const *at, const npy_intp *steps, npy_intp n, npy_intp width)
{
    npy_intp i;
    if (width == 8)
        SELECTED(double);
    else if (width == 4)
        SELECTED(float);
    else
        for (i = 0; i < n; i++)
            memcpy(at[3] + i * steps[3],
                   at[0][i * steps[0]] ? at[1] + i * steps[1] : at[2] + i * steps[2], width);
}

#define CONVERTED(from, to)                                                                      \
    for (i = 0; i < n; i++)                                                                      \
        *(to *)(at[1] + i * steps[1]) = (to) * (const from *)(at[0] + i * steps[0])

static void
converted(int kind, char *const *at, const npy_intp *steps, npy_intp n)
{
    npy_intp i;
    switch (kind) {
    case BOOL_TO_FLOAT: CONVERTED(npy_bool, float); break;
    case BOOL_TO_DOUBLE: CONVERTED(npy_bool, double); break;
    case FLOAT_TO_DOUBLE: CONVERTED(float, double); break;
    default: CONVERTED(double, float); break;
    }
}

/* The flags that were raised on `n` columns from `column` on, of one row. */
static int
run_piece(const Program *p, const Place *places, const Place *totals, npy_intp row,
          npy_intp column, npy_intp n)
{
    int i, k, raised = 0, first_buffer = p->slots - p->buffers;
    char *at[OPERANDS];
    npy_intp steps[OPERANDS];
#define OPERAND(k, slot)                                                                         \
    do {                                                                                         \
        const Place *x = places + (slot);                                                        \
        at[k] = x->start + ((slot) < first_buffer ? row * x->row + column * x->column : 0);      \
        steps[k] = x->column;                                                                    \
    } while (0)
    for (i = 0; i < p->ops; i++) {
        const Op *op = p->op + i;
        for (k = 0; k < op->count; k++)
            OPERAND(k, op->slots[k]);
        if (op->kind == UFUNC) {
            op->loop(at, &n, steps, op->data);
            raised |= fetestexcept(FLAGS);
        }
        else if (op->kind == COPY)
            copy(at, steps, n, p->widths[op->slots[1]]);
        else if (op->kind == SELECT)
            chosen(at, steps, n, p->widths[op->slots[3]]);
        else {
            converted(op->kind, at, steps, n);
            raised |= fetestexcept(FLAGS);
        }
    }
    for (i = 0; i < p->sums; i++) {
        const Sum *s = p->sum + i;
        const Place *y = totals + i;
        at[0] = at[2] = y->start + (s->axis == 1 ? row * y->row : s->axis == 0 ? column * y->row : 0);
        steps[0] = steps[2] = s->axis == 0 ? y->row : 0;
        OPERAND(1, s->slot);
        s->loop(at, &n, steps, s->data);
        raised |= fetestexcept(FLAGS);
    }
    return raised;
}

/* loops_run(program, inputs, outputs, totals, rows, columns): runs it on a tile and adds the sums to
   `totals`, vectors; False if it is for NumPy. */
PyObject *
loops_run(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Program *p;
    Place *places, *totals;
    char *memory = NULL, *buffer;
    npy_intp rows, columns, row, column, size;
    int i, is_one_row = 1, raised = 0, known = 1;
    if (given != 6 || (p = PyCapsule_GetPointer(args[0], capsule_name)) == NULL
        || !PyList_Check(args[1]) || !PyList_Check(args[2]) || !PyList_Check(args[3])
        || PyList_GET_SIZE(args[1]) != p->inputs || PyList_GET_SIZE(args[2]) != p->outputs
        || PyList_GET_SIZE(args[3]) != p->sums) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "loops_run: not the arguments of this program");
        return NULL;
    }
    rows = PyLong_AsSsize_t(args[4]), columns = PyLong_AsSsize_t(args[5]);
    if (PyErr_Occurred())
        return NULL;
    size = (npy_intp)sizeof(Place) * (p->slots + p->sums) + 64;
    for (i = p->slots - p->buffers; i < p->slots; i++)
        size += (PIECE * p->widths[i] + 63) / 64 * 64;
    if ((memory = PyMem_Malloc(size)) == NULL)
        return PyErr_NoMemory();
    places = (Place *)memory;
    totals = places + p->slots;
    buffer = (char *)(((npy_uintp)(totals + p->sums) + 63) / 64 * 64);
    for (i = 0; known && i < p->slots; i++) {
        Place *at = places + i;
        int k = i;
        if (k < p->inputs)
            known = place(PyList_GET_ITEM(args[1], k), p->widths[i], rows, columns, at);
        else if ((k -= p->inputs) < p->constants)
            known = place(PyTuple_GET_ITEM(p->kept, k), p->widths[i], rows, columns, at);
        else if ((k -= p->constants) < p->outputs)
            known = place(PyList_GET_ITEM(args[2], k), p->widths[i], rows, columns, at);
        else {
            at->start = buffer, at->row = 0, at->column = p->widths[i];
            buffer += (PIECE * p->widths[i] + 63) / 64 * 64;
            continue;
        }
        if ((at->row || at->column) && at->row != columns * at->column)
            is_one_row = rows == 1;
    }
    for (i = 0; known && i < p->sums; i++) {
        PyArrayObject *y = (PyArrayObject *)PyList_GET_ITEM(args[3], i);
        npy_intp least = p->sum[i].axis < 0 ? 1 : p->sum[i].axis ? rows : columns;
        known = Py_IS_TYPE((PyObject *)y, ndarray) && PyArray_NDIM(y) == 1
                && PyArray_DIM(y, 0) == least && PyArray_ISALIGNED(y) && PyArray_ISNOTSWAPPED(y)
                && PyArray_ITEMSIZE(y) == p->widths[p->sum[i].slot];
        totals[i].start = PyArray_BYTES(y);
        totals[i].row = PyArray_STRIDE(y, 0);
        if (p->sum[i].axis >= 0)
            is_one_row = is_one_row && rows == 1;
    }
    if (known && is_one_row && rows > 1)
        columns *= rows, rows = 1;
    if (known && rows > 1 && columns < NARROWEST)
        known = 0;
    if (known) {
        PyThreadState *state = rows * columns >= LONG_ENOUGH ? PyEval_SaveThread() : NULL;
        feclearexcept(FE_ALL_EXCEPT);
        for (row = 0; row < rows; row++)
            for (column = 0; column < columns; column += PIECE)
                raised |= run_piece(p, places, totals, row, column,
                                    columns - column < PIECE ? columns - column : PIECE);
        feclearexcept(FE_ALL_EXCEPT);
        if (state != NULL)
            PyEval_RestoreThread(state);
    }
    PyMem_Free(memory);
    return PyBool_FromLong(known && !raised);
}
