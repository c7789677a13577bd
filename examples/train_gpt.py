"""Train a small GPT, character by character, on the source text of Python's standard library.

Writes a checkpoint every so often, which `--resume` continues from with bitwise the same losses as
if it had never stopped; a log; the learning curve; and, in the end, a page of made-up Python.

    python examples/train_gpt.py
"""

import argparse
import itertools
import math
import sysconfig
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from tqdm import tqdm

import autograd_gpu as ag
from autograd_gpu import nn
from autograd_gpu.nn import functional as F

mpl.use("Agg")  # draws into files, also where there is no screen
import matplotlib.pyplot as plt

CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", choices=["auto", "numpy", "cupy"], default="auto")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--stop-after", type=int, help="stop early, as if interrupted")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in OUT")
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--quick", action="store_true", help="a tiny model, for tests")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def standard_library() -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all characters, of nine files in ten for training and of the tenth."""
    number = np.full(256, CHARACTERS.index("?"), np.int64)
    number[[ord(c) for c in CHARACTERS]] = range(len(CHARACTERS))
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    texts = [number[np.frombuffer(path.read_bytes(), np.uint8)] for path in files]
    held_out = [text for i, text in enumerate(texts) if i % 10 == 0]
    return np.concatenate([t for i, t in enumerate(texts) if i % 10]), np.concatenate(held_out)


class Block(nn.Module):
    """Attention to the characters before, then a layer for each character alone."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(n, length, 3, self.heads, width // self.heads)
        q, k, v = ag.unstack(ag.permute_dims(qkv, (2, 0, 3, 1, 4)))  # [n, heads, length, ...]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(ag.swapaxes(y, 1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Logits of the next character, at every place of [n, length] numbers of characters."""

    def __init__(self, length: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.length = length
        self.character = nn.Embedding(len(CHARACTERS), width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(CHARACTERS))
        for name, x in self.named_parameters():
            if "weight" in name and "norm" not in name:
                nn.init.normal_(x, std=0.02)

    def forward(self, text):
        x = self.character(text) + self.place.weight[: text.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def loss(self, windows):
        """Nats per character of [n, length + 1] numbers."""
        logits = self(windows[:, :-1])
        return F.cross_entropy(logits.reshape(-1, len(CHARACTERS)), windows[:, 1:].reshape(-1))


def windows(text: np.ndarray, length: int, seed: int, batch: int) -> ag.data.Batches:
    """Batches of windows of `length` characters and the one that comes next."""
    starts = np.arange(0, len(text) - length, length)
    within = np.arange(length + 1)
    return ag.data.Batches(
        starts,
        batch_size=batch,
        seed=seed,
        drop_last=True,
        prefetch=2,
        transform=lambda at: text[at[:, None] + within],
    )


def forever(batches):
    """Epoch after epoch."""
    while True:
        yield from batches


def validate(model: GPT, text: np.ndarray, count: int) -> float:
    """Nats per character, over up to `count` batches of windows."""
    batches = windows(text, model.length, 0, 32)
    with ag.no_grad():
        losses = [model.loss(batch) for batch in itertools.islice(batches, count)]
    return float(np.mean([loss.item() for loss in losses]))


def sample(model: GPT, generator: ag.Generator, start: str, count: int) -> str:
    """`start` and `count` more characters, each drawn from the model's probabilities."""
    text = [CHARACTERS.index(c) for c in start]
    with ag.no_grad():
        for u in generator.uniform((count,)):
            p = ag.softmax(model(ag.Variable([text[-model.length :]]))[0, -1] / 0.8).numpy()
            text.append(min(int(np.searchsorted(p.cumsum(), u)), len(CHARACTERS) - 1))
    return "".join(CHARACTERS[i] for i in text)


def rate(step: int, steps: int) -> float:
    """The learning rate: up in a twentieth of all steps, down along a cosine."""
    warm_up = max(1, steps // 20)
    if step < warm_up:
        return 3e-3 * (step + 1) / warm_up
    return 1e-4 + 2.9e-3 * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up))) / 2


def main() -> None:
    args = arguments()
    ag.set_backend(args.backend)
    generator = ag.manual_seed(args.seed)
    train_text, test_text = standard_library()
    model = GPT(32, 32, 2, 1) if args.quick else GPT(64, 96, 4, 3)
    optimizer = ag.optim.AdamW(model.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.1)
    batches = windows(train_text, model.length, args.seed, args.batch)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "gpt.safetensors"
    stateful = {"model": model, "optimizer": optimizer, "random": generator, "batches": batches}
    step = 0
    if args.resume:
        state = ag.load(path)
        step = state["step"]
        for name, x in stateful.items():
            x.load_state_dict(state[name])
    log = ag.data.Log(args.out / "gpt.jsonl", upto={"step": step})

    stop = min(args.steps, args.stop_after or args.steps)
    progress = tqdm(total=args.steps, initial=step, unit="step", desc=f"on {ag.get_backend()}")
    start = time.perf_counter()
    characters = 0
    for batch in itertools.islice(forever(batches), stop - step):
        optimizer.param_groups[0]["lr"] = rate(step, args.steps)
        loss = model.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        ag.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        characters += batch.shape[0] * model.length
        entry = {"step": step, "loss": loss.item()}
        if step % args.every == 0 or step == stop:
            entry["validation"] = validate(model, test_text, 8)
            states = {name: x.state_dict() for name, x in stateful.items()}
            ag.save(path, {"step": step, **states})
        log.write(**entry)
        per_second = characters / (time.perf_counter() - start)
        progress.set_postfix(loss=f"{entry['loss']:.3f}", characters=f"{per_second:.0f}/s")
        progress.update()
    progress.close()

    seconds = time.perf_counter() - start
    count = sum(x.size for x in model.parameters())
    print(f"{count} parameters, {characters} characters in {seconds:.0f} s")
    print(f"validation loss: {validate(model, test_text, 8 if args.quick else 300):.3f} nats")
    draw(ag.data.read_log(log.path), args.out / "gpt.png")
    print(sample(model, generator, "def ", 40 if args.quick else 500))


def draw(entries: list[dict], picture: Path) -> None:
    tested = [entry for entry in entries if "validation" in entry]
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot([e["step"] for e in entries], [e["loss"] for e in entries], lw=0.5, label="training")
    axes.plot([e["step"] for e in tested], [e["validation"] for e in tested], label="validation")
    axes.set(xlabel="step", ylabel="nats per character", ylim=(0, None))
    axes.legend()
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    print(f"learning curve: {picture}")


if __name__ == "__main__":
    main()
