"""./bootstrap for somebody who may not install packages, and a check that is ended in the middle."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from wire import PATIENCE, TIMEOUT

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
                                        stderr=subprocess.PIPE, timeout=PATIENCE, check=False)


def test_without_root_or_sudo_it_says_what_to_do(nobody):
    done = nobody("deps", "build")
    assert done.returncode == 1 and not done.stdout
    said = done.stderr.decode()
    assert "missing packages: utfeed-no-such-package\n" in said and "as root: apt-get update && apt-get install" in said


def test_with_everything_there_nothing_is_asked_for(nobody):
    done = nobody("deps", "run")
    assert done.returncode == 0 and not done.stdout and not done.stderr


def test_a_command_is_as_good_as_its_package(nobody, tmp_path):
    """npm of somebody else's node, beside which Debian's package cannot be."""
    command = tmp_path / "bin" / "utfeed-no-such-package"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    done = nobody("deps", "build")
    assert done.returncode == 0 and not done.stdout and not done.stderr


def test_a_source_that_is_built_in_place_is_copied_without_what_was_built(tmp_path):
    source, folder = tmp_path / "source", tmp_path / "folder"
    kept, left = ("configure", "core/a.c", "tests/run.sh", "tests/bench/README"), ("config.status", "Makefile", "core/a.o", "tests/unit/test_a", "coverage/a")

    def copied():
        done = subprocess.run(["sh", os.path.join(TOP, "tests", "clean-source.sh"), str(source), str(folder)], stdout=subprocess.PIPE,
                              timeout=PATIENCE, check=True)
        return done.stdout.decode().strip()
    for name in kept + left[1:]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
        if "README" not in name:
            (source / name).chmod(0o755)
    assert copied() == str(source)
    (source / left[0]).write_text("")
    for _ in range(2):
        copy = copied()
        assert copy == str(folder / "source")
        assert all(os.path.exists(os.path.join(copy, name)) for name in kept) and not any(os.path.exists(os.path.join(copy, name)) for name in left)


def test_the_tables_are_never_those_of_a_stale_program(tmp_path):
    """check-options.sh makes the program anew that prints the tables."""
    (tmp_path / "tests").mkdir()
    docs = tmp_path / "tests" / "conf_docs"
    docs.write_text("#!/bin/sh\nexit 1\n")
    docs.chmod(0o755)
    os.utime(docs, (1, 1))
    (tmp_path / "Makefile").write_text("tests/conf_docs: always\n\t@echo made >made; exit 1\nalways:\n")
    done = subprocess.run(["sh", os.path.join(os.path.abspath(TOP), "tests", "check-options.sh")], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and b"cannot make tests/conf_docs" in done.stdout and (tmp_path / "made").exists()


def heed_signals():
    """A shell cannot trap what was ignored when it began (POSIX, trap), as SIGHUP is under nohup and SIGINT behind an &."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def lanes(tmp_path):
    """./bootstrap check of a tree in which every build waits until it is ended: (the running check, the processes that wait)."""
    (tmp_path / "tests").mkdir()
    shutil.copy(os.path.join(TOP, "tests", "check-all.sh"), tmp_path / "tests")
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    configure = tmp_path / "configure"
    configure.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >{waiting}/new.$$ && mv {waiting}/new.$$ {waiting}/$!\nwait\n")
    configure.chmod(0o755)
    check = subprocess.Popen(["sh", "tests/check-all.sh"], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                             preexec_fn=heed_signals, env={**os.environ, "UTFEED_SHARED": str(tmp_path / "none")})
    awaited(lambda: len(os.listdir(waiting)) == 3 and all(name.isdigit() for name in os.listdir(waiting)))
    yield check, [int(name) for name in os.listdir(waiting)]
    check.kill()
    check.communicate()


def awaited(condition):
    until = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def state(process):
    """(its state, its parent) as proc(5) has them; a process that is over is a zombie of nobody."""
    try:
        with open(f"/proc/{process}/stat", encoding="latin-1") as stat:
            word, parent = stat.read().rpartition(")")[2].split()[:2]
            return word, int(parent)
    except OSError:
        return "Z", 0


def runs(process):
    return state(process)[0] != "Z"


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupted_check_leaves_nothing_running(lanes, number):
    check, waiting = lanes
    check.send_signal(number)
    assert "check: interrupted" in check.communicate(timeout=PATIENCE)[0] and check.returncode == 130
    awaited(lambda: not any(map(runs, waiting)))


def test_a_lane_that_dies_is_a_failure(lanes):
    check, waiting = lanes
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit() and state(name)[1] == check.pid]
    assert len(processes) == 3
    for process in processes:
        os.kill(process, signal.SIGKILL)
    said = check.communicate(timeout=PATIENCE)[0]
    assert check.returncode == 1 and said.count("ended with status 137 in the step") == 3 and said.endswith("0 passed, 3 failed, 0 skipped\n")
    awaited(lambda: not any(map(runs, waiting)))
