"""A process that asks for one fresh response again and again, and says how long each answer took: {"at": when, "ms": how long}, a line each.

It does nothing else, so that what it measures is utfeed's.
"""
import json
import socket
import sys
import time

from .places import enter

EVERY_S = 0.005


def main():
    file, port, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    enter(file)
    asked = f"GET {path} HTTP/1.1\r\nHost: feeds.test\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            began = time.monotonic()
            peer.sendall(asked)
            got = b""
            while b"\r\n\r\n" not in got or len(got) < got.index(b"\r\n\r\n") + 4 + length(got):
                piece = peer.recv(1 << 16)
                if not piece:
                    return
                got += piece
            sys.stdout.write(json.dumps({"at": began, "ms": (time.monotonic() - began) * 1000, "hit": b"; hit" in got}) + "\n")
            sys.stdout.flush()
            time.sleep(max(0, began + EVERY_S - time.monotonic()))


def length(got):
    head = got[:got.index(b"\r\n\r\n")].lower()
    return int(head.split(b"content-length: ")[1].split(b"\r\n")[0])


if __name__ == "__main__":
    main()
