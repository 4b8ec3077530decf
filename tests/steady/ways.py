"""The ways in which a publisher fails, one row each. This is data; origins.py does what a row says.

A row is a response, Fail(status, fields, body), or a word for what is not a response. origins.py knows the words. In a field, {seconds} is the
pause that the publisher asks for, {date} is the time when it ends, and {reset} is that time in seconds since the epoch."""
import collections

Fail = collections.namedtuple("Fail", "status fields body")
HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain"
CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><p>Checking your browser.</p></body></html>\n"
LOGIN = b"<!DOCTYPE html><html><head><title>Log in</title></head><body><form method=post></form></body></html>\n"
GONE = b"<!DOCTYPE html><html><head><title>Page not found</title></head><body><h1>Nothing here</h1></body></html>\n"


def status(line, *fields, kind=HTML, body=GONE):
    return Fail(line, (f"Content-Type: {kind}", *fields) if kind else fields, body)


WAYS = {
    "401": status("401 Unauthorized", 'WWW-Authenticate: Basic realm="feeds"'),
    "402": status("402 Payment Required"),
    "403": status("403 Forbidden", body=CHALLENGE),
    "404": status("404 Not Found"),
    "404, max-age": status("404 Not Found", "Cache-Control: max-age=600"),
    "406": status("406 Not Acceptable"),
    "408": status("408 Request Timeout", "Connection: close"),
    "410": status("410 Gone"),
    "421": status("421 Misdirected Request"),
    "425": status("425 Too Early"),
    "429": status("429 Too Many Requests", kind=TEXT, body=b"slow down\n"),
    "429, max-age": status("429 Too Many Requests", "Cache-Control: max-age=60", kind=TEXT, body=b"slow down\n"),
    "429, Retry-After": status("429 Too Many Requests", "Retry-After: {seconds}", kind=TEXT, body=b"slow down\n"),
    "429, Retry-After date": status("429 Too Many Requests", "Retry-After: {date}", kind=TEXT, body=b"slow down\n"),
    "429, RateLimit": status("429 Too Many Requests", 'RateLimit: "default";r=0;t={seconds}', kind=JSON, body=b'{"error":"rate"}'),
    "429, X-RateLimit-Reset": status("429 Too Many Requests", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: {reset}", kind=JSON,
                                     body=b'{"error":"rate"}'),
    "451": status("451 Unavailable For Legal Reasons"),
    "500": status("500 Internal Server Error"),
    "500, as XML": status("500 Internal Server Error", kind="application/rss+xml", body=b"<?xml version='1.0'?><error/>"),
    "502": status("502 Bad Gateway"),
    "503": status("503 Service Unavailable"),
    "503, Retry-After": status("503 Service Unavailable", "Retry-After: {seconds}"),
    "504": status("504 Gateway Timeout"),
    "520": status("520 Web Server Returned an Unknown Error"),
    "522": status("522 Connection Timed Out"),
    "530": status("530 Origin DNS Error"),
    "challenge page": status("200 OK", body=CHALLENGE),
    "JSON in place of the feed": status("200 OK", kind=JSON, body=b'{"status":"maintenance"}'),
    "empty 200": status("200 OK", kind="application/rss+xml", body=b""),
    "204": Fail("204 No Content", (), b""),
    "redirect to a login page": Fail("302 Found", ("Location: /login",), b""),
    "redirect to itself": Fail("302 Found", ("Location: {here}",), b""),
    "unasked 304": Fail("304 Not Modified", ('ETag: "never-given"',), b""),
    "hang": "hang",
    "refused": "refused",
    "reset": "reset",
    "cut body": "cut",
    "no HTTP, as where TLS fails": "garbage",
}
