"""FullyShardedDataParallel (FSDP1) over 2 ranks: a unit per layer, the rest in the root."""

import functools

import torch
from torch.distributed.fsdp import (
    BackwardPrefetch,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
)
from torch.distributed.fsdp import _runtime_utils
from torch.distributed.fsdp._flat_param import FlatParamHandle
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import UNEVEN, Layer, Sizes, Toy, loss_of, tokens_and_targets

MIXED = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
VARIANTS = {
    "full_shard_pre": {},
    "full_shard_post": {"prefetch": BackwardPrefetch.BACKWARD_POST},
    "full_shard_none": {"prefetch": None},
    "full_shard_forward_prefetch": {"forward_prefetch": True},
    "shard_grad_op_pre": {"strategy": ShardingStrategy.SHARD_GRAD_OP},
    "no_shard": {"strategy": ShardingStrategy.NO_SHARD},
    "full_shard_no_sync": {"no_sync": True},
    "shard_grad_op_no_sync": {"no_sync": True, "strategy": ShardingStrategy.SHARD_GRAD_OP},
    "uneven": {"sizes": UNEVEN},
}


def unit_of(handle):
    module = handle._fully_sharded_module
    return module.mark_name if isinstance(module, Layer) else "root"


def install(log):
    """Labels what FSDP1 does with the unit it does it for."""
    kind = FlatParamHandle
    prefetching = []

    def wrap(owner, name, around):
        inner = getattr(owner, name)
        setattr(owner, name, functools.wraps(inner)(functools.partial(around, inner))
                if owner is _runtime_utils else
                functools.wraps(inner)(lambda *a, **k: around(inner, *a, **k)))

    def all_gather(inner, handle, *args):
        with log.label(unit_of(handle), "prefetch" if prefetching else ""):
            return inner(handle, *args)

    def reshard(inner, handle, free_unsharded_flat_param):
        log(f"reshard {unit_of(handle)}" + ("" if free_unsharded_flat_param else " kept"))
        return inner(handle, free_unsharded_flat_param)

    def prefetch(inner, *args):
        prefetching.append(True)
        try:
            return inner(*args)
        finally:
            prefetching.pop()

    def pre_backward(inner, state, module, handle, *args):
        log(f"pre_backward {unit_of(handle)}")
        return inner(state, module, handle, *args)

    def post_backward(inner, state, handle, *args):
        log(f"post_backward {unit_of(handle)}")
        with log.label(unit_of(handle)):
            return inner(state, handle, *args)

    def final(inner, *args):
        log("end_of_backward")
        return inner(*args)

    wrap(kind, "_all_gather_flat_param", all_gather)
    wrap(kind, "reshard", reshard)
    wrap(_runtime_utils, "_prefetch_handle", prefetch)
    wrap(_runtime_utils, "_pre_backward_hook", pre_backward)
    wrap(_runtime_utils, "_post_backward_hook", post_backward)
    wrap(_runtime_utils, "_post_backward_final_callback", final)


def train(log, rank, options):
    sizes = options.get("sizes", Sizes())
    log.section("init")
    model = FullyShardedDataParallel(
        Toy(sizes, log), auto_wrap_policy=ModuleWrapPolicy({Layer}), mixed_precision=MIXED,
        sharding_strategy=options.get("strategy", ShardingStrategy.FULL_SHARD),
        backward_prefetch=options.get("prefetch", BackwardPrefetch.BACKWARD_PRE),
        forward_prefetch=options.get("forward_prefetch", False),
        use_orig_params=True, device_id=torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters())
    micro_batches = 2 if options.get("no_sync") else 1
    for step in range(2):
        for mb in range(micro_batches):
            tokens, targets = tokens_and_targets(sizes, rank, 10 * step + mb)
            quiet = mb < micro_batches - 1
            with model.no_sync() if quiet else torch.enable_grad():
                log.section(f"step {step} mb {mb} forward")
                loss = loss_of(model(tokens), targets) / micro_batches
                log.section(f"step {step} mb {mb} backward")
                loss.backward()
        log.section(f"step {step} clip")
        model.clip_grad_norm_(1.0)
        log.section(f"step {step} optimizer")
        optimizer.step()
        optimizer.zero_grad()


def run(rank, world, variants):
    log = EventLog()
    install(log)
    result = {}
    for name, options in variants.items():
        log.lines = []
        with count_missed(log):
            train(log, rank, options)
        result[name] = steps_of(log.lines)
    return result


def record():
    results = run_ranks(2, run, {"variants": VARIANTS})
    write("fsdp1_2", {
        "ranks": 2, "backend": "gloo", "model": str(Sizes()),
        "policy": "parameters fp32, param_dtype bf16, reduce_dtype fp32, use_orig_params",
        "variants": {v: {"options": {k: str(o) for k, o in options.items()},
                         "events": by_rank(results, lambda r: r[v])}
                     for v, options in VARIANTS.items()}})
