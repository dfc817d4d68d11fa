"""The action lists of torch.distributed.pipelining's schedules, from the schedules alone.

`compute` is what a schedule writes; `with_comms` is what the runtime executes after its passes add
UNSHARD, RESHARD, REDUCE_GRAD, SEND, RECV and their waits. The two single-stage schedules have no
such list: they fuse sends and receives in code (see pipeline_run).
"""

import types

import torch
from torch.distributed.pipelining import schedules

from launch import write

# name: (schedule, ranks, stages on a rank, micro-batches)
CASES = {
    "gpipe_4x1_8": ("ScheduleGPipe", 4, 1, 8),
    "1f1b_4x1_8": ("Schedule1F1B", 4, 1, 8),
    "1f1b_4x1_4": ("Schedule1F1B", 4, 1, 4),
    "interleaved_1f1b_4x2_8": ("ScheduleInterleaved1F1B", 4, 2, 8),
    "interleaved_1f1b_4x2_6": ("ScheduleInterleaved1F1B", 4, 2, 6),
    "interleaved_1f1b_2x2_8": ("ScheduleInterleaved1F1B", 2, 2, 8),
    "bfs_4x2_8": ("ScheduleLoopedBFS", 4, 2, 8),
    "bfs_2x2_8": ("ScheduleLoopedBFS", 2, 2, 8),
    "interleaved_zb_4x1_8": ("ScheduleInterleavedZeroBubble", 4, 1, 8),
    "interleaved_zb_4x2_8": ("ScheduleInterleavedZeroBubble", 4, 2, 8),
    "interleaved_zb_2x2_8": ("ScheduleInterleavedZeroBubble", 2, 2, 8),
    "zbv_4x2_8": ("ScheduleZBVZeroBubble", 4, 2, 8),
    "zbv_2x2_8": ("ScheduleZBVZeroBubble", 2, 2, 8),
    "dualpipev_4x2_10": ("ScheduleDualPipeV", 4, 2, 10),
    "dualpipev_4x2_8": ("ScheduleDualPipeV", 4, 2, 8),
    "dualpipev_2x2_8": ("ScheduleDualPipeV", 2, 2, 8),
}
V_SHAPED = ("ScheduleZBVZeroBubble", "ScheduleDualPipeV")


def stage(ranks, per_rank, index):
    """What a schedule reads of a stage when it plans."""
    return types.SimpleNamespace(
        num_stages=ranks * per_rank, group_size=ranks, group_rank=0, stage_index=index,
        group=None, device=torch.device("cpu"), has_backward=True, submod=None,
        is_first=index == 0, is_last=index == ranks * per_rank - 1, stage_index_to_group_rank={})


def text_of(order):
    return {str(rank): " ".join("." if a is None else str(a) for a in order[rank])
            for rank in sorted(order)}


def plan(name, ranks, per_rank, micro_batches):
    kind = getattr(schedules, name)
    if per_rank == 1 and issubclass(kind, schedules.PipelineScheduleSingle):
        schedule = kind(stage(ranks, 1, 0), micro_batches, loss_fn=lambda *_: None)
        return {"compute": text_of(schedule._get_pipeline_order())}
    last = ranks * per_rank - 1
    mine = [0, last] if name in V_SHAPED else [s * ranks for s in range(per_rank)]
    schedule = kind([stage(ranks, per_rank, s) for s in mine], micro_batches,
                    loss_fn=lambda *_: None)
    return {"stage_to_rank": {str(s): r for s, r in schedule.stage_index_to_group_rank.items()},
            "compute": text_of(schedule.pipeline_order),
            "with_comms": text_of(schedule.pipeline_order_with_comms)}


def record():
    for part, chosen in {
        "pipeline_lists_1f1b": ("gpipe", "1f1b", "interleaved_1f1b", "bfs"),
        "pipeline_lists_zero_bubble": ("interleaved_zb", "zbv"),
        "pipeline_lists_dualpipev": ("dualpipev",),
    }.items():
        write(part, {
            "actions": "stage, F B I W SEND_F …, micro-batch; a dot is an idle slot",
            "schedules": {n: {"schedule": c[0], "ranks": c[1], "stages_per_rank": c[2],
                              "micro_batches": c[3], **plan(*c)}
                          for n, c in CASES.items() if n.rsplit("_", 2)[0] in chosen}})
