"""Runs a function on n ranks, each a process, and writes what they logged as one JSON file.

Equal logs are stored once, and a section equal to the one of the step before as "same as".
"""

import json
import pathlib
import socket
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

FOLDER = pathlib.Path(__file__).parent / "recordings"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, world, port, function, options, queue):
    try:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
        torch.manual_seed(0)
        queue.put((rank, function(rank, world, **options), None))
        dist.barrier()
        dist.destroy_process_group()
    except Exception:
        queue.put((rank, None, traceback.format_exc()))
        raise


def run_ranks(world, function, options, timeout_s=120):
    """{rank: what function(rank, world, **options) returned}; raises with a rank's traceback."""
    context = mp.get_context("spawn")
    queue = context.Queue()
    port = free_port()
    processes = [context.Process(target=worker, args=(r, world, port, function, options, queue))
                 for r in range(world)]
    for p in processes:
        p.start()
    results = {}
    try:
        for _ in range(world):
            rank, result, error = queue.get(timeout=timeout_s)
            if error:
                raise RuntimeError(f"rank {rank}: {error}")
            results[rank] = result
        for p in processes:
            p.join(timeout=30)
    finally:
        for p in processes:
            if p.is_alive():
                p.kill()
    return results


def steps_of(lines):
    """[(section, lines)], with the lines of a section equal to one of an earlier step left out."""
    sections = []
    for line in lines:
        if line.startswith("# "):
            sections.append((line[2:], []))
        else:
            sections[-1][1].append(line)
    first = {}
    out = {}
    for name, body in sections:
        if name in out:
            raise AssertionError(f"section {name} twice")
        words = name.split()
        without_step = " ".join(words[2:]) if words[0] == "step" else name
        earlier = first.get((without_step, tuple(body)))
        out[name] = [f"same as {earlier}"] if earlier and body else body
        first.setdefault((without_step, tuple(body)), name)
    return out


def by_rank(results, key=lambda result: result):
    """{"0,1": value}: ranks with equal values are named together."""
    groups = []
    for rank in sorted(results):
        value = key(results[rank])
        for ranks, other in groups:
            if other == value:
                ranks.append(rank)
                break
        else:
            groups.append(([rank], value))
    return {",".join(map(str, ranks)): value for ranks, value in groups}


def write(name, record):
    record = {"case": name, "torch": torch.__version__.split("+")[0], **record}
    text = json.dumps(record, indent=0) + "\n"
    path = FOLDER / f"{name}.json"
    path.write_text(text)
    print(f"{path.name}: {len(text) / 1000:.1f} kB", flush=True)
    if len(text) > 60_000:
        raise AssertionError(f"{path} is larger than 60 kB")
