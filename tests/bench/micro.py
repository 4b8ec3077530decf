"""Part 1: decoders beside other libraries, and utfeed's parts by themselves."""
import os
import subprocess

import results
import servers
import texts

# MB/s of (utfeed's goal, glibc iconv, memcpy 13,134) on one machine; the bar is their ratio in the same run.
MEMCPY = 13134
GOALS = {
    "ru-windows-1251": (1000, 255), "ru-koi8-r": (1000, 272), "fr-windows-1252": (1500, 357), "ja-shift_jis": (800, 249), "ja-euc-jp": (800, 315),
    "zh-gb18030": (1000, 358), "tw-big5": (1000, 251), "ko-euc-kr": (1000, 305), "ru-utf-16le": (2000, 482), "ja-utf-16be": (2000, 433),
    "ru-utf-8": (5000, 270), "ja-utf-8": (5000, 334), "en-ascii": (10000, 456),
}
DECIDED = (("ru", "windows-1251"), ("zh", "gb18030"), ("ru", "utf-16le"), ("ru", "utf-8"))


def measure(setup, argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True, preexec_fn=servers.pin((servers.SERVER_CPU,)))
    for line in done.stdout.splitlines():
        setup.say(line)
        what, contender, size, nanoseconds = line.split("\t")
        yield what, contender, int(size), float(nanoseconds)


def rivals(setup):
    done = subprocess.run(["sh", os.path.join(os.path.dirname(__file__), "rivals.sh"), os.path.dirname(os.path.abspath(__file__)),
                           os.path.join(setup.folder, "rivals")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    missing = [line for line in done.stderr.splitlines() if line.startswith("no ")]
    setup.absent += missing or ([f"rivals.sh failed:\n{done.stderr}"] if done.returncode else [])
    return done.stdout.split()


def decoders(setup, folder):
    table = results.Table("micro", "Decoding to UTF-8", "MB/s of input", text="5 MB feeds in pieces of 64 KiB, one thread")
    size, label = (100_000, "100k") if setup.quick else (5_000_000, "5m")
    argv = [os.path.join(setup.build, "tests/bench/bench_decoder"), str(setup.rounds), *rivals(setup), "--"]
    for text in texts.TEXTS:
        argv += [text.charset, texts.write(folder, text, label, size)]
    for what, contender, length, nanoseconds in measure(setup, argv):
        what = what.rsplit("-", 1)[0]
        goal = GOALS.get(what)
        bars = [results.against("iconv", round(goal[0] / goal[1], 2)), results.against("memcpy", round(goal[0] / MEMCPY, 3))] if goal else []
        table.row(what, "more", bars).add(contender, length / nanoseconds * 1000)
    return table


def parts(setup, folder):
    table = results.Table("micro", "Parts", "ns", text="one thread; decision: evidence and verdict of the first 64 KiB, unlabelled")
    speed = results.Table("micro", "Normalising, no sockets", "MB/s of input", text="64 KiB at a time: decision, decoding, repair")
    sizes = {}
    paths = [texts.write(folder, texts.find(*which), "20k", 20_000) for which in DECIDED]
    if not setup.quick:
        paths += [texts.write(folder, texts.find(*which), "5m", 5_000_000) for which in DECIDED]
    for what, contender, length, nanoseconds in measure(setup, [os.path.join(setup.build, "tests/bench/bench_parts"), str(setup.rounds), *paths]):
        if what.startswith("normalise"):
            speed.row(what, "more").add(contender, length / nanoseconds * 1000)
        else:
            table.row(what, "less").add(contender, nanoseconds)
            sizes[what] = length
    for row in table.rows:
        if sizes[row.what]:
            row.notes[results.OURS] = f"{sizes[row.what] / row.median(results.OURS) * 1000:,.0f} MB/s"
    return [table, speed]


def run(setup):
    folder = os.path.join(setup.folder, "texts")
    os.makedirs(folder, exist_ok=True)
    yield decoders(setup, folder)
    yield from parts(setup, folder)
