"""The ordered log of one rank: sections, marks and every operation that reaches a process group.

Collectives are seen in the dispatcher (c10d::* and _c10d_functional::*), below every Python and C++
entry, so DDP's reducer, FSDP and DTensor are seen alike. `count_missed` asks the profiler whether
that is true: with the log on, an operation passes the dispatcher twice, and once if missed.
"""

import contextlib

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

SHORT = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int64: "i64", torch.uint8: "u8",
         torch.int32: "i32", torch.float64: "f64"}

# operation: (kind, the argument whose elements are the full size S, whether a rank holds S / group)
C10D = {
    "allreduce_": ("AR", "tensors", False),
    "allreduce_coalesced_": ("AR", "tensors", False),
    "_allgather_base_": ("AG", "output_tensor", False),
    "allgather_": ("AG", "output_tensors", False),
    "allgather_into_tensor_coalesced_": ("AG", "outputs", False),
    "_reduce_scatter_base_": ("RS", "input_tensor", False),
    "reduce_scatter_": ("RS", "input_tensors", False),
    "reduce_scatter_tensor_coalesced_": ("RS", "inputs", False),
    "broadcast_": ("broadcast", "tensors", False),
    "reduce_": ("reduce", "tensors", False),
    "gather_": ("gather", "input_tensors", True),
    "scatter_": ("scatter", "output_tensors", True),
    "alltoall_base_": ("A2A", "input", False),
    "alltoall_": ("A2A", "input_tensors", False),
    "send": ("send", "tensors", False),
    "recv_": ("recv", "tensors", False),
    "barrier": ("barrier", None, False),
}
FUNCTIONAL = {
    "all_reduce": ("AR", "input", False),
    "all_reduce_": ("AR", "input", False),
    "all_gather_into_tensor": ("AG", "input", True),
    "reduce_scatter_tensor": ("RS", "input", False),
    "all_to_all_single": ("A2A", "input", False),
    "broadcast": ("broadcast", "input", False),
    "broadcast_": ("broadcast", "input", False),
}
WAITS = ("wait_tensor", "_wrap_tensor_autograd")  # no communication of their own


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors_in(item)]
    return []


def named_arguments(func, args, kwargs):
    schema = func._schema.arguments
    named = {a.name: a.default_value for a in schema if a.has_default_value()}
    named.update({a.name: value for a, value in zip(schema, args)})
    named.update(kwargs)
    return named


class EventLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.lines = []
        self.labels = []  # innermost last: (unit, flag)
        self.transfers = []  # the (unit, flag) of the sends and receives to come
        self.group_names = {}  # ranks: name, for groups that differ by rank but play one part
        self.collectives = 0
        self.on = True

    def __call__(self, line):
        if self.on:
            self.lines.append(line)

    def section(self, name):
        self(f"# {name}")

    @contextlib.contextmanager
    def label(self, unit, flag=""):
        self.labels.append((unit, flag))
        try:
            yield
        finally:
            self.labels.pop()

    @contextlib.contextmanager
    def silent(self):
        before, self.on = self.on, False
        try:
            yield
        finally:
            self.on = before

    def stream_suffix(self):
        return ""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # DTensor runs first and comes back with local tensors
        kwargs = kwargs or {}
        name = func._schema.name
        if name.startswith("c10d::"):
            self.see(name[6:], C10D, named_arguments(func, args, kwargs))
        elif name.startswith("_c10d_functional::") and not name.endswith(WAITS):
            self.see(name[18:], FUNCTIONAL, named_arguments(func, args, kwargs))
        elif name.startswith("_c10d_functional_autograd::"):
            raise AssertionError(f"unexpected {name}")
        elif name.startswith("fsdp::") and self.stream_suffix():
            self(f"  {name[6:]}{self.stream_suffix()}")
        return func(*args, **kwargs)

    def see(self, operation, table, arguments):
        kind, sized, local = table[operation]
        if "group_name" in arguments:
            group = dist.distributed_c10d._resolve_process_group(arguments["group_name"])
        else:
            group = dist.ProcessGroup.unbox(arguments["process_group"])
        ranks = dist.get_process_group_ranks(group)
        tensors = tensors_in(arguments[sized]) if sized else []
        elements = sum(t.numel() for t in tensors) * (len(ranks) if local else 1)
        dtype = SHORT[tensors[0].dtype] if tensors else "-"
        unit, flag = self.labels[-1] if self.labels else ("-", "")
        if kind in ("send", "recv") and self.transfers:
            unit, flag = self.transfers.pop(0)
        members = ",".join(str(r) for r in ranks)
        words = [kind, unit, str(elements), dtype, self.group_names.get(members, members)]
        if kind in ("send", "recv"):
            words.append(f"peer={arguments.get('dst', arguments.get('src'))}")
        elif table is C10D and arguments.get("asyncOp", arguments.get("async_op", True)):
            words.append("async")
        if flag:
            words.append(flag)
        self.collectives += 1
        self(" ".join(words) + self.stream_suffix())


@contextlib.contextmanager
def count_missed(log):
    """Runs the body with the log and raises when an operation did not reach the log."""
    before = log.collectives
    with profile(activities=[ProfilerActivity.CPU]) as profiler, log:
        yield
    seen = sum(e.count for e in profiler.key_averages() if e.key.startswith("c10d::"))
    functional = sum(e.count for e in profiler.key_averages()
                     if e.key.startswith("_c10d_functional::") and not e.key.endswith(WAITS))
    logged = log.collectives - before
    # c10d from the dispatcher: twice. Functional: itself twice, the c10d operation below it once.
    functional_logged = functional // 2
    if seen != 2 * (logged - functional_logged) + functional_logged:
        raise AssertionError(f"{logged} logged, {functional_logged} functional; profiler: {seen}")
