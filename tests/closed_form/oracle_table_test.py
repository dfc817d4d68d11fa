"""Is docs/oracles.md true? Its tests exist in the suite, no test named after an oracle is missing
from it, and every oracle of a built part has a row.

  oracle_table_test.py --page docs/oracles.md --ctest CTEST --build BUILD_DIR
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

# The oracles of what is built: dense models, experts, tp, pp, cp, ep, sharded data parallelism,
# 1f1b, gpipe and interleaving, host and memory.
BUILT = """001-003 005-013 014-041 043 047-048 051-059 063-094 096-102 104-107 112-123
           128-134"""
ROW = re.compile(r"^\| (O-\d{3}) \|.*?\| ((?:`[^`]+` ?)+)\|", re.M)
# O-051 in a name: Oracle_O_051_.. or O051..; O071O072 holds two.
ORACLE_IN_NAME = re.compile(r"(?<![A-Za-z0-9])(?:Oracle_O_(\d{3})(?=_|$)|O(\d{3})(?:O(\d{3}))?(?=[A-Z]))")


def built_oracles():
    ids = set()
    for part in BUILT.split():
        first, _, last = part.partition("-")
        ids |= {f"O-{n:03}" for n in range(int(first), int(last or first) + 1)}
    return ids


def rows_of(page):
    return {oracle: re.findall(r"`([^`]+)`", tests) for oracle, tests in ROW.findall(page)}


def suite_of(ctest, build):
    shown = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    # CTest shows the parameter of a parametrised test behind its name.
    return {test["name"].split("  #")[0] for test in json.loads(shown.stdout)["tests"]}


def oracles_named_by(test):
    name = test.split(".", 1)[-1]
    return {f"O-{number}" for match in ORACLE_IN_NAME.finditer(name) for number in match.groups() if number}


def findings(rows, suite):
    found = [f"{oracle}: no test `{test}` in the suite" for oracle, tests in rows.items() for test in tests
             if test not in suite]
    found += [f"{oracle}: has no row" for oracle in sorted(built_oracles() - rows.keys())]
    found += [f"{oracle}: test `{test}` is not in its row" for test in sorted(suite)
              for oracle in sorted(oracles_named_by(test)) if test not in rows.get(oracle, [])]
    return found


def self_check():
    """The check finds what it is for."""
    assert oracles_named_by("Hops/Schedules.EqualTheirFormula/Oracle_O_112_gpipe_p4_m8") == {"O-112"}
    assert oracles_named_by("CollectiveAlgebra.O071O072TensorParallelAllReduce") == {"O-071", "O-072"}
    assert oracles_named_by("Grids.AreUnchanged/gpipe_p4_m8") == set()
    rows = rows_of("| O-001 | answer | `A.O001X` `A.Gone` | a header |\n")
    assert rows == {"O-001": ["A.O001X", "A.Gone"]}
    found = findings(rows, {"A.O001X", "A.O002Y"})
    assert "O-001: no test `A.Gone` in the suite" in found
    assert "O-002: test `A.O002Y` is not in its row" in found
    assert "O-003: has no row" in found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--ctest", required=True)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    self_check()
    rows = rows_of(arguments.page.read_text())
    found = findings(rows, suite_of(arguments.ctest, arguments.build))
    for line in found:
        print(line)
    print(f"{len(rows)} oracles, {len(found)} findings")
    return 1 if found or not rows else 0


sys.exit(main())
