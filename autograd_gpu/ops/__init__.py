"""The differentiable functions, under the array API's names.

This module is the namespace in which derivatives run under create_graph: what a derivative calls as
`xp.name` is looked up here for Variables.
"""

from __future__ import annotations

import sys

from autograd_gpu.backend import NAMESPACES
from autograd_gpu.ops.elementwise import add as add
from autograd_gpu.ops.elementwise import multiply as multiply
from autograd_gpu.ops.elementwise import subtract as subtract
from autograd_gpu.ops.elementwise import tanh as tanh
from autograd_gpu.variable import Variable

NAMESPACES[Variable] = sys.modules[__name__]
