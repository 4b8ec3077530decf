"""What a running utfeed takes: memory, processor, descriptors. From /proc, so nothing of it is asked of utfeed."""
import os
import re
import time


class Gauge:
    def __init__(self, pid):
        self.proc = f"/proc/{pid}"

    def status(self, name):
        """In MB."""
        with open(f"{self.proc}/status", encoding="ascii") as status:
            return int(re.search(rf"{name}:\s+(\d+) kB", status.read())[1]) / 1024

    def forget_peak(self):
        """Peaks count from now on (proc(5), clear_refs)."""
        with open(f"{self.proc}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def rss(self):
        return self.status("VmRSS")

    def peak(self):
        return self.status("VmHWM")

    def descriptors(self):
        return len(os.listdir(f"{self.proc}/fd"))

    def cpu(self):
        """Microseconds, of all its threads."""
        total = 0
        for task in os.listdir(f"{self.proc}/task"):
            with open(f"{self.proc}/task/{task}/schedstat", encoding="ascii") as stat:
                total += int(stat.read().split()[0])
        return total / 1000

    def taken_by_others(self, processor=0):
        """Microseconds that everything else took of the processor that it is pinned to (proc(5), /proc/stat)."""
        with open("/proc/stat", encoding="ascii") as stat:
            line = re.search(rf"^cpu{processor} (.*)", stat.read(), re.M)[1]
        user, nice, system, _, _, _, _, steal = map(int, line.split()[:8])
        return (user + nice + system + steal) * 1_000_000 / os.sysconf("SC_CLK_TCK") - self.cpu()

    def pin(self, processors):
        for task in os.listdir(f"{self.proc}/task"):
            os.sched_setaffinity(int(task), processors)


def until(condition, seconds):
    """Polls for what no event tells; whether it came."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
