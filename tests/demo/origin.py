#!/usr/bin/env python3
"""A demonstration origin: serves the mislabelled feeds of feeds.py as a careless server would.

usage: origin.py [--listen ADDRESS:PORT]   (port 0: any free one; the ready line names it)"""
import argparse
import http.server
import signal
import sys

from feeds import FEEDS, PAGE, body, subscriptions

ROUTES = {row.path: (row.content_type, body(row)) for row in FEEDS}
ROUTES["/page.html"] = ("text/html; charset=utf-8", PAGE.encode())
ROUTES["/"] = ("text/plain; charset=utf-8", "".join(f"{row.path}\t{row.story}\n" for row in FEEDS).encode())


LIST = "/feeds.opml"     # its URLs are those by which the client reached this server


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, with_body):
        content_type, content = ROUTES.get(self.path.partition("?")[0], ("text/plain; charset=utf-8", None))
        if self.path == LIST:
            content_type, content = "text/x-opml; charset=utf-8", subscriptions(self.headers.get("Host", "")).encode()
        self.send_response(200 if content is not None else 404)
        content = content if content is not None else b"no such feed\n"
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0")
    address, _, port = parser.parse_args().listen.rpartition(":")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with http.server.ThreadingHTTPServer((address, int(port)), Handler) as server:
        print(f"origin ready on {address}:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
