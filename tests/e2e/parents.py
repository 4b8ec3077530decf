"""Parent proxies: a scripted Origin that is sent requests in absolute form, and CONNECT, for which it opens real tunnels; tinyproxy."""
import shutil
import socket
import subprocess
import threading
import time

import pytest

from peers import Origin
from ports import server_port
from wire import TIMEOUT

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def pass_on(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def join(*ends):
    """Each of two connections gets what comes from the other one."""
    for sock in ends:
        sock.settimeout(None)
    for source, sink in (ends, ends[::-1]):
        threading.Thread(target=pass_on, args=(source, sink), daemon=True).start()


class Parent(Origin):
    def __init__(self, *host):
        super().__init__(*host)
        self.tunnels = []

    def connected(self, to, answer=ESTABLISHED, size=None):
        """The next request is CONNECT: from now on its connection leads to the Origin to, whatever name was asked for; gives the
        request. size: the answer goes out in pieces."""
        upstream = self.receive()
        assert upstream.request.method == "CONNECT" and upstream.request["Host"] == upstream.request.target
        assert not upstream.stream.held, "bytes before the answer to CONNECT"
        self.open.remove(upstream)
        ends = upstream.sock, socket.create_connection(("127.0.0.1", to.port))
        self.tunnels.append(ends)
        if size:
            upstream.send_apart(answer[:-1], size)
        upstream.send(answer[-1:] if size else answer)
        join(*ends)
        return upstream.request

    def close(self):
        super().close()
        for ends in self.tunnels:
            for sock in ends:
                sock.close()


class Running:
    """A program of the system that serves at self.port, once it accepts connections."""

    def __init__(self, port, command, *arguments):
        if not shutil.which(command):
            pytest.skip(f"no {command}")
        self.port = port
        self.process = subprocess.Popen([command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                assert self.process.poll() is None and time.monotonic() < until, f"{command} does not start"
                time.sleep(0.01)

    def close(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)


class Tinyproxy(Running):
    """Asks for user:secret."""

    def __init__(self, folder):
        port = server_port()
        conf = folder / "tinyproxy.conf"
        conf.write_text(f'Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nBasicAuth user secret\n')
        super().__init__(port, "tinyproxy", "-d", "-c", str(conf))
