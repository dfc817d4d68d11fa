"""tools/refresh_docs: blocks are filled, a stale block fails the check."""
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "refresh_docs"


def page(command, output):
    return f"# Title\n\n<!-- output of: {command} -->\n```text\n{output}```\n\ntext\n"


class RefreshDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.program = self.root / "program"
        self.program.write_text('#!/bin/sh\nprintf "ran %s\\n" "$*"\necho progress >&2\n')
        self.program.chmod(0o755)

    def run_tool(self, text, *options):
        (self.root / "README.md").write_text(text)
        return subprocess.run([TOOL, "--root", self.root, "--program", self.program, *options],
                              capture_output=True, text=True)

    def test_a_stale_block_is_filled_and_then_passes(self):
        command = "./windtunnel plan 'a b.yaml'"
        self.assertEqual(self.run_tool(page(command, "old\n")).returncode, 0)
        real = (self.root / "README.md").read_text()
        self.assertEqual(real, page(command, "ran plan a b.yaml\n"))
        self.assertEqual(self.run_tool(real, "--check").returncode, 0)

    def test_the_check_shows_the_difference_and_writes_nothing(self):
        stale = page("./windtunnel plan", "old\n")
        done = self.run_tool(stale, "--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-old\n+ran plan\n", done.stdout)
        self.assertEqual((self.root / "README.md").read_text(), stale)

    def test_blocks_without_a_command_are_left_alone(self):
        text = "```text\n./windtunnel plan\n```\n"
        self.assertEqual(self.run_tool(text, "--check").returncode, 0)

    def test_a_command_that_fails_is_an_error(self):
        self.program.write_text("#!/bin/sh\necho broken >&2\nexit 70\n")
        done = self.run_tool(page("./windtunnel plan", ""))
        self.assertEqual(done.returncode, 1)
        self.assertIn("exits with 70:\nbroken", done.stderr)

    def end_a_run_of_the_suite(self, closing_line):
        (self.root / "build").mkdir(exist_ok=True)
        (self.root / "build" / "tests.summary").write_text(closing_line)

    def test_the_closing_line_of_the_suite_is_taken_from_its_last_run(self):
        self.end_a_run_of_the_suite("12 passed, 0 failed\n")
        self.run_tool(page("./run-tests", "1 passed, 0 failed\n"))
        self.assertEqual((self.root / "README.md").read_text(), page("./run-tests", "12 passed, 0 failed\n"))

    def test_a_run_with_failures_is_not_shown(self):
        self.end_a_run_of_the_suite("11 passed, 1 failed\n")
        shown = page("./run-tests", "12 passed, 0 failed, 1 skipped\n")
        self.assertEqual(self.run_tool(shown).returncode, 0)
        self.assertEqual((self.root / "README.md").read_text(), shown)
        self.assertEqual(self.run_tool(shown, "--check").returncode, 0)
        self.assertEqual(self.run_tool(page("./run-tests", "11 passed, 1 failed\n"), "--check").returncode, 1)

    def test_during_a_run_of_the_suite_its_closing_line_is_left_alone(self):
        self.assertEqual(self.run_tool(page("./run-tests", ""), "--check").returncode, 0)


if __name__ == "__main__":
    unittest.main()
