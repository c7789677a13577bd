"""Tools around Modules: sequences of several lengths, parametrized weights, bounds on gradients."""

from autograd_gpu.nn.utils import parametrizations as parametrizations, rnn as rnn
from autograd_gpu.nn.utils.vectors import (
    parameters_to_vector as parameters_to_vector,
    vector_to_parameters as vector_to_parameters,
)
from autograd_gpu.optim.clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    get_total_norm as get_total_norm,
)
