"""A network of the test's own, with loopback alone, in which each port is free: a namespace of Linux (network_namespaces(7))."""
import contextlib
import ctypes
import os
import subprocess
import sys

CLONE_NEWNET = 0x40000000       # sched.h
# Ends when its standard input does; SIOCSIFFLAGS with IFF_UP and IFF_RUNNING (netdevice(7))
HOLDER = """import fcntl, socket, struct, sys
with socket.socket() as any: fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
print("up", flush=True)
sys.stdin.read()"""


class Network:
    def __init__(self, holder):
        self.holder, self.under = holder, ("nsenter", f"--net=/proc/{holder.pid}/ns/net")

    @contextlib.contextmanager
    def inside(self):
        """This thread's new sockets belong to the network."""
        libc = ctypes.CDLL(None, use_errno=True)

        def enter(namespace):
            assert libc.setns(namespace, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        mine = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        other = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            enter(other)
            try:
                yield
            finally:
                enter(mine)
        finally:
            os.close(mine)
            os.close(other)

    def close(self):
        self.holder.communicate()


def network():
    """None: this user or this container may not make one."""
    try:
        holder = subprocess.Popen(["unshare", "--net", sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
    except OSError:
        return None
    if holder.stdout.readline() == b"up\n":
        return Network(holder)
    holder.communicate()
    return None
