"""How long the turns of a utfeed's loop take, as it tells by its admin listener: between two readings."""
import http.client
import re

import servers

BARRED_MS = 5                       # the bar that loop_stalls counts by (proxy/net/loop_turn.h)


class Watched(servers.Server):
    """A utfeed with an admin listener."""

    def __init__(self, name, binary, folder, origin, *options):
        self.admin = servers.free_port()
        super().__init__(name, servers.utfeed(binary, "--admin-listen", f"127.0.0.1:{self.admin}", *options), folder, origin)

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def turns(self):
        return Turns(self.metrics())


class Turns:
    def __init__(self, metrics):
        self.stalls = int(re.search(r"^utfeed_loop_stalls_total (\d+)", metrics, re.M)[1])
        self.longest_ms = int(re.search(r"^utfeed_loop_longest_turn (\d+)", metrics, re.M)[1]) / 1000
        self.buckets = [(float(bound) * 1000, int(count))
                        for bound, count in re.findall(r'^utfeed_loop_turn_seconds_bucket\{le="([^"]+)"\} (\d+)', metrics, re.M)]

    def longest_since(self, before):
        """In milliseconds: exact where it is the longest of all; else the bound that the histogram gives, but no more than the bar, if none
        was over it."""
        if self.longest_ms > before.longest_ms:
            return self.longest_ms
        new = [(bound, count - earlier) for (bound, count), (_, earlier) in zip(self.buckets, before.buckets)]
        total = new[-1][1]
        bound = next((bound for bound, count in new if count == total), 0) if total else 0
        bound = min(bound, self.longest_ms)
        return min(bound, BARRED_MS) if self.stalls == before.stalls else bound
