"""Every example of README and the manuals runs: the shell lines of a document, marked by `$ `, one after the other in a folder of
their own; what a document prints beneath a line is what comes out, where `...` stands for anything; what begins with `# utfeed.conf`
is a configuration that loads. Lines run as printed, README's in a clone of the source behind `./bootstrap run`: each document has a network
of its own, where no port is taken. What is replaced stands in NOT_RUN, INSTEAD and World.replaced, each with its reason."""
import contextlib
import html
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from certs import server_context
from feeds import SMALL
from network import network as make_network
from peers import Origin, TlsOrigin
from ports import server_port
from proxy import BINARY, SANITIZER, Utfeed
from wire import PATIENCE, message

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEMO = os.path.join(TOP, "tests", "demo")
DOCUMENTS = ["README", "conf/utfeed.1", "conf/utfeed.conf.5", "conf/utfeed-rules.7", "conf/utfeed-cache.7",
             "conf/utfeed-operating.7", "conf/utfeed-security.7", "conf/utfeed-intercept.7", "conf/utfeed-fleet.7",
             "conf/utfeed-readers.7"]
COMMANDS = re.compile(r"(\w+=\S+ )*(\./\w|build/\w|(sh|make|curl|utfeed|docker|kubectl|kill|apt|apt-get|man)( |$))")

NOT_RUN = {
    "./bootstrap check": "this test is one of those that it runs",
    "./bootstrap deps build pack && make -C build/demo deb && apt install ./build/demo/deb/utfeed_*.deb":
        "writes into the system; docker/debian/check.sh does it in chroots",
    "./bootstrap deps build && ./bootstrap && ./configure && make && make install":
        "writes into the system; ./bootstrap check builds so, and make distcheck, a part of it, installs into a folder",
    "docker build -f docker/Dockerfile -t utfeed .": "needs docker",
    "docker run --read-only -p 127.0.0.1:8080:8080 utfeed": "needs docker; make check-image runs the image's root like that",
    "cp /etc/utfeed/ca.pem /usr/local/share/ca-certificates/utfeed-ca.crt && update-ca-certificates": "changes whom the machine trusts",
    "https_proxy=http://127.0.0.1:8080 newsboat -x reload": "needs newsboat; tests/readers has it",
    "http_proxy=http://127.0.0.1:8080 newsboat -x reload": "needs newsboat; tests/readers has it",
    "utfeed serve | logger --tag utfeed --priority local7.info": "serves until somebody ends it",
    "valkey-server --port 6379 --save '' --maxmemory 1gb --maxmemory-policy allkeys-lfu &": "needs valkey; test_fleet_seen.py has a server",
    "for n in 1 2 3 4; do utfeed serve --listen 127.0.0.1:808$n --admin-listen 127.0.0.1:918$n --cache-redis 127.0.0.1:6379 & done":
        "serve until somebody ends them; test_fleet.py starts four",
    "kubectl apply -k docker/kubernetes/sidecar": "needs a cluster; test_kubernetes.py holds the files to options and API",
    "docker compose -f docker/compose.yaml up --build": "needs docker",
}
# These lines build utfeed, and do more. utfeed is built here already, so the rest of it runs; test_readme_is_right_in_a_fresh_clone builds it
INSTEAD = {"./bootstrap run": "sh tests/demo/run.sh build/demo"}


def literal(line):
    """A line of mdoc(7) within .Bd -literal as it is shown."""
    for written, shown in (("\\&", ""), ("\\-", "-"), ("\\(dq", '"'), ("\\e", "\\")):
        line = line.replace(written, shown)
    return line


def blocks_of_markdown(text):
    """The indented blocks, as lists of lines."""
    return [[line[4:] for line in block.rstrip("\n").split("\n")] for block in re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+", text, re.M)]


def blocks_of_manual(text):
    blocks = [block.rstrip("\n").split("\n") for block in re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.M)]
    blocks += [[line] for line in re.findall(r"^\.Dl (.*)$", text, re.M)]
    return [[literal(line) for line in block] for block in blocks]


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        text = file.read()
    return blocks_of_markdown(text) if name == "README" else blocks_of_manual(text)


def steps(blocks):
    """(shell line, the lines that are printed beneath), or ("", the lines of a configuration)."""
    for block in blocks:
        if block[0].startswith("# utfeed.conf"):
            yield "", block
        elif block[0].startswith("$ "):
            shown = []
            for line in [*block, "$ "]:
                if line.startswith("$ "):
                    if shown:
                        yield shown[0], shown[1:]
                    shown = [line[2:]]
                else:
                    shown.append(line)


def shape(lines):
    """What matches an output: any lines for `...`, any rest of a line behind ` ...`, blanks in any number."""
    pattern = ""
    for line in "\n".join(lines).rstrip().split("\n"):
        if line == "...":
            pattern += r"(?:.*\n)*?"
            continue
        words = [re.escape(word) for word in line.split()]
        rest = ".*" if words and words[-1] == re.escape("...") else ""
        pattern += r"[ \t]*" + r"[ \t]+".join(words[:-1] if rest else words) + rest + r"[ \t\r]*\n"
    return re.compile(pattern)


class World:
    """Where the examples run: a folder with utfeed, a feed of the demonstration, its publisher, and example.org. In a network of its own all
    of it is where the examples say; where there may be none, addresses are replaced."""

    def __init__(self, folder, network):
        self.folder, self.network, self.proxy, self.replaced = str(folder), network, None, {}
        self.env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("UTFEED_")}

    def close(self):
        self.stop()

    def stop(self):
        if self.proxy:
            self.proxy.stop()
        self.proxy = None

    def under(self):
        return self.network.under if self.network else ()

    def placed(self, text):
        """The text with the addresses and files of this world."""
        for written, here in self.replaced.items():
            text = text.replace(written, here)
        return text.replace("$(pidof utfeed)", str(self.proxy.process.pid)) if self.proxy else text

    patience = PATIENCE

    def run(self, line):
        """What a line starts ends with it, also where it takes too long."""
        with subprocess.Popen([*self.under(), "sh", "-ec", line], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as shell:
            try:
                said, errors = shell.communicate(timeout=self.patience)
            except BaseException:
                os.killpg(shell.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(line, shell.returncode, said, errors)

    def serve(self, line):
        """`utfeed serve ... &`: the utfeed that the lines behind it ask."""
        self.stop()
        words = shlex.split(self.placed(line).rstrip("& "))[2:]
        self.proxy = Utfeed(*words, env=self.env, guarded=True, under=self.under(), listen=self.listen)

    def configuration(self, lines):
        with open(os.path.join(self.folder, "utfeed.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.placed(line) for line in lines) + "\n")
        done = self.run(f"{BINARY} serve -c utfeed.conf --check-config")
        assert done.returncode == 0, f"{lines}: {done.stderr.decode()}"

    def example_line(self, line, printed):
        if re.match(r"(\./|build/demo/)?utfeed serve .*&$", line):
            assert not printed
            self.serve(line)
            return
        command = self.instead(line) or self.placed(line)
        if not printed:
            command = command.replace("curl ", "curl -f ", 1)      # so that the exit status tells an error
        done = self.run(command)
        out, errors = (text.decode("utf-8", "replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
        assert done.returncode == 0 and not SANITIZER.search(errors), f"{line}: exit status {done.returncode}\n{out}{errors}"
        shown = [self.placed(text) for text in printed]
        assert not printed or shape(shown).match(out), f"{line}: printed\n{out}and not\n" + "\n".join(shown)
        self.judge(line, printed, out)

    def instead(self, line):
        return None

    def judge(self, line, printed, out):
        pass


class ManualWorld(World):
    def __init__(self, folder, network, authority):
        super().__init__(folder, network)
        os.symlink(BINARY, folder / "utfeed")
        (folder / "hosts").write_text("127.0.0.1 example.org\n")
        (folder / "feeds.opml").write_text("<opml><body><outline xmlUrl='https://example.org/feed.xml'/></body></opml>\n")
        (folder / "access.log").write_text("")
        (folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        (folder / ".newsboat").mkdir()
        (folder / ".newsboat" / "urls").write_text("https://example.org/feed.xml\n")
        own = authority.issue("feeds", "DNS:feeds.example.org")
        shutil.copy(own.chain, folder / "cert.pem")
        shutil.copy(own.key, folder / "key.pem")
        known = subprocess.run(["openssl", "passwd", "-6", "secret"], stdout=subprocess.PIPE, check=True).stdout.decode()
        (folder / "users").write_text(f"reader:{known}")
        self.env |= {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "CURL_CA_BUNDLE": authority.root.cert,
                     "UTFEED_TLS_CA_FILE": authority.root.cert, "UTFEED_HOSTS_FILE": str(folder / "hosts"),
                     "UTFEED_RESOLV_CONF": str(folder / "resolv.conf"), "UTFEED_ALLOW": "127.0.0.0/8:*"}
        certificate = server_context(authority.issue("example.org", "DNS:example.org"))
        with network.inside() if network else contextlib.nullcontext():
            self.example = Origin(port=80 if network else 0)
            self.example_tls = TlsOrigin(certificate, "example.org", port=443 if network else 0)
        for origin in (self.example, self.example_tls):
            origin.serve(lambda request: message("200 OK", "Content-Type: text/xml", body=SMALL))
        self.demo = subprocess.Popen([*self.under(), sys.executable, os.path.join(DEMO, "origin.py"), "--listen", f"127.0.0.1:{8100 if network else 0}"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.demo_port = re.search(rb"ready on .*:(\d+)", self.demo.stdout.readline())[1].decode()
        self.listen = () if network else ("--listen", "127.0.0.1:0")
        self.replaced = {"/run/utfeed/": f"{folder}/", "/etc/utfeed/": f"{folder}/", "/var/cache/utfeed": f"{folder}/cache"}
        if not network:
            self.replaced |= {"https://example.org/": f"https://example.org:{self.example_tls.port}/",
                              "http://example.org/": f"http://example.org:{self.example.port}/",
                              "--connect-allow example.org": f"--connect-allow example.org:{self.example_tls.port}",
                              "--listen 127.0.0.1:8080": "", "127.0.0.1:9180": f"127.0.0.1:{server_port()}",
                              "http://127.0.0.1:8100": f"http://127.0.0.1:{self.demo_port}"}
        assert self.run(f"curl -sf -o russian.xml http://127.0.0.1:{self.demo_port}/russian.xml").returncode == 0

    def serve(self, line):
        super().serve(line)
        if not self.network:
            self.replaced["http://127.0.0.1:8080"] = f"http://127.0.0.1:{self.proxy.port}"

    def close(self):
        super().close()
        self.demo.kill()
        self.demo.wait()
        self.demo.stdout.close()
        self.example.close()
        self.example_tls.close()


class FreshClone(World):
    """The source as `./bootstrap run` finds it, or as that leaves it, with the program under test."""
    LINKED = ("conf", "core", "docker", "proxy", "tests")

    def __init__(self, folder, network, whole=False):
        super().__init__(folder, network)
        self.whole, self.listen = whole, ()
        if whole:
            self.patience = 20 * PATIENCE      # it compiles
            self.copy()
        else:
            for name in self.LINKED:
                os.symlink(os.path.abspath(os.path.join(TOP, name)), folder / name)
            shutil.copy(os.path.join(TOP, "bootstrap"), folder)
            (folder / "build" / "demo").mkdir(parents=True)
            os.symlink(BINARY, folder / "build" / "demo" / "utfeed")
        if not network:
            ports = {8080: "PORT", 8100: "ORIGIN_PORT", 9180: "ADMIN_PORT"}
            self.replaced = {f":{port}": f":{server_port()}" for port in ports}
            self.env |= {f"UTFEED_DEMO_{ports[int(port[1:])]}": here[1:] for port, here in self.replaced.items()}

    def copy(self):
        """What git has of the source, and nothing that was built."""
        listed = subprocess.run(["git", "-C", TOP, "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if listed.returncode:
            pytest.skip("the source is not a clone")
        for name in filter(None, listed.stdout.decode().split("\0")):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            shutil.copy(os.path.join(TOP, name), os.path.join(self.folder, name), follow_symlinks=False)

    def instead(self, line):
        return None if self.whole else INSTEAD.get(line)

    def judge(self, line, printed, out):
        if line == "./bootstrap run":
            self.judge_page(out.split()[-1])
        if line.startswith("curl") and line.rstrip("'").endswith("/russian.xml"):
            assert "Погода на завтра" in out, f"{line}: is not the feed\n{out}"

    def judge_page(self, url):
        """README's picture of the page, whose URL is the last word of the run, has the page's words."""
        picture = next(block for block in read("README") if block[0].startswith("+- http:"))
        page = html.unescape(re.sub(r"<[^>]+>", " ", self.run(f"curl -sf {url}").stdout.decode()))
        missing = set(re.findall(r"[A-Za-z]{3,}", "\n".join(picture[1:]))) - {"min"} - set(re.findall(r"[A-Za-z]{3,}", page))
        assert not missing, f"{url}: {missing}\n{page}"

    def close(self):
        super().close()
        self.run("./bootstrap stop")


@pytest.fixture
def network():
    made = make_network()
    yield made
    if made:
        made.close()


@pytest.fixture
def world(request, tmp_path, network):
    """Of the document: README's is a clone of the source."""
    name = request.getfixturevalue("name")
    world = FreshClone(tmp_path, network) if name == "README" else ManualWorld(tmp_path, network, request.getfixturevalue("authority"))
    yield world
    world.close()


def run_all(world, name):
    count = 0
    for line, printed in steps(read(name)):
        if not line:
            world.configuration(printed)
        elif line not in NOT_RUN:
            world.example_line(line, printed)
            count += 1
    assert count > 0


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_examples_run(world, name):
    run_all(world, name)


@pytest.mark.slow
def test_readme_is_right_in_a_fresh_clone(tmp_path, network):
    """Compiles: two minutes."""
    world = FreshClone(tmp_path, network, whole=True)
    try:
        run_all(world, "README")
    finally:
        world.close()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_command_hides(name):
    """What looks like a shell line in a block has its `$ `."""
    hidden = [line for block in read(name) for line in block if COMMANDS.match(line)]
    assert not hidden


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_a_paper_names_are_there(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        named = set(re.findall(r"(?<![\w/.~])(?:conf|core|docker|proxy|tests|\.github)/[\w./-]*\w", file.read().replace("\\-", "-")))
    assert not [path for path in sorted(named) if not os.path.exists(os.path.join(TOP, path))]


def test_what_is_not_run_is_there():
    lines = {line for name in DOCUMENTS for line, _ in steps(read(name))}
    assert NOT_RUN.keys() | INSTEAD.keys() <= lines


def test_a_wrong_output_is_told():
    """The judge itself: what it takes for the same, and what not."""
    assert shape(["a  b", "...", "end"]).match("a b\nx\ny\nend\n")
    assert shape(["utf-8 u8 ..."]).match("utf-8   u8 and more\n")
    assert not shape(["HTTP/1.1 200 OK"]).match("HTTP/1.1 502 Bad Gateway\n")
    assert not shape(["a", "b"]).match("a\nx\nb\n")
