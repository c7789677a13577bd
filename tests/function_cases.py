"""Functions of `nn.functional` with operands, the options they are called with, and a name each.

Each row is compared with PyTorch (tests/nn/test_torch_parity_table.py) and between the backends
(tests/nn/test_table_on_every_backend.py).
"""

from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A call `F.<function>(*operands, **options)`; gradients go to the operands."""

    function: str
    operands: tuple[np.ndarray, ...]
    options: dict[str, Any]

    @property
    def id(self) -> str:
        shapes = "x".join(str(list(x.shape)) for x in self.operands)
        options = ",".join(
            f"{k}={v if np.ndim(v) == 0 else list(np.shape(v))}" for k, v in self.options.items()
        )
        return f"{self.function}-{shapes}-{options}"


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 7 * len(shape)).standard_normal(shape)


def case(function: str, *operands: np.ndarray, **options: Any) -> Case:
    return Case(function, operands, options)


X = 3 * normal(4, 3)
OTHER = X[::-1] + 0.5
IMAGE, VOLUME, SIGNAL = normal(2, 4, 5, 6), normal(1, 2, 4, 3, 5), normal(2, 3, 7)
POSITIVE = np.abs(normal(2, 3, 6, 5)) + 0.1
LABELS = np.array([0, 2, 1, 1])
MANY = np.array([[2, 0, -1], [1, -1, 0], [-1, 0, 0], [0, 1, 2]])
HOT = (normal(4, 3) > 0).astype(float)
SIGNS = 2 * HOT - 1
WEIGHT = np.linspace(0.5, 2, 3)
REDUCTIONS = ("mean", "sum", "none")


def interior(shape: tuple[int, ...], reach: float) -> np.ndarray:
    """Positions for `grid_sample`, away from the kinks between pixels."""
    return np.random.default_rng(3).uniform(-reach, reach, shape)


CASES = [
    case("softplus", X, beta=2.0),
    case("softplus", X, beta=0.5, threshold=1.0),
    case("threshold", X, threshold=0.3, value=-1.5),
    case("hardshrink", X),
    case("hardshrink", X, lambd=1.2),
    case("softshrink", X),
    case("softshrink", X, lambd=1.2),
    case("rrelu", X),
    case("rrelu", X, lower=0.2, upper=0.8),
    *[case("multilabel_margin_loss", X, target=MANY, reduction=r) for r in REDUCTIONS],
    case("multilabel_margin_loss", X[0], target=MANY[0]),
    *[case("multilabel_soft_margin_loss", X, target=HOT, reduction=r) for r in REDUCTIONS],
    case("multilabel_soft_margin_loss", X, target=HOT, weight=WEIGHT),
    *[case("multi_margin_loss", X, target=LABELS, weight=WEIGHT, reduction=r) for r in REDUCTIONS],
    *[
        case(loss, X, normal(4, 3), weight=np.abs(X) + 0.1, reduction=r)
        for loss in ("mse_loss", "l1_loss", "huber_loss")
        for r in REDUCTIONS
    ],
    *[case("poisson_nll_loss", X, target=np.abs(X), full=True, reduction=r) for r in REDUCTIONS],
    case("binary_cross_entropy_with_logits", X, target=HOT, weight=WEIGHT, pos_weight=WEIGHT),
    case("binary_cross_entropy", 1 / (1 + np.exp(-X)), target=HOT, weight=WEIGHT),
    case("kl_div", X, target=np.abs(X), reduction="sum"),
    case("cosine_embedding_loss", X, OTHER, target=SIGNS[:, 0], margin=0.1),
    case("hinge_embedding_loss", X, target=SIGNS),
    case("margin_ranking_loss", X, OTHER, target=SIGNS),
    case("soft_margin_loss", X, target=SIGNS),
    case("cosine_similarity", X, OTHER, dim=0),
    case("poisson_nll_loss", np.abs(X), target=np.abs(X), full=True, log_input=False, eps=1e-3),
    case("gaussian_nll_loss", X, normal(4, 3), np.abs(normal(4, 1)) + 0.1),
    case("gaussian_nll_loss", X, normal(4, 3), np.abs(normal(4)) + 0.1, full=True),
    case("gaussian_nll_loss", X, normal(4, 3), np.abs(normal(1, 3)) + 0.1, reduction="sum"),
    case("gaussian_nll_loss", X, normal(4, 3), var=0.7),
    *[
        case("triplet_margin_with_distance_loss", X, normal(4, 3), OTHER, swap=s, margin=2.0)
        for s in (False, True)
    ],
    case("pairwise_distance", X, normal(4, 3), keepdim=True),
    case("pairwise_distance", X, normal(4, 3), p=float("inf")),
    case("pairwise_distance", X, normal(3), p=3.0),
    case("normalize", X, p=float("inf")),
    *[case("pdist", X, p=p) for p in (1.0, 2.0, 3.5, float("inf"))],
    case("bilinear", normal(2, 5, 3), normal(2, 5, 4), normal(6, 3, 4), normal(6)),
    case("bilinear", normal(3), normal(4), normal(2, 3, 4)),
    case("local_response_norm", IMAGE, size=3, alpha=0.5, beta=0.6, k=1.5),
    case("local_response_norm", SIGNAL, size=2, alpha=0.5),
    case("local_response_norm", VOLUME, size=4),
    case("instance_norm", IMAGE, running_mean=normal(4), running_var=np.abs(normal(4)) + 0.1,
         use_input_stats=False),
    case("pixel_unshuffle", normal(2, 3, 4, 6), downscale_factor=2),
    case("channel_shuffle", IMAGE, groups=2),
    case("unfold", IMAGE, kernel_size=(2, 3)),
    case("unfold", IMAGE[0], kernel_size=2, dilation=(2, 1), padding=(1, 2), stride=(1, 3)),
    case("fold", normal(2, 12, 12), output_size=(4, 6), kernel_size=(2, 3)),
    case("fold", normal(8, 9), output_size=(5, 5), kernel_size=2, padding=1, stride=2, dilation=2),
    *[
        case(f"lp_pool{x.ndim - 2}d", x, norm_type=p, kernel_size=2, **options)
        for x in (np.abs(SIGNAL), POSITIVE, np.abs(VOLUME))
        for p, options in ((2, {}), (3.5, {"stride": 1}), (2, {"ceil_mode": True}), (np.inf, {}))
    ],
    case("lp_pool2d", np.abs(IMAGE[..., :3]), norm_type=2, kernel_size=4, ceil_mode=True),
    case("avg_pool2d", IMAGE[..., :3], kernel_size=4, ceil_mode=True),
    case("max_pool1d", SIGNAL[..., :4], kernel_size=3, dilation=2, ceil_mode=True, stride=2),
    *[case("interpolate", IMAGE, scale_factor=f) for f in (1.1, (1.19, 2.1), (2.1, 1.3))],
    *[
        case("interpolate", x, mode=mode, **target)
        for mode in ("nearest-exact", "area")
        for x in (SIGNAL, IMAGE, VOLUME)
        for target in ({"size": 3}, {"size": 8}, {"scale_factor": 1.7}, {"scale_factor": 0.6})
    ],
    *[
        case("interpolate", IMAGE, mode="bicubic", align_corners=corners, **target)
        for corners in (False, True)
        for target in ({"size": (3, 9)}, {"scale_factor": 1.7}, {"scale_factor": (0.5, 2.0)})
    ],
    *[
        case("interpolate", IMAGE, mode=mode, antialias=True, align_corners=corners, **target)
        for mode in ("bilinear", "bicubic")
        for corners in (False, True)
        for target in ({"size": (2, 9)}, {"scale_factor": (0.5, 1.7)}, {"size": (1, 1)})
    ],
    case("interpolate", IMAGE, mode="bilinear", scale_factor=1.7, recompute_scale_factor=True),
    case("affine_grid", normal(2, 2, 3), size=(2, 3, 4, 5)),
    case("affine_grid", normal(2, 2, 3), size=(2, 3, 4, 5), align_corners=True),
    case("affine_grid", normal(2, 3, 4), size=(2, 1, 3, 1, 4)),
    *[
        case("grid_sample", IMAGE, interior((2, 3, 2, 2), 1.6), mode=mode, padding_mode=padding,
             align_corners=corners)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ],
    *[
        case("grid_sample", VOLUME, interior((1, 2, 3, 2, 3), 1.6), mode=mode, padding_mode=padding,
             align_corners=False)
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
    ],
    case("scaled_dot_product_attention", normal(2, 4, 3, 5), normal(2, 2, 6, 5), normal(2, 2, 6, 4),
         enable_gqa=True, scale=0.3),
    case("scaled_dot_product_attention", normal(2, 4, 3, 5), normal(2, 1, 3, 5), normal(2, 1, 3, 4),
         enable_gqa=True, is_causal=True),
]  # fmt: skip
