"""One run of tests/bench/load against a server: started, waited for, its figures and the server's processor time read."""
import contextlib
import http.client
import json
import os
import re
import resource
import subprocess

import servers

SLICES = 4                          # turns of a round
TRIES = 3                           # to get an answer in a turn
SMOKE = 100                         # requests of a smoke run's turn, however long they take


@contextlib.contextmanager
def started(setup, server, path, *options, cpus=(servers.LOAD_CPU,)):
    """A load whose connections are all open, and which waits to be told to begin. path: one, or several that are asked for in turn."""
    argv = [setup.load, *map(str, options), str(server.port), *([path] if isinstance(path, str) else path)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=servers.pin(cpus))
    try:
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"load could not connect to {server.name}: {' '.join(argv)}")
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def figures(process):
    """What a load prints at its end."""
    answer = process.stdout.readline()
    if not answer:
        raise RuntimeError("load failed")
    return json.loads(answer)


def run(setup, server, path, *options, cpus=(servers.LOAD_CPU,), seconds=None):
    """What load prints, and cpu: the server's microseconds a request; load_share: of one processor, the load's own."""
    timed = () if "-N" in options else ("-N", SMOKE) if setup.quick and "-r" not in options else ("-d", seconds or setup.seconds)
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    with started(setup, server, path, *timed, *options, cpus=cpus) as process:
        before = server.cpu()
        process.stdin.write(b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        after = server.cpu()
    if not answer:
        raise RuntimeError(f"load failed against {server.name}: {path} {options}")
    result = json.loads(answer)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not result["requests"]:
        raise RuntimeError(f"{server.name} answers nothing: {path} {options}: {result}")
    if result["status"] != 200 or result["errors"]:
        setup.trouble.append(f"{server.name} {path} {' '.join(map(str, options))}: status {result['status']}, {result['errors']} wrong or broken "
                             f"answers of {result['requests']}")
    result["cpu"] = (after - before) / result["requests"] * 1e6
    result["rate"] = result["requests"] / result["seconds"]
    result["load_share"] = (spent.ru_utime + spent.ru_stime - own.ru_utime - own.ru_stime) / result["seconds"]
    setup.say(f"{server.name:22} {path if isinstance(path, str) else f'{len(path)} paths':28} {' '.join(map(str, options)):18} {result['rate']:9.0f}/s {result['cpu']:9.2f} us"
              f"  p99 {result['p99'] / 1000:.2f} ms")
    return result


def turns(setup, names, seconds=None, slices=SLICES):
    """Yields (whose turn it is, for how many seconds): so many slices make a round, which has every name for so many seconds. The shorter
    they are the more alike is the machine, whose speed drifts, to all within one; every other one is in reverse."""
    slices = 1 if setup.quick else slices
    for turn in range(setup.rounds * slices):
        for name in names[::-1 if turn % 2 else 1]:
            yield name, (seconds or setup.seconds) / slices


def attempt(setup, server, action):
    """What action() gives; None where it fails time after time, which is told: the rest is measured all the same. Once is nothing: a host
    may take a virtual machine's processors away for half a second."""
    for left in reversed(range(TRIES)):
        try:
            return action()
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            if not left:
                setup.trouble.append(f"{server.name}: {error!r}")
    return None


class Setup:
    """Where things are, how long and how often to measure."""

    def __init__(self, build, folder, rounds, quick, only=""):
        self.load = os.path.join(build, "tests/bench/load")
        self.origin_program = os.path.join(build, "tests/bench/origin")
        self.utfeed = os.path.join(build, "utfeed")
        self.build, self.folder, self.rounds, self.quick = build, folder, rounds, quick
        self.seconds = .2 if quick else 2
        self.only = re.compile(only)
        self.absent, self.trouble = [], []     # what is not measured; answers that were not as they should be

    def wanted(self, what):
        """Whether BENCH_ONLY asks for this row, of the parts that have many."""
        return bool(self.only.search(what))

    def say(self, text):
        print(text, flush=True)

    def origin(self, files):
        return servers.Server("origin", servers.origin(self.origin_program, files), self.folder, None, (servers.LOAD_CPU,))

    def start(self, stack, origin, rows):
        """Those of the rows (name, what it needs, configuration) that this machine has, by name, until the stack unwinds."""
        running = {}
        for name, needs, make in rows:
            if needs and not servers.program(needs):
                self.absent.append(f"{needs} is not installed: no rows for {name}")
            else:
                running[name] = stack.enter_context(servers.Server(name, make, self.folder, origin.port))
        return running
