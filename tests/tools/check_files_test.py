"""tools/check_files on planted trees."""
import unittest
from functools import partial

from planted_tree import findings as findings_of

findings = partial(findings_of, "check_files", git=True)


class CheckFiles(unittest.TestCase):
    def test_a_tidy_folder_passes(self):
        self.assertEqual(findings({"core/a.h": "#pragma once\n", "core/a.cpp": "\n" * 600, "core/README.md": "core\n"}), [])

    def test_a_long_file_is_caught(self):
        self.assertEqual(findings({"core/a.cpp": "\n" * 601, "core/README.md": ""}),
                         ["core/a.cpp:600: 601 lines, the limit is 600"])

    def test_data_may_be_long(self):
        self.assertEqual(findings({"scenarios/a.yaml": "\n" * 2000, "tests/golden/a.txt": "\n" * 2000}), [])

    def test_pages_have_limits(self):
        found = findings({"README.md": "\n" * 151, "CONTRIBUTING.md": "\n" * 121, "core/README.md": "\n" * 16,
                          "docs/accuracy.md": "\n" * 500})
        self.assertEqual([line.split(":")[0] for line in found], ["CONTRIBUTING.md", "README.md", "core/README.md"])

    def test_a_leftover_is_caught(self):
        word = "TO" + "DO"
        self.assertEqual(findings({"core/a.cpp": f"\n// {word}: later\n", "core/README.md": ""}),
                         [f"core/a.cpp:2: leftover `{word}`: do it or file an issue"])

    def test_a_header_without_pragma_once_is_caught(self):
        self.assertEqual(findings({"core/a.h": "int a;\n", "core/README.md": ""}),
                         ["core/a.h:1: a header starts with #pragma once"])

    def test_a_folder_of_code_without_a_readme_is_caught(self):
        self.assertEqual(findings({"sim/engine/a.cpp": ""}), ["sim/engine/README.md:1: is missing"])

    def test_a_link_that_leads_nowhere_is_caught(self):
        self.assertEqual(findings({"docs/a.md": "[b](b.md) [c](c.md#top)\n[web](https://example.org) [up](../README.md)\n",
                                   "docs/b.md": "", "README.md": ""}), ["docs/a.md:1: leads to no file: c.md"])

    def test_one_readme_serves_all_tests(self):
        self.assertEqual(findings({"tests/core/a_test.cpp": "", "tests/README.md": ""}), [])


if __name__ == "__main__":
    unittest.main()
