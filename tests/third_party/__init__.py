"""Functions of other libraries on Variables: what docs/scipy.md lists, as calls.

Each module has tables of calls `(function of Variables, value, ...)`:

    WORKS          the gradient arrives, and agrees with central differences
    WITH_NAN_SAFE  the same under nan_safe
    REFUSES        TypeError: compiled code, or a conversion to NumPy
    NUMBERS        a Python number comes back, which has no gradient
"""
