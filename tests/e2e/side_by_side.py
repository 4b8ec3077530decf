"""PYTEST_JOBS=4: the tests in four processes. They are forked once all tests are collected, and each takes the next few of one file as
soon as it has done the last ones. What they report, the first process tells as its own. Where root may make network namespaces, each has
one of its own: no test takes the port of another process's test, and connections in TIME_WAIT stay few.
Invariant: of each test there is a report, also where its process died."""
import gc
import multiprocessing
import multiprocessing.connection
import os
import struct

import pytest
from _pytest.reports import TestReport

from network import can_isolate, isolate

JOBS = int(os.environ.get("PYTEST_JOBS") or 1)
FEW = 8
NUMBER = struct.Struct("=I")


def batches(items):
    """Ranges of a few tests of one file, or of all of a file that says ONE_PROCESS: what its tests share is dear."""
    start, made = 0, []
    for at, item in enumerate(items):
        few = at - start < FEW or getattr(item.module, "ONE_PROCESS", False)
        if not few or item.path != items[start].path:
            made.append(range(start, at))
            start = at
    return [*made, range(start, len(items))]


class Teller:
    """In a forked process, in the terminal's place."""

    def __init__(self, config, pipe):
        self.config, self.pipe = config, pipe

    def pytest_runtest_logreport(self, report):
        self.pipe.send(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


def work(session, todo, made, pipe, isolated):
    config = session.config
    if isolated:
        assert isolate()
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()             # the file that this writes to is the first process's
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Teller(config, pipe))

    def take():
        number = os.read(todo, NUMBER.size)
        return [session.items[at] for at in made[NUMBER.unpack(number)[0]]] if number else []
    batch = take()
    while batch:
        following = take()
        for item, after in zip(batch, [*batch[1:], *(following[:1] or [None])]):
            config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        batch = following


def each_report(session, pipes):
    """As they come, until every process has ended; then one of each test of which none came."""
    untold = {item.nodeid: item for item in session.items}
    while pipes:
        for pipe in multiprocessing.connection.wait(pipes):
            try:
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=pipe.recv())
            except EOFError:
                pipes.remove(pipe)
                continue
            if report.when == "teardown":
                untold.pop(report.nodeid)
            yield report
    for item in untold.values():
        yield TestReport(item.nodeid, item.location, {}, "failed", "the process of this test ended before it", "call")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    config = session.config
    if JOBS == 1 or session.testsfailed or config.option.collectonly or not session.items:
        return None
    made = batches(session.items)
    todo, numbers = os.pipe()
    # The last files first: their tests wait longest, and at the end no process waits for another. A pipe holds 16,384 numbers
    os.write(numbers, b"".join(NUMBER.pack(number) for number in reversed(range(len(made)))))
    os.close(numbers)
    folder = config._tmp_path_factory.getbasetemp()
    fork, pipes, processes = multiprocessing.get_context("fork"), [], []
    gc.freeze()                         # a search for garbage would copy every page
    isolated = can_isolate()
    print_line = config.pluginmanager.getplugin("terminalreporter").write_line
    print_line(f"{JOBS} processes, {'each in a network of its own' if isolated else 'all in the network of this machine'}")
    for job in range(JOBS):
        mine, theirs = fork.Pipe(duplex=False)
        config._tmp_path_factory._basetemp = folder / str(job)
        config._tmp_path_factory._basetemp.mkdir()
        processes.append(fork.Process(target=work, args=(session, todo, made, theirs, isolated)))   # no daemon: tests have processes, too
        processes[-1].start()
        theirs.close()
        pipes.append(mine)
    config._tmp_path_factory._basetemp = folder
    try:
        for report in each_report(session, pipes):
            config.hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                config.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    finally:
        for process in processes:
            process.join()
    return True
