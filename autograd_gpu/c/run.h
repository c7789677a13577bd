/* What the second loop of the engine works on. */

#ifndef AUTOGRAD_GPU_RUN_H
#define AUTOGRAD_GPU_RUN_H

#include "core.h"

/* The dictionaries and lists of `_run` in autograd_gpu/engine.py. */
typedef struct {
    PyObject *ready, *arrived, *slots, *counts, *masked, *captured;
    PyObject *leaves, *finished, *kept;
    int retain, create_graph;
} Run;

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

/* Appends to both lists.  Takes `gradient` over, which has no other holder then but `list`. */
int append_both(PyObject *nodes, PyObject *node, PyObject *list, PyObject *gradient);

/* Hands on the gradients of a node that had one of type `type`, in a tuple, along its edges. */
int hand_on(Run *run, PyObject *edges, PyObject *grads, PyTypeObject *type);

/* Adds a gradient to those that wait for more, and moves their sum to `ready` if it was the last.
   Takes `grad` over. */
int deliver(Run *run, PyObject *edge, PyObject *grad);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif
