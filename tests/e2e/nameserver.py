"""A scripted DNS server on loopback, UDP and TCP: a test says what each name has, holds answers back, and reads what was asked."""
import ipaddress
import socket
import struct
import threading

from wire import TIMEOUT

A, CNAME, SOA, AAAA = 1, 5, 6, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split(".")) + b"\0"


def decode(data, at):
    labels = []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode().lower())
        at += 1 + data[at]
    return ".".join(labels), at + 1


class Nameserver:
    """.zone[name] = addresses, or a code as SERVFAIL; names that are not there are NXDOMAIN. .asked: [(name, type, "udp"|"tcp")]."""

    def __init__(self):
        self.zone, self.ttl, self.alias = {}, 300, {}
        self.truncated, self.silent = set(), set()         # names; (name, type) pairs
        self.held = {}                                      # (name, type): an Event to wait for
        self.asked, self.news = [], threading.Condition()
        while True:     # the same port for both
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.udp.bind(("127.0.0.1", 0))
            self.port = self.udp.getsockname()[1]
            try:
                self.tcp = socket.create_server(("127.0.0.1", self.port))
                break
            except OSError:
                self.udp.close()
        self.address = f"127.0.0.1:{self.port}"
        for loop in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=loop, daemon=True).start()

    def serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(4096)
            except OSError:
                return
            threading.Thread(target=self.reply_udp, args=(query, peer), daemon=True).start()

    def reply_udp(self, query, peer):
        answer = self.answer(query, "udp")
        if answer:
            try:
                self.udp.sendto(answer, peer)
            except OSError:
                pass

    def serve_tcp(self):
        while True:
            try:
                sock, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self.converse, args=(sock,), daemon=True).start()

    def converse(self, sock):
        with sock:
            while len(size := sock.recv(2, socket.MSG_WAITALL)) == 2:
                answer = self.answer(sock.recv(struct.unpack("!H", size)[0], socket.MSG_WAITALL), "tcp")
                if answer:
                    sock.sendall(struct.pack("!H", len(answer)) + answer)

    def answer(self, query, how):
        name, at = decode(query, 12)
        kind = struct.unpack_from("!H", query, at)[0]
        with self.news:
            self.asked.append((name, kind, how))
            self.news.notify_all()
        if (name, kind) in self.silent:
            return None
        if (name, kind) in self.held:
            self.held[name, kind].wait(TIMEOUT)
        question = query[12:at + 4]
        flags = 0x8180
        if name in self.truncated and how == "udp":
            return query[:2] + struct.pack("!HHHHH", flags | 0x0200, 1, 0, 0, 0) + question
        records, owner = [], name
        while owner in self.alias:
            target, ttl = self.alias[owner]
            records.append(encode(owner) + struct.pack("!HHIH", CNAME, 1, ttl, len(encode(target))) + encode(target))
            owner = target
        found = self.zone.get(owner, NXDOMAIN)
        if isinstance(found, int):
            return query[:2] + struct.pack("!HHHHH", flags | found, 1, len(records), 0, 0) + question + b"".join(records)
        for address in map(ipaddress.ip_address, found):
            if kind == (A if address.version == 4 else AAAA):
                records.append(encode(owner) + struct.pack("!HHIH", kind, 1, self.ttl, len(address.packed)) + address.packed)
        return query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + question + b"".join(records)

    def count(self, name, kind=None):
        with self.news:
            return sum(asked[0] == name and kind in (None, asked[1]) for asked in self.asked)

    def wait(self, name, kind, count=1):
        """Until name was asked for that often."""
        with self.news:
            assert self.news.wait_for(lambda: sum(asked[:2] == (name, kind) for asked in self.asked) >= count, TIMEOUT), self.asked

    def close(self):
        self.udp.close()
        try:
            self.tcp.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.tcp.close()
