"""The differentiable functions, under the array API's names.

This module is the namespace in which derivatives run under create_graph: what a derivative calls as
`xp.name` is looked up here for Variables.
"""

from __future__ import annotations

import sys

from autograd_gpu.backend import NAMESPACES
from autograd_gpu.ops.casts import astype as astype
from autograd_gpu.ops.casts import cpu as cpu
from autograd_gpu.ops.casts import cuda as cuda
from autograd_gpu.ops.casts import to as to
from autograd_gpu.ops.einsum import einsum as einsum
from autograd_gpu.ops.elementwise import add as add
from autograd_gpu.ops.elementwise import multiply as multiply
from autograd_gpu.ops.elementwise import subtract as subtract
from autograd_gpu.ops.elementwise import tanh as tanh
from autograd_gpu.ops.indexing import argsort as argsort
from autograd_gpu.ops.indexing import getitem as getitem
from autograd_gpu.ops.indexing import nonzero as nonzero
from autograd_gpu.ops.indexing import put_along_axis as put_along_axis
from autograd_gpu.ops.indexing import scatter_add as scatter_add
from autograd_gpu.ops.indexing import searchsorted as searchsorted
from autograd_gpu.ops.indexing import set_at as set_at
from autograd_gpu.ops.indexing import sort as sort
from autograd_gpu.ops.indexing import take as take
from autograd_gpu.ops.indexing import take_along_axis as take_along_axis
from autograd_gpu.ops.indexing import unique_all as unique_all
from autograd_gpu.ops.indexing import unique_counts as unique_counts
from autograd_gpu.ops.indexing import unique_inverse as unique_inverse
from autograd_gpu.ops.indexing import unique_values as unique_values
from autograd_gpu.ops.inplace import inplace as inplace
from autograd_gpu.ops.inplace import setitem as setitem
from autograd_gpu.ops.joining import concat as concat
from autograd_gpu.ops.joining import pad as pad
from autograd_gpu.ops.joining import split as split
from autograd_gpu.ops.joining import stack as stack
from autograd_gpu.ops.joining import unstack as unstack
from autograd_gpu.ops.matmul import dot as dot
from autograd_gpu.ops.matmul import inner as inner
from autograd_gpu.ops.matmul import kron as kron
from autograd_gpu.ops.matmul import matmul as matmul
from autograd_gpu.ops.matmul import outer as outer
from autograd_gpu.ops.matmul import tensordot as tensordot
from autograd_gpu.ops.matmul import vecdot as vecdot
from autograd_gpu.ops.shape import atleast_1d as atleast_1d
from autograd_gpu.ops.shape import atleast_2d as atleast_2d
from autograd_gpu.ops.shape import atleast_3d as atleast_3d
from autograd_gpu.ops.shape import broadcast_arrays as broadcast_arrays
from autograd_gpu.ops.shape import broadcast_shapes as broadcast_shapes
from autograd_gpu.ops.shape import broadcast_to as broadcast_to
from autograd_gpu.ops.shape import expand_dims as expand_dims
from autograd_gpu.ops.shape import flatten as flatten
from autograd_gpu.ops.shape import flip as flip
from autograd_gpu.ops.shape import matrix_transpose as matrix_transpose
from autograd_gpu.ops.shape import moveaxis as moveaxis
from autograd_gpu.ops.shape import permute_dims as permute_dims
from autograd_gpu.ops.shape import ravel as ravel
from autograd_gpu.ops.shape import repeat as repeat
from autograd_gpu.ops.shape import reshape as reshape
from autograd_gpu.ops.shape import roll as roll
from autograd_gpu.ops.shape import squeeze as squeeze
from autograd_gpu.ops.shape import swapaxes as swapaxes
from autograd_gpu.ops.shape import tile as tile
from autograd_gpu.ops.shape import transpose as transpose
from autograd_gpu.variable import Variable

NAMESPACES[Variable] = sys.modules[__name__]
