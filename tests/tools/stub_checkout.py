"""A checkout with the root scripts and a machine of stubs: packages, CMake and CTest do nothing real.

Each stub logs its call to `calls`. Files in the checkout steer them:
  installed     packages that dpkg-query reports; apt-get install adds to it
  user          what `id -u` says
  fails/NAME    the step NAME (apt, configure, build) fails with this text
"""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]

STUBS = {
    "id": 'cat "$CHECKOUT/user"',
    "dpkg-query": 'sed "s/^/installed /" "$CHECKOUT/installed"',
    "apt-get": '''
echo "apt-get $*" >>"$CHECKOUT/calls"
[ "$1" = install ] || exit 0
if [ -f "$CHECKOUT/fails/apt" ]; then cat "$CHECKOUT/fails/apt" >&2; exit 100; fi
for word in "$@"; do case $word in *-dev) echo "$word" >>"$CHECKOUT/installed";; esac; done''',
    "cmake": '''
echo "cmake $*" >>"$CHECKOUT/calls"
step=configure; [ "$1" = --build ] && step=build
if [ -f "$CHECKOUT/fails/$step" ]; then cat "$CHECKOUT/fails/$step"; exit 1; fi
mkdir -p "$CHECKOUT/build/cli"
if [ $step = configure ]; then
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$CHECKOUT" >"$CHECKOUT/build/CMakeCache.txt"
  : >"$CHECKOUT/build/build.ninja"
else
  printf '#!/bin/sh\\necho program "$@"\\nexit 7\\n' >"$CHECKOUT/build/cli/windtunnel"
  chmod +x "$CHECKOUT/build/cli/windtunnel"
fi''',
    "mpirun": "",
    "ctest": '''
echo "ctest $*" >>"$CHECKOUT/calls"
while [ $# -gt 0 ]; do [ "$1" = --output-junit ] && cp "$CHECKOUT/junit" "$2"; shift; done
exit "$(cat "$CHECKOUT/ctest_status")"''',
}

LIBRARIES = ["libyaml-cpp-dev", "nlohmann-json3-dev", "libcli11-dev", "libfmt-dev", "libeigen3-dev",
             "libopenmpi-dev", "libgtest-dev", "libbenchmark-dev"]


class StubCheckout:
    def __init__(self, test):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.root = self.folder / "checkout"
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        for name in ("windtunnel", "run-tests", "CMakeLists.txt"):
            shutil.copy(SOURCE / name, self.root / name)
        (self.root / "core").mkdir()
        (self.root / "core" / "a.h").write_text("")
        (self.root / "fails").mkdir()
        self.write("user", "0\n")
        self.write("installed", "\n".join(LIBRARIES) + "\n")
        stubs = self.folder / "stubs"
        stubs.mkdir()
        for name, text in STUBS.items():
            (stubs / name).write_text("#!/bin/sh\n" + text + "\n")
            (stubs / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{stubs}:{os.environ['PATH']}", "CHECKOUT": str(self.root)}

    def write(self, name, text):
        (self.root / name).write_text(text)

    def calls(self, first_word):
        log = self.root / "calls"
        lines = log.read_text().splitlines() if log.is_file() else []
        return [line for line in lines if line.split(" ")[0] == first_word]

    def start(self, *words):
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, script, *arguments):
        process = self.start(str(self.root / script), *arguments)
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(script, process.returncode, stdout, stderr)
