"""Libraries of the tests' own, preloaded into utfeed: built once a session, told what to do by a page of a file."""
import mmap
import os
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def build(name, folder):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        pytest.skip("no C compiler")
    library = os.path.join(folder, f"{name}.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-D_GNU_SOURCE", "-o", library,
                    os.path.join(HERE, f"{name}.c")], check=True)
    return library


def preloading(*libraries):
    """The environment that has them loaded. gcc's AddressSanitizer wants to be the first library; these call nothing of it."""
    options = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    return {"LD_PRELOAD": ":".join(libraries), "ASAN_OPTIONS": options}


class Preload:
    """variable: of the environment, by which the library finds its page."""

    def __init__(self, library, variable, path, size=8):
        with open(path, "wb+") as file:
            file.write(bytes(size))
            file.flush()
            self.page = mmap.mmap(file.fileno(), size)
        self.env = {**preloading(library), variable: str(path)}
