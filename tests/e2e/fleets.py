"""Several utfeeds upon one second store, by one clock: what one of them has asked, none of the others asks again."""
import threading
import time

from wire import TIMEOUT


def connected(proxy):
    """It is, to all servers. A purge before that would be owed: many of them would keep it busy afterwards."""
    until = time.monotonic() + TIMEOUT
    while proxy.counters()["second_away"]:
        assert time.monotonic() < until, "it is not connected"
        time.sleep(0.02)
    return True


def purged(proxy, target="/none", *fields):
    """Purges until that is confirmed: on a busy machine another process may need more than the 5 s after which the answer is 202."""
    until = time.monotonic() + TIMEOUT
    while proxy.get(target, *fields, method="PURGE").status != 200:
        assert time.monotonic() < until and connected(proxy)
    return True


def everywhere(proxy):
    """The servers have done what it has asked for: a purge of more than a URL waits for each of them."""
    return connected(proxy) and purged(proxy, "/none", "X-Purge: prefix")


def found(proxy, target="/f"):
    """The body that is stored; None: there is none."""
    got = proxy.get(target, "Cache-Control: only-if-cached")
    return got.body if got.status == 200 else None


def has_read(proxy):
    """Its one worker has read what came before."""
    assert proxy.get("/", method="BREW/").status == 400


class Held:
    """A page of a Site that is answered once the test says so. Where clients come meanwhile, they come at once."""

    def __init__(self, page):
        self.page, self.goes, self.come = page, threading.Event(), threading.Semaphore(0)

    def __call__(self, request):
        self.come.release()
        assert self.goes.wait(TIMEOUT), "the test has forgotten the origin"
        return self.page(request) if callable(self.page) else self.page

    def asked(self):
        """Waits until the origin is asked for it once more."""
        assert self.come.acquire(timeout=TIMEOUT), "nobody asked for it"


class Fleet:
    def __init__(self, proxies, target="/none"):
        self.proxies = proxies
        for proxy in proxies:
            purged(proxy, target)

    def hear(self, n):
        """Until n of them hear the others: before that each is on its own."""
        until = time.monotonic() + TIMEOUT
        while len(self.server.ask("PUBSUB", "CHANNELS", "*!to:*")) < n:
            assert time.monotonic() < until, "they do not hear each other"
            time.sleep(0.01)

    def jump(self, clock, seconds):
        """All clocks are later. What is on its way to the server is late then, and its connection is made anew."""
        clock.jump(seconds)
        for proxy in self:
            found(proxy, "/none")           # behind it, the thread of the store has seen the time
            assert connected(proxy)
        self.hear(len(self.proxies))

    def __iter__(self):
        return iter(self.proxies)

    def __getitem__(self, n):
        return self.proxies[n]

    def in_turn(self, target="/f", *fields):
        return [proxy.get(target, *fields) for proxy in self]

    def ask(self, target="/f", *fields):
        """A client of each has asked, and been read."""
        clients = [proxy.client().ask(target, *fields) for proxy in self]
        for proxy in self:
            has_read(proxy)
        return clients

    def at_once(self, site, page, target="/f", *fields):
        """The answers to a client of each, of whom nobody is answered before all have asked."""
        site[target] = held = Held(page)
        clients = self.ask(target, *fields)
        held.asked()
        held.goes.set()
        return [client.response() for client in clients]

    def held_by_the_first(self, site, page):
        """The first one asks for /f, and its lease makes the others wait for page, which the test holds. A client of each."""
        site["/f"] = held = Held(page)
        clients = [self[0].client().ask("/f")]
        held.asked()
        clients += [proxy.client().ask("/f") for proxy in self.proxies[1:]]
        for proxy in self.proxies[1:]:
            assert proxy.counted("leases_awaited", 1)
        return held, clients

    def kill(self, n):
        """As the kernel does where there is no memory: nothing is said to anybody."""
        self[n].process.kill()
        self[n].process.wait()
        self[n].stopped = True
