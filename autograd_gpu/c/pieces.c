/* Batch, group and instance norm: their sums, and what is done with these.

   A row is what has one mean, and consists of pieces: piece p of row r are `length` elements from
   r * row_stride + p * piece_stride on.  For group norm of [N, G, K, L] a row is one of N * G groups,
   of K pieces, which have a weight each; for batch norm of [N, C, L] it is a channel, whose N pieces
   have one weight.  Numbers for each piece, or row, are arrays of `columns` elements for a row. */

#include "kernels.h"

/* Parts of a sum, those of what is left of a piece, and elements for which a sum is taken in their own
   type. */
#define LANES 32
#define FEW 8
#define STRETCH 1024

typedef struct {
    npy_intp rows, pieces, length, row_stride, piece_stride, columns;
} Pieces;

/* Pieces in the order in which they lie in memory.  Within a row this is always that of p, so that
   sums do not depend on the rows of a call. */
#define EACH_PIECE(s, r, p)                                                                      \
    for (npy_intp outer = 0; outer < (ACROSS(s) ? (s)->pieces : (s)->rows); outer++)             \
        for (npy_intp inner = 0; inner < (ACROSS(s) ? (s)->rows : (s)->pieces)                   \
                                 && (r = ACROSS(s) ? inner : outer,                              \
                                     p = ACROSS(s) ? outer : inner, 1);                          \
             inner++)
#define ACROSS(s) ((s)->row_stride < (s)->piece_stride)
#define PLACE(s, r, p) ((r) * (s)->row_stride + (p) * (s)->piece_stride)
#define COLUMN(s, r, p) ((s)->columns == 1 ? (r) : (r) * (s)->columns + (p))

#define REAL float
#define NAME(function) function##_float
#include "pieces.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(function) function##_double
#include "pieces.h"
#undef REAL
#undef NAME

/* What a call is about: its type, its rows, and where arrays begin and have to reach. */
typedef struct {
    Pieces shape;
    int type;
    npy_intp start, stop, first, end;
} Call;

/* Reads x's type and the numbers behind `arrays` arrays: start, stop, pieces, length, row_stride,
   piece_stride and columns; -1 with an error. */
static int
parse(Call *call, PyObject *x, PyObject *const *args, Py_ssize_t given, int arrays)
{
    const double most = 1e18;
    npy_intp numbers[7];
    Pieces *s = &call->shape;
    int i;
    if (ndarray == NULL && import_numpy() < 0)
        return -1;
    if (given != arrays + 7) {
        PyErr_Format(PyExc_TypeError, "%d arguments are needed", arrays + 7);
        return -1;
    }
    for (i = 0; i < 7; i++) {
        numbers[i] = PyLong_AsSsize_t(args[arrays + i]);
        if (numbers[i] < 0 && PyErr_Occurred())
            return -1;
    }
    call->start = numbers[0];
    call->stop = numbers[1];
    *s = (Pieces){numbers[1] - numbers[0], numbers[2], numbers[3], numbers[4], numbers[5],
                  numbers[6]};
    if (!Py_IS_TYPE(x, ndarray) || call->start < 0 || call->stop <= call->start || s->pieces < 1
        || s->length < 1 || s->row_stride < 0 || s->piece_stride < 0
        || (s->columns != 1 && s->columns != s->pieces)
        || (double)call->stop * (double)s->row_stride > most
        || (double)call->stop * (double)s->columns > most
        || (double)s->pieces * (double)s->piece_stride > most || (double)s->length > most
        || (PyArray_TYPE((PyArrayObject *)x) != NPY_FLOAT
            && PyArray_TYPE((PyArrayObject *)x) != NPY_DOUBLE)) {
        PyErr_SetString(PyExc_TypeError, "rows of pieces of float32 or float64 are needed");
        return -1;
    }
    call->type = PyArray_TYPE((PyArrayObject *)x);
    call->first = call->start * s->row_stride;
    call->end = (call->stop - 1) * s->row_stride + (s->pieces - 1) * s->piece_stride + s->length;
    return 0;
}

/* The elements of an array of pieces, from the first row on, or NULL. */
static void *
pieces_of(const Call *call, PyObject *array)
{
    return elements_of(array, call->type, call->first, call->end);
}

/* The numbers of an array that has `columns` for each row, from the first row on, or NULL. */
static void *
numbers_of(const Call *call, PyObject *array, int type, npy_intp columns)
{
    return elements_of(array, type, call->start * columns, call->stop * columns);
}

static PyThreadState *
let_others(const Call *call)
{
    const Pieces *s = &call->shape;
    return (double)s->rows * (double)s->pieces * (double)s->length >= LONG_ENOUGH
               ? PyEval_SaveThread()
               : NULL;
}

static PyObject *
done(PyThreadState *others)
{
    if (others != NULL)
        PyEval_RestoreThread(others);
    Py_RETURN_NONE;
}

static PyObject *
refused(void)
{
    PyErr_SetString(PyExc_TypeError,
                    "arrays are contiguous, of one type, sums of float64, and as large as the rows");
    return NULL;
}

/* pieces_moments(x, means, variances, rests, start, ...): the last three arrays are of float64, and
   `rests` is room to work in. */
PyObject *
pieces_moments(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Call call;
    PyThreadState *others;
    void *x, *means, *variances, *rests;
    if (parse(&call, given ? args[0] : Py_None, args, given, 4) < 0)
        return NULL;
    x = pieces_of(&call, args[0]);
    means = numbers_of(&call, args[1], NPY_DOUBLE, 1);
    variances = numbers_of(&call, args[2], NPY_DOUBLE, 1);
    rests = numbers_of(&call, args[3], NPY_DOUBLE, 1);
    if (x == NULL || means == NULL || variances == NULL || rests == NULL)
        return refused();
    others = let_others(&call);
    if (call.type == NPY_FLOAT)
        moments_float(&call.shape, x, means, variances, rests);
    else
        moments_double(&call.shape, x, means, variances, rests);
    return done(others);
}

/* pieces_scaled(x, y, means, a, b, start, ...): y = (x - mean) * a + b. */
PyObject *
pieces_scaled(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Call call;
    PyThreadState *others;
    void *x, *y, *means, *a, *b;
    if (parse(&call, given ? args[0] : Py_None, args, given, 5) < 0)
        return NULL;
    x = pieces_of(&call, args[0]);
    y = pieces_of(&call, args[1]);
    means = numbers_of(&call, args[2], call.type, 1);
    a = numbers_of(&call, args[3], call.type, call.shape.columns);
    b = numbers_of(&call, args[4], call.type, call.shape.columns);
    if (x == NULL || y == NULL || means == NULL || a == NULL || b == NULL)
        return refused();
    others = let_others(&call);
    if (call.type == NPY_FLOAT)
        scaled_float(&call.shape, x, y, means, a, b);
    else
        scaled_double(&call.shape, x, y, means, a, b);
    return done(others);
}

/* pieces_sums(g, x, means, total, along, start, ...): the sums of g and of g * (x - mean), which are
   of float64. */
PyObject *
pieces_sums(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Call call;
    PyThreadState *others;
    void *g, *x, *means, *total, *along;
    if (parse(&call, given ? args[0] : Py_None, args, given, 5) < 0)
        return NULL;
    g = pieces_of(&call, args[0]);
    x = pieces_of(&call, args[1]);
    means = numbers_of(&call, args[2], call.type, 1);
    total = numbers_of(&call, args[3], NPY_DOUBLE, call.shape.columns);
    along = numbers_of(&call, args[4], NPY_DOUBLE, call.shape.columns);
    if (g == NULL || x == NULL || means == NULL || total == NULL || along == NULL)
        return refused();
    others = let_others(&call);
    if (call.type == NPY_FLOAT)
        sums_float(&call.shape, g, x, means, total, along);
    else
        sums_double(&call.shape, g, x, means, total, along);
    return done(others);
}

/* pieces_combined(g, x, dx, means, a, levels, slopes, start, ...):
   dx = g * a - level - (x - mean) * slope, level and slope being numbers of rows. */
PyObject *
pieces_combined(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given)
{
    Call call;
    PyThreadState *others;
    void *g, *x, *dx, *means, *a, *levels, *slopes;
    if (parse(&call, given ? args[0] : Py_None, args, given, 7) < 0)
        return NULL;
    g = pieces_of(&call, args[0]);
    x = pieces_of(&call, args[1]);
    dx = pieces_of(&call, args[2]);
    means = numbers_of(&call, args[3], call.type, 1);
    a = numbers_of(&call, args[4], call.type, call.shape.columns);
    levels = numbers_of(&call, args[5], call.type, 1);
    slopes = numbers_of(&call, args[6], call.type, 1);
    if (g == NULL || x == NULL || dx == NULL || means == NULL || a == NULL || levels == NULL
        || slopes == NULL)
        return refused();
    others = let_others(&call);
    if (call.type == NPY_FLOAT)
        combined_float(&call.shape, g, x, dx, means, a, levels, slopes);
    else
        combined_double(&call.shape, g, x, dx, means, a, levels, slopes);
    return done(others);
}
