"""DistributedDataParallel over 2 and 4 ranks: what is in a bucket, and when it is reduced.

The log shows each all-reduce between the marks of the backward; `ready p` is the gradient of
parameter p accumulated, before the reducer's own hook for it. What is in a bucket is asked of a
second run of the same variant with a communication hook, which sees the buckets and leaves them.
"""

import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import Sizes, Toy, loss_of, tokens_and_targets

# Wide enough for the 1 MiB first bucket to hold some but not all of the parameters: 2.5 MB in fp32.
WIDE = Sizes(layers=4, hidden=128, ffn=192, heads=4, kv_heads=2, head_dim=32, vocab=512)
STEPS = 3  # the buckets of step 0 are not those of later steps

VARIANTS = {
    "default_cap": {"sizes": WIDE},
    "cap_half_mib": {"sizes": WIDE, "bucket_cap_mb": 0.5},
    "cap_2_mib": {"sizes": WIDE, "bucket_cap_mb": 2},
    "cap_0.03_mib": {"bucket_cap_mb": 0.03},
    "cap_0.03_mib_bucket_view": {"bucket_cap_mb": 0.03, "gradient_as_bucket_view": True},
    "cap_0.03_mib_static_graph": {"bucket_cap_mb": 0.03, "static_graph": True},
    "cap_0.03_mib_no_sync": {"bucket_cap_mb": 0.03, "micro_batches": 2, "no_sync": True},
    "cap_0.03_mib_accumulate": {"bucket_cap_mb": 0.03, "micro_batches": 2},
    "cap_0.03_mib_find_unused": {"bucket_cap_mb": 0.03, "find_unused_parameters": True},
    "cap_0.03_mib_bf16": {"bucket_cap_mb": 0.03, "bf16": True},
}
FOR_DDP = ("bucket_cap_mb", "gradient_as_bucket_view", "static_graph", "find_unused_parameters")


def build(log, options):
    torch.manual_seed(0)
    log.section("init")
    toy = Toy(options.get("sizes", Sizes()), log)
    if options.get("bf16"):
        toy = toy.bfloat16()
    names = {p: n for n, p in toy.named_parameters()}
    for p, name in names.items():
        p.register_post_accumulate_grad_hook(lambda _, name=name: log(f"ready {name}"))
    return DistributedDataParallel(toy, **{k: options[k] for k in FOR_DDP if k in options}), names


def train(log, model, rank, options):
    sizes = options.get("sizes", Sizes())
    optimizer = torch.optim.AdamW(model.parameters())
    micro_batches = options.get("micro_batches", 1)
    for step in range(STEPS):
        for mb in range(micro_batches):
            quiet = options.get("no_sync") and mb < micro_batches - 1
            tokens, targets = tokens_and_targets(sizes, rank, 10 * step + mb)
            with model.no_sync() if quiet else contextlib.nullcontext():
                log.section(f"step {step} mb {mb} forward")
                loss = loss_of(model(tokens), targets) / micro_batches
                log.section(f"step {step} mb {mb} backward")
                loss.backward()
        log.section(f"step {step} optimizer")
        optimizer.step()
        optimizer.zero_grad()


def buckets(rank, options):
    """Per step the buckets in issue order: [{"bytes", "elements", "parameters"}]."""
    log = EventLog()
    model, names = build(log, options)
    seen = []

    def hook(_, bucket):
        buffer = bucket.buffer()
        here = [names[p] for p in bucket.parameters()]
        if not seen or sum(len(b["parameters"].split()) for b in seen[-1]) == len(names):
            seen.append([])
        seen[-1].append({"bytes": buffer.numel() * buffer.element_size(),
                         "elements": buffer.numel(), "parameters": " ".join(here)})
        future = dist.all_reduce(buffer, async_op=True).get_future()
        return future.then(lambda f: f.value()[0])

    model.register_comm_hook(None, hook)
    train(log, model, rank, {**options, "micro_batches": 1, "no_sync": False})
    return seen


def run(rank, world, variants):
    result = {}
    for name, options in variants.items():
        log = EventLog()
        with count_missed(log):
            model, names = build(log, options)
            train(log, model, rank, options)
        result[name] = {"events": steps_of(log.lines)}
        for step, seen in enumerate(buckets(rank, options)):
            before = [s for s in range(step) if result[name][f"buckets_step_{s}"] == seen]
            result[name][f"buckets_step_{step}"] = f"same as step {before[0]}" if before else seen
        result[name]["parameters"] = " ".join(f"{n}={p.numel()}" for p, n in names.items())
        del model
    return result


def record_one(name, world, variants):
    results = run_ranks(world, run, {"variants": variants})
    write(name, {
        "ranks": world, "backend": "gloo", "model": str(Sizes()),
        "first_bucket_bytes": dist._DEFAULT_FIRST_BUCKET_BYTES,
        "variants": {v: {
            "options": {k: str(o) for k, o in options.items()},
            **{k: results[0][v][k] for k in results[0][v] if k != "events"},
            "events": by_rank(results, lambda r: r[v]["events"]),
        } for v, options in variants.items()}})


def record():
    record_one("ddp_2", 2, VARIANTS)
    record_one("ddp_4", 4, {n: VARIANTS[n] for n in ("default_cap", "cap_0.03_mib")})
