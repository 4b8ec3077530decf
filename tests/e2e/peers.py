"""The two scripted ends: Client asks utfeed, Origin is asked by it. Every method moves one message and checks the other end.

An Origin does nothing by itself: the test receives a request, then says byte for byte what goes back (Upstream), or hands a
function to serve() that answers every request on threads.
"""
import contextlib
import selectors
import socket
import ssl
import struct
import threading
import time

from sockets import unread_bytes
from wire import TIMEOUT, Cut, Stream, connect, read_body, read_request, read_request_head, read_response


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


HAS_IPV6 = has_ipv6()


class Background:
    """Runs a call on a thread; join() gives its result or raises what it raised."""

    def __init__(self, call, *args):
        self.result = self.error = None
        self.thread = threading.Thread(target=self.run, args=(call, args), daemon=True)
        self.thread.start()

    def run(self, call, args):
        try:
            self.result = call(*args)
        except BaseException as error:      # handed to the thread that joins
            self.error = error

    def join(self):
        self.thread.join(TIMEOUT * 4)
        assert not self.thread.is_alive(), "background call did not end"
        if self.error:
            raise self.error
        return self.result


def heard_from(sock, seconds=0.05):
    """Waits a moment for bytes, or the end, from the other side."""
    with selectors.DefaultSelector() as ready:
        ready.register(sock, selectors.EVENT_READ)
        return bool(ready.select(seconds))


class Peer:
    """One connection, with everything a test may want to do to it."""

    def __init__(self, sock):
        self.sock, self.stream = sock, Stream(sock)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self):
        return self.sock.fileno()

    def heard(self, seconds=0.05):
        """Whether bytes, or the end, come from the other side within so many seconds."""
        return bool(self.stream.held) or heard_from(self.sock, seconds)

    def send(self, data):
        self.sock.sendall(data)

    def push(self, data, limit, least=0):
        """Sends data, over and over, until limit bytes are gone or the other end takes nothing: for a second, once more than least are
        gone. Gives how many went. A busy machine may stop for a second; what a test must see taken is its least."""
        self.sock.setblocking(False)
        sent, view = 0, memoryview(data)
        with selectors.DefaultSelector() as ready:
            ready.register(self.sock, selectors.EVENT_WRITE)
            while sent < limit and ready.select(1 if sent > least else TIMEOUT):
                at = sent % len(data)
                sent += self.sock.send(view[at:at + limit - sent])
        self.sock.settimeout(TIMEOUT)
        return sent

    def exchange(self, data, count):
        """Sends data and reads count bytes at the same time, by one thread: a TLS connection is not for two."""
        later = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
        got, sent, view = bytearray(self.stream.take(count)), 0, memoryview(data)
        self.sock.setblocking(False)
        with selectors.DefaultSelector() as ready:
            ready.register(self.sock, selectors.EVENT_READ)
            while sent < len(data) or len(got) < count:
                ready.modify(self.sock, selectors.EVENT_READ | (selectors.EVENT_WRITE if sent < len(data) else 0))
                assert ready.select(TIMEOUT), f"stuck: {sent} sent, {len(got)} read"
                with contextlib.suppress(*later):
                    came = self.sock.recv(1 << 18)
                    assert came, f"ended: {sent} sent, {len(got)} read"
                    got += came
                with contextlib.suppress(*later):
                    sent += self.sock.send(view[sent:sent + (1 << 16)]) if sent < len(data) else 0
        self.sock.settimeout(TIMEOUT)
        return bytes(got)

    def dribble(self, byte=b"y"):
        """One byte every now and then until the other end ends the connection or answers."""
        def run():
            try:
                while not heard_from(self.sock):
                    self.send(byte)
            except OSError:
                pass
        return Background(run)

    def send_soon(self, data):
        """Not for a TLS connection that is read meanwhile: an SSLSocket is for one thread at a time."""
        return Background(self.sock.sendall, data)

    def send_apart(self, data, size=1):
        """In pieces of size bytes, each read by the other end before the next one leaves."""
        for at in range(0, len(data), size):
            self.sock.sendall(data[at:at + size])
            self.drained()

    def drained(self):
        """Waits until the other end has read everything, or is gone."""
        until = time.monotonic() + TIMEOUT
        while unread_bytes(self.sock):
            assert time.monotonic() < until, "the other end does not read"
            time.sleep(0.0005)

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends the connection with RST, not FIN, after what was sent has been read: an RST overtakes unread bytes."""
        self.drained()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def is_ended(self):
        """Waits until the other end closes; False if bytes come instead."""
        return self.stream.at_end()


class Upstream(Peer):
    """A connection that utfeed made to an Origin; .request is the request being answered."""

    request = None

    def body(self, sink=None):
        """The body of a request of which only the head was received."""
        return read_body(self.stream, self.request, sink).body

    def answer(self, data, close=False):
        sending = self.send_soon(data) if len(data) > 50_000 else None
        if not sending:
            self.send(data)
        if close:
            if sending:
                sending.join()
            self.close()
        return sending

    def gone(self, filler=b"x" * 65536):
        """Sends until utfeed has closed this connection: True; False when it takes all of 256 MiB."""
        try:
            for _ in range((256 << 20) // len(filler)):
                self.sock.sendall(filler)
        except (BrokenPipeError, ConnectionResetError):
            return True
        return False


class Origin:
    def __init__(self, host="127.0.0.1", port=0):
        self.listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self.open, self.requests, self.connections = [], [], 0
        self.thread, self.serving = None, False

    @property
    def authority(self):
        """Of its URL."""
        return self.url.partition("://")[2]

    def wait(self, timeout, *others):
        """Waits until utfeed asks or one of the sockets others is ready; gives (asked, one of others is ready)."""
        until = time.monotonic() + timeout
        while True:
            if any(upstream.stream.held for upstream in self.open):
                return True, False
            with selectors.DefaultSelector() as ready:
                for sock in (self.listener, *others):
                    ready.register(sock, selectors.EVENT_READ)
                for upstream in [u for u in self.open if u.sock.fileno() >= 0 and not u.stream.ended]:
                    ready.register(upstream.sock, selectors.EVENT_READ, upstream)
                events = [key for key, _ in ready.select(max(0, until - time.monotonic()))]
            for key in events:
                if key.data:
                    key.data.stream.fill()
                elif key.fileobj is self.listener:
                    self.accept()
            if not events or any(key.fileobj in others for key in events):
                return any(upstream.stream.held for upstream in self.open), bool(events)

    def receive(self, timeout=TIMEOUT):
        """The next request on any connection, new or kept alive, as the Upstream to answer it on."""
        return self.take(self.asking(timeout))

    def receive_head(self):
        """As receive(), but the request's body is left to be read."""
        return self.take(self.asking(), read_request_head)

    def asking(self, timeout=TIMEOUT):
        """The connection that a request came on, unread."""
        asked, _ = self.wait(timeout)
        assert asked, "utfeed asked the origin nothing"
        return next(upstream for upstream in self.open if upstream.stream.held)

    def accept(self):
        upstream = Upstream(self.listener.accept()[0])
        self.open.append(upstream)
        self.connections += 1
        return upstream

    def take(self, upstream, read=read_request):
        upstream.request = read(upstream.stream)
        self.requests.append(upstream.request)
        return upstream

    def asked(self):
        """Whether a request is waiting. Meaningful once the answer that could have caused one is out."""
        return self.wait(0)[0]

    def asked_before_answer(self, client):
        """Waits for whichever comes first: a request to this origin (True), or bytes or the end for client (False)."""
        asked = answered = False
        while not asked and not answered:
            asked, came = self.wait(TIMEOUT, client)
            assert asked or came, "neither asked nor answered"
            answered = came and client.heard(0)
        return asked

    def serve(self, respond):
        """From now on answers every request by respond(request) -> bytes, their pieces as one write each, or (either, "close"), on
        threads."""
        self.serving = True
        self.thread = threading.Thread(target=self.accept_all, args=(respond,), daemon=True)
        self.thread.start()

    def accept_all(self, respond):
        while self.serving:
            try:
                upstream = self.accept()
            except (ssl.SSLError, ConnectionError):     # of a handshake
                continue
            except OSError:
                return
            threading.Thread(target=self.converse, args=(upstream, respond), daemon=True).start()

    def converse(self, upstream, respond):
        try:
            while True:
                self.take(upstream)
                said = respond(upstream.request)
                data, close = said if isinstance(said, tuple) else (said, None)
                for piece in [data] if isinstance(data, bytes) else data:
                    upstream.send(piece)
                if close:
                    break
        except (Cut, OSError):
            pass
        upstream.close()

    def renew(self):
        """For the next test at the same port: nobody is connected, nothing was asked, and nothing is answered by itself. Until it
        is told to listen, connections are refused: a request that utfeed repeats is not for that test."""
        if self.thread:
            self.serving = False
            with socket.create_connection(self.listener.getsockname()):        # accept() returns
                self.thread.join(TIMEOUT)
            assert not self.thread.is_alive()
            self.thread = None
        self.stop_listening()
        for upstream in self.open:
            with contextlib.suppress(OSError):
                upstream.sock.shutdown(socket.SHUT_RDWR)    # a thread that reads there returns; close() alone would not end it
            upstream.close()
        self.open, self.requests, self.connections = [], [], 0

    def listen(self):
        """Once more, after renew()."""
        self.listener.listen(256)

    def stop_listening(self):
        """Refuses connections from now on. The port stays this origin's: another test's origin that was given it would answer."""
        family, address = self.listener.family, self.listener.getsockname()
        self.listener.close()
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(address)

    def close(self):
        if self.thread:
            try:
                self.listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.listener.close()
        for upstream in self.open:
            upstream.close()


class TlsOrigin(Origin):
    """An Origin whose connections are accepted with their TLS handshake done."""

    def __init__(self, context, host="localhost", port=0):
        super().__init__(port=port)
        self.secure(context)
        self.url = f"https://{host}:{self.port}"

    def secure(self, context):
        """From now on it speaks TLS by this context, and has forgotten the sessions of a former one."""
        timeout, plain = self.listener.gettimeout(), socket.socket(fileno=self.listener.detach())
        plain.settimeout(timeout)
        self.listener = context.wrap_socket(plain, server_side=True, suppress_ragged_eofs=False)

    def refused(self):
        """Accepts one connection, whose handshake must fail; what of the request came all the same."""
        try:
            sock, _ = self.listener.accept()
        except (ssl.SSLError, ConnectionError):
            return b""
        with sock:
            sock.settimeout(TIMEOUT)
            try:
                return sock.recv(1 << 16)
            except (ssl.SSLError, ConnectionError):
                return b""


class Canary:
    """Listens on one port of every address, IPv4 and IPv6, and remembers whether anybody came."""

    def __init__(self):
        self.socket = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
        self.port = self.socket.getsockname()[1]

    def came(self):
        self.socket.settimeout(0)
        try:
            return self.socket.accept()[1]
        except BlockingIOError:
            return None


class Asked:
    """What has a response() to what was asked."""

    def cut(self):
        """Reads a response that must not look complete; gives the Cut with what came of it."""
        try:
            whole = self.response()
        except Cut as cut:
            return cut
        raise AssertionError(f"looks complete: {whole.line} {whole.framing} {len(whole.body)} bytes")


class Client(Peer, Asked):
    def __init__(self, port, receive_buffer=0):
        super().__init__(connect(port, receive_buffer))
        self.method, self.version = "GET", "HTTP/1.1"

    def ask(self, target="/", *fields, method="GET", version="HTTP/1.1", host="feeds.test"):
        self.method, self.version = method, version
        lines = [f"{method} {target} {version}"] + ([f"Host: {host}"] if host is not None else []) + list(fields)
        self.send("".join(line + "\r\n" for line in lines + [""]).encode("latin-1"))
        return self

    def arrives(self, count=0):
        """Waits for the head of the response and count bytes behind it."""
        held = self.stream.held
        while (end := held.find(b"\r\n\r\n")) < 0 or len(held) < end + 4 + count:
            self.stream.need()
        return self

    def response(self, sink=None, method=None):
        return read_response(self.stream, method or self.method, self.version, sink)

    def get(self, target="/", *fields, **kind):
        return self.ask(target, *fields, **kind).response()


class TlsClient(Client):
    def __init__(self, port, context):
        super().__init__(port)
        self.sock = context.wrap_socket(self.sock, server_hostname="localhost", suppress_ragged_eofs=False)
        self.stream.sock = self.sock

    def half_close(self):
        """By close_notify; returns when the other end has said its own."""
        self.sock.unwrap()


@contextlib.contextmanager
def deaf_port():
    """The port of a listener whose queue is full: the kernel drops further SYNs."""
    with socket.socket() as full, contextlib.ExitStack() as fillers:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(8):
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        yield full.getsockname()[1]
