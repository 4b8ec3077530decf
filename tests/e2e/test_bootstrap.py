"""./bootstrap for somebody who may not install packages."""
import os
import shutil
import subprocess

import pytest

from wire import TIMEOUT

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


@pytest.fixture
def nobody(tmp_path):
    """A tree with a package that apt knows and nobody has, and a PATH without sudo in which id says 1000."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("awk", "apt-get", "dirname", "dpkg-query", "mktemp", "rm", "sh", "tr"):
        if not shutil.which(name):
            pytest.skip(f"no {name}")
        (tools / name).symlink_to(shutil.which(name))
    for name, text in (("id", "echo 1000"), ("apt-cache", "printf 'utfeed-no-such-package:\\n  Candidate: 1\\n'")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "packages").write_text("build\tlibc6\nbuild\tutfeed-no-such-package|utfeed-nor-such\nrun\tlibc6\n")
    shutil.copy(os.path.join(TOP, "bootstrap"), tmp_path)
    return lambda *args: subprocess.run(["./bootstrap", *args], cwd=tmp_path, env={"PATH": str(tools)}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)


def test_without_root_or_sudo_it_says_what_to_do(nobody):
    done = nobody("deps", "build")
    assert done.returncode == 1 and not done.stdout
    said = done.stderr.decode()
    assert "missing packages: utfeed-no-such-package\n" in said and "as root: apt-get update && apt-get install" in said


def test_with_everything_there_nothing_is_asked_for(nobody):
    done = nobody("deps", "run")
    assert done.returncode == 0 and not done.stdout and not done.stderr
