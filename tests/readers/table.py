"""The readers, a row each, and what is asked of the transfers beneath them. Data: run.py knows what to do with a row.

A command has one of the placeholders {urls} (one run reads all feeds) and {url} (a run a feed), and may have {adapters}, the folder
with the programs that ask a library to read. An adapter without a URL ends with 0 where its library is installed: the probe, where
the row has none. titles(folder, said) gives (URL, title) pairs; None for a URL means the one of the run."""
import collections
import dataclasses
import re

import programs

Transfer = collections.namedtuple("Transfer", "name script")


@dataclasses.dataclass(eq=False)
class Reader:
    """polls: the poll that has to end in 304s, 0: it never asks conditionally. portless: it refuses ports, and loopback. faults: {(way, "titles", "unchanged" or "moved"): why the
    reader, not utfeed, is wrong there}."""
    name: str
    package: str
    command: list
    titles: object
    proxy: object
    polls: int
    redirects: bool
    portless: bool
    prepare: object
    probe: object
    faults: dict



JARS = ":".join(f"/usr/share/java/{jar}.jar" for jar in ("rome", "rome-utils", "jdom2", "slf4j-api", "slf4j-nop"))

# How a reader is told of its proxy
BY_VARIABLE = ["env", "http_proxy={proxy}"]
BY_PROPERTY = ["env", "JDK_JAVA_OPTIONS=-Dhttp.proxyHost={host} -Dhttp.proxyPort={port}"]
UNTOLD = None                   # it has no setting


def lines(_, said):
    """Adapters write a line a title: URL, tab, title."""
    return [line.split("\t", 1) for line in said.splitlines() if "\t" in line]


def source(_, said):
    """The text of the feed, as a terminal shows it."""
    return [(None, title) for title in re.findall("<title>(.*?)</title>", said, re.S)]


def whole(_, said):
    return [(None, said)]


def reader(name, package, command, titles=lines, proxy=BY_VARIABLE, polls=0, redirects=True, portless=False, prepare=None, probe=None,
           faults=None):
    return Reader(name, package, command.split(), titles, proxy, polls, redirects, portless, prepare,
                  probe.split() if isinstance(probe, str) else probe, faults or {})


READERS = [
    # It stores validators from the second poll on: the first finds no feed in its cache to write them to
    reader("newsboat", "newsboat", "newsboat -q -u urls -c cache.db -C config -x reload", programs.newsboat, polls=3,
           prepare=programs.prepare_newsboat, probe="newsboat --version"),
    reader("rss2email", "rss2email", "r2e -c config -d data.json run", programs.rss2email, polls=2,
           prepare=programs.prepare_rss2email, probe="r2e --version"),
    reader("Thunderbird", "thunderbird", "/usr/bin/python3 -B {adapters}/thunderbird.py", programs.thunderbird,
           prepare=programs.prepare_thunderbird),
    reader("Tiny Tiny RSS", "tt-rss, postgresql, php-pgsql, php-curl", "/usr/bin/python3 -B {adapters}/tt-rss.py {urls}", portless=True),
    # Its curl has --max-redirs 0
    reader("sfeed", "sfeed", "sfeed_update ./sfeedrc", programs.sfeed, redirects=False,
           prepare=programs.prepare_sfeed, probe="which sfeed_update"),
    # Debian's library is for Debian's Python, whatever python3 is in PATH
    reader("feedparser", "python3-feedparser", "/usr/bin/python3 -B {adapters}/universal.py {urls}", polls=2),
    reader("libxml2", "libxml2-utils", "xmllint --xpath string(//item/title) {url}", whole,
           probe=["sh", "-c", "xmllint --version 2>&1 | grep -w HTTP"],      # later ones have no HTTP of their own
           faults={("http_proxy", "moved"): "2.9.14 asks a proxy for a relative Location without the port of the URL that it came from; "
                                            "strace: \"GET http://feeds.example:34817/...\", then \"GET http://feeds.example/...\""}),
    reader("XML::Feed", "libxml-feed-perl", "perl {adapters}/feed.pl {urls}", polls=2),
    reader("SimplePie", "php-cli, php-xml, php-curl, libphp-simplepie", "php {adapters}/simplepie.php {urls}", polls=2),
    reader("rss (Ruby)", "ruby-rss or ruby", "ruby {adapters}/rss.rb {urls}"),
    reader("w3m", "w3m", "w3m -O UTF-8 -dump {url}", source, probe="w3m -version"),
    reader("curl", "curl", "curl -sSL --compressed {url}", source, probe="curl --version"),
    reader("wget", "wget", "wget -q --compression=auto -O - {url}", source, probe="wget --version"),
    reader("rss-parser (npm)", "nodejs", "node {adapters}/rss-parser.js {urls}", proxy=UNTOLD),
    reader("feedparser (npm)", "nodejs", "node {adapters}/feedparser.js {urls}", proxy=UNTOLD, polls=2),
    reader("ROME", "librome-java, default-jdk-headless", f"java -cp {JARS} {{adapters}}/Rome.java {{urls}}", proxy=BY_PROPERTY),
]

# Shell, in an empty folder: $FEED, its $TITLE, $MOVED that redirects to it, $EPISODE and the file $WHOLE that it must become. What is
# continued has been asked for before: utfeed fetches whole what nobody has (utfeed-cache(7), "Parts").
TRANSFERS = [
    Transfer("curl: HEAD", """curl -sSI "$FEED" | tr -d '\\r' | grep -x 'Content-Type: application/xml; charset=utf-8'"""),
    Transfer("curl: HEAD and GET say the same", """curl -sSI "$FEED" >head; curl -sS -o /dev/null -D get "$FEED"
        for name in ETag Last-Modified Content-Type Content-Length X-Encoding-Rule; do grep "^$name:" head; done >asked
        for name in ETag Last-Modified Content-Type Content-Length X-Encoding-Rule; do grep "^$name:" get; done >got
        [ "$(wc -l <got)" = 5 ] && cmp asked got"""),
    Transfer("curl: 304 by ETag", """curl -sS --etag-save tag -o feed "$FEED"
        [ "$(curl -sS --etag-compare tag -o again -w '%{http_code}' "$FEED")" = 304 ]"""),
    Transfer("curl: 304 by date", """curl -sSR -o feed "$FEED"
        [ "$(curl -sS -z feed -o again -w '%{http_code}' "$FEED")" = 304 ]"""),
    Transfer("curl: gzip", """curl -sS -H 'Accept-Encoding: gzip' -D head -o feed.gz "$FEED"
        grep -i '^content-encoding: gzip' head && gzip -dc feed.gz | grep -F "$TITLE" """),
    Transfer("curl: redirect", """curl -sSL "$MOVED" | grep -F "$TITLE" """),
    Transfer("curl: enclosure continued", """curl -sS -o part "$EPISODE"; truncate -s 100000 part
        curl -sS -C - -D head -o part "$EPISODE"; grep '^HTTP/1.1 206' head && cmp part "$WHOLE" """),
    Transfer("wget: HEAD", """wget -q --spider "$FEED" """),
    Transfer("wget: 304 by date", """wget -q -N "$FEED" && LC_ALL=C wget -S -N "$FEED" 2>said; grep 'HTTP/1.1 304' said"""),
    Transfer("wget: gzip", """wget -S --compression=gzip -O feed "$FEED" 2>said
        grep -i 'content-encoding: gzip' said && grep -F "$TITLE" feed"""),
    Transfer("wget: redirect", """wget -q -O - "$MOVED" | grep -F "$TITLE" """),
    Transfer("wget: enclosure", """wget -q "$EPISODE" && cmp episode.mp3 "$WHOLE" """),
    Transfer("wget: enclosure continued", """wget -q "$EPISODE"; truncate -s 100000 episode.mp3
        wget -S -c "$EPISODE" 2>said; grep 'HTTP/1.1 206' said && cmp episode.mp3 "$WHOLE" """),
    Transfer("wget: nothing left to continue", """wget -q "$EPISODE"
        wget -S -c "$EPISODE" 2>said; grep 'HTTP/1.1 416' said && cmp episode.mp3 "$WHOLE" """),
]
