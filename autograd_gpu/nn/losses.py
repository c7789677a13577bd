"""Losses as Modules; arguments and values are those of the functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_gpu.nn import functional as F
from autograd_gpu.nn.function_module import FunctionModule
from autograd_gpu.nn.module import Module
from autograd_gpu.variable import Variable


class _Loss(FunctionModule):
    shown = ()


class CrossEntropyLoss(_Loss):
    """See `functional.cross_entropy`."""

    function = staticmethod(F.cross_entropy)
    names = ("weight", "ignore_index", "reduction", "label_smoothing")


class NLLLoss(_Loss):
    """See `functional.nll_loss`."""

    function = staticmethod(F.nll_loss)
    names = ("weight", "ignore_index", "reduction")


class MSELoss(_Loss):
    """See `functional.mse_loss`."""

    function = staticmethod(F.mse_loss)
    names = ("reduction",)


class L1Loss(_Loss):
    """See `functional.l1_loss`."""

    function = staticmethod(F.l1_loss)
    names = ("reduction",)


class HuberLoss(_Loss):
    """See `functional.huber_loss`."""

    function = staticmethod(F.huber_loss)
    names = ("reduction", "delta")


class SmoothL1Loss(_Loss):
    """See `functional.smooth_l1_loss`."""

    function = staticmethod(F.smooth_l1_loss)
    names = ("reduction", "beta")


class KLDivLoss(_Loss):
    """See `functional.kl_div`."""

    function = staticmethod(F.kl_div)
    names = ("reduction", "log_target")


class BCELoss(_Loss):
    """See `functional.binary_cross_entropy`."""

    function = staticmethod(F.binary_cross_entropy)
    names = ("weight", "reduction")


class BCEWithLogitsLoss(_Loss):
    """See `functional.binary_cross_entropy_with_logits`."""

    function = staticmethod(F.binary_cross_entropy_with_logits)
    names = ("weight", "reduction", "pos_weight")


class CTCLoss(_Loss):
    """See `functional.ctc_loss`."""

    function = staticmethod(F.ctc_loss)
    names = ("blank", "reduction", "zero_infinity")


class CosineSimilarity(_Loss):
    """See `functional.cosine_similarity`."""

    function = staticmethod(F.cosine_similarity)
    names = ("dim", "eps")


class CosineEmbeddingLoss(_Loss):
    """See `functional.cosine_embedding_loss`."""

    function = staticmethod(F.cosine_embedding_loss)
    names = ("margin", "reduction")


class HingeEmbeddingLoss(_Loss):
    """See `functional.hinge_embedding_loss`."""

    function = staticmethod(F.hinge_embedding_loss)
    names = ("margin", "reduction")


class MarginRankingLoss(_Loss):
    """See `functional.margin_ranking_loss`."""

    function = staticmethod(F.margin_ranking_loss)
    names = ("margin", "reduction")


class MultiMarginLoss(_Loss):
    """See `functional.multi_margin_loss`."""

    function = staticmethod(F.multi_margin_loss)
    names = ("p", "margin", "weight", "reduction")


class SoftMarginLoss(_Loss):
    """See `functional.soft_margin_loss`."""

    function = staticmethod(F.soft_margin_loss)
    names = ("reduction",)


class TripletMarginLoss(_Loss):
    """See `functional.triplet_margin_loss`."""

    function = staticmethod(F.triplet_margin_loss)
    names = ("margin", "p", "eps", "swap", "reduction")


class GaussianNLLLoss(_Loss):
    """See `functional.gaussian_nll_loss`."""

    function = staticmethod(F.gaussian_nll_loss)
    names = ("full", "eps", "reduction")


class PoissonNLLLoss(_Loss):
    """See `functional.poisson_nll_loss`."""

    function = staticmethod(F.poisson_nll_loss)
    names = ("log_input", "full", "eps", "reduction")


class MultiLabelMarginLoss(_Loss):
    """See `functional.multilabel_margin_loss`."""

    function = staticmethod(F.multilabel_margin_loss)
    names = ("reduction",)


class MultiLabelSoftMarginLoss(_Loss):
    """See `functional.multilabel_soft_margin_loss`."""

    function = staticmethod(F.multilabel_soft_margin_loss)
    names = ("weight", "reduction")


class PairwiseDistance(_Loss):
    """See `functional.pairwise_distance`."""

    function = staticmethod(F.pairwise_distance)
    names = ("p", "eps", "keepdim")


class TripletMarginWithDistanceLoss(Module):
    """See `functional.triplet_margin_with_distance_loss`."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Variable] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.distance_function = distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Variable:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
