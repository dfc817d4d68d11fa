"""Pipeline schedules really executed: what each rank computes, sends, receives and waits for.

`fsdp_*` run on a mesh of 2 stages by 2 replicas, the stages sharded by FSDP2 as torchtitan does it.
"""

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, schedules

import fsdp2_notes
import pipeline_notes
from event_log import EventLog, count_missed
from launch import by_rank, run_ranks, steps_of, write
from toy_model import Sizes, Toy, loss_of

VARIANTS = {  # name: (schedule, stages on a rank, V shape, micro-batches)
    "gpipe": ("ScheduleGPipe", 1, False, 4),
    "1f1b": ("Schedule1F1B", 1, False, 4),
    "interleaved_1f1b": ("ScheduleInterleaved1F1B", 2, False, 4),
    "bfs": ("ScheduleLoopedBFS", 2, False, 4),
    "interleaved_zb": ("ScheduleInterleavedZeroBubble", 2, False, 4),
    "zbv": ("ScheduleZBVZeroBubble", 2, True, 4),
    "dualpipev": ("ScheduleDualPipeV", 2, True, 4),
}
FSDP = {"fsdp_1f1b": ("Schedule1F1B", 1, False, 4),
        "fsdp_interleaved_1f1b": ("ScheduleInterleaved1F1B", 2, False, 4),
        "fsdp_zbv": ("ScheduleZBVZeroBubble", 2, True, 4)}


def sharded(model, mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    common = {"mesh": mesh, "mp_policy": policy}
    if model.embedding is not None:
        fully_shard(model.embedding, **common, reshard_after_forward=False)
    if model.head is not None:
        fully_shard([model.norm, model.head], **common, reshard_after_forward=False)
    for layer in model.layers.values():
        fully_shard(layer, **common, reshard_after_forward=False)
    return fully_shard(model, **common)


def run(rank, world, variants, dp):
    log = EventLog()
    pipeline_notes.install(log)
    fsdp2_notes.install(log)
    mesh = init_device_mesh("cpu", (world // dp, dp), mesh_dim_names=("pp", "dp"))
    log.group_names = {",".join(map(str, part.tolist())): name for name in ("pp", "dp")
                       for part in (mesh.mesh.T if name == "pp" else mesh.mesh)} if dp > 1 else {}
    sizes = Sizes()
    ranks, pp_rank = mesh["pp"].size(), mesh["pp"].get_local_rank()
    result = {}
    for name, (schedule, per_rank, v_shape, micro_batches) in variants.items():
        log.lines = []
        stages = ranks * per_rank
        mine = [pp_rank, stages - 1 - pp_rank] if v_shape else list(range(pp_rank, stages, ranks))
        with count_missed(log):
            log.section("init")
            parts = []
            for s in mine:
                first, last = (sizes.layers * s // stages, sizes.layers * (s + 1) // stages)
                model = Toy(sizes, lambda _: None, first, last)
                model = sharded(model, mesh["dp"]) if dp > 1 else model
                parts.append(PipelineStage(model, s, stages, torch.device("cpu"),
                                           group=mesh.get_group("pp")))
            kind = getattr(schedules, schedule)
            planned = kind(parts if per_rank > 1 else parts[0], micro_batches, loss_fn=loss_of)
            shape = (micro_batches * sizes.batch, sizes.sequence)
            for step in range(2):
                log.section(f"step {step}")
                generator = torch.Generator().manual_seed(step)
                tokens = torch.randint(0, sizes.vocab, shape, generator=generator)
                args = [tokens] if 0 in mine else []
                target = tokens if stages - 1 in mine else None
                planned.step(*args, target=target)
        result[name] = steps_of(log.lines)
    return result


def record_one(name, world, variants, dp):
    results = run_ranks(world, run, {"variants": variants, "dp": dp})
    for v, (schedule, per_rank, _, micro_batches) in variants.items():
        variants[v] = {"schedule": schedule, "stages_per_rank": per_rank,
                       "micro_batches": micro_batches,
                       "events": by_rank(results, lambda r: r[v])}
    write(name, {"ranks": world, "pp": world // dp, "dp": dp, "backend": "gloo",
                 "model": str(Sizes()),
                 "groups": {"dp": ["0,1", "2,3"], "pp": ["0,2", "1,3"]} if dp > 1 else {},
                 "variants": variants})


def record():
    record_one("pipeline_run_2", 2, dict(VARIANTS), 1)
    record_one("pipeline_run_4", 4, {n: VARIANTS[n] for n in ("1f1b",)}, 1)
    record_one("pipeline_run_fsdp_4", 4, dict(FSDP), 2)
