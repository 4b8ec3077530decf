"""A network of a test's or a process's own, with loopback alone, in which each port is free: a namespace of Linux (network_namespaces(7))."""
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

CLONE_NEWNET = 0x40000000       # sched.h
SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP, IFF_RUNNING = 0x8914, 0x8916, 0x1, 0x40      # netdevice(7)
# An address of TEST-NET-3 (RFC 5737): tests want one that is not of loopback
OTHER_ADDRESS = "203.0.113.1"
LOOPBACKS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
# Ends when its standard input does; SIOCSIFFLAGS with IFF_UP and IFF_RUNNING
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


def loopbacks():
    """The loopback addresses that a socket can be bound to."""
    found = []
    for family, address in LOOPBACKS:
        with contextlib.suppress(OSError), socket.socket(family) as probe:
            probe.bind((address, 0))
            found.append(address)
    return found


def isolate():
    """Moves this process, which has one thread yet, into a network of its own, and says whether it could. Only root may; if a container
    forbids it, or the new network lacks a loopback address that this one has, the process stays where it is."""
    libc, before = ctypes.CDLL(None), loopbacks()
    try:
        here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.geteuid() or libc.unshare(CLONE_NEWNET):
            return False
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
                other = struct.pack("16sHH4s8x", b"lo:0", socket.AF_INET, 0, socket.inet_aton(OTHER_ADDRESS))
                fcntl.ioctl(any_socket, SIOCSIFADDR, other)
            ready = loopbacks() == before
        except OSError:
            ready = False
        if not ready and libc.setns(here, CLONE_NEWNET):
            raise OSError("cannot return to the network of this machine")
        return ready
    finally:
        os.close(here)


def can_isolate():
    """What isolate() says, without a change to this process."""
    child = os.fork()
    if not child:
        os._exit(not isolate())
    return os.waitpid(child, 0)[1] == 0
