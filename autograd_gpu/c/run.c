/* The compiled form of the engine's second loop (autograd_gpu/engine.py): runs the nodes.

   It does what the Python loop does on the same dictionaries and lists, and calls the same Python
   functions wherever a hook, a conversion or a gradient in several parts comes up. */

#include "run.h"

static PyObject *
pop(PyObject *list)
{
    Py_ssize_t last = PyList_GET_SIZE(list) - 1;
    PyObject *item = Py_NewRef(PyList_GET_ITEM(list, last));
    if (PyList_SetSlice(list, last, last + 1, NULL) < 0)
        Py_CLEAR(item);
    return item;
}

static int
is_empty(PyObject *hooks)
{
    return hooks == NULL || hooks == Py_None || (PyList_Check(hooks) && !PyList_GET_SIZE(hooks));
}

/* Hands the gradient of a leaf to its hooks, and to those that write it; takes it over. */
static int
finish(Run *run, PyObject *node, PyObject *g)
{
    PyObject *leaf = *slot(node, at.variable);
    if (PyDict_GET_SIZE(run->captured) || leaf == NULL
        || !PyObject_TypeCheck(leaf, (PyTypeObject *)known.variable)
        || !is_empty(*slot(leaf, at.hooks_of_leaf)) || !is_empty(*slot(leaf, at.post_hooks))) {
        PyObject *left
            = PyObject_CallFunctionObjArgs(known.finish_leaf, node, g, run->captured, NULL);
        Py_DECREF(g);
        if (left == NULL)
            return -1;
        if (left == Py_None) {
            Py_DECREF(left);
            return 0;
        }
        g = left;
    }
    return append_both(run->leaves, node, run->finished, g);
}

/* Whether hooks are registered under `name`; -1 with an error. */
static int
has_hooks(PyObject *hooks, PyObject *name)
{
    PyObject *list = PyObject_GetAttr(hooks, name);
    int some;
    if (list == NULL)
        return -1;
    some = PyObject_IsTrue(list);
    Py_DECREF(list);
    return some;
}

static int
reload(PyObject **hooks, PyObject *node)
{
    Py_SETREF(*hooks, load(node, at.hooks, names.hooks));
    return *hooks == NULL ? -1 : 0;
}

static int
let_go(Run *run, PyObject *node)
{
    PyObject *nothing;
    if (run->retain)
        return 0;
    nothing = PyObject_CallMethodNoArgs(node, names.release);
    Py_XDECREF(nothing);
    return nothing == NULL ? -1 : 0;
}

/* The gradients of the inputs; NULL without an error if there is nothing to hand on.  `g` is taken
   over: a buffer that only its slot holds may be added into. */
static PyObject *
differentiate(Run *run, PyObject *node, PyObject *edges, PyObject *g)
{
    PyObject *call[3], *grads = NULL, *hooks = load(node, at.hooks, names.hooks);
    int some;
    if (hooks == NULL)
        goto done;
    if (hooks != Py_None) {
        PyObject *given = g;
        g = PyObject_CallFunctionObjArgs(known.run_prehooks, node, hooks, given, NULL);
        Py_DECREF(given);
        /* A hook may have changed them. */
        if (g == NULL || reload(&hooks, node) < 0 || (some = has_hooks(hooks, names.keep_for)) < 0)
            goto done;
        if (some && !PyDict_GET_SIZE(run->captured)) {
            PyObject *pair = PyTuple_Pack(2, node, g);
            int failed = pair == NULL || PyList_Append(run->kept, pair) < 0;
            Py_XDECREF(pair);
            if (failed)
                goto done;
        }
    }
    if ((PyObject *)Py_TYPE(node) == known.leaf_node) {
        Py_DECREF(hooks);
        finish(run, node, g);
        return NULL;
    }
    if (PyDict_GET_SIZE(run->captured)) {
        Py_ssize_t i;
        if ((some = PyDict_Contains(run->captured, node)) < 0
            || (some && PyDict_SetItem(run->captured, node, g) < 0))
            goto done;
        for (i = 0; some && i < PyTuple_GET_SIZE(edges); i++)
            some = PyTuple_GET_ITEM(edges, i) == Py_None;
        if (some)
            goto done;
    }
    call[0] = node;
    call[1] = g;
    call[2] = edges;
    grads = PyObject_VectorcallMethod(
        run->create_graph ? names.backward_recorded : names.backward, call, 3, NULL);
    if (grads != NULL && reload(&hooks, node) < 0)
        Py_CLEAR(grads);
    if (grads != NULL && hooks != Py_None) {
        if ((some = has_hooks(hooks, names.after)) < 0)
            Py_CLEAR(grads);
        else if (some) {
            PyObject *given = grads;
            grads = PyObject_CallFunctionObjArgs(known.run_hooks, node, hooks, given, g, NULL);
            Py_DECREF(given);
        }
    }
    if (grads != NULL && let_go(run, node) < 0)
        Py_CLEAR(grads);
done:
    Py_XDECREF(hooks);
    Py_XDECREF(g);
    return grads;
}

/* Runs one node whose gradient has arrived; takes `g` over. */
static int
run_node(Run *run, PyObject *node, PyObject *edges, PyObject *g)
{
    PyTypeObject *type = Py_TYPE(g);
    PyObject *grads;
    Py_ssize_t i, count = PyTuple_GET_SIZE(edges);
    int failed;
    if (g == Py_None) { /* the inputs wait for one contribution less all the same */
        Py_DECREF(g);
        if (let_go(run, node) < 0)
            return -1;
        for (i = 0; i < count; i++)
            if (PyTuple_GET_ITEM(edges, i) != Py_None
                && deliver(run, PyTuple_GET_ITEM(edges, i), Py_NewRef(Py_None)) < 0)
                return -1;
        return 0;
    }
    Py_INCREF(type);
    grads = differentiate(run, node, edges, g);
    if (grads == NULL) {
        Py_DECREF(type);
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_SETREF(grads, PySequence_Tuple(grads));
    failed = grads == NULL || hand_on(run, edges, grads, type) < 0;
    Py_XDECREF(grads);
    Py_DECREF(type);
    return failed ? -1 : 0;
}

/* The edges along which a node hands its gradients on, owned, a tuple whatever user code has put
   there. */
static PyObject *
edges_to_run(Run *run, PyObject *node)
{
    PyObject *edges;
    if (!is_node(node)) {
        PyErr_Format(PyExc_TypeError, "a graph has Nodes, not %R", node);
        return NULL;
    }
    if (PyDict_GET_SIZE(run->masked)) {
        if ((edges = PyDict_GetItemWithError(run->masked, node)) == NULL && !PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, node);
        Py_XINCREF(edges);
    }
    else
        edges = load(node, at.edges, names.edges);
    if (edges != NULL && !PyTuple_Check(edges))
        Py_SETREF(edges, PySequence_Tuple(edges));
    return edges;
}

/* run_ready(ready, arrived, slots, counts, masked, captured, retain, create_graph, leaves, finished,
   kept, failed): runs all nodes that are or become ready.  In an error the node at which it came up
   is appended to `failed`. */
PyObject *
run_ready(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Run run;
    if (count != 12) {
        PyErr_SetString(PyExc_TypeError, "run_ready takes 12 arguments");
        return NULL;
    }
    run = (Run){
        .ready = args[0],
        .arrived = args[1],
        .slots = args[2],
        .counts = args[3],
        .masked = args[4],
        .captured = args[5],
        .retain = PyObject_IsTrue(args[6]),
        .create_graph = PyObject_IsTrue(args[7]),
        .leaves = args[8],
        .finished = args[9],
        .kept = args[10],
    };
    if (run.retain < 0 || run.create_graph < 0)
        return NULL;
    while (PyList_GET_SIZE(run.ready)) {
        PyObject *node = pop(run.ready), *g, *edges = NULL;
        int failed = 1;
        if (node == NULL)
            return NULL;
        g = pop(run.arrived);
        if (g != NULL) {
            edges = edges_to_run(&run, node);
            if (edges == NULL)
                Py_DECREF(g);
            else {
                failed = run_node(&run, node, edges, g) < 0;
                Py_DECREF(edges);
            }
        }
        if (failed) {
            PyObject *kind, *error, *traceback;
            PyErr_Fetch(&kind, &error, &traceback);
            PyList_Append(args[11], node);
            PyErr_Restore(kind, error, traceback);
        }
        Py_DECREF(node);
        if (failed)
            return NULL;
    }
    Py_RETURN_NONE;
}
