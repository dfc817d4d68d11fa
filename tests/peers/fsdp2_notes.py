"""Writes what FSDP2 (fully_shard) does on the host into the log, with the unit it does it for.

`copy_out` waits for the unit's all-gather and unpacks it; `reshard` frees the gathered parameters;
`wait_reduce` is where the compute stream is made to wait for an earlier unit's reduce-scatter. With
`streams`, device streams and events are replaced by ones that only write what was asked of them, so
a CPU run shows the dependencies that a CUDA run has.
"""

import contextlib
import functools

import torch
from torch.distributed.fsdp._fully_shard import (
    _fsdp_collectives,
    _fsdp_common,
    _fsdp_param,
    _fsdp_param_group,
    _fsdp_state,
)

Group = _fsdp_param_group.FSDPParamGroup


def unit_of(group):
    return (group._module_fqn or "root").replace(", ", "+")


def wrap(owner, name, around):
    inner = getattr(owner, name)

    @functools.wraps(inner)
    def outer(*args, **kwargs):
        return around(inner, *args, **kwargs)

    setattr(owner, name, outer)


def install(log):
    prefetching = []

    def unshard(inner, group, *args, **kwargs):
        with log.label(unit_of(group), "prefetch" if prefetching else ""):
            return inner(group, *args, **kwargs)

    def wait_for_unshard(inner, group):
        if group._all_gather_result:
            log(f"copy_out {unit_of(group)}")
        return inner(group)

    def to_sharded(inner, group):
        if not group.is_sharded:
            log(f"reshard {unit_of(group)}")
        return inner(group)

    def to_sharded_post_forward(inner, group):
        if not group.is_sharded_post_forward:
            log(f"reshard {unit_of(group)} to the smaller mesh")
        return inner(group)

    def post_backward(inner, group, *unused):
        log(f"post_backward {unit_of(group)}")
        with log.label(unit_of(group)):
            return inner(group, *unused)

    def pre_backward(inner, group, *args):
        log(f"pre_backward {unit_of(group)}")
        return inner(group, *args)

    def prefetch(target, pass_type, inner=Group._prefetch_unshard):
        prefetching.append(True)
        try:
            return inner(target, pass_type)
        finally:
            prefetching.pop()

    for name, around in [("unshard", unshard), ("wait_for_unshard", wait_for_unshard),
                         ("_to_sharded", to_sharded), ("post_backward", post_backward),
                         ("_to_sharded_post_forward", to_sharded_post_forward),
                         ("pre_backward", pre_backward)]:
        wrap(Group, name, around)
    Group._prefetch_unshard = staticmethod(prefetch)

    def final_callback(inner, state):
        log("end_of_backward")
        return inner(state)

    wrap(_fsdp_state.FSDPState, "_root_post_backward_final_callback", final_callback)

    inner_function = _fsdp_param_group.record_function

    def record_function(text):
        if text.startswith("FSDP::post_backward_rs_wait"):
            log("wait_reduce")
        return inner_function(text)

    _fsdp_param_group.record_function = record_function


class Stream:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def wait_event(self, event):
        self.log(f"  {self.name}: wait {event.name}")

    def wait_stream(self, stream):
        self.log(f"  {self.name}: wait all of {stream.name}")

    def record_event(self):
        return Event(self.log, self)


class Event:
    made = 0

    def __init__(self, log, stream=None):
        self.log = log
        if stream:
            self.record(stream)

    def record(self, stream=None):
        Event.made += 1
        self.name = f"e{Event.made}"
        stream = stream or self.log.streams[-1]
        self.log(f"  {stream.name}: record {self.name}")
        return self

    def synchronize(self):
        self.log(f"  host: wait {self.name}")


class Handle:
    """Stands for torch.cuda in FSDP2."""

    NAMES = ["copy_in", "all_gather", "reduce_scatter", "all_reduce"]

    def __init__(self, log):
        self.log = log
        self.made = 0
        log.streams = [Stream(log, "compute")]
        log.stream_suffix = lambda: f" @{log.streams[-1].name}"

    def Stream(self, priority=0):
        self.made += 1
        return Stream(self.log, self.NAMES[self.made - 1])

    def Event(self, *args, **kwargs):
        return Event(self.log)

    def current_stream(self):
        return self.log.streams[-1]

    @contextlib.contextmanager
    def stream(self, stream):
        self.log.streams.append(stream)
        try:
            yield
        finally:
            self.log.streams.pop()


def install_streams(log):
    handle = log.handle = Handle(log)
    for module in (_fsdp_collectives, _fsdp_common, _fsdp_param, _fsdp_param_group, _fsdp_state):
        if hasattr(module, "_get_device_handle"):
            module._get_device_handle = lambda *_: handle
