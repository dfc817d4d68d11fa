"""Runs a tool of tools/ on a tree made for it."""
import subprocess
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def findings(tool, files, git=False):
    """The lines `tools/TOOL` prints of a tree of `files` (name to text). It exits with 1 if it prints any."""
    with tempfile.TemporaryDirectory() as folder:
        if git:
            subprocess.run(["git", "init", "--quiet", folder], check=True)
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([TOOLS / tool, folder], capture_output=True, text=True)
        assert done.stderr == "", done.stderr
        assert done.returncode == (1 if done.stdout else 0), done
        return done.stdout.splitlines()
