"""What a run of the model costs: processors, memory, network and money, from measured.json (measure.py wrote it) and a table of prices.

Must not know: how polls become hits."""
import json
import math
import os

from model import ANSWERS, ORIGIN

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD, REQUEST = 400, 350            # bytes of a response's head, of a request
CLIENT_304 = .5                     # of answers: the client has the feed already, and gets a head
GZIP = .3                           # of a feed, as clients and origins pass it
LEARN = 10                          # scripts a second of each instance for each shard, though nothing happens
LEARN_BYTES = 1_600
SHARDS = 16                         # of a Valkey Cluster, as utfeed uses one (proxy/store/store_shards.c)
PEAK = 2.                           # the busiest hour beside the mean of the day
USE = .5                            # of a processor or a link that may be used at the peak
FULL = .75                          # of memory, and of the one processor of a store node


def measured(path=os.path.join(HERE, "measured.json")):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def between(table, size):
    """The value for that size, along a line between those that were measured."""
    rows = sorted((int(bytes_), value) for bytes_, value in table.items())
    for (low, first), (high, last) in zip(rows, rows[1:]):
        if size <= high or high == rows[-1][0]:
            return max(0, first + (last - first) * (size - low) / (high - low))
    return rows[0][1]


def load(by_size, fleet, seconds, costs):
    """What all instances and the second store do, a second on average."""
    found = dict.fromkeys(("polls", "hits", "origin", "store operations", "instance processors", "store processors",
                           "clients bit/s", "origin bit/s", "store bit/s"), 0.)
    for size, tally in by_size.items():
        def cost(what, where="cpu_us", size=size):
            return between(costs[where][what], size) / 1e6 / seconds
        polls, origin = sum(tally[word] for word in ANSWERS), sum(tally[word] for word in ORIGIN)
        found["polls"] += polls / seconds
        found["hits"] += (polls - sum(tally[word] for word in ("new", "unchanged", "failed"))) / seconds
        found["origin"] += origin / seconds
        found["store operations"] += (tally["lookups"] + tally["puts"] + 2 * tally["leases"]) / seconds
        found["instance processors"] += polls * cost("hit") + (tally["lookups"] * cost("second hit")) + origin * cost("fill") + tally["leases"] * cost("lease")
        found["store processors"] += (tally["lookups"] * cost("get", "store_cpu_us") + tally["puts"] * cost("put", "store_cpu_us") +
                                      tally["leases"] * cost("lease", "store_cpu_us"))
        found["clients bit/s"] += 8 * polls / seconds * (HEAD + REQUEST + GZIP * size * (1 - CLIENT_304))
        found["origin bit/s"] += 8 / seconds * (origin * (HEAD + REQUEST) + GZIP * size * tally["new"])
        found["store bit/s"] += 8e6 * (tally["store"] * cost("get", "store_bytes") + tally["puts"] * cost("put", "store_bytes") +
                                       tally["leases"] * cost("lease", "store_bytes"))
    found["store operations"] += LEARN * SHARDS * fleet.instances
    found["store processors"] += LEARN * SHARDS * fleet.instances * costs["store_cpu_us"]["learn"] / 1e6
    found["store bit/s"] += 8 * LEARN * SHARDS * fleet.instances * LEARN_BYTES
    return found


def memory(feeds, costs):
    """Bytes of all feeds in the second store."""
    return sum(feed.weight * between(costs["store_memory"], feed.size) for feed in feeds if feed.stored and not feed.spells)


def sizes(found, stored_bytes, fleet, prices):
    """How many machines of the price table that needs, what bounds each kind, and what a month of it costs."""
    machine, node = prices["instance"], prices["store node"]
    needs = {"processors": found["instance processors"] * PEAK / USE / machine["processors"],
             "network": (found["clients bit/s"] + found["origin bit/s"] + found["store bit/s"]) * PEAK / USE / machine["bit/s"],
             "memory": fleet.instances * fleet.memory / FULL / machine["bytes"]}
    store = {"processors": found["store processors"] * PEAK / FULL, "memory": stored_bytes / FULL / node["bytes"],
             "network": found["store bit/s"] * PEAK / USE / node["bit/s"]}
    instances, nodes = max(2, math.ceil(max(needs.values()))), math.ceil(max(store.values()))
    egress = found["clients bit/s"] / 8 * 86400 * 30 / 1e9 * prices["egress, GB"]
    return {"more store nodes than a cluster has shards": nodes > SHARDS, "instances": instances, "instances, by": max(needs, key=needs.get), "store nodes": nodes, "store nodes, by": max(store, key=store.get),
            "store replicas": nodes, "month, machines": instances * machine["month"] + 2 * nodes * node["month"], "month, egress": egress}
