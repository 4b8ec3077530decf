"""What an LMDB store may meet: other processes with other sizes, or with its lock; damaged files; a full file system."""
import contextlib
import errno
import fcntl
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys

import pytest

from pages import FRESH, Site, page, was_hit
from preload import Preload, build
from proxy import is_sanitized
from test_stores import killed
from wire import PATIENCE, Cut

HERE = os.path.dirname(os.path.abspath(__file__))
EMPTY, BOOT = "it starts empty", "/proc/sys/kernel/random/boot_id"


def numbered(path):
    """A body that tells whether it is whole, of this path."""
    return random.Random(path).randbytes(100 + int(path[1:]) * 4099 % 30_000)


@pytest.fixture
def numbers(origin):
    site = Site(origin)
    site["*"] = lambda request: page(FRESH, body=numbered(request.target))
    return site


def options(folder, size="64m"):
    return "--cache-lmdb", str(folder), "--cache-lmdb-bytes", size


def right(proxy, path):
    """Whether it was a hit; the bytes are right in any case."""
    got = proxy.get(path)
    assert got.status == 200 and got.body == numbered(path), path
    return was_hit(got)


def hits(proxy, numbers):
    return sum(right(proxy, f"/{number}") for number in numbers)


@pytest.fixture
def filled(start, origin, numbers, tmp_path):
    """A folder where 20 pages are."""
    folder = tmp_path / "store"
    proxy = start(origin, *options(folder))
    assert hits(proxy, range(20)) == 0
    proxy.stop()
    return folder


# ---- two processes ----

def test_trust_16_two_sizes_share_a_file(start, origin, numbers, tmp_path):
    """The larger one grows the file behind the smaller one's map: that is no damage, and nothing is lost."""
    small, large = start(origin, *options(tmp_path, "1m")), start(origin, *options(tmp_path, "64m"))
    file = (tmp_path / "data.mdb").stat().st_ino
    assert hits(small, range(10)) == 0 and hits(large, range(100, 300)) == 0
    assert hits(small, range(300, 310)) == 0
    large.stop()
    small.stop()
    assert (tmp_path / "data.mdb").stat().st_ino == file and sorted(os.listdir(tmp_path)) == ["data.mdb", "in-use", "lock.mdb", "purges"]
    assert EMPTY not in small.err.text() + large.err.text()
    third = start(origin, *options(tmp_path, "64m"))
    assert hits(third, [*range(10), *range(100, 300), *range(300, 310)]) == 220


def test_trust_16_two_sizes_started_the_other_way_round(start, origin, numbers, tmp_path):
    """The smaller one, started last, takes nothing away from the larger one."""
    large = start(origin, *options(tmp_path, "64m"))
    assert hits(large, range(200)) == 0
    small = start(origin, *options(tmp_path, "1m"))
    assert hits(small, range(200, 230)) == 0
    small.stop()
    large.stop()
    third = start(origin, *options(tmp_path, "64m"))
    assert hits(third, range(230)) == 230


def test_another_format_is_left_alone_while_a_process_has_it_open(start, origin, numbers, filled):
    """As in an upgrade from a version with another format; once that one has ended the file starts anew."""
    data = filled / "data.mdb"
    before = data.read_bytes().replace(b"format\0f\1", b"format\0f\2")
    data.write_bytes(before)
    with open(filled / "lock.mdb", "r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_SH | fcntl.LOCK_NB, 1)         # as LMDB holds it while the file is open
        proxy = start(origin, *options(filled))
        proxy.says("in a format that this version does not read; it is not used until it can be")
        assert hits(proxy, range(20)) == 0 and hits(proxy, range(20)) == 20
        proxy.stop()
        assert data.read_bytes() == before
    proxy = start(origin, *options(filled))
    proxy.says("in a format this one does not read; it starts empty")
    assert hits(proxy, range(20)) == 0


# ---- the writer's lock ----

@contextlib.contextmanager
def held(folder):
    """Another process has the lock and does nothing."""
    holder = subprocess.Popen([sys.executable, os.path.join(HERE, "lmdb_holder.py"), str(folder)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        yield holder
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_trust_16_a_held_lock_stops_no_answer_and_no_exit(start, origin, numbers, filled, workers):
    proxy = start(origin, *options(filled), "--workers", workers)
    with held(filled):
        assert hits(proxy, range(10)) == 10                    # they are read
        assert hits(proxy, range(100, 110)) == 0               # missed, fetched
        assert hits(proxy, range(100, 110)) == 10
        proxy.stop()
    assert "another process has its lock" in proxy.err.text() and "10 removals could not be made" in proxy.err.text()
    after = start(origin, *options(filled))
    assert hits(after, range(20)) == 20


def test_trust_16_a_held_lock_stops_no_start(start, origin, numbers, filled):
    with held(filled):
        proxy = start(origin, *options(filled))
        assert hits(proxy, range(20)) == 20
        proxy.stop()


def test_trust_16_a_lock_that_is_free_again(start, origin, numbers, filled):
    """What came for longer than is waited for is lost, and what it would have replaced is gone; then all is as before."""
    proxy = start(origin, *options(filled))
    with held(filled):
        assert hits(proxy, range(100, 110)) == 0
        assert proxy.get("/3", method="PURGE").status in (200, 202, 503, 504)
        proxy.says("has held the writer's lock")
        assert hits(proxy, range(110, 120)) == 0
        numbers["/3"] = page("Cache-Control: no-store", body=numbered("/3"))
        assert not right(proxy, "/3")
    proxy.says("is free again")
    numbers["/4"] = page("Cache-Control: no-store", body=numbered("/4"))
    assert hits(proxy, range(120, 130)) == 0
    proxy.stop()
    after = start(origin, *options(filled))
    assert hits(after, range(120, 130)) == 10
    assert not right(after, "/3") and right(after, "/4") and hits(after, range(5, 20)) == 15


# ---- damage ----

def cut_in_the_metas(file):
    os.truncate(file, 5000)


def write_at(at, bytes_):
    def write(file):
        with open(file, "r+b") as stream:
            stream.seek(at)
            stream.write(bytes_)
    return write


META = 16            # behind a page's head: magic, version, address, map, two trees of 48 bytes, last page, transaction
HARMS = {
    "cut in the meta pages": cut_in_the_metas,
    "another magic": write_at(META, bytes(4)),
    "pages of zeros": lambda file: write_at(2 * 4096, bytes(file.stat().st_size - 2 * 4096))(file),
}


@pytest.mark.parametrize("harm", HARMS)
def test_trust_16_damage_that_lmdb_finds_is_set_aside(start, origin, numbers, filled, harm):
    HARMS[harm](filled / "data.mdb")
    proxy = start(origin, *options(filled))
    hits(proxy, range(20))
    proxy.says(EMPTY)
    assert hits(proxy, range(100, 120)) == 0
    proxy.stop()
    assert (filled / "data.mdb.damaged").exists()
    after = start(origin, *options(filled))
    assert hits(after, range(100, 120)) == 20 and EMPTY not in after.err.text()


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer ends a crash in its own way")
@pytest.mark.parametrize("left", [0, 2 * 4096, 7 * 4096])
def test_trust_16_a_file_that_is_cut_while_it_is_open_crashes_once(start, origin, numbers, filled, left):
    """The crash leaves a mark, and the next start sets the file aside."""
    proxy = start(origin, *options(filled))
    os.truncate(filled / "data.mdb", left)
    with contextlib.suppress(Cut, OSError):
        hits(proxy, range(20))
    proxy.stopped = True
    assert proxy.wait() == -signal.SIGBUS, proxy.err.text()
    after = start(origin, *options(filled))
    after.says(EMPTY)
    assert "it was found damaged, or crashed utfeed" in after.err.text()
    assert hits(after, range(20)) == 0 and hits(after, range(20)) == 20


# ---- a machine that goes down ----

def test_a_store_that_was_open_when_the_machine_went_down_is_set_aside(start, origin, numbers, filled):
    """Another boot's id is left in the mark; what the disk has of the file then nobody knows."""
    killed(start(origin, *options(filled)))
    boot = (filled / "in-use").read_text()
    assert boot == pathlib.Path(BOOT).read_text(encoding="ascii")
    (filled / "in-use").write_text(boot[::-1].strip() + "\n")
    proxy = start(origin, *options(filled))
    proxy.says(EMPTY)
    assert "it was open when the machine went down" in proxy.err.text() and (filled / "data.mdb.damaged").exists()
    assert hits(proxy, range(20)) == 0 and hits(proxy, range(20)) == 20
    assert proxy.counters()["second_errors"] == 1


def test_a_killed_process_loses_nothing(start, origin, numbers, filled):
    killed(start(origin, *options(filled)))
    proxy = start(origin, *options(filled))
    assert hits(proxy, range(20)) == 20
    proxy.stop()
    assert EMPTY not in proxy.err.text() and (filled / "in-use").read_text().strip() == "closed"


HIDDEN = ("unshare", "-m", "sh", "-c", f'mount --bind /dev/null {BOOT} && exec "$0" "$@"')


@pytest.mark.skipif(subprocess.run([*HIDDEN, "true"], capture_output=True, check=False).returncode != 0, reason="no mounts of our own")
def test_a_boot_whose_id_cannot_be_read(start, origin, numbers, filled):
    """An orderly end loses nothing, and two processes share the store; a process that was killed starts empty."""
    proxy, beside = (start(origin, *options(filled), under=HIDDEN) for _ in range(2))
    assert "the machine's boot id cannot be read" in proxy.err.text() and hits(proxy, range(20)) == hits(beside, range(20)) == 20
    proxy.stop()
    beside.stop()
    proxy = start(origin, *options(filled), under=HIDDEN)
    assert hits(proxy, range(20)) == 20
    killed(proxy)
    proxy = start(origin, *options(filled), under=HIDDEN)
    assert "it was open when the machine went down" in proxy.err.text() and hits(proxy, range(20)) == 0


@pytest.mark.parametrize("ends", [["first", "second"], ["second", "first"]], ids="-".join)
def test_the_last_process_that_ends_closes_the_store(start, origin, numbers, filled, ends):
    running = {name: start(origin, *options(filled)) for name in ("first", "second")}
    boot = (filled / "in-use").read_text()
    running[ends[0]].stop()
    assert (filled / "in-use").read_text() == boot != "closed"
    running[ends[1]].stop()
    assert (filled / "in-use").read_text().strip() == "closed"


def test_a_process_that_was_killed_beside_another_one(start, origin, numbers, filled):
    """The one that goes on closes the store for both."""
    first, second = (start(origin, *options(filled)) for _ in range(2))
    killed(first)
    assert hits(second, range(20)) == 20
    second.stop()
    assert (filled / "in-use").read_text().strip() == "closed"


def test_trust_16_a_damaged_lock_file(start, origin, numbers, filled):
    (filled / "lock.mdb").write_bytes(random.Random(1).randbytes(9000))
    proxy = start(origin, *options(filled))
    assert hits(proxy, range(20)) == 20


def test_trust_16_what_another_process_has_open_is_not_moved(start, origin, numbers, filled):
    first = start(origin, *options(filled))
    file = (filled / "data.mdb").stat().st_ino
    write_at(META, bytes(4))(filled / "data.mdb")
    second = start(origin, *options(filled))
    assert hits(second, range(20)) == 0 and hits(second, range(20)) == 20
    second.stop()
    assert "another process has it open" in second.err.text() and (filled / "data.mdb").stat().st_ino == file
    first.stop()


# ---- a full file system ----

@pytest.fixture
def disk(tmp_path):
    """A file system of 4 MiB; fill() takes what is left of it, room() gives it back."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    if done.returncode:
        pytest.skip(f"no file system of our own: {done.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], timeout=PATIENCE, check=True)


def fill(folder):
    with open(folder / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))


def test_trust_16_no_room_at_the_start(start, origin, numbers, disk):
    fill(disk)
    proxy = start(origin, *options(disk / "store"))
    assert hits(proxy, range(20)) == 0 and hits(proxy, range(20)) == 20
    proxy.stop()
    assert "No space left" in proxy.err.text()


def test_trust_16_no_room_at_a_start_with_a_store(start, origin, numbers, disk):
    """What is there is served; the lock file has its room already."""
    first = start(origin, *options(disk / "store"))
    hits(first, range(20))
    first.stop()
    fill(disk)
    second = start(origin, *options(disk / "store"))
    assert hits(second, range(20)) == 20


def test_trust_16_no_room_loses_one_write_only(start, origin, numbers, disk):
    proxy = start(origin, *options(disk / "store"))
    assert hits(proxy, range(20)) == 0
    proxy.stop()
    proxy = start(origin, *options(disk / "store"))
    fill(disk)
    assert hits(proxy, range(100, 300)) == 0
    proxy.says("No space left")
    assert proxy.get("/3", method="PURGE").status == 200
    proxy.stop()
    assert EMPTY not in proxy.err.text()
    proxy = start(origin, *options(disk / "store"))
    numbers["/3"] = page("Cache-Control: no-store", body=numbered("/3"))
    assert hits(proxy, [*range(3), *range(4, 20)]) == 19 and not right(proxy, "/3")
    hits(proxy, range(300, 305))
    proxy.says("No space left")
    os.unlink(disk / "filler")
    hits(proxy, range(400, 410))
    proxy.says("it takes entries again")
    assert hits(proxy, range(500, 510)) == 0
    proxy.stop()
    proxy = start(origin, *options(disk / "store"))
    assert hits(proxy, range(500, 510)) == 10


# ---- a disk that refuses ----

class Disk(Preload):
    """data.mdb cannot be made longer, or cannot be written to at all."""

    def refuses(self, grows=0, writes=0):
        self.page[:16] = struct.pack("@qq", grows, writes)


@pytest.fixture(scope="session")
def disk_library(tmp_path_factory):
    return build("disk", str(tmp_path_factory.mktemp("disk")))


@pytest.fixture
def refusing(disk_library, tmp_path):
    return Disk(disk_library, "DISK", tmp_path / "refuses", 16)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT], ids=errno.errorcode.get)
def test_a_file_that_cannot_grow_keeps_what_it_has(start, origin, numbers, filled, refusing, error):
    """Issue 31, A 7: what is new has no room, what is there stays; a purge gives its pages to what is new."""
    proxy = start(origin, *options(filled), env=refusing.env)
    refusing.refuses(grows=error)
    hits(proxy, range(100, 200))
    proxy.says("what cannot be written is not stored")
    assert os.strerror(error) in proxy.err.text()
    proxy.stop()
    proxy = start(origin, *options(filled), env=refusing.env)
    assert hits(proxy, range(20)) == 20
    assert proxy.get("/", "X-Purge: all", method="PURGE").status == 200
    assert hits(proxy, range(10)) == 0
    proxy.stop()
    proxy = start(origin, *options(filled), env=refusing.env)
    assert hits(proxy, range(10)) == 10
    refusing.refuses()
    assert hits(proxy, range(200, 250)) == 0
    proxy.stop()
    assert hits(start(origin, *options(filled)), range(200, 250)) == 50


@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS, errno.ENOSPC], ids=errno.errorcode.get)
def test_a_file_that_cannot_be_written_is_read(start, origin, numbers, filled, refusing, error):
    """What is purged meanwhile is owed; once the disk takes writes again, all is as before."""
    proxy = start(origin, *options(filled), env=refusing.env)
    refusing.refuses(writes=error)
    hits(proxy, range(100, 110))
    proxy.says(os.strerror(error))
    assert proxy.get("/3", method="PURGE").status == 202
    numbers["/3"] = page("Cache-Control: no-store", body=numbered("/3"))
    assert not right(proxy, "/3") and hits(proxy, [*range(3), *range(4, 20)]) == 19
    refusing.refuses()
    proxy.says("it takes entries again")
    assert hits(proxy, range(200, 210)) == 0
    proxy.stop()
    proxy = start(origin, *options(filled))
    assert not right(proxy, "/3") and hits(proxy, [*range(3), *range(4, 20), *range(200, 210)]) == 29
