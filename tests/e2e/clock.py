"""A wall clock that stands still until the test moves it (clock.c, preloaded): times to the second, and no test waits for one."""
import email.utils
import time

from preload import Preload


class Clock(Preload):
    def __init__(self, library, path, now=1_800_000_000, looks=True):
        """looks: a program that waits sees at once that the clocks are put forward. One that does not look may be seen to sleep."""
        super().__init__(library, "MOCK_CLOCK", path, 32)
        self.page[24:] = int(looks).to_bytes(8, "little")
        self.start = self.now = now
        self.at(0)

    def at(self, seconds):
        """It is so many seconds after the test's start now."""
        self.now = self.start + seconds
        self.page[:8] = self.now.to_bytes(8, "little")

    def ahead(self, seconds):
        """Puts the clocks of timers so far ahead of this machine's, or of where they stand. A timer that is due then fires soon."""
        self.page[8:16] = int(seconds * 1e9).to_bytes(8, "little")

    def stand(self):
        """The clock of timers and of ages stands still as well, and moves only as they all do."""
        self.page[16:24] = time.monotonic_ns().to_bytes(8, "little")

    def go_on(self):
        """That clock is this machine's again."""
        self.page[16:24] = bytes(8)

    def is_ahead(self):
        return int.from_bytes(self.page[8:16], "little") / 1e9

    def jump(self, seconds):
        """All clocks are so many seconds further."""
        self.at(self.now - self.start + seconds)
        self.ahead(self.is_ahead() + seconds)

    def passes(self, seconds, waiting):
        """What a Background call gives, before whose end the clocks of timers go on and on by so many seconds."""
        while waiting.thread.is_alive():
            self.ahead(self.is_ahead() + seconds)
            waiting.thread.join(0.1)
        return waiting.join()

    def date(self, seconds=0):
        """The time so many seconds from now, as HTTP writes it."""
        return email.utils.formatdate(self.now + seconds, usegmt=True)
