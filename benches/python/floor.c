/* The floors of the Python benchmarks: what CPython itself charges for a native context manager of
 * the usual kind and for a native call, when neither does anything.
 *
 * The usual kind: a static type, objects from a free list, __enter__ and __exit__ as method
 * descriptors, made by a function with the vectorcall convention. Nothing is kept or recorded.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { FREE_MAX = 64 };

static PyObject *free_list[FREE_MAX];
static int free_count;

static PyObject *cm_enter(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    Py_INCREF(self);
    return self;
}

static PyObject *cm_exit(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
                         Py_ssize_t Py_UNUSED(count))
{
    Py_RETURN_NONE;
}

static void cm_dealloc(PyObject *self)
{
    if (free_count < FREE_MAX)
        free_list[free_count++] = self;
    else
        PyObject_Free(self);
}

static PyMethodDef cm_methods[] = {
    {"__enter__", cm_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))cm_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject cm_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "floor.Cm",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = cm_dealloc,
    .tp_methods = cm_methods,
};

static PyObject *floor_cm(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(args),
                          Py_ssize_t count, PyObject *names)
{
    if (count != 1 || names != NULL)
        return PyErr_Format(PyExc_TypeError, "cm() takes one name");
    if (free_count > 0)
        return PyObject_Init(free_list[--free_count], &cm_type);
    return PyObject_New(PyObject, &cm_type);
}

static PyObject *floor_call(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(args),
                            Py_ssize_t Py_UNUSED(count))
{
    Py_RETURN_NONE;
}

/* Calls burst(items). Instruction counting begins and ends here, so it keeps its name. */
PyObject *floor_counted(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "counted() takes a burst and its items");
    return PyObject_CallOneArg(args[0], args[1]);
}

static PyMethodDef floor_methods[] = {
    {"cm", (PyCFunction)(void (*)(void))floor_cm, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"counted", (PyCFunction)(void (*)(void))floor_counted, METH_FASTCALL, NULL},
    {"call", (PyCFunction)(void (*)(void))floor_call, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef floor_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "floor",
    .m_size = -1,
    .m_methods = floor_methods,
};

PyMODINIT_FUNC PyInit_floor(void)
{
    if (PyType_Ready(&cm_type) < 0)
        return NULL;
    return PyModule_Create(&floor_module);
}
