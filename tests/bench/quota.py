"""Less than a whole processor for a server: the kernel's CPU limit for a group of processes, as containers have it."""
import contextlib
import os

import servers

PERIOD_US = 10_000                  # in which the share is given: short, for what waits meanwhile must fit into the open connections


def version_1():
    """(folder for groups, where this process is, what limits a group to a share), of cgroups' first version; None: not here."""
    for folder in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"):
        for line in servers.read("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if "cpu" in controllers.split(",") and os.path.exists(os.path.join(folder, "cpu.cfs_quota_us")):
                return folder, folder + path, {"cpu.cfs_period_us": "{period}", "cpu.cfs_quota_us": "{quota}"}
    return None


def version_2():
    folder = "/sys/fs/cgroup"
    control = os.path.join(folder, "cgroup.subtree_control")
    if not os.path.exists(control) or "cpu" not in servers.read(control).split():
        return None
    path = next(line for line in servers.read("/proc/self/cgroup").splitlines() if line.startswith("0::"))[3:]
    return folder, folder + path, {"cpu.max": "{quota} {period}"}


def move(pids, group):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            servers.write(group, "cgroup.procs", str(pid))


@contextlib.contextmanager
def held(pids, share):
    """Meanwhile these processes, together, get that share of a processor at most. OSError on entering: this system does not let us."""
    found = version_1() or version_2()
    if not found:
        raise OSError("no CPU controller of cgroups")
    folder, home, limits = found
    home = home if os.path.isdir(home) else folder     # in a container, what it is called may be known outside only
    group = os.path.join(folder, f"utfeed-bench-{pids[0]}")
    os.mkdir(group)
    try:
        for name, value in limits.items():
            servers.write(group, name, value.format(period=PERIOD_US, quota=int(PERIOD_US * share)))
        try:
            move(pids, group)
            yield
        finally:
            move(pids, home)
    finally:
        os.rmdir(group)
