"""An origin of pages that counts who asks: pages[path] is a whole response, or a function of the request that gives one."""
import threading

from wire import message

FRESH = "Cache-Control: max-age=600"


def page(*fields, body=b"hello", status="200 OK", kind="text/plain"):
    return message(status, *((f"Content-Type: {kind}",) if kind else ()), *fields, body=body)


class Site:
    def __init__(self, origin):
        self.origin, self.pages, self.asked, self.lock = origin, {}, {}, threading.Lock()
        origin.serve(self.respond)

    def __setitem__(self, path, answer):
        self.pages[path] = answer

    def respond(self, request):
        with self.lock:
            self.asked.setdefault(request.target, []).append(request)
        answer = self.pages.get(request.target, self.pages.get("*", page(status="404 Not Found")))
        return answer(request) if callable(answer) else answer

    def count(self, path=None):
        with self.lock:
            return sum(len(asked) for target, asked in self.asked.items() if path in (None, target))

    def last(self, path):
        with self.lock:
            return self.asked[path][-1]


def was_hit(got):
    """Whether utfeed answered without asking, by its own member of Cache-Status (RFC 9211), which stands last."""
    words = [word.strip() for word in got.all("Cache-Status")[-1].split(";")]
    assert words[0] == "utfeed" and ("hit" in words) != any(word.startswith("fwd=") for word in words), words
    return "hit" in words
