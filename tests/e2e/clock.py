"""A wall clock that stands still until the test moves it (clock.c, preloaded): times to the second, and no test waits for one."""
import email.utils
import mmap
import os
import shutil
import subprocess

import pytest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clock.c")


def build(folder):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        pytest.skip("no C compiler")
    library = os.path.join(folder, "clock.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE", "-o", library, SOURCE], check=True)
    return library


class Clock:
    def __init__(self, library, path, now=1_800_000_000):
        with open(path, "wb+") as file:
            file.write(bytes(8))
            file.flush()
            self.page = mmap.mmap(file.fileno(), 8)
        # gcc's AddressSanitizer wants to be the first library; ours calls nothing of it
        options = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
        self.env = {"LD_PRELOAD": library, "MOCK_CLOCK": str(path), "ASAN_OPTIONS": options}
        self.start = self.now = now
        self.at(0)

    def at(self, seconds):
        """It is so many seconds after the test's start now."""
        self.now = self.start + seconds
        self.page[:] = self.now.to_bytes(8, "little")

    def date(self, seconds=0):
        """The time so many seconds from now, as HTTP writes it."""
        return email.utils.formatdate(self.now + seconds, usegmt=True)
