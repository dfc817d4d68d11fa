"""FSDP2: fully_shard over 2 and 4 ranks, bf16 parameters in compute, fp32 reduction."""

import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

import fsdp2_notes
from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import UNEVEN, Sizes, Toy, loss_of, tokens_and_targets

# units: root = one unit per layer, the rest in the root. titan = embedding and norm + head are
# units of their own, as torchtitan does it; the last one is not resharded after the forward.
VARIANTS = {
    "root_reshard": {},
    "root_keep": {"reshard": False},
    "titan_reshard": {"units": "titan", "clip": True},
    "titan_keep": {"units": "titan", "reshard": False},
    "titan_checkpointed": {"units": "titan", "checkpoint": True},
    "accumulate": {"units": "titan", "micro_batches": 2},
    "accumulate_no_sync": {"units": "titan", "micro_batches": 2, "no_sync": True},
    "accumulate_no_sync_say_last": {"units": "titan", "micro_batches": 2, "no_sync": True,
                                    "say_last": True},
    "accumulate_no_sync_keep": {"units": "titan", "micro_batches": 2, "no_sync": True,
                                "reshard": False, "keep_after_backward": True},
    "prefetch_two": {"prefetch": 2},
    "uneven": {"sizes": UNEVEN},
}
ONLY_4 = {
    "root_reshard_to_2": {"reshard": 2},
    "titan_reshard_to_2_accumulate": {"units": "titan", "reshard": 2, "micro_batches": 2},
}
HSDP = {
    "hsdp_2x2": {"mesh": (2, 2), "units": "titan", "clip": True},
    "hsdp_2x2_accumulate": {"mesh": (2, 2), "units": "titan", "micro_batches": 2},
    "hsdp_2x2_all_reduce_last": {"mesh": (2, 2), "units": "titan", "micro_batches": 2,
                                 "all_reduce_last": True},
}
STREAMS = {
    "fsdp2_streams_2": (2, {"root_reshard": {}, "root_keep": {"reshard": False}}),
    "fsdp2_streams_hsdp": (4, {"hsdp_2x2": {"mesh": (2, 2), "sizes": Sizes(layers=3)}}),
}


def sharded(model, options, world):
    shape = options.get("mesh", (world,))
    names = ("replicate", "shard")[-len(shape):]
    reshard = options.get("reshard", True)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    common = {"mesh": init_device_mesh("cpu", shape, mesh_dim_names=names), "mp_policy": policy}
    if options.get("checkpoint"):
        for i, layer in list(model.layers.items()):
            model.layers[i] = checkpoint_wrapper(layer)
    if options.get("units") == "titan":
        fully_shard(model.embedding, **common, reshard_after_forward=reshard)
        fully_shard([model.norm, model.head], **common, reshard_after_forward=False)
    for layer in model.layers.values():
        fully_shard(layer, **common, reshard_after_forward=reshard)
    fully_shard(model, **common)
    if ahead := options.get("prefetch"):
        layers = list(model.layers.values())
        for i, layer in enumerate(layers):
            layer.set_modules_to_forward_prefetch(layers[i + 1 : i + 1 + ahead])
            layer.set_modules_to_backward_prefetch(layers[max(0, i - ahead) : i][::-1])
    return model


def groups_of(options, world):
    """{name: [members]} of the mesh dimensions; a log names the one its rank is in."""
    if len(options.get("mesh", (world,))) == 1:
        return {}
    replicas, shards = options["mesh"]
    return {
        "shard": [",".join(str(r * shards + s) for s in range(shards)) for r in range(replicas)],
        "replicate": [",".join(str(r * shards + s) for r in range(replicas))
                      for s in range(shards)],
    }


def train(log, rank, world, options):
    sizes = options.get("sizes", Sizes())
    log.group_names = {m: name for name, all_members in groups_of(options, world).items()
                       for m in all_members}
    log.section("init")
    model = sharded(Toy(sizes, log), options, world)
    optimizer = torch.optim.AdamW(model.parameters())
    micro_batches = options.get("micro_batches", 1)
    for step in range(2):
        for mb in range(micro_batches):
            last = mb == micro_batches - 1
            if options.get("no_sync"):
                model.set_requires_gradient_sync(last)
            if options.get("say_last"):
                model.set_is_last_backward(last)
            if options.get("keep_after_backward"):
                model.set_reshard_after_backward(last)
            if options.get("all_reduce_last"):
                model.set_requires_all_reduce(last)
            tokens, targets = tokens_and_targets(sizes, rank, 10 * step + mb)
            log.section(f"step {step} mb {mb} forward")
            loss = loss_of(model(tokens), targets) / micro_batches
            log.section(f"step {step} mb {mb} backward")
            loss.backward()
        if options.get("clip"):
            log.section(f"step {step} clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
        log.section(f"step {step} optimizer")
        optimizer.step()
        optimizer.zero_grad()
    return model


def run(rank, world, variants, streams):
    log = EventLog()
    if streams:
        fsdp2_notes.install_streams(log)
    fsdp2_notes.install(log)
    result = {}
    for name, options in variants.items():
        log.lines = []
        if streams:
            fsdp2_notes.Event.made = 0
            log.handle.made = 0
        with count_missed(log):
            model = train(log, rank, world, options)
        units = {fsdp2_notes.unit_of(group): [p._param_fqn for p in group.fsdp_params]
                 for module in model.modules() if isinstance(module, FSDPModule)
                 for group in module._get_fsdp_state()._fsdp_param_groups}
        result[name] = {"units": units, "events": steps_of(log.lines)}
    return result


def record_one(name, world, variants, streams):
    results = run_ranks(world, run, {"variants": variants, "streams": streams})
    write(name, {
        "ranks": world, "backend": "gloo", "model": str(Sizes()),
        "policy": "parameters fp32, param_dtype bf16, reduce_dtype fp32",
        "variants": {v: {
            "options": {k: str(o) for k, o in options.items()},
            "groups": groups_of(options, world),
            "units": results[0][v]["units"],
            "events": by_rank(results, lambda r: r[v]["events"]),
        } for v, options in variants.items()}})


def record():
    record_one("fsdp2_2", 2, VARIANTS, False)
    record_one("fsdp2_4", 4, {n: VARIANTS[n] for n in ("root_reshard", "uneven")} | ONLY_4, False)
    record_one("fsdp2_hsdp_4", 4, HSDP, False)
    for name, (world, variants) in STREAMS.items():
        record_one(name, world, variants, True)
