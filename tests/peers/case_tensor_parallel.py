"""Tensor parallelism by DTensor over 2 ranks, without and with SequenceParallel."""

import contextlib
import dataclasses

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import Sizes, Toy, loss_of, tokens_and_targets

VARIANTS = {
    "tensor": {},
    "tensor_sequence": {"sequence": True},
    "tensor_sequence_loss": {"sequence": True, "loss": True},
}
SIZES = Sizes(layers=2)


def parallel(model, mesh, options):
    sequence = options.get("sequence", False)
    between = Shard(1) if sequence else Replicate()  # the layout of the residual stream
    plan = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
        "head": ColwiseParallel(
            input_layouts=between, use_local_output=not options.get("loss"),
            output_layouts=Shard(-1) if options.get("loss") else Replicate()),
    }
    for i in model.layers:
        for name in ("qkv", "gate_up"):
            plan[f"layers.{i}.{name}"] = ColwiseParallel(input_layouts=between)
        for name in ("o", "down"):
            plan[f"layers.{i}.{name}"] = RowwiseParallel(output_layouts=between)
        if sequence:
            plan |= {f"layers.{i}.{name}": SequenceParallel() for name in ("norm1", "norm2")}
    if sequence:
        plan["norm"] = SequenceParallel()
    local = dataclasses.replace(SIZES, heads=SIZES.heads // mesh.size(),
                                kv_heads=SIZES.kv_heads // mesh.size())
    for layer in model.layers.values():
        layer.sizes = local
    return parallelize_module(model, mesh, plan)


def train(log, mesh, options):
    log.section("init")
    model = parallel(Toy(SIZES, log, parts=True), mesh, options)
    # foreach is the default on CUDA; like clipping it cannot mix DTensors with plain tensors, which
    # the norms are without sequence parallelism.
    sequence = options.get("sequence", False)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=sequence)
    for step in range(2):
        tokens, targets = tokens_and_targets(SIZES, 0, step)
        with loss_parallel() if options.get("loss") else contextlib.nullcontext():
            log.section(f"step {step} forward")
            logits = model(tokens)
            log("F> loss")
            loss = loss_of(logits, targets)
            log.section(f"step {step} backward")
            loss.backward()
        if sequence:
            log.section(f"step {step} clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        log.section(f"step {step} optimizer")
        optimizer.step()
        optimizer.zero_grad()


def run(rank, world, variants):
    mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
    log = EventLog()
    result = {}
    for name, options in variants.items():
        log.lines = []
        with count_missed(log):
            train(log, mesh, options)
        result[name] = steps_of(log.lines)
    return result


def record():
    results = run_ranks(2, run, {"variants": VARIANTS})
    write("tensor_parallel_2", {
        "ranks": 2, "backend": "gloo", "model": str(SIZES),
        "variants": {v: {"options": options, "events": by_rank(results, lambda r: r[v])}
                     for v, options in VARIANTS.items()}})
