"""ZeroRedundancyOptimizer over DistributedDataParallel, 2 ranks: what a step adds to DDP."""

import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import Sizes, Toy, loss_of, tokens_and_targets

VARIANTS = {"zero1": {}, "zero1_bucket_view": {"parameters_as_bucket_view": True}}
SIZES = Sizes(layers=2)


def train(log, rank, options):
    log.section("init")
    model = DistributedDataParallel(Toy(SIZES, log))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **options)
    for step in range(2):
        tokens, targets = tokens_and_targets(SIZES, rank, step)
        log.section(f"step {step} forward")
        loss = loss_of(model(tokens), targets)
        log.section(f"step {step} backward")
        loss.backward()
        log.section(f"step {step} optimizer")
        optimizer.step()
        optimizer.zero_grad()
    names = {p: n.removeprefix("module.") for n, p in model.named_parameters()}
    return {str(owner): " ".join(names[p] for group in groups for p in group["params"])
            for owner, groups in enumerate(optimizer._partition_parameters())}


def run(rank, world, variants):
    result = {}
    for name, options in variants.items():
        log = EventLog()
        with count_missed(log):
            owned = train(log, rank, options)
        result[name] = {"owned": owned, "events": steps_of(log.lines)}
    return result


def record():
    results = run_ranks(2, run, {"variants": VARIANTS})
    write("zero1_2", {"ranks": 2, "backend": "gloo", "model": str(SIZES), "variants": {v: {
        "options": options, "owned": results[0][v]["owned"],
        "events": by_rank(results, lambda r: r[v]["events"])} for v, options in VARIANTS.items()}})
