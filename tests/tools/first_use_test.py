"""./windtunnel: the first use installs and builds, later uses only run, a failure leaves nothing half done."""
import os
import shutil
import unittest

from stub_checkout import StubCheckout


class FirstUse(unittest.TestCase):
    def setUp(self):
        self.checkout = StubCheckout(self)

    def assert_ran(self, done, *arguments):
        self.assertEqual((done.returncode, done.stdout), (7, " ".join(("program", *arguments)) + "\n"), done.stderr)

    def test_builds_once_then_only_runs(self):
        self.assert_ran(self.checkout.run("windtunnel", "check", "a b.yaml"), "check", "a b.yaml")
        calls = self.checkout.calls("cmake")
        self.assertEqual(len(calls), 2, calls)
        self.assertIn("--target windtunnel", calls[1])
        again = self.checkout.run("windtunnel", "plan")
        self.assert_ran(again, "plan")
        self.assertEqual(again.stderr, "")
        self.assertEqual(self.checkout.calls("cmake"), calls)

    def test_a_newer_source_is_built_and_an_unrelated_file_is_not(self):
        self.checkout.run("windtunnel")
        built = len(self.checkout.calls("cmake"))
        self.checkout.write("notes.txt", "mine")
        self.assert_ran(self.checkout.run("windtunnel"))
        self.assertEqual(len(self.checkout.calls("cmake")), built)
        later = (self.checkout.root / "build" / "windtunnel.stamp").stat().st_mtime + 10
        os.utime(self.checkout.root / "core" / "a.h", (later, later))
        self.assert_ran(self.checkout.run("windtunnel"))
        self.assertEqual(len(self.checkout.calls("cmake")), built + 1)

    def test_works_through_a_symbolic_link(self):
        (self.checkout.folder / "wt").symlink_to(self.checkout.root / "windtunnel")
        self.assert_ran(self.checkout.run("../wt", "plan"), "plan")

    def test_root_gets_missing_packages(self):
        self.checkout.write("installed", "libfmt-dev\n")
        done = self.checkout.run("windtunnel")
        self.assert_ran(done)
        self.assertIn("installing libyaml-cpp-dev", done.stderr)
        self.assertNotIn("libfmt-dev", done.stderr)

    def test_others_are_told_the_one_apt_line(self):
        self.checkout.write("installed", "libfmt-dev\nlibcli11-dev\nnlohmann-json3-dev\n")
        self.checkout.write("user", "1000\n")
        done = self.checkout.run("windtunnel")
        self.assertEqual(done.returncode, 3)
        self.assertIn("  sudo apt-get install -y libyaml-cpp-dev", done.stderr)
        self.assertEqual(self.checkout.calls("apt-get") + self.checkout.calls("cmake"), [])

    def test_a_failed_installation_says_what_apt_said(self):
        self.checkout.write("installed", "")
        self.checkout.write("fails/apt", "E: Unable to locate package\n")
        done = self.checkout.run("windtunnel")
        self.assertEqual(done.returncode, 3)
        self.assertIn("E: Unable to locate package", done.stderr)
        self.assertIn("apt-get update -qq", self.checkout.calls("apt-get"))

    def assert_recovers_after(self, step, text, exit_code, message):
        self.checkout.write(f"fails/{step}", text)
        done = self.checkout.run("windtunnel")
        self.assertEqual((done.returncode, done.stdout), (exit_code, ""))
        self.assertIn(text, done.stderr)
        self.assertIn(message, done.stderr)
        (self.checkout.root / "fails" / step).unlink()
        self.assert_ran(self.checkout.run("windtunnel"))

    def test_a_failed_configuration_is_missing_software(self):
        self.assert_recovers_after("configure", "CMake Error: no yaml-cpp\n", 3, "sudo apt-get install -y cmake")

    def test_a_failed_build_is_our_bug(self):
        self.assert_recovers_after("build", "a.cpp:1: error\n", 70, "build failed; the whole log is")

    def test_a_full_disk_is_named_and_the_next_use_starts_from_nothing(self):
        self.assert_recovers_after("build", "ld: final link: No space left on device\n", 3, "no space left on the disk")
        self.assertEqual(len([call for call in self.checkout.calls("cmake") if "--preset" in call]), 2)

    def test_a_failed_rebuild_does_not_run_the_old_program(self):
        self.checkout.run("windtunnel")
        later = (self.checkout.root / "build" / "windtunnel.stamp").stat().st_mtime + 10
        os.utime(self.checkout.root / "core" / "a.h", (later, later))
        self.assert_recovers_after("build", "a.cpp:1: error\n", 70, "build failed")

    def test_concurrent_first_uses_build_once(self):
        uses = [self.checkout.start(str(self.checkout.root / "windtunnel"), "plan") for _ in range(8)]
        for use in uses:
            stdout, stderr = use.communicate(timeout=60)
            self.assertEqual((use.returncode, stdout), (7, "program plan\n"), stderr)
        self.assertEqual(len(self.checkout.calls("cmake")), 2)

    def test_a_copied_checkout_is_configured_anew(self):
        self.checkout.run("windtunnel")
        old = self.checkout.root
        self.checkout.root = self.checkout.folder / "copy"
        shutil.copytree(old, self.checkout.root)
        self.checkout.environment["CHECKOUT"] = str(self.checkout.root)
        self.checkout.write("calls", "")
        self.assert_ran(self.checkout.run("windtunnel"))
        self.assertIn("--fresh", self.checkout.calls("cmake")[0])

    def test_an_unwritable_place_is_named(self):
        self.checkout.write("build", "a file where the folder should be")
        done = self.checkout.run("windtunnel")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot write to", done.stderr)


if __name__ == "__main__":
    unittest.main()
