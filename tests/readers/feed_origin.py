"""An origin for the readers: the demonstration's feeds, with what a careful server adds.

It owns the answers. A path is /READER/WAY/REST, so that two readers never share a stored
response and each line of utfeed's log tells whose it is; REST is a feed of tests/demo, "moved/" before one, or the enclosure."""
import collections
import gzip
import hashlib
import http.server
import re
import threading
import urllib.parse

import feeds

MODIFIED = "Mon, 02 Jun 2025 08:00:00 GMT"
EPISODE = b"".join(hashlib.sha256(str(block).encode()).digest() for block in range(8192))

Content = collections.namedtuple("Content", "content_type data")

CONTENTS = {row.path.lstrip("/"): Content(row.content_type, feeds.body(row)) for row in feeds.FEEDS}
CONTENTS["episode.mp3"] = Content("audio/mpeg", EPISODE)


def etag(data):
    return '"' + hashlib.sha256(data).hexdigest()[:16] + '"'


def is_unchanged(fields, tag):
    """RFC 9110, section 13.2.2: If-None-Match alone counts where both are sent."""
    if fields["If-None-Match"]:
        return tag in fields["If-None-Match"]
    return fields["If-Modified-Since"] == MODIFIED


def first_byte(fields, tag, size):
    """Where a continued transfer begins: RFC 9110, section 14.2, of the form bytes=N- only; else 0."""
    wanted = re.fullmatch(r"bytes=(\d+)-", fields["Range"] or "")
    if not wanted or int(wanted[1]) >= size or fields["If-Range"] not in (None, tag, MODIFIED):
        return 0
    return int(wanted[1])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, fields, data=b""):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def content(self, content):
        tag = etag(content.data)
        fields = {"ETag": tag, "Last-Modified": MODIFIED, "Cache-Control": "max-age=600"}
        if is_unchanged(self.headers, tag):
            return self.say(304, fields)
        fields["Content-Type"] = content.content_type
        start = first_byte(self.headers, tag, len(content.data))
        if start:
            fields["Content-Range"] = f"bytes {start}-{len(content.data) - 1}/{len(content.data)}"
            return self.say(206, fields, content.data[start:])
        if "gzip" in (self.headers["Accept-Encoding"] or "") and content.content_type != "audio/mpeg":
            return self.say(200, {**fields, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}, gzip.compress(content.data))
        return self.say(200, fields, content.data)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path      # SimplePie 1.3 asks for "/feed.xml?", utfeed behind a parent for "http://..."
        reader, way, rest = [*path.lstrip("/").split("/", 2), "", ""][:3]
        if rest.startswith("moved/"):
            return self.say(302, {"Location": f"/{reader}/{way}/{rest[len('moved/'):]}"})
        content = CONTENTS.get(rest)
        return self.content(content) if content else self.say(404, {"Content-Type": "text/plain"}, b"no such feed\n")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Origin(http.server.ThreadingHTTPServer):
    """Listens on a free port of loopback until it is closed."""

    request_queue_size = 64
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()
