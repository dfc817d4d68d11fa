"""Logs what a pipeline stage computes, sends, receives and waits for, as stage.micro_batch."""

import functools

import torch.distributed as dist
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import PipelineStage

COMPUTE = {"forward_one_chunk": "F", "backward_weight_one_chunk": "W"}
TRANSFERS = {"get_fwd_send_ops": "F", "get_bwd_send_ops": "B",
             "get_fwd_recv_ops": "F", "get_bwd_recv_ops": "B"}


def install(log):
    labels, works = {}, {}

    def compute(name, kind):
        inner = getattr(PipelineStage, name)

        @functools.wraps(inner)
        def outer(stage, mb, *args, **kwargs):
            log(f"{kind} {stage.stage_index}.{mb}")
            return inner(stage, mb, *args, **kwargs)

        setattr(PipelineStage, name, outer)

    def transfer(name, kind):
        inner = getattr(PipelineStage, name)

        @functools.wraps(inner)
        def outer(stage, mb, *args, **kwargs):
            ops = inner(stage, mb, *args, **kwargs)
            for op in ops:
                labels[id(op)] = (f"{kind}{stage.stage_index}.{mb}", op)
            return ops

        setattr(PipelineStage, name, outer)

    for name, kind in COMPUTE.items():
        compute(name, kind)
    for name, kind in TRANSFERS.items():
        transfer(name, kind)

    backward = PipelineStage.backward_one_chunk

    @functools.wraps(backward)
    def backward_one_chunk(stage, mb, loss=None, full_backward=True, last_backward=False):
        log(f"{'B' if full_backward else 'I'} {stage.stage_index}.{mb}"
            + (" last" if last_backward else ""))
        return backward(stage, mb, loss=loss, full_backward=full_backward,
                        last_backward=last_backward)

    PipelineStage.backward_one_chunk = backward_one_chunk

    batch, wait = schedules._batch_p2p, schedules._wait_batch_p2p

    def batch_p2p(ops, desc=None):
        names = [labels[id(op)][0] for op in ops]
        if not ops:
            return batch(ops, desc=desc)
        mixed = len({op.op for op in ops}) > 1
        log.transfers = [(name, "batched" if mixed else "") for name in names]
        got = batch(ops, desc=desc)
        for work, op, name in zip(got, ops, names):
            verb = "send" if op.op is dist.isend else "recv"
            works[id(work)] = (f"{verb} {name}", work)
        return got

    def wait_batch_p2p(works_to_wait):
        for work in works_to_wait:
            log(f"wait {works[id(work)][0]}")
        return wait(works_to_wait)

    schedules._batch_p2p, schedules._wait_batch_p2p = batch_p2p, wait_batch_p2p
