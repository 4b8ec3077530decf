"""Long ones: many upgrades, reloads and drains among requests, half of them by keep-alive, half with Connection: close. Nothing is lost.

    make check-e2e UTFEED_SLOW=1 PYTEST_ARGUMENTS='-s test_long_life.py'
"""
import time

import pytest

from feeds import SMALL_OUT
from pages import FRESH, Site, page
from proxy import RELOADED
from test_life import answered, under_load
from test_trust_ops import Load

pytestmark = pytest.mark.slow
UPGRADES, RELOADS, DRAINS = 50, 1000, 50
QUIET = ("--access-log", "off", "--cache", "on")


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["/feed"] = page(FRESH, body=SMALL_OUT)
    return site


def told(what, count, answers, began):
    print(f"{count} {what}, {answers} answers, {time.monotonic() - began:.0f} s, nothing lost")


def test_upgrades(start, origin, site, tmp_path):
    options, began, seen = (*QUIET, "--takeover-socket", str(tmp_path / "takeover"), "--admin-listen", "127.0.0.1:0"), time.monotonic(), []
    running = [start(origin, *options)]

    def upgrade(load):
        for number in range(UPGRADES):
            running.append(start(origin, *options, "--workers", str(1 + number % 3)))
            assert running[-2].wait() == 0 and running[-1].port == running[0].port
            answered(load, 50)
        seen.append(load.answers)
    before, lost = under_load(running[0].port, upgrade, lambda: running[-1].sigterm())
    assert not before and not lost
    assert running[-1].wait() == 0
    told("upgrades", UPGRADES, seen[0], began)


def test_reloads(start, origin, site, tmp_path):
    """Each changes what routes and limits there are; feeds are listed and measured meanwhile."""
    file, began, seen = tmp_path / "utfeed.conf", time.monotonic(), []

    def write(number):
        file.write_text(f"via = n{number}\nmax-connections = {1000 + number % 7}\n" + "".join(
            f"[route /{path}]\norigin = {origin.url}/{path}\nname = r{(number + at) % 3}\n" for at, path in enumerate(("feed", "other", "third"))))
    write(0)
    proxy = start(None, "-c", str(file), *QUIET, "--workers", "2", "--admin-listen", "127.0.0.1:0")

    def reload(load):
        for number in range(RELOADS):
            write(number + 1)
            proxy.reload(RELOADED)
            if number % 100 == 0:
                answered(load, 50)
        seen.append(load.answers)
    before, lost = under_load(proxy.port, reload, proxy.sigterm)
    assert not before and not lost and proxy.wait() == 0
    told("reloads", RELOADS, seen[0], began)


def test_drains(start, origin, site):
    began, answers = time.monotonic(), 0
    for number in range(DRAINS):
        proxy = start(origin, *QUIET, "--workers", str(1 + number % 2))
        load = Load(proxy.port, 64)
        load.run(500, proxy.sigterm)
        assert proxy.wait() == 0 and not load.lost, load.lost
        answers += load.answers
    told("drains", DRAINS, answers, began)
