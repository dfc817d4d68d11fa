"""A Llama-like toy whose parameters have the names of our model, with marks around each unit.

A mark is an identity in the autograd graph: its forward and its backward write a line to the log.
It stands inside the module, so hooks of DDP and FSDP on the module's inputs and outputs run outside
of it: `F> x` is written after the parameters of x are there, `B< x` when the gradients of x are.
"""

import dataclasses

import torch
import torch.nn as nn
import torch.nn.functional as functional


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int = 4
    hidden: int = 32
    ffn: int = 48
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 8
    vocab: int = 96
    batch: int = 2
    sequence: int = 8


# No first dimension divides by 4, so every parameter is padded when it is sharded over 4 ranks.
UNEVEN = Sizes(hidden=30, ffn=45, heads=3, kv_heads=1, head_dim=10, vocab=101)


class Mark(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, log, forward_line, backward_line):
        ctx.log, ctx.line = log, backward_line
        log(forward_line)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.log(ctx.line)
        return grad, None, None, None


class Marked:
    """A module that marks the begin and the end of its forward and backward."""

    def named(self, name, log):
        self.mark_name, self.log = name, log
        return self

    def begin(self, x, part=""):
        name = self.mark_name + part
        if not x.requires_grad:  # tokens: nothing to hang a backward mark on
            self.log(f"F> {name}")
            return x
        return Mark.apply(x, self.log, f"F> {name}", f"B< {name}")

    def end(self, x, part=""):
        name = self.mark_name + part
        return Mark.apply(x, self.log, f"F< {name}", f"B> {name}")


class Embedding(Marked, nn.Embedding):
    def forward(self, tokens):
        return self.end(super().forward(self.begin(tokens)))


class Layer(Marked, nn.Module):
    def __init__(self, sizes, parts=False):
        super().__init__()
        self.sizes, self.parts = sizes, parts
        h, d = sizes.hidden, sizes.head_dim
        self.norm1 = nn.RMSNorm(h)
        self.qkv = nn.Linear(h, (sizes.heads + 2 * sizes.kv_heads) * d, bias=False)
        self.o = nn.Linear(sizes.heads * d, h, bias=False)
        self.norm2 = nn.RMSNorm(h)
        self.gate_up = nn.Linear(h, 2 * sizes.ffn, bias=False)
        self.down = nn.Linear(sizes.ffn, h, bias=False)

    def attention(self, x):
        heads, kv, d = self.sizes.heads, self.sizes.kv_heads, self.sizes.head_dim
        q, k, v = self.qkv(x).unflatten(-1, (-1, d)).split([heads, kv, kv], dim=-2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = (t.repeat_interleave(heads // kv, dim=1) for t in (k, v))
        scores = (q @ k.transpose(-1, -2)).softmax(-1)
        return self.o((scores @ v).transpose(1, 2).flatten(2))

    def mlp(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(functional.silu(gate) * up)

    def part(self, name, function, x):
        return self.end(function(self.begin(x, name)), name) if self.parts else function(x)

    def forward(self, x):
        x = self.begin(x)
        x = x + self.part(".attention", self.attention, self.norm1(x))
        return self.end(x + self.part(".mlp", self.mlp, self.norm2(x)))


class Norm(Marked, nn.RMSNorm):
    def forward(self, x):
        return self.end(super().forward(self.begin(x)))


class Head(Marked, nn.Linear):
    def forward(self, x):
        return self.end(super().forward(self.begin(x)))


class Toy(nn.Module):
    """The whole model, or a stage of it: layers [first, last), and the ends that belong to them."""

    def __init__(self, sizes, log, first=0, last=None, parts=False):
        super().__init__()
        last = sizes.layers if last is None else last
        h, ends = sizes.hidden, last == sizes.layers
        self.embedding = (Embedding(sizes.vocab, h).named("embedding", log) if first == 0
                          else None)
        self.layers = nn.ModuleDict({str(i): Layer(sizes, parts).named(f"layers.{i}", log)
                                     for i in range(first, last)})
        self.norm = Norm(h).named("norm", log) if ends else None
        self.head = Head(h, sizes.vocab, bias=False).named("head", log) if ends else None

    def forward(self, x):
        x = self.embedding(x) if self.embedding is not None else x
        for layer in self.layers.values():
            x = layer(x)
        return self.head(self.norm(x)) if self.head is not None else x


def loss_of(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def tokens_and_targets(sizes, rank, index):
    generator = torch.Generator().manual_seed(1000 * index + rank)
    shape = (sizes.batch, sizes.sequence)
    return tuple(torch.randint(0, sizes.vocab, shape, generator=generator) for _ in range(2))
