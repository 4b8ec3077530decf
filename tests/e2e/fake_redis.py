"""A Redis server that does as the test says: honest until told otherwise, on one connection as slow, refusing or lying as it likes."""
import contextlib
import itertools
import pathlib
import re
import socket
import struct
import threading
import time

from ports import server_port
from wire import TIMEOUT

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
ENTRY_H = pathlib.Path(__file__).resolve().parents[2] / "proxy/store/entry.h"
SILENCE = object()                      # a reply that never comes, nor any behind it on that connection
OOM = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"


def rotate(value, by):
    return (value << by | value >> (64 - by)) & MASK


def xx64(data):
    """XXH64, seed 0: the checksum of stored records."""
    def mixed(acc, lane):
        return rotate((acc + lane * P2) & MASK, 31) * P1 & MASK
    at, h = 0, P5
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        for at in range(0, len(data) - 31, 32):
            lanes = [mixed(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
        at += 32
        h = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ mixed(0, lane)) * P1 + P4) & MASK
    h = (h + len(data)) & MASK
    while len(data) - at >= 8:
        h, at = (rotate(h ^ mixed(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK, at + 8
    if len(data) - at >= 4:
        h, at = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK, at + 4
    for byte in data[at:]:
        h = rotate(h ^ byte * P5 & MASK, 11) * P1 & MASK
    for by, prime in ((33, P2), (29, P3), (32, 1)):
        h = (h ^ h >> by) * prime & MASK
    return h


def sealed(record):
    """A record whose checksum is right."""
    return record + struct.pack("<Q", xx64(record))


def forged(record, old, new, first=False):
    """Another record's bytes with the last old replaced, or the first, of equal length, and the checksum put right."""
    assert len(old) == len(new)
    at = record.index(old) if first else record.rindex(old)
    return sealed(record[:at] + new + record[at + len(old):-8])


def names_record(like, key, names):
    """A record of variants, in the format that another record has."""
    return sealed(like[:12] + struct.pack("<II", 1, len(key)) + key + struct.pack("<I", len(names)) + names)


def bulk(value):
    return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)


def array(*values):
    return b"*%d\r\n" % len(values) + b"".join(values)


class FakeRedis:
    """hashes: what it holds; marks: the purges that it remembers. say(args): the reply in the place of the honest one, SILENCE, or None;
    changed under lock. What a script does stands there, and among the commands, as the command that it is about. commands: those that were
    answered, and the first of each connection that was not."""
    PREFIX = b"utfeed:%d:" % int(re.search(r"ENTRY_FORMAT = (\d+)", ENTRY_H.read_text())[1])

    def __init__(self):
        self.hashes, self.marks, self.commands, self.lock, self.news = {}, [], [], threading.RLock(), threading.Condition()
        self.say = lambda args: None
        self.open, self.listener, self.port = set(), None, server_port()
        self.start()

    def start(self):
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        """Away: nobody listens, connections are cut; what it holds stays."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def cut(self):
        with self.lock:
            for each in self.open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        while True:
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            with self.lock:
                self.open.add(peer)
            threading.Thread(target=self.converse, args=(peer,), daemon=True).start()

    def converse(self, peer):
        mute = False
        with contextlib.suppress(OSError, ValueError), peer, peer.makefile("rb") as stream:
            while line := stream.readline():
                args = []
                for _ in range(int(line[1:])):
                    args.append(stream.read(int(stream.readline()[1:]) + 2)[:-2])
                with self.lock:
                    given, args = args, self.meant(*args)
                    reply = self.say(args)
                    if reply is None:
                        reply = self.honest(*given)
                if mute:
                    continue
                with self.news:
                    self.commands.append(args)
                    self.news.notify_all()
                mute = reply is SILENCE
                if not mute:
                    peer.sendall(reply)
        with self.lock:
            self.open.discard(peer)

    def honest(self, command, *args):
        return getattr(self, "do_" + command.decode().lower())(*args)

    @staticmethod
    def meant(command, *args):
        if command != b"EVAL":
            return [command, *args]
        script, count, marks, key, *_ = args
        words = args[2 + int(count):]
        if script.startswith(b"-- utfeed put"):
            return [b"HSET", key, b"=" + words[4], words[5]]
        if script.startswith(b"-- utfeed mark") and words[0] == b"u":
            return [b"HSET", key, b"!", words[2]] if words[1] else [b"UNLINK", key]
        return [script.split(b"\n")[0][len("-- utfeed "):].upper(), marks]

    def do_eval(self, script, count, *words):
        return getattr(self, "eval_" + script.split(b"\n")[0][len("-- utfeed "):].decode())(words[1], *words[int(count):])

    def mark(self, *words):
        self.marks.append([b"%d-0" % (len(self.marks) + 1), *words])
        return self.marks[-1][0]

    def eval_mark(self, key, what, soft, now, process, asked, url, _):
        if not soft:
            self.do_unlink(key)
        number = self.mark(what, soft, now, process, asked, url)
        if soft and what == b"u":
            self.do_hsetnx(key, b"!0", now + b" " + number)
            self.do_hset(key, b"!", now + b" " + number)
        return bulk(number)

    def eval_put(self, key, since, process, asked, url, rest, record, *_):
        at = next((i for i, each in enumerate(self.marks) if each[0] == (since if since != b"0-0" else b"1-0")), None)
        if at is None:
            return b":0\r\n"
        for _, what, _, _, whose, its, covered in self.marks[at + 1:]:
            if (whose != process or int(its) > int(asked)) and (what == b"a" or (url.startswith(covered) if what == b"p" else url == covered)):
                return b":0\r\n"
        return self.do_hset(key, b"=" + rest, record, b"@" + rest, b"")

    def eval_learn(self, _, known, process, *__):
        if not self.marks:
            self.mark(b"b", b"", b"0", process, b"0", b"")
        at = int(known.split(b"-")[0])
        return array(bulk(b"%d-0" % min(at, len(self.marks))), b":%d\r\n" % len(self.marks), array(), array(*(
            array(bulk(number), array(*map(bulk, itertools.chain(*zip((b"w", b"s", b"n", b"p", b"a", b"u"), words)))))
            for number, *words in self.marks[max(at - 1, 0):][:256])), array(), bulk(b"0"))

    def eval_lease(self, *_):
        return array(bulk(b"mine"))

    def eval_pace(self, *_):
        return array(b":0\r\n")

    def eval_release(self, *_):
        return array()

    eval_tell = eval_members = eval_release

    def do_subscribe(self, channel):
        return array(bulk(b"subscribe"), bulk(channel), b":1\r\n")

    def do_ping(self):
        return b"+PONG\r\n"

    def do_hset(self, key, *pairs):
        self.hashes.setdefault(key, {}).update(zip(pairs[::2], pairs[1::2]))
        return b":1\r\n"

    def do_hsetnx(self, key, field, value):
        return b":%d\r\n" % (self.hashes.setdefault(key, {}).setdefault(field, value) is value)

    def do_hmget(self, key, *fields):
        return array(*(bulk(self.hashes.get(key, {}).get(field)) for field in fields))

    def do_hdel(self, key, *fields):
        held = self.hashes.get(key, {})
        gone = [held.pop(field) for field in fields if field in held]
        if not held:
            self.hashes.pop(key, None)
        return b":%d\r\n" % len(gone)

    def do_expire(self, key, _):
        return b":%d\r\n" % (key in self.hashes)

    def do_unlink(self, *keys):
        return b":%d\r\n" % sum(self.hashes.pop(key, None) is not None for key in keys)

    def do_scan(self, *_):
        return array(bulk(b"0"), array(*map(bulk, self.hashes)))

    def wait(self, holds):
        """Until holds(commands so far) is true."""
        with self.news:
            assert self.news.wait_for(lambda: holds(self.commands), TIMEOUT), self.commands[-5:]

    def count(self, *command):
        with self.news:
            return sum(tuple(args[:len(command)]) == command for args in self.commands)

    def records(self, path):
        """{rest of the key: record} of the URL that ends so."""
        with self.lock:
            return {field[1:]: value for key, held in self.hashes.items() if key.endswith(path.encode())
                    for field, value in held.items() if field.startswith(b"=")}

    def has(self, path):
        """Waits until the URL's record is there."""
        until = time.monotonic() + TIMEOUT
        while not self.records(path):
            assert time.monotonic() < until, "never stored"
            time.sleep(0.005)
        return self.records(path)
