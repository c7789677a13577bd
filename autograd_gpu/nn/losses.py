"""Losses as Modules; arguments and values are those of the functions."""

from __future__ import annotations

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.activations import FunctionModule


class CrossEntropyLoss(FunctionModule):
    """See `functional.cross_entropy`."""

    function = staticmethod(F.cross_entropy)
    names = ("weight", "ignore_index", "reduction", "label_smoothing")


class NLLLoss(FunctionModule):
    """See `functional.nll_loss`."""

    function = staticmethod(F.nll_loss)
    names = ("weight", "ignore_index", "reduction")


class MSELoss(FunctionModule):
    """See `functional.mse_loss`."""

    function = staticmethod(F.mse_loss)
    names = ("reduction",)


class L1Loss(FunctionModule):
    """See `functional.l1_loss`."""

    function = staticmethod(F.l1_loss)
    names = ("reduction",)


class HuberLoss(FunctionModule):
    """See `functional.huber_loss`."""

    function = staticmethod(F.huber_loss)
    names = ("reduction", "delta")


class SmoothL1Loss(FunctionModule):
    """See `functional.smooth_l1_loss`."""

    function = staticmethod(F.smooth_l1_loss)
    names = ("reduction", "beta")


class KLDivLoss(FunctionModule):
    """See `functional.kl_div`."""

    function = staticmethod(F.kl_div)
    names = ("reduction", "log_target")


class BCELoss(FunctionModule):
    """See `functional.binary_cross_entropy`."""

    function = staticmethod(F.binary_cross_entropy)
    names = ("weight", "reduction")


class BCEWithLogitsLoss(FunctionModule):
    """See `functional.binary_cross_entropy_with_logits`."""

    function = staticmethod(F.binary_cross_entropy_with_logits)
    names = ("weight", "pos_weight", "reduction")


class CTCLoss(FunctionModule):
    """See `functional.ctc_loss`."""

    function = staticmethod(F.ctc_loss)
    names = ("blank", "reduction", "zero_infinity")


class CosineSimilarity(FunctionModule):
    """See `functional.cosine_similarity`."""

    function = staticmethod(F.cosine_similarity)
    names = ("dim", "eps")


class CosineEmbeddingLoss(FunctionModule):
    """See `functional.cosine_embedding_loss`."""

    function = staticmethod(F.cosine_embedding_loss)
    names = ("margin", "reduction")


class HingeEmbeddingLoss(FunctionModule):
    """See `functional.hinge_embedding_loss`."""

    function = staticmethod(F.hinge_embedding_loss)
    names = ("margin", "reduction")


class MarginRankingLoss(FunctionModule):
    """See `functional.margin_ranking_loss`."""

    function = staticmethod(F.margin_ranking_loss)
    names = ("margin", "reduction")


class MultiMarginLoss(FunctionModule):
    """See `functional.multi_margin_loss`."""

    function = staticmethod(F.multi_margin_loss)
    names = ("p", "margin", "reduction")


class SoftMarginLoss(FunctionModule):
    """See `functional.soft_margin_loss`."""

    function = staticmethod(F.soft_margin_loss)
    names = ("reduction",)


class TripletMarginLoss(FunctionModule):
    """See `functional.triplet_margin_loss`."""

    function = staticmethod(F.triplet_margin_loss)
    names = ("margin", "p", "eps", "swap", "reduction")


class GaussianNLLLoss(FunctionModule):
    """See `functional.gaussian_nll_loss`."""

    function = staticmethod(F.gaussian_nll_loss)
    names = ("full", "eps", "reduction")


class PoissonNLLLoss(FunctionModule):
    """See `functional.poisson_nll_loss`."""

    function = staticmethod(F.poisson_nll_loss)
    names = ("log_input", "eps", "reduction")
