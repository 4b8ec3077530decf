#!/usr/bin/env python3
"""Real readers read the demonstration's feeds: direct, by the gateway's path and by http_proxy.

usage: UTFEED=BINARY run.py FOLDER [READER...]     FOLDER: of the build, for the libraries of npm and the readers' files

Exit status 0 when by gateway and by http_proxy every title of every reader that is here is right, behind a redirect too, every
reader that asks conditionally got its 304, every transfer of table.py was right, and the publisher of score.py grades everything with A;
1 when not, or when no reader is here; 2: a reader that has no row. Direct is what it is without utfeed."""
import collections
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "demo"), str(HERE.parent / "e2e")]

import feed_origin as origins
import feeds
import preload
import proxy as proxies
import score
import table
from clock import Clock

HOST = "feeds.example"
SECONDS = 120               # a command that has not ended by then is taken for hanging
GRADED = ("newsboat", "rss2email", "feedparser")
THROUGH = ("gateway", "http_proxy")
WAYS = ("direct", *THROUGH)
FEEDS = {row.path.lstrip("/"): row.title for row in feeds.FEEDS}

# titles, unchanged, moved: {feed: what was wrong, or "" where it was right}; None: the reader does not do that
Result = collections.namedtuple("Result", "titles unchanged moved")


class Ways:
    """An origin, a utfeed in front of it, and the URLs that lead to the one through the other. Readers that refuse ports have another utfeed,
    whose parent proxy is the origin: so their URLs have no port."""

    def __init__(self, folder):
        hosts = folder / "hosts"
        hosts.write_text(f"127.0.0.1 {HOST}\n")
        self.origin = origins.Origin()
        # gzip-min 0: whoever accepts gzip gets it, short as the demonstration's feeds are
        self.utfeed = proxies.Utfeed("--hosts-file", str(hosts), "--gzip-min", "0")
        self.portless = proxies.Utfeed("--http-proxy", f"http://127.0.0.1:{self.origin.server_address[1]}")

    def url(self, way, name, rest, portless=False):
        port = self.origin.server_address[1]
        by_name = f"http://{HOST}{'' if portless else f':{port}'}/{name}/{way}/{rest}"
        return {"direct": f"http://127.0.0.1:{port}/{name}/{way}/{rest}",
                "gateway": f"http://127.0.0.1:{self.utfeed.port}/{by_name}",
                "http_proxy": by_name}[way]

    def telling(self, way, told, portless=False):
        """What stands before a command to tell it of the proxy."""
        port = (self.portless if portless else self.utfeed).port
        return [part.format(host="127.0.0.1", port=port, proxy=f"http://127.0.0.1:{port}") for part in told] if way == "http_proxy" else []

    def statuses(self, way, name):
        """(path, status) of every answer to name so far, oldest first, as utfeed wrote them down."""
        here = f"/{name}/{way}/"
        self.catch_up()
        answers = [line.decode("latin-1").split() for line in self.utfeed.out.lines if here.encode() in line]
        return [(words[3], int(words[4])) for words in answers]

    def catch_up(self):
        """Waits until the access log has an answer that was asked for now: one worker writes it in order."""
        mark = f"/{os.urandom(8).hex()}"
        self.utfeed.get(mark)
        with self.utfeed.out.news:
            seen = self.utfeed.out.news.wait_for(lambda: any(mark.encode() in line for line in self.utfeed.out.lines), SECONDS)
        assert seen, "the access log has stopped"

    def close(self):
        self.utfeed.stop()
        self.portless.stop()
        self.origin.close()


def run(command, folder, around):
    """What a command wrote to its standard output; its errors are left in the folder. Its home is that folder."""
    around = {**around, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with open(folder / "errors", "ab") as errors:
        try:
            done = subprocess.run(command, cwd=folder, env=around, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            errors.write(f"{command[0]}: not done in {SECONDS} s\n".encode())
            return ""
    return done.stdout.decode("utf-8", "replace")


def around_readers(node_modules):
    """The environment without proxies of this machine; titles are UTF-8."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "dumb", "NODE_PATH": str(node_modules)}


def wrong_titles(pairs, urls):
    """{feed: what was wrong} of the titles read at urls, {feed: URL}. A blank at an end says nothing: of the one that the title of the
    Greek item keeps, some readers make none."""
    found = {feed: [title.strip() for where, title in pairs if where == url] for feed, url in urls.items()}
    return {feed: "" if titles and set(titles) == {FEEDS[feed]} else " | ".join(titles) or "no title"
            for feed, titles in found.items()}


def name_in_url(reader):
    return "".join(letter if letter.isalnum() else "-" for letter in reader.name)


class Reading:
    """One reader, by one way."""

    def __init__(self, ways, reader, way, folder, around):
        self.ways, self.reader, self.way, self.folder, self.around = ways, reader, way, folder, around
        self.name = name_in_url(reader)

    def poll(self, folder, urls):
        """(URL, title) of what one run of the reader, or one a feed, has read."""
        telling, reader, pairs = self.ways.telling(self.way, self.reader.proxy or [], self.reader.portless), self.reader, []
        for group in [[url] for url in urls] if "{url}" in reader.command else [urls]:
            words = [word.replace("{adapters}", str(HERE / "adapters")).replace("{url}", group[0]) for word in reader.command]
            command = [part for word in words for part in (group if word == "{urls}" else [word])]
            said = run([*telling, *command], folder, self.around)
            try:
                pairs += [(where or group[0], title) for where, title in reader.titles(folder, said)]
            except Exception as error:      # of a reader that left no file, or another than it should
                with open(folder / "errors", "a", encoding="utf-8") as errors:
                    errors.write(f"{type(error).__name__}: {error}\n")
        return pairs

    def begin(self, what, before=""):
        """An empty folder for the reader that is set up for the feeds, and their URLs."""
        folder = self.folder / f"{self.name}.{self.way}.{what}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        urls = {feed: self.ways.url(self.way, f"{self.name}-{what}", before + feed, self.reader.portless) for feed in FEEDS}
        if self.reader.prepare:
            self.reader.prepare(folder, list(urls.values()))
        return folder, urls

    def unchanged(self, folder, urls):
        """Polls again until the one that should end in 304s; {feed: the last status, where it is another}."""
        for _ in range(self.reader.polls - 1):
            self.poll(folder, list(urls.values()))
        last = {}
        for path, status in self.ways.statuses(self.way, f"{self.name}-read"):
            last[path.partition("?")[0].rpartition("/")[2]] = status
        return {feed: "" if last.get(feed) == 304 else str(last.get(feed, "not asked")) for feed in FEEDS}

    def result(self):
        folder, urls = self.begin("read")
        titles = wrong_titles(self.poll(folder, list(urls.values())), urls)
        if self.way == "direct":        # without utfeed in between nothing else is judged
            return Result(titles, None, None)
        unchanged = self.unchanged(folder, urls) if self.reader.polls else None
        if not self.reader.redirects:
            return Result(titles, unchanged, None)
        folder, urls = self.begin("moved", "moved/")
        return Result(titles, unchanged, wrong_titles(self.poll(folder, list(urls.values())), urls))


def is_here(reader, folder, around):
    """Whether the reader's own program answers, or its adapter finds the library."""
    command = [word.replace("{adapters}", str(HERE / "adapters")) for word in reader.probe or reader.command if word != "{urls}"]
    folder = folder / f"{name_in_url(reader)}.probe"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(command, cwd=folder, env=around, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def node_modules(folder):
    """READERS_NODE, or what npm installs by the lock file, where it can."""
    if os.environ.get("READERS_NODE"):
        return pathlib.Path(os.environ["READERS_NODE"]).resolve() / "node_modules"
    target = folder / "npm"
    if not (target / "node_modules").is_dir() and shutil.which("npm"):
        target.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, target)
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=target, check=False,
                           timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return target / "node_modules"


def transfer(ways, number, row, way, folder, around):
    """Whether a transfer's script ended well."""
    folder = folder / f"transfer-{number}.{way}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    whole = folder.parent / "episode.whole"
    feed, title = next(iter(FEEDS.items()))
    urls = {name: ways.url(way, f"transfer-{number}", rest)
            for name, rest in (("FEED", feed), ("MOVED", "moved/" + feed), ("EPISODE", "episode.mp3"))}
    try:
        return subprocess.run([*ways.telling(way, table.BY_VARIABLE), "sh", "-c", row.script], cwd=folder, check=False,
                              env={**around, **urls, "TITLE": title, "WHOLE": str(whole), "HOME": str(folder)}, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def share(wrong):
    return "-" if wrong is None else f"{sum(not fault for fault in wrong.values())}/{len(wrong)}"


def faults_of(reader, results):
    """Lines on what was wrong through utfeed: (line, whether the row explains it)."""
    for way in THROUGH:
        for what, wrong in results[way]._asdict().items() if way in results else []:
            faults = {feed: fault for feed, fault in (wrong or {}).items() if fault}
            why = reader.faults.get((way, what))
            if faults and why:
                yield f"  {reader.name}, {way}, {what}, {len(faults)} wrong by the reader's own fault: {why}", True
            elif faults:
                yield from ((f"  {reader.name}, {way}, {what}, {feed}: {fault}", False) for feed, fault in faults.items())


def print_readers(results):
    """The table; gives how many faults no row explains."""
    print(f"\n{'':18}" + "".join(f"{way:>12}" for way in WAYS) + "   304 by: " + " ".join(f"{way:>10}" for way in THROUGH)
          + "   moved by: " + " ".join(f"{way:>10}" for way in THROUGH))
    unexplained, notes = 0, []
    for reader, by_way in results.items():
        nothing = Result(None, None, None)
        print(f"{reader.name:18}" + "".join(f"{share(by_way.get(way, nothing).titles):>12}" for way in WAYS)
              + f"{'':11}" + " ".join(f"{share(by_way.get(way, nothing).unchanged):>10}" for way in THROUGH)
              + f"{'':13}" + " ".join(f"{share(by_way.get(way, nothing).moved):>10}" for way in THROUGH))
        for line, explained in faults_of(reader, by_way):
            notes.append(line)
            unexplained += not explained
    totals = {way: [wrong for by_way in results.values() if way in by_way for wrong in by_way[way].titles.values()] for way in WAYS}
    print(f"{'titles right':18}" + "".join(f"{f'{all_.count(str())}/{len(all_)}':>12}" for all_ in totals.values()))
    print("\n".join(notes), end="\n" if notes else "")
    return unexplained


def print_transfers(done):
    if not done:
        return 0
    print(f"\n{'':34}" + "".join(f"{way:>12}" for way in THROUGH))
    for row, right in done.items():
        print(f"{row.name:34}" + "".join(f"{'right' if right[way] else 'WRONG':>12}" for way in THROUGH))
    return sum(not right for ways in done.values() for right in ways.values())


def ways_of(reader):
    if reader.portless:
        return ("http_proxy",)
    return WAYS if reader.proxy else tuple(way for way in WAYS if way != "http_proxy")


def try_all(ways, readers, transfers, folder, around, pool):
    """({reader: {way: Result}}, {transfer: {way: right}}): side by side, each with files and URLs of its own."""
    readings = {(reader, way): pool.submit(Reading(ways, reader, way, folder, around).result)
                for reader in readers for way in ways_of(reader)}
    transferring = {(row, way): pool.submit(transfer, ways, number, row, way, folder, around)
                    for number, row in enumerate(transfers) for way in THROUGH}
    results, done = collections.defaultdict(dict), collections.defaultdict(dict)
    for (reader, way), reading in readings.items():
        results[reader][way] = reading.result()
    for (row, way), one in transferring.items():
        done[row][way] = one.result()
    return results, done


def graded(reader, library, folder, around):
    """The publisher's grades for a day of that reader behind utfeed. Reader None: for utfeed alone."""
    folder = folder / f"{name_in_url(reader) if reader else 'alone'}.score"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clock = Clock(library, folder / "now", score.START)
    publisher, utfeed = score.Publisher(clock), proxies.Utfeed(env=clock.env)
    is_set_up = False

    def poll(urls):
        nonlocal is_set_up
        if not is_set_up and reader.prepare:
            reader.prepare(folder, urls)
        is_set_up = True
        words = [word.replace("{adapters}", str(HERE / "adapters")) for word in reader.command]
        run([part for word in words for part in (urls if word == "{urls}" else [word])], folder, around)
    try:
        if reader:
            return score.behind(publisher, utfeed, clock, poll)
        return {**score.alone(publisher, utfeed, clock)[0], **score.crowd(publisher, utfeed)}
    finally:
        utfeed.stop()
        publisher.close()


def print_grades(by_name):
    """Prints the grades. Returns how many are below A."""
    print("\na publisher's grades" + f"{'':31}" + "".join(f"{name:>14}" for name in by_name))
    for line in by_name["utfeed alone"]:
        cells = ["{} {}/{}".format(*grades[line]) if line in grades else "-" for grades in by_name.values()]
        print(f"{line:51}" + "".join(f"{cell:>14}" for cell in cells))
    return sum(grade != "A" for grades in by_name.values() for grade, _, _ in grades.values())


def main(folder, *names):
    unknown = set(names) - {reader.name for reader in table.READERS}
    if unknown:
        print(f"run.py: no row of table.py is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "episode.whole").write_bytes(origins.EPISODE)
    around = around_readers(node_modules(folder))
    wanted = [reader for reader in table.READERS if not names or reader.name in names]
    here = [reader for reader in wanted if is_here(reader, folder, around)]
    transfers = [row for row in table.TRANSFERS if row.name.partition(":")[0] in {reader.name for reader in here}]
    for reader in wanted:
        if reader not in here:
            print(f"skipped: {reader.name} is not installed ({reader.package})", flush=True)
    ways = Ways(folder)
    try:
        with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            results, done = try_all(ways, here, transfers, folder, around, pool)
            library = preload.build("clock", str(folder))
            grading = {reader.name if reader else "utfeed alone": pool.submit(graded, reader, library, folder, around)
                       for reader in (None, *(reader for reader in here if reader.name in GRADED))}
            grades = {name: one.result() for name, one in grading.items()}
    finally:
        ways.close()
    faults = print_readers(results) + print_transfers(done) + print_grades(grades)
    print(f"\nmake readers: {'all right through utfeed' if here and not faults else f'{faults} faults, {len(here)} readers'}"
          f" (what the readers said: {folder})")
    return 0 if here and not faults else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
