"""Modules with PyTorch's weights, against PyTorch's: values, gradients, and what repr shows."""

import numpy as np
import pytest
from parity import close, compare_modules, normal, torch, twins

import autograd_gpu as ag
from autograd_gpu import nn

pytestmark = pytest.mark.filterwarnings("ignore:Using padding", "ignore:Implicit dimension")

MODULES = [
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, (2, 4, 7)),
    ("Conv3d", (2, 3, 2), {"padding": "same"}, (1, 2, 3, 4, 5)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, (2, 4, 7)),
    ("ConvTranspose2d", (4, 6, 3), {"groups": 2, "dilation": 2}, (2, 4, 5, 4)),
    ("ConvTranspose3d", (2, 3, 2), {"bias": False}, (1, 2, 3, 4, 2)),
    ("MaxPool1d", (2,), {}, (2, 3, 7)),
    ("MaxPool3d", (2, 1), {}, (2, 3, 4, 4, 3)),
    ("AvgPool1d", (2,), {}, (2, 3, 7)),
    ("AvgPool3d", (2, 1), {}, (2, 3, 4, 4, 3)),
    ("AdaptiveMaxPool2d", (2,), {}, (2, 3, 5, 4)),
    ("AdaptiveAvgPool1d", (2,), {}, (2, 3, 5)),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, (2, 3, 5, 4)),
    ("PReLU", (3,), {}, (2, 3, 5)),
    ("Softmin", (), {"dim": 1}, (2, 3)),
    ("Hardswish", (), {}, (2, 3)),
    ("Unflatten", (1, (2, 3)), {}, (2, 6)),
    ("BatchNorm3d", (3,), {}, (2, 3, 2, 2, 3)),
    ("InstanceNorm2d", (3,), {"affine": True}, (2, 3, 4, 3)),
    ("CosineSimilarity", (), {}, (2, 3)),
    ("Softplus", (2.0,), {"threshold": 1.0}, (2, 3)),
    ("Threshold", (0.1, 2.0), {}, (2, 3)),
    ("Hardshrink", (), {}, (2, 3)),
    ("Softshrink", (0.2,), {}, (2, 3)),
    ("Softmax2d", (), {}, (2, 3, 4, 5)),
    ("GELU", ("tanh",), {}, (2, 3)),
    ("LeakyReLU", (0.2,), {}, (2, 3)),
    ("Bilinear", (3, 3, 2), {}, (5, 3)),
    ("PairwiseDistance", (3.0,), {"keepdim": True}, (2, 3)),
    ("ZeroPad1d", (1,), {}, (2, 3, 4)),
    ("ZeroPad3d", ((1, 2, 0, 1, 2, 1),), {}, (1, 2, 3, 4, 2)),
    ("ConstantPad2d", (1, 3.5), {}, (2, 3, 4)),
    ("ReflectionPad1d", ((1, 2),), {}, (2, 3, 4)),
    ("ReflectionPad3d", (1,), {}, (1, 2, 3, 4, 2)),
    ("ReplicationPad2d", ((1, 0, 2, 1),), {}, (2, 3, 4, 5)),
    ("CircularPad2d", (1,), {}, (2, 3, 4, 5)),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, (1, 2, 3, 2)),
    ("UpsamplingBilinear2d", ((5, 4),), {}, (1, 2, 3, 2)),
    ("Upsample", ((5, 4),), {"mode": "bicubic"}, (1, 2, 3, 2)),
    ("PixelShuffle", (2,), {}, (1, 8, 3, 2)),
    ("PixelUnshuffle", (2,), {}, (1, 2, 4, 6)),
    ("ChannelShuffle", (2,), {}, (1, 4, 3)),
    ("Unfold", ((2, 3),), {"padding": 1}, (1, 2, 4, 5)),
    ("Fold", ((4, 5), (2, 3)), {}, (1, 12, 9)),
    ("LPPool1d", (2, 2), {}, (1, 2, 4)),
    ("LPPool2d", (2, 2), {"stride": 1}, (1, 2, 4, 5)),
    ("AvgPool1d", (3, 2, 1, True, False), {}, (1, 2, 6)),
    ("AvgPool2d", (3, 2, 1), {"divisor_override": 5}, (1, 2, 6, 5)),
    ("MaxPool2d", (2, 1, 1), {"dilation": 2, "ceil_mode": True}, (1, 2, 6, 5)),
    ("AdaptiveMaxPool2d", (2, True), {}, (2, 3, 5, 4)),
    ("LocalResponseNorm", (2,), {"alpha": 0.3}, (2, 3, 4)),
    ("RMSNorm", (3,), {}, (2, 3)),
    ("RMSNorm", (3,), {"eps": 0.1, "elementwise_affine": False}, (2, 3)),
    ("LayerNorm", (3,), {"bias": False}, (2, 3)),
    ("GroupNorm", (2, 4), {"bias": False}, (2, 4, 3)),
    ("BatchNorm1d", (3,), {"bias": False}, (4, 3)),
    ("BatchNorm2d", (3,), {"affine": False, "track_running_stats": False}, (2, 3, 4, 2)),
    ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, (2, 3, 4)),
    ("InstanceNorm2d", (3,), {}, (3, 4, 2)),
    *[
        (
            f"Conv{d}d",
            (2, 4, 3),
            {"padding": padding, "padding_mode": mode, "dilation": step},
            (1, 2, 6, 5, 4)[: d + 2],
        )
        for d in (1, 2, 3)
        for mode, padding, step in (
            ("reflect", 1, 1),
            ("replicate", 2, 1),
            ("circular", "same", 1),
            ("reflect", "valid", 1),
            ("replicate", "same", 2),
        )
        if (mode, padding) != ("reflect", "valid") or d < 3
    ],
    ("Conv2d", (2, 4, (2, 3)), {"padding": (1, 0), "padding_mode": "circular"}, (2, 5, 4)),
    ("Conv2d", (2, 4, (2, 3)), {"padding": "same", "padding_mode": "reflect"}, (1, 2, 5, 4)),
]
TWO = ("CosineSimilarity", "PairwiseDistance", "Bilinear")


@pytest.mark.parametrize(("name", "args", "options", "shape"), MODULES)
def test_modules(name, args, options, shape):
    ours, theirs = twins(name, *args, **options)
    inputs = [normal(*shape), normal(*shape)[::-1] + 0.1][: 1 + (name in TWO)]
    compare_modules(ours, theirs, *inputs)


def test_instance_norm_in_evaluation_uses_the_running_statistics():
    ours, theirs = twins("InstanceNorm2d", 3, track_running_stats=True)
    for _ in range(3):
        compare_modules(ours, theirs, normal(2, 3, 4, 5))
    ours.eval()
    theirs.eval()
    compare_modules(ours, theirs, normal(2, 3, 4, 5) * 2)


def test_maxima_go_back_to_where_they_were():
    for d, x in ((1, normal(2, 3, 6)), (2, normal(2, 3, 6, 4)), (3, normal(1, 2, 4, 4, 2))):
        results = []
        for m in (nn, torch.nn):
            pool = getattr(m, f"MaxPool{d}d")(2, return_indices=True)
            unpool = getattr(m, f"MaxUnpool{d}d")(2)
            results.append(unpool(*pool(torch.tensor(x) if m is torch.nn else x)))
        close(results[0].value, results[1])


def test_transposed_convolution_to_a_size():
    ours, theirs = twins("ConvTranspose2d", 2, 3, 3, stride=3, padding=1)
    x = normal(1, 2, 4, 5)
    for size in ((10, 13), (11, 15), (1, 3, 12, 14)):
        close(ours(x, output_size=size).value, theirs(torch.tensor(x), output_size=size))
    with pytest.raises(ValueError, match=r"output_size \(9, 13\) must be at least \[10, 13\]"):
        ours(x, output_size=(9, 13))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    ours, theirs = twins("EmbeddingBag", 5, 3, mode=mode, padding_idx=2)
    at = np.array([[0, 2, 4], [1, 1, 2]])
    close(ours(at).value, theirs(torch.tensor(at)))


def test_embedding_of_a_given_table():
    table = normal(4, 3)
    layer = nn.Embedding.from_pretrained(table)
    close(layer([[1, 3]]).value, torch.nn.Embedding.from_pretrained(torch.tensor(table))(
        torch.tensor([[1, 3]])))  # fmt: skip
    assert not layer.weight.requires_grad
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad


WEIGHT, HOT = np.array([1.0, 2.0, 0.5]), np.array([[0.0, 1.0, 1.0]] * 2)
LOSSES = [
    ("MultiLabelMarginLoss", {}, np.array([[0, -1, 1], [2, 1, -1]])),
    (
        "MultiLabelSoftMarginLoss",
        {"weight": WEIGHT},
        HOT,
    ),
    ("MultiMarginLoss", {"p": 2, "weight": WEIGHT}, np.array([0, 2])),
    ("CrossEntropyLoss", {"weight": WEIGHT}, np.array([0, 2])),
    ("BCEWithLogitsLoss", {"pos_weight": WEIGHT}, HOT),
    ("PoissonNLLLoss", {"full": True}, np.array([[0.0, 1, 3]] * 2)),
]


@pytest.mark.parametrize(("name", "options", "target"), LOSSES)
def test_losses(name, options, target):
    tensors = {k: torch.tensor(v) if hasattr(v, "shape") else v for k, v in options.items()}
    ours, theirs = getattr(nn, name)(**options), getattr(torch.nn, name)(**tensors)
    x = normal(2, 3)
    close(ours(ag.Variable(x), target).value, theirs(torch.tensor(x), torch.tensor(target)))


def test_a_triplet_loss_with_a_distance():
    def distance(a, b):
        return abs(a - b).sum(-1)

    x = [normal(2, 3), normal(2, 3)[::-1].copy(), normal(3, 2).T.copy()]
    options = {"distance_function": distance, "margin": 2.0, "swap": True}
    ours, theirs = (m.TripletMarginWithDistanceLoss(**options) for m in (nn, torch.nn))
    compare_modules(Bare(ours), Bare(theirs), *x)


class Bare:
    """A module without parameters."""

    def __init__(self, module):
        self.module = module

    def __call__(self, *xs):
        return self.module(*xs)

    def named_parameters(self):
        return []

    def parameters(self):
        return []


def test_weights_of_losses_move_with_them(backend):
    loss = nn.CrossEntropyLoss(weight=np.array([1.0, 2.0], "f4")).to(backend)
    x = ag.Variable(np.zeros((3, 2), "f4")).to(backend)
    assert loss(x, [0, 1, 1]).item() == pytest.approx(np.log(2))
    assert list(loss.state_dict()) == ["weight"]


WRITTEN = """
ELU() CELU() SELU() GLU() GELU() GELU('tanh') Hardshrink() Softshrink() LeakyReLU(0.2) Softplus()
Threshold(0.1,2.0) RReLU() Hardtanh() Softmax(1) Softmin(1) LogSoftmax(1) Softmax2d() ReLU() PReLU()
ReLU6() Hardswish() Hardsigmoid() Tanhshrink() Softsign() Mish() SiLU() LogSigmoid()
CrossEntropyLoss() MSELoss() CosineSimilarity() PairwiseDistance() TripletMarginLoss() CTCLoss()
MultiLabelMarginLoss() MultiLabelSoftMarginLoss() GaussianNLLLoss() HuberLoss() KLDivLoss()
Linear(2,3) Bilinear(2,3,4) Identity() Flatten() Unflatten(1,(2,3)) Embedding(3,4)
Embedding(3,4,padding_idx=1) EmbeddingBag(3,4) ZeroPad1d(1) ZeroPad2d((1,2,3,4))
ConstantPad1d(2,3.5) ReflectionPad2d(1) ReplicationPad3d(1) CircularPad1d((1,2))
Upsample((2,3),mode='bilinear') PixelShuffle(2) PixelUnshuffle(2) ChannelShuffle(2) Fold((4,5),2)
Unfold(2) LayerNorm(3) LayerNorm((2,3),elementwise_affine=False) LayerNorm(3,bias=False) RMSNorm(3)
GroupNorm(2,4) BatchNorm1d(3) BatchNorm2d(3,affine=False,track_running_stats=False)
InstanceNorm2d(3) InstanceNorm1d(3,affine=True,track_running_stats=True) LocalResponseNorm(2)
MaxPool1d(2) MaxPool2d((2,3),2,1) AvgPool2d(2) AvgPool3d(2) AdaptiveAvgPool2d(2)
AdaptiveMaxPool2d((2,3)) LPPool1d(2,3) Conv1d(2,4,3) Conv2d(2,4,3,padding=1,stride=2)
Conv2d(2,4,3,padding='same',padding_mode='reflect')
Conv3d(2,4,(1,2,3),dilation=2,groups=2,bias=False) ConvTranspose2d(2,4,3,output_padding=1,stride=2)
RNN(2,3) LSTM(2,3,2,batch_first=True,bidirectional=True,dropout=0.1) LSTM(2,3,proj_size=2)
GRU(2,3,bias=False) RNNCell(2,3) LSTMCell(2,3,bias=False) RNNCell(2,3,nonlinearity='relu')
""".split()  # noqa: SIM905


@pytest.mark.parametrize("written", WRITTEN)
def test_repr(written):
    texts = [repr(eval(f"m.{written}", {"m": m})) for m in (nn, torch.nn)]
    assert texts[0] == texts[1]


REFUSED = [
    (lambda: nn.Conv3d(3, 4, 2, groups=2), "multiples of groups"),
    (lambda: nn.Conv2d(3, 4, 2, padding_mode="mirror"), "padding_mode is one of"),
    (lambda: nn.ConvTranspose2d(3, 4, 2, padding_mode="reflect"), r"padding_mode is one of \('zer"),
    (lambda: nn.ConvTranspose2d(2, 2, 3, padding="same"), "integer or a pair"),
    (lambda: nn.ReflectionPad2d((1, 2)), "an integer or 4 of them"),
    (lambda: nn.ZeroPad1d(1)(np.ones(3)), "2 or 3 axes"),
    (lambda: nn.Softmax2d()(np.ones(3)), r"\[N, C, H, W\]"),
    (lambda: nn.AlphaDropout(1.5), "probability"),
    (lambda: nn.BatchNorm2d(3, momentum=None), "a number, not None"),
    (lambda: nn.init.trunc_normal_(ag.Variable(np.ones(3)), a=2.0, b=1.0), "nothing of mean"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="ReLU: .*'inplace'; it takes no options"):
        nn.ReLU(inplace=True)
    with pytest.raises(TypeError, match="ELU: .*'beta'; it takes alpha"):
        nn.ELU(beta=2.0)
    with pytest.raises(TypeError, match="Threshold: missing .*'value'"):
        nn.Threshold(1.0)
