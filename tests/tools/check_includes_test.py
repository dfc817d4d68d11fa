"""tools/check_includes on planted trees: what it must catch, and what it must let pass."""
import unittest
from functools import partial

from planted_tree import findings as findings_of

findings = partial(findings_of, "check_includes")


class CheckIncludes(unittest.TestCase):
    def test_a_downward_include_passes(self):
        self.assertEqual(findings({"core/a.h": "", "plan/b.cpp": '#include <vector>\n#include "core/a.h"\n'}), [])

    def test_an_upward_include_is_caught_with_its_place(self):
        self.assertEqual(
            findings({"core/a.h": '#pragma once\n#include "program/b.h"\n', "program/b.h": ""}),
            ["core/a.h:2: core/ may not include program/b.h (it may include: nothing)"])

    def test_a_sideways_include_is_caught(self):
        found = findings({"sim/a.cpp": '#include "plan/b.h"\n', "plan/b.h": ""})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("sim/a.cpp:1: sim/ may not include plan/b.h"), found)

    def test_kernels_see_only_the_allocator_of_models(self):
        found = findings({"kernels/a.cpp": '#include "models/allocator/b.h"\n#include "models/cost/c.h"\n',
                          "models/allocator/b.h": "", "models/cost/c.h": ""})
        self.assertEqual([line.split(" ")[0] for line in found], ["kernels/a.cpp:2:"])

    def test_the_allocator_does_not_see_the_rest_of_models(self):
        found = findings({"models/allocator/a.h": '#include "models/cost/c.h"\n', "models/cost/c.h": ""})
        self.assertEqual([line.split(" ")[0] for line in found], ["models/allocator/a.h:1:"])

    def test_planning_does_not_see_cli(self):
        found = findings({"planning/a.cpp": '#include "cli/b.h"\n#include "sim/c.h"\n', "cli/b.h": "", "sim/c.h": ""})
        self.assertEqual([line.split(" ")[0] for line in found], ["planning/a.cpp:1:"])

    def test_files_in_a_circle_are_caught(self):
        found = findings({"plan/a.h": '#include "plan/b.h"\n', "plan/b.h": '\n#include "plan/a.h"\n'})
        self.assertEqual(found, ["plan/a.h:1: files include each other: plan/a.h -> plan/b.h -> plan/a.h"])

    def test_folders_in_a_circle_are_caught(self):
        found = findings({"sim/engine/a.h": '#include "sim/network/b.h"\n', "sim/network/b.h": "",
                          "sim/network/c.h": '#include "sim/engine/d.h"\n', "sim/engine/d.h": ""})
        self.assertEqual(
            found, ["sim/engine/a.h:1: folders include each other: sim/engine -> sim/network -> sim/engine"])

    def test_a_path_that_does_not_start_at_the_root_is_caught(self):
        found = findings({"core/a.h": "", "core/b.cpp": '#include "a.h"\n'})
        self.assertEqual(found, ['core/b.cpp:1: "a.h" is no path from the root of the repository'])

    def test_heavy_headers_stay_where_they_belong(self):
        found = findings({"cli/main.cpp": "#include <CLI/CLI.hpp>\n", "report/json.cpp": "#include <nlohmann/json.hpp>\n",
                          "report/json.h": "#include <nlohmann/json.hpp>\n", "sim/a.cpp": "#include <Eigen/Core>\n"})
        self.assertEqual([line.split(" ")[0] for line in found], ["sim/a.cpp:1:", "report/json.h:1:"])


if __name__ == "__main__":
    unittest.main()
