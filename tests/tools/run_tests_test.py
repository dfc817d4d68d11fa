"""./run-tests: what goes to CTest, and the closing line."""
import unittest

from stub_checkout import StubCheckout

JUNIT = '''<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++"
	tests="{tests}"
	failures="{failures}"
	disabled="{disabled}"
	skipped="{skipped}"
	hostname=""
	time="1"
>
	<testcase name="tests=&quot;9&quot;" time="1" status="run"/>
</testsuite>
'''


class RunTests(unittest.TestCase):
    def setUp(self):
        self.checkout = StubCheckout(self)

    def run_suite(self, *arguments, tests, failures=0, disabled=0, skipped=0):
        self.checkout.write("junit", JUNIT.format(tests=tests, failures=failures, disabled=disabled, skipped=skipped))
        self.checkout.write("ctest_status", "8" if failures else "0")
        return self.checkout.run("run-tests", *arguments)

    def test_all_passed(self):
        done = self.run_suite(tests=12)
        self.assertEqual((done.returncode, done.stdout), (0, "12 passed, 0 failed\n"), done.stderr)
        self.assertEqual((self.checkout.root / "build" / "tests.summary").read_text(), done.stdout)

    def test_failures_are_counted_and_fail(self):
        done = self.run_suite(tests=12, failures=2)
        self.assertEqual((done.returncode, done.stdout), (1, "10 passed, 2 failed\n"))

    def test_skipped_are_neither(self):
        done = self.run_suite(tests=12, failures=1, disabled=1, skipped=2)
        self.assertEqual((done.returncode, done.stdout), (1, "8 passed, 1 failed, 3 skipped\n"))

    def test_builds_everything_and_passes_arguments_on(self):
        self.run_suite("-R", "a b", tests=1)
        configure, build = self.checkout.calls("cmake")
        self.assertIn("-DWINDTUNNEL_TESTS=ON", configure)
        self.assertIn("--target all", build)
        (ctest,) = self.checkout.calls("ctest")
        self.assertIn("-R a b", ctest)
        self.assertIn("--no-tests=error", ctest)

    def test_installs_the_packages_of_the_tests(self):
        self.checkout.write("installed", "")
        done = self.run_suite(tests=1)
        self.assertIn("libgtest-dev", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_build_that_fails_leaves_no_old_summary(self):
        self.run_suite(tests=12)
        self.checkout.write("fails/build", "a.cpp:1: error\n")
        self.assertEqual(self.run_suite(tests=12).returncode, 70)
        self.assertFalse((self.checkout.root / "build" / "tests.summary").exists())


if __name__ == "__main__":
    unittest.main()
