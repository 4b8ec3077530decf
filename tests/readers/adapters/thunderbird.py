"""Thunderbird, without a screen, reads the feeds of the profile in ./profile (programs.py makes it) until each has a message.

usage: thunderbird.py, in that folder. http_proxy becomes the proxy of Thunderbird's settings, as a person would set it. Without a profile it
ends with 0 where Thunderbird is installed. Thunderbird looks for news a minute after its start. A feed that it cannot read never gets a
message, so the program also ends when nothing has come for a while since the first one."""
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse

SECONDS, QUIET = 100, 10    # for all feeds; behind the latest message
PROFILE = pathlib.Path("profile")


def set_proxy(url):
    parts = urllib.parse.urlsplit(url)
    with open(PROFILE / "prefs.js", "a", encoding="utf-8") as prefs:
        prefs.write(f'user_pref("network.proxy.type", 1);\nuser_pref("network.proxy.http", "{parts.hostname}");\n'
                    f'user_pref("network.proxy.http_port", {parts.port});\n')


def wait(mail, boxes):
    """Until all is read, or nothing more comes."""
    sizes, end = [0] * len(boxes), time.monotonic() + SECONDS
    while mail.poll() is None and not all(sizes) and time.monotonic() < end:
        time.sleep(0.1)
        now = [box.stat().st_size for box in boxes]
        if now != sizes:
            sizes, end = now, min(end, time.monotonic() + QUIET)


def main():
    if not PROFILE.is_dir():
        return subprocess.run(["thunderbird", "--version"], stdout=subprocess.DEVNULL, check=False).returncode
    if os.environ.get("http_proxy"):
        set_proxy(os.environ["http_proxy"])
    boxes = [box for box in (PROFILE / "Mail" / "Feeds").iterdir() if not box.suffix]
    with subprocess.Popen(["thunderbird", "--headless", "--no-remote", "--profile", str(PROFILE.resolve())], stdout=sys.stderr) as mail:
        wait(mail, boxes)
        mail.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
