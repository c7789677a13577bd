/* The shape and the dtype of an array.

   To get an attribute, Python looks its name up in the classes of the object, which takes longer
   than the getter that it finds.  The getters of the backends' arrays are found once. */

#include "core.h"

typedef struct {
    PyTypeObject *type;
    PyGetSetDef *shape, *dtype;
} Getters;

#define BACKENDS 2

static Getters found[BACKENDS];

PyGetSetDef *
getter_of(PyTypeObject *type, PyObject *name)
{
    PyObject *attribute = PyObject_GetAttr((PyObject *)type, name);
    PyGetSetDef *definition = NULL;
    if (attribute == NULL) {
        PyErr_Clear();
        return NULL;
    }
    if (Py_IS_TYPE(attribute, &PyGetSetDescr_Type))
        definition = ((PyGetSetDescrObject *)attribute)->d_getset;
    Py_DECREF(attribute);
    return definition != NULL && definition->get != NULL ? definition : NULL;
}

static const Getters *
getters_of(PyTypeObject *type)
{
    int i;
    for (i = 0; i < BACKENDS; i++) {
        if (found[i].type == type)
            return &found[i];
        if (found[i].type == NULL) {
            Getters new = {type, NULL, NULL};
            /* Of other types there may be any number, and they come and go. */
            if (known.backends == NULL || PyDict_GetItem(known.backends, (PyObject *)type) == NULL)
                return NULL;
            new.shape = getter_of(type, names.shape);
            new.dtype = getter_of(type, names.dtype);
            Py_INCREF(type);
            found[i] = new;
            return &found[i];
        }
    }
    return NULL;
}

PyObject *
shape_of(PyObject *array)
{
    const Getters *of = getters_of(Py_TYPE(array));
    return of != NULL && of->shape != NULL
               ? of->shape->get(array, of->shape->closure)
               : PyObject_GetAttr(array, names.shape);
}

PyObject *
dtype_of(PyObject *array)
{
    const Getters *of = getters_of(Py_TYPE(array));
    return of != NULL && of->dtype != NULL
               ? of->dtype->get(array, of->dtype->closure)
               : PyObject_GetAttr(array, names.dtype);
}
