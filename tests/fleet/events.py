"""What happens to a fleet: each event begins, lasts for a while and ends, and says what it was, so that a seed repeats all of them.

Must not know: answers. A row of EVENTS is a class; applies(chaos): whether it can happen now.
"""
import signal

import proxy

from .bench import COUNT, OLD, knows_fleets
from .servers import Single


class Busy(Exception):
    """There is nothing left for an event to happen to."""


class Event:
    """weight: how often, beside the others; lasts: seconds, from and to; deaf: who it happens to cannot hear of purges meanwhile."""
    weight, lasts, deaf = 2, (0.5, 5), True

    def __init__(self, chaos, chance):
        self.chaos, self.chance, self.bench, self.servers = chaos, chance, chaos.bench, chaos.bench.servers
        self.seconds, self.trouble, self.over, self.claimed = round(chance.uniform(*self.lasts), 1), None, False, []

    @classmethod
    def applies(cls, chaos):
        return True

    def words(self):
        return ""

    def instance(self):
        """One to which nothing else happens."""
        return self.claim([n for n in range(COUNT) if n not in self.bench.gone])

    def node(self):
        return self.claim([node for node in self.servers.nodes if node.is_up()])

    def server_process(self):
        """A Sentinel too."""
        return self.claim([each for each in self.servers.nodes + self.servers.others if each.is_up()])

    def claim(self, free):
        free = [each for each in free if each not in self.chaos.claimed]
        if not free:
            raise Busy
        self.claimed.append(self.chance.choice(free))
        self.chaos.claimed.add(self.claimed[-1])
        return self.claimed[-1]

    def begin(self):
        raise NotImplementedError

    def end(self):
        self.finish()

    def finish(self):
        if self.trouble:
            self.chaos.ended(self.trouble)
        self.chaos.claimed -= set(self.claimed)
        self.over = True


class Killed(Event):
    """kill -9 of an instance, and a new one in its place."""
    weight, lasts, deaf = 4, (0.1, 3), False

    def begin(self):
        self.n = self.instance()
        self.trouble = self.chaos.trouble(self.n, self.deaf)
        self.bench.kill(self.n)
        self.chaos.died(self.n)

    def words(self):
        return f"instance {self.n}"

    def end(self):
        self.bench.begin_again(self.n, self.finish)


class Stopped(Event):
    """SIGSTOP of an instance."""
    lasts = (0.2, 6)

    def begin(self):
        self.n = self.instance()
        self.trouble = self.chaos.trouble(self.n, self.deaf)
        self.bench.proxies[self.n].process.send_signal(signal.SIGSTOP)

    def words(self):
        return f"instance {self.n}"

    def end(self):
        self.bench.proxies[self.n].process.send_signal(signal.SIGCONT)
        self.finish()


class CutOff(Event):
    """The link of an instance is down."""
    lasts = (0.5, 8)

    def begin(self):
        self.n = self.instance()
        self.place = self.bench.places[self.n]
        self.trouble = self.chaos.trouble(self.n, self.deaf)
        self.place.cut()

    def words(self):
        return f"instance {self.n}"

    def end(self):
        self.place.mend()
        self.finish()


class Deaf(Event):
    """What an instance sends to a server is lost, or what the server sends to it; the other way all arrives."""
    lasts = (0.5, 8)

    def begin(self):
        self.n, server = self.instance(), self.node()
        self.trouble = self.chaos.trouble(self.n, self.deaf)
        self.ends = [self.bench.places[self.n], server.place]
        self.chance.shuffle(self.ends)
        self.ends[0].deafen(self.ends[1])

    def words(self):
        return " cannot reach ".join(place.label for place in self.ends)

    def end(self):
        self.ends[0].hear(self.ends[1])
        self.finish()


class ServerKilled(Event):
    """kill -9 of a server, which comes back with what it has on its disk."""
    weight, lasts = 3, (0.2, 6)

    def begin(self):
        self.server = self.server_process()
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.server.kill()

    def words(self):
        return f"{self.server.place.label}:{self.server.port}"

    def end(self):
        self.server.start()
        self.finish()


class ServerStopped(ServerKilled):
    """SIGSTOP of a server."""
    lasts = (0.2, 8)

    def begin(self):
        self.server = self.server_process()
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.server.hold()

    def end(self):
        self.server.go_on()
        self.finish()


class ServerCutOff(ServerKilled):
    """The link of a server is down."""
    lasts = (0.5, 8)

    def begin(self):
        self.server = self.node()
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.server.place.cut()

    def end(self):
        self.server.place.mend()
        self.finish()


class Weather(ServerKilled):
    """The link of a server is slow, loses, or dribbles."""
    weight, lasts, deaf = 3, (1, 6), False

    def begin(self):
        self.server = self.node()
        self.how = self.chance.choice([{"delay": 5, "jitter": 20}, {"delay": 80, "jitter": 40}, {"loss": 10}, {"loss": 30, "delay": 2}, {"dribble": 64}, {"dribble": 1}])
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.shaped = "dribble" not in self.how and self.server.place.shape(**self.how)
        if not self.shaped:
            self.bench.relays.set(self.server.place, **self.how)

    def words(self):
        return f"{self.server.place.label} {self.how}"

    def end(self):
        if self.shaped:
            self.server.place.shape()
        else:
            self.bench.relays.set(self.server.place)
        self.finish()


class FailOver(Event):
    """A replica takes the place of its master, as an operator orders."""
    weight, lasts, deaf = 3, (2, 4), False

    @classmethod
    def applies(cls, chaos):
        return not type(chaos.bench.servers) is Single

    def begin(self):
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.said = self.servers.fail_over(self.chance)

    def words(self):
        return str(self.said)


class Skewed(Event):
    """The clock of an instance is ahead or behind for a while: as far as one that NTP lost."""
    lasts = (2, 8)

    def begin(self):
        self.n, self.skew = self.instance(), self.chance.choice([-2, -1, 1, 2])
        self.chaos.skewed(self.skew)
        self.bench.clock.put(self.n, self.skew)

    def words(self):
        return f"instance {self.n} by {self.skew} s"

    def end(self):
        self.bench.clock.put(self.n, 0)
        self.finish()


class DiskFull(ServerKilled):
    """The disk of a server is full, and it refuses what writes."""
    weight, lasts = 1, (1, 5)

    def begin(self):
        self.server = self.node()
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.server.fill_disk()

    def end(self):
        self.server.free_disk()
        self.finish()


class Older(ServerKilled):
    """A server comes back with an older snapshot."""
    lasts = (2, 6)

    @classmethod
    def applies(cls, chaos):
        return type(chaos.bench.servers) is Single

    def begin(self):
        self.server = self.node()
        self.server.keep()

    def end(self):
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.server.restart_older()
        self.finish()


class Rolled(Event):
    """All instances end one by one, each with another build in its place: an upgrade, or the way back."""
    weight, lasts, deaf = 1, (0, 0), False

    def begin(self):
        self.deaf = not knows_fleets(OLD) and knows_fleets(proxy.BINARY)
        self.back, self.left = bool(self.bench.old), [self.instance() for _ in range(COUNT)]
        self.trouble = self.chaos.trouble(None, self.deaf)
        self.next()

    def words(self):
        return "to the " + ("new" if self.back else "old") + " build"

    def next(self):
        if not self.left:
            self.finish()
            return
        n = self.left.pop()

        def ended():
            (self.bench.old.discard if self.back else self.bench.old.add)(n)
            self.bench.begin_again(n, self.next)
        self.bench.retire(n, ended)

    def end(self):
        pass


class Reloaded(Event):
    """SIGHUP of all."""
    weight, lasts = 1, (0, 0)

    def begin(self):
        for n in set(range(COUNT)) - self.bench.gone:
            self.bench.proxies[n].process.send_signal(signal.SIGHUP)
        for cell in self.chaos.cells:
            cell.world.reloaded = self.bench.moment().seq


EVENTS = (Killed, Stopped, CutOff, Deaf, ServerKilled, ServerStopped, ServerCutOff, Weather, FailOver, Skewed, DiskFull, Older, Rolled, Reloaded)
