/* The shape and the dtype of an array.

   To get an attribute, Python looks its name up in the classes of the object, which takes longer
   than the getter that it finds.  NumPy's arrays are read as its headers have them, and for those
   of another backend the getters are found once. */

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION

#include "core.h"

#include <numpy/arrayobject.h>

static struct {
    PyTypeObject *type;
    PyGetSetDef *shape, *dtype;
} other; /* than NumPy: a second backend */

PyTypeObject *ndarray;

int
import_numpy(void)
{
    if (PyArray_ImportNumPyAPI() < 0)
        return -1;
    ndarray = &PyArray_Type;
    return 0;
}

/* The getter of an attribute that an extension type defines, or NULL; no error is left. */
static PyGetSetDef *
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

/* Whether `type` is that of the second backend. */
static int
is_other(PyTypeObject *type)
{
    if (other.type == type)
        return 1;
    /* Types that are no backend's come and go. */
    if (other.type != NULL || known.backends == NULL
        || PyDict_GetItem(known.backends, (PyObject *)type) == NULL)
        return 0;
    other.shape = getter_of(type, names.shape);
    other.dtype = getter_of(type, names.dtype);
    other.type = (PyTypeObject *)Py_NewRef(type);
    return 1;
}

PyObject *
shape_of(PyObject *array)
{
    if (Py_IS_TYPE(array, ndarray)) {
        const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)array);
        int i, count = PyArray_NDIM((PyArrayObject *)array);
        PyObject *shape = PyTuple_New(count);
        for (i = 0; shape != NULL && i < count; i++) {
            PyObject *length = PyLong_FromSsize_t(lengths[i]);
            if (length == NULL)
                Py_CLEAR(shape);
            else
                PyTuple_SET_ITEM(shape, i, length);
        }
        return shape;
    }
    if (is_other(Py_TYPE(array)) && other.shape != NULL)
        return other.shape->get(array, other.shape->closure);
    return PyObject_GetAttr(array, names.shape);
}

PyObject *
dtype_of(PyObject *array)
{
    if (Py_IS_TYPE(array, ndarray))
        return Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)array));
    if (is_other(Py_TYPE(array)) && other.dtype != NULL)
        return other.dtype->get(array, other.dtype->closure);
    return PyObject_GetAttr(array, names.dtype);
}

int
has_shape(PyObject *array, PyObject *shape)
{
    PyObject *own;
    int same;
    if (shape == NULL)
        return 0;
    if (Py_IS_TYPE(array, ndarray) && PyTuple_CheckExact(shape)) {
        const npy_intp *lengths = PyArray_DIMS((PyArrayObject *)array);
        int i, count = PyArray_NDIM((PyArrayObject *)array);
        same = PyTuple_GET_SIZE(shape) == count;
        for (i = 0; same && i < count; i++)
            same = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == lengths[i];
        PyErr_Clear(); /* of a length that is none */
        return same;
    }
    if ((own = shape_of(array)) == NULL)
        return -1;
    same = PyObject_RichCompareBool(own, shape, Py_EQ);
    Py_DECREF(own);
    return same;
}

PyObject *
from_scalar(PyTypeObject *type, PyObject *y)
{
    return type == ndarray && PyArray_IsScalar(y, Generic) ? PyArray_FromScalar(y, NULL) : NULL;
}

PyObject *
new_like(void *array)
{
    PyArrayObject *x = array;
    return PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
}
