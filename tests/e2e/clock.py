"""A wall clock that stands still until the test moves it (clock.c, preloaded): times to the second, and no test waits for one."""
import email.utils

from preload import Preload


class Clock(Preload):
    def __init__(self, library, path, now=1_800_000_000):
        super().__init__(library, "MOCK_CLOCK", path, 16)
        self.start = self.now = now
        self.at(0)

    def at(self, seconds):
        """It is so many seconds after the test's start now."""
        self.now = self.start + seconds
        self.page[:8] = self.now.to_bytes(8, "little")

    def ahead(self, seconds):
        """Puts the clocks of timers so far ahead of this machine's. A timer that is due then fires at the next event."""
        self.page[8:] = int(seconds * 1e9).to_bytes(8, "little")

    def jump(self, seconds):
        """All clocks are so many seconds further."""
        self.at(self.now - self.start + seconds)
        self.ahead(int.from_bytes(self.page[8:], "little") / 1e9 + seconds)

    def date(self, seconds=0):
        """The time so many seconds from now, as HTTP writes it."""
        return email.utils.formatdate(self.now + seconds, usegmt=True)
