#!/usr/bin/env python3
"""Records what PyTorch does: `record.py [case...]`, all cases when none is named."""

import importlib
import os
import sys

CASES = ["fsdp2", "ddp", "pipeline_lists", "pipeline_run", "fsdp1", "zero1", "tensor_parallel",
         "counts"]


def main():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # of the ranks
    sys.dont_write_bytecode = True
    for case in sys.argv[1:] or CASES:
        importlib.import_module(f"case_{case}").record()


if __name__ == "__main__":
    main()
