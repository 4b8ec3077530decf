"""Misconfigurations: every message says where the mistake is, what is wrong, and what to write. Rows: the command, the variables or the
file; then the words for the place, the fault and the advice, in the order in which one line has them."""
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from certs import CA, openssl
from proxy import BINARY, SANITIZER
from wire import PATIENCE

AROUND = {name: value for name, value in os.environ.items() if not name.startswith(("UTFEED_", "LISTEN_")) and not name.lower().endswith("_proxy")}
ROOT = os.geteuid() == 0
HASH = "$2b$05$abcdefghijklmnopqrstuuG1Tz5CsbxMqbRP4pCLYVKyuQH9NEPTK"      # the shape of bcrypt, of no password


def run(*args, env=None, status=2, **how):
    done = subprocess.run([BINARY, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env={**AROUND, **(env or {})}, **how)
    said = done.stderr.decode()
    assert not SANITIZER.search(said), said
    assert done.returncode == status, said
    return said


def told(said, where, wrong, write):
    """One line has all three, and the advice behind the last but one sign that parts sentences."""
    for line in said.splitlines():
        place = line.find(where)
        fault = line.find(wrong, place + len(where)) if place >= 0 else -1
        if fault >= 0 and line.find(write, fault + len(wrong)) >= 0:
            assert re.search(r"[;?:.] ", line[fault:]) or "did you mean" in line, line
            return True
    return False


def port_of(sock):
    return sock.getsockname()[1]


@pytest.fixture(scope="module")
def things(tmp_path_factory, authority, good):
    """What values of options name, by the words in braces."""
    at = tmp_path_factory.mktemp("mistakes")
    for name, text, mode in (("file", "", 0o600), ("open.secret", "hunter2\n", 0o644), ("empty.secret", "\n", 0o600), ("lines.secret", "a\n\n", 0o600),
                             ("more.conf", "policy = x\n", 0o644), ("users", f"alice:{HASH}\n", 0o640),
                             ("hunter.users", "hunter2\n", 0o640), ("plain.users", "alice:hunter2\n", 0o640), ("loop.conf", "include = loop.conf\n", 0o644), ("text.pem", "no PEM\n", 0o644)):
        (at / name).write_text(text)
        (at / name).chmod(mode)
    (at / "folder").mkdir()
    (at / "zero.conf").write_bytes(b"via = a\0b\n")
    late, early = authority.issue("localhost", days=(-9, -1)), authority.issue("localhost", days=(2, 9))
    other, signer, old = authority.issue("localhost"), authority.issue("An authority", extensions=CA, issuer=None), \
        authority.issue("A former authority", extensions=CA, issuer=None, days=(-9, -1))
    openssl("x509", "-in", good.cert, "-outform", "DER", "-out", str(at / "cert.der"))
    openssl("pkey", "-in", good.key, "-aes128", "-passout", "pass:hunter2", "-out", str(at / "locked.key"))
    openssl("req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", str(at / "weak.key"), "-out", str(at / "weak.pem"), "-subj", "/CN=localhost")
    for key in (signer.key, old.key):
        os.chmod(key, 0o600)
    os.chmod(other.key, 0o644)
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))      # nobody else gets it, and utfeed may
        yield {"none": at / "none" / "x", "absent": at / "absent", "file": at / "file", "folder": at / "folder", "under": at / "file" / "x", "long": at / ("l" * 120),
               "at": at, "cert": good.cert, "key": good.key, "other": other.key, "late": late.cert, "latekey": late.key, "early": early.cert,
               "earlykey": early.key, "der": at / "cert.der", "locked": at / "locked.key", "weak": at / "weak.pem", "weakkey": at / "weak.key", "text": at / "text.pem", "ca": signer.cert, "cakey": signer.key,
               "oldca": old.cert, "oldcakey": old.key, "taken": port_of(taken), "port": port_of(free), "sock": at / "s", "conf": "{conf}"}


# ---- the command line ----

FLAGS = [
    (["--sniff-bytes", "2g"], "--sniff-bytes: ", "'2g' is too large", "write a size from 1k to 1m"),
    (["--sniff-bytes", "2kb"], "--sniff-bytes: ", "'2kb' is not a size", "a number with k, m, g or t"),
    (["--sniff-bytes"], "--sniff-bytes: ", "has no value", "write --sniff-bytes SIZE"),
    (["-c"], "-c: ", "has no value", "write -c FILE"),
    (["--help=x"], "--help: ", "takes no value", "write --help alone"),
    (["--sniffbytes", "1k"], "'--sniffbytes'", "is not an option", "did you mean --sniff-bytes?"),
    (["--no-such-option", "1"], "'--no-such-option'", "is not an option", "utfeed serve --help lists them"),
    (["-listen", "127.0.0.1:80"], "'-listen'", "has one dash", "write --listen"),
    (["-config", "utfeed.conf"], "'-config'", "has one dash", "write --config"),
    (["--port", "80"], "'--port'", "is not an option", "write the port behind the address of listen"),
    (["-p", "80"], "'-p'", "is not an option", "write the port behind the address of listen"),
    (["--bind=0.0.0.0"], "'--bind'", "is not an option", "write listen, such as"),
    (["--verbose", "1"], "'--verbose'", "is not an option", "write log-level"),
    (["--upstream", "http://o/"], "'--upstream'", "is not an option", "write a route"),
    (["--cache-dir=/a"], "'--cache-dir'", "is not an option", "write cache-lmdb"),
    (["--threads", "4"], "'--threads'", "is not an option", "write workers"),
    (["--timeout=3s"], "'--timeout'", "is not an option", "write connect-timeout"),
    (["--http2-prior-knowledge"], "'--http2-prior-knowledge'", "is not an option", "write h2c = on"),
    (["--metrics", "on"], "'--metrics'", "is not an option", "write admin-listen"),
    (["-t"], "'-t'", "is not an option", "write --check-config"),
    (["-d"], "'-d'", "is not an option", "stays in the foreground"),
    (["--charset", "koi8-r"], "--charset", "is an option of a route", "write --route 'PATTERN=ORIGIN charset=VALUE'"),
    (["--origin", "http://h/"], "'--origin'", "is not an option", "write a route"),
    (["--route", "/a/=http://h/,charset=koi8-r"], "--route: ", "an option stands in the origin", "write a blank between them"),
    (["--route", "/a/=http://h/;/b/=http://i/"], "--route: ", "an option stands in the origin", "write a blank between them"),
    (["--listen", "127.0.0.1:1,127.0.0.1:2"], "--listen: ", "is more than an address and a port", "write a line for each"),
    (["--no-cache"], "'--no-cache'", "is not an option", "write --cache off"),
    (["--disable-gzip"], "'--disable-gzip'", "is not an option", "write --gzip off"),
    (["--no-workers"], "'--no-workers'", "is not an option", "utfeed serve --help lists them"),
    (["--pidfile", "/a"], "'--pidfile'", "is not an option", "leave it out"),
    (["-x"], "'-x'", "is not an option", "utfeed serve --help lists them"),
    (["utfeed.conf"], "argument 1", "is neither an option nor the value of one", "-c FILE"),
    (["--policy", "auto", "rfc7303"], "argument 3, behind --policy", "is neither an option nor the value of one", "quotes"),
    (["listen=127.0.0.1:80"], "argument 1", "lacks its dashes", "write --listen"),
    (["--listen", "8080"], "--listen: ", "'8080' has no address before its port", "write 127.0.0.1:8080"),
    (["--listen", ":8080"], "--listen: ", "':8080' has no address before its port", "0.0.0.0:8080"),
    (["--listen", "localhost:8080"], "--listen: ", "'localhost:8080' has a name, not an address, before its port", "write 127.0.0.1:8080"),
    (["--listen", "http://127.0.0.1:8080"], "--listen: ", "is not an address and a port", "such as 127.0.0.1:8080"),
    (["--listen", "::1:8080"], "--listen: ", "is not an address and a port", "[::1]:8080"),
    (["--listen", "127.0.0.1:70000"], "--listen: ", "is not an address and a port", "write one such as"),
    (["--listen", "0.0.0.0:0"], "--listen: ", "is open to other machines", "write for example client-allow = 192.168.0.0/16"),
    (["--admin-listen", "0.0.0.0:0"], "--admin-listen: ", "is open to other machines", "admin-allow = "),
    (["--route", "/news/"], "--route: ", "'/news/' has no origin", "write PATTERN=ORIGIN"),
    (["--route", "/=ftp://h/"], "--route: origin: ", "its scheme is neither http nor https", "write http://host[:port][/path]"),
    (["--route", "/=h.example/rss"], "--route: origin: ", "it does not begin with http://", "write http://host[:port][/path]"),
    (["--route", "/=http://h chrset=utf-8"], "--route: ", "'chrset' is not an option of a route", "did you mean charset?"),
    (["--route", "/=http://h utf-8"], "--route: ", "a word behind the origin is not NAME=VALUE", "write quotes"),
    (["--route", "/=http://h charset=utf-7"], "--route: charset: ", "'utf-7' is not an encoding that utfeed knows", "utfeed charsets lists"),
    (["--route", "/=http://h user-agent=\"a"], "--route: user-agent: ", "no closing quote", "write \" at its end"),
    (["--route", "news=http://h"], "--route: ", "'news' is not a pattern", "write /prefix"),
    (["--against", "/run/x"], "--against: ", "counts only beside --check-config", "write that too"),
]


@pytest.mark.parametrize("args, where, wrong, write", FLAGS, ids=[" ".join(row[0]) for row in FLAGS])
def test_flags(args, where, wrong, write):
    said = run("serve", *args)
    assert told(said, where, wrong, write), said


# ---- variables ----

VARIABLES = [
    ({"UTFEED_POLICY": "best"}, "UTFEED_POLICY: ", "'best' is not a policy", "write one of auto, rome-strict"),
    ({"UTFEED_CLIENT_ALLOW": '"10.0.0.0/8"'}, "UTFEED_CLIENT_ALLOW: ", "is not an address block", "leave the quotes out"),
    ({"UTFEED_LISTEN": "127.0.0.1:80;x"}, "UTFEED_LISTEN: ", "'x' is not an address and a port", "write one such as"),
    ({"UTFEED_OUTPUT": "latin1"}, "UTFEED_OUTPUT: ", "'latin1' is not known", "write utf-8 or us-ascii"),
    ({"UTFEED_CONFIG": "/etc/utfeed/none/such"}, "/etc/utfeed/none/such: ", "No such file or directory", "utfeed serve --print-sample"),
    ({"UTFEED_TRUSTED_PROXIES": "127.0.0.1"}, "UTFEED_TRUSTED_PROXIES: ", "no client-allow says", "write for example client-allow"),
    ({"UTFEED_PROXY_PROTOCOL": "on"}, "UTFEED_PROXY_PROTOCOL: ", "no trusted-proxies says", "write for example trusted-proxies"),
    ({"UTFEED_HOSTS": "a.example:80"}, "UTFEED_HOSTS: ", "'a.example:80' is not a destination", "without ports, example.org"),
    ({"http_proxy": "h"}, "http_proxy: ", "has no port", "write http://host:port"),
    ({"http_proxy": "http://u:hunter2@h:1/x"}, "http_proxy: ", "a proxy has no path", "write http://host:port"),
    ({"https_proxy": "socks5://h:1"}, "https_proxy: ", "utfeed would look names up", "write socks5h"),
    ({"https_proxy": "https://h:1"}, "https_proxy: ", "only proxies that speak plain HTTP", "write http://host:port"),
    ({"no_proxy": "a/b"}, "no_proxy: ", "'a/b' is not a destination", "write, with commas between, example.org"),
]


@pytest.mark.parametrize("env, where, wrong, write", VARIABLES, ids=["{}={}".format(*next(iter(row[0].items()))) for row in VARIABLES])
def test_variables(env, where, wrong, write):
    said = run("serve", "--listen", "127.0.0.1:0", env=env) if "UTFEED_LISTEN" not in env else run("serve", env=env)
    assert told(said, where, wrong, write) and "hunter2" not in said, said


# ---- the file: a comment is its first line ----

FILES = [
    # the format
    ("sniff-bytes 64k", "2: sniff-bytes: ", "has no = behind its name", "write sniff-bytes = VALUE"),
    ("listen: 127.0.0.1:80", "2: listen: ", "has no = behind its name", "write listen = VALUE"),
    ("nonsense", "2: ", "not a line that utfeed knows", "write NAME = VALUE"),
    ("polcy = auto", "2: ", "'polcy' is not an option", "did you mean policy?"),
    ("http_port = 3128", "2: ", "'http_port' is not an option", "write the port behind the address of listen"),
    ("cache_mem = 256", "2: ", "'cache_mem' is not an option", "write cache-bytes"),
    ("worker_connections = 1024", "2: ", "'worker_connections' is not an option", "write max-connections"),
    ("proxy_cache_valid = 5m", "2: ", "'proxy_cache_valid' is not an option", "write freshness-floor"),
    ("proxy_read_timeout = 60s", "2: ", "'proxy_read_timeout' is not an option", "first-byte-timeout"),
    ("client_max_body_size = 1m", "2: ", "'client_max_body_size' is not an option", "write cache-object-max"),
    ("ssl_protocols = TLSv1.2", "2: ", "'ssl_protocols' is not an option", "write tls-listen-min"),
    ("set_real_ip_from = 10.0.0.1", "2: ", "'set_real_ip_from' is not an option", "write trusted-proxies"),
    ("auth_basic_user_file = /etc/x", "2: ", "'auth_basic_user_file' is not an option", "write client-auth"),
    ("limit_req = 10", "2: ", "'limit_req' is not an option", "write client-rate"),
    ("proxy_cache_use_stale = error", "2: ", "'proxy_cache_use_stale' is not an option", "write stale-if-error"),
    ("proxy_set_header = X-A: b", "2: ", "'proxy_set_header' is not an option", "write origin-fields"),
    ("visible_hostname = h", "2: ", "'visible_hostname' is not an option", "write hosts"),
    ("backlog = 511", "2: ", "'backlog' is not an option", "leave it out"),
    ("cache-redis-sentinel = h:1", "2: ", "'cache-redis-sentinel' is not an option", "write cache-redis = sentinel://NAME@HOST:PORT"),
    ("cache-redis-db = 1", "2: ", "'cache-redis-db' is not an option", "leave it out"),
    ("UTFEED_LISTEN = 127.0.0.1:80", "2: ", "a variable stands here", "write the option's name"),
    ("export UTFEED_LISTEN=127.0.0.1:80", "2: ", "is a shell script", "write lines of the form"),
    ("[route /a/]\nproxy_pass = http://h/", "3: ", "'proxy_pass' is not an option", "write origin = URL"),
    ("[route /a/]\norigin = http://h/\nproxy_set_header = X-A: b", "4: ", "'proxy_set_header' is not an option", "write origin-fields"),
    ("port = 80", "2: ", "'port' is not an option", "write the port behind the address of listen"),
    ("server = h", "2: ", "'server' is not an option", "write a route"),
    ("user-agent = \"a", "2: user-agent: ", "no closing quote", "write \" at its end"),
    ("user-agent = \"a\" b", "2: user-agent: ", "text stands behind a closing quote", "write \\\" for a quote within"),
    ("via = a\nvia = b", "3: via: ", "is given twice, first at {conf}:2", "write it once"),
    ("listen = 127.0.0.1:80\nlisten = 127.0.0.1:80", "3: listen: ", "is given twice", "write it once"),
    ("via = ${{NONE}}", "2: via: ", "the variable NONE is not set", "write ${{NAME:-TEXT}}"),
    ("via = ${{1A}}", "2: via: ", "is not a variable", "write ${{NAME}}"),
    # files of other programs
    ("{{\n \"listen\": \"127.0.0.1:80\"\n}}", "2: ", "is JSON", "write lines of the form NAME = VALUE"),
    ("---\nlisten: 127.0.0.1:80", "2: ", "is YAML", "utfeed serve --print-sample"),
    ("routes:\n  - path: /", "2: ", "is YAML", "write lines of the form"),
    ("<utfeed>", "2: ", "is XML", "write lines of the form"),
    ("server {{\n proxy_pass http://h/?a=b;\n}}", "2: ", "is the format of nginx", "write lines of the form"),
    ("cache = off\nbackend default {{", "3: ", "is the format of nginx, Varnish", "write lines of the form"),
    # switches that are said no to
    ("no-cache = on", "2: ", "'no-cache' is not an option", "write cache = off"),
    ("enable_gzip = yes", "2: ", "'enable_gzip' is not an option", "write gzip = on"),
    # sections
    ("[server]", "2: ", "not a section", "write [route PATTERN] or [gateway]"),
    ("[route]", "2: ", "not a section", "write [route PATTERN]"),
    ("[route news]", "2: ", "'news' is not a pattern", "write /prefix"),
    ("[route //h]", "2: ", "has no path", "write /prefix or //host[:port]/prefix"),
    ("[route //h:0/]", "2: ", "does not name a valid host", "write /prefix"),
    ("[route /a/../b]", "2: ", "has a dot segment", "write /prefix"),
    ("[route /a/]", "2: ", "route /a/ has no origin", "write a line origin = URL"),
    ("[route /a/]\norigin = http://h/?a", "3: origin: ", "has a query", "write http://host[:port][/path]"),
    ("[route /a/]\norigin = http://u:hunter2@h/", "3: origin: ", "it holds user information", "write http://host[:port][/path]"),
    ("[route /a/]\norigin = http://h/\norigin = http://i/", "4: origin: ", "is given twice for the route /a/", "write it once"),
    ("[route /a/]\norigin = http://h/\n[route /a/]\norigin = http://i/", ": ", "route /a/ is also set at", "write one route for each pattern"),
    ("[route /a/]\norigin = http://h/\nsniff-bytes = 2k", "4: sniff-bytes: ", "is not an option of a route", "write it above the first section"),
    ("[route /a/]\norigin = http://h/\nchrset = utf-8", "4: ", "'chrset' is not an option", "did you mean charset?"),
    ("[route /a/]\norigin = http://unix:/run/x.sock", "3: origin: ", "is the path of a socket", "write http://host[:port][/path]"),
    ("[route /a/]\norigin = http://h/\nauthorization = user:hunter2", "4: authorization: ", "is a switch", "write on or off; origin-fields-file"),
    ("[route /a/]\norigin = http://h/\ncookies = sid=hunter2", "4: cookies: ", "is a switch", "write on or off; origin-fields-file"),
    ("[route /a/]\norigin = http://h/\nrequest-fields = X-Key: abc", "4: request-fields: ", "word 1 is not the name of a field", "write names with commas"),
    ("[route /a/]\norigin = http://h/\norigin-fields = hunter2", "4: origin-fields: ", "field 1 is not NAME: VALUE", "write NAME: VALUE"),
    ("[route /a/]\norigin = http://h/\norigin-fields = Host: x", "4: origin-fields: ", "Host is a field that utfeed writes itself", "write the host there"),
    ("[route /a/]\norigin = http://h/\norigin-fields = User-Agent: x", "4: origin-fields: ", "User-Agent is a field that utfeed writes itself", "write user-agent = "),
    ("[route /a/]\norigin = http://h/\norigin-fields = Range: x", "4: origin-fields: ", "Range is a field that utfeed writes itself", "leave it out"),
    ("charset = koi8-r", "2: charset: ", "is an option of a route", "write it below a [route PATTERN]"),
    ("[gateway]\ncookies = on", "3: cookies: ", "is an option of a route", "write it below a [route PATTERN]"),
    ("[gateway]\nworkers = 2", "3: workers: ", "is not an option of the gateway", "write it above the first section"),
    ("[gateway]\nkeep-feed = 31d", "3: keep-feed: ", "'31d' is too large", "write a time from 0 to 720h"),
    ("gateway = off\nforward = off", "2: gateway: ", "nothing can be asked for", "write one of gateway = on"),
    # included files
    ("include = {at}/nothing.conf", "2: include: ", "No such file or directory", "write the name of a file"),
    ("include = {at}/none/*.conf", "2: include: ", "No such file or directory", "write the name of a file"),
    ("include = {at}/*/a.conf", "2: include: ", "the name of a folder has a wildcard", "FOLDER/*.conf"),
    ("include =", "2: include: ", "is empty", "write the name of a file"),
    ("include = {at}/loop.conf", "loop.conf:1: include: ", "includes itself", "leave this line out"),
    ("include = {at}/more.conf", "more.conf:1: policy: ", "'x' is not a policy", "write one of auto"),
    ("include = {at}/zero.conf", "zero.conf:1: ", "a zero byte", "write text"),
    # numbers, sizes, times, words
    ("workers = many", "2: workers: ", "'many' is not a whole number", "from 1 to 64, or auto"),
    ("max-connections = 1k", "2: max-connections: ", "'1k' is not a whole number", "write one from 1 to 1000000"),
    ("connect-timeout = 10", "2: connect-timeout: ", "'10' is not a time", "a whole number with ms, s, m, h, d or w"),
    ("connect-timeout = 1.5s", "2: connect-timeout: ", "'1.5s' is not a time", "from 10ms to 1h"),
    ("connect-timeout = 0", "2: connect-timeout: ", "'0' is too small", "write a time from 10ms to 1h"),
    ("host-interval = often", "2: host-interval: ", "'often' is not a time", "or auto"),
    ("cache-bytes = all", "2: cache-bytes: ", "'all' is not a size", "or auto"),
    ("client-rate = 5/day", "2: client-rate: ", "'5/day' is not a rate", "a whole number with /s, /m or /h"),
    ("listen-mode = 0888", "2: listen-mode: ", "'0888' is not a file mode", "write octal digits"),
    ("access-log = /var/log/utfeed.log", "2: access-log: ", "is a switch", "access-log-file = FILE"),
    ("cache = redis", "2: cache: ", "is a switch", "cache-redis = HOST:PORT"),
    ("policy = koi8-r", "2: policy: ", "'koi8-r' is not a policy", "charset = LABEL below a [route PATTERN]"),
    ("gateway = maybe", "2: gateway: ", "'maybe' is not a switch", "write on or off"),
    ("log-level = verbose", "2: log-level: ", "'verbose' is not known", "write error, warn, info or debug"),
    ("sandbox = full", "2: sandbox: ", "'full' is not known", "write on, off, seccomp, landlock or strict"),
    ("tls-listen-min = 1.4", "2: tls-listen-min: ", "'1.4' is not known", "write 1.0, 1.1, 1.2 or 1.3"),
    ("repair = everything", "2: repair: ", "'everything' is not a repair", "write names from bom, junk"),
    ("via = my proxy", "2: via: ", "character 3 is a blank", "write letters, digits"),
    ("via = utfeed/1", "2: via: ", "character 7 is '/'", "write letters, digits"),
    ("via = caf\N{LATIN SMALL LETTER E WITH ACUTE}", "2: via: ", "character 4 has the code 0xc3", "write letters, digits"),
    ("via =", "2: via: ", "is empty", "write letters, digits"),
    # lists, addresses, URLs
    ("client-allow = 10.0.0.1/8", "2: client-allow: ", "'10.0.0.1/8' has bits set behind its prefix", "write 10.0.0.0/8"),
    ("client-allow = 2001:db8::1/32", "2: client-allow: ", "has bits set behind its prefix", "write 2001:db8::/32"),
    ("client-allow = lan.example", "2: client-allow: ", "'lan.example' is not an address block", "write address blocks such as"),
    ("client-allow = all", "2: client-allow: ", "'all' is not an address block", "write 0.0.0.0/0, ::/0 for everybody"),
    ("allow = any", "2: allow: ", "'any' would be a host of that name", "write * for all"),
    ("client-allow =", "2: client-allow: ", "is empty", "write address blocks such as"),
    ("allow = https://h.example/", "2: allow: ", "is a URL, and only its host counts here", "example.org (the host)"),
    ("allow = h.example:http", "2: allow: ", "'h.example:http' is not a destination", "with :PORT"),
    ("deny =", "2: deny: ", "is empty", "write, with commas between"),
    ("cors-allow = reader.example", "2: cors-allow: ", "'reader.example' is not an origin", "write https://host"),
    ("cors-allow = *\nallow = 10.0.0.0/8", "2: cors-allow: ", "every web page could read the private addresses", "write the origins of the pages"),
    ("gateway-url = nas.lan:8080", "2: gateway-url: ", "its scheme is neither http nor https", "write one such as http://"),
    ("gateway-url = http://nas.lan/?a", "2: gateway-url: ", "cannot be a gateway's", "write http or https, a host"),
    ("contact-url = feeds@example.org", "2: contact-url: ", "is not a URL", "write one such as https://"),
    ("contact-url = https://h/a(b", "2: contact-url: ", "has a parenthesis", "write %28"),
    ("sandbox-read = certs", "2: sandbox-read: ", "does not begin with /", "write a path such as"),
    ("resolver = 127.0.0.1,dns.example", "2: resolver: ", "is not a list of addresses", "write ADDR, ADDR:PORT"),
    # Redis and LMDB
    ("cache-redis = 6379", "2: cache-redis: ", "is neither a host with its port nor a path", "write HOST:PORT"),
    ("cache-redis = rediss://h:6379", "2: cache-redis: ", "is a URL", "with cache-redis-tls = on"),
    ("cache-redis = h:6379/1", "2: cache-redis: ", "has a database", "write HOST:PORT"),
    ("cache-redis = redis://:hunter2@h:6379/0", "2: cache-redis: ", "is a URL", "write HOST:PORT"),
    ("cache-redis = h:1\ncache-lmdb = /a", "2: cache-redis: ", "cache-lmdb is set too", "write one of them"),
    ("cache-redis = /run/r.sock\ncache-redis-tls = on", "3: cache-redis-tls: ", "a socket has no TLS", "write HOST:PORT as cache-redis"),
    ("cache-redis-password-file = {absent}", "2: cache-redis-password-file: ", "No such file or directory", "write the name of a file"),
    ("cache-redis-password-file = {at}/empty.secret", "2: cache-redis-password-file: ", "the file is empty", "write the value into it"),
    ("cache-redis-password-file = {at}/lines.secret", "2: cache-redis-password", "has the code 0x0a", "write printable ASCII"),
    ("cache-redis-password = hunter2\ncache-redis-password-file = {at}/open.secret", "3: cache-redis-password-file: ", "cache-redis-password is set too",
     "write one of them"),
    ("cache-lmdb = {none}", "2: cache-lmdb: {none}: ", "No such file or directory", "make the folder that is missing"),
    ("cache-lmdb = {file}", "2: cache-lmdb: {file}: ", "Not a directory", "write another path"),
    ("cache-lmdb = {under}", "2: cache-lmdb: {under}: ", "Not a directory", "write another path"),
    ("cache-redis = h:1\ncache-redis-tls = on\ncache-redis-ca-file = {absent}", ": cache-redis-", ": ", "; write "),
    # files and sockets
    ("access-log-file = stdout", "2: access-log-file: ", "'stdout' would be the name of a file", "or leave this out"),
    ("cache-lmdb = on", "2: cache-lmdb: ", "'on' would be the name of a file", "write a /PATH"),
    ("takeover-socket = unix:/run/x", "2: takeover-socket: ", "begins with unix:, which only listeners have", "write the /PATH alone"),
    ("listen = unix:{folder}", "2: listen: unix:{folder}: ", "Is a directory", "write the path of a file"),
    ("access-log-file = {none}", "2: access-log-file: {none}: ", "No such file or directory", "make the folder that is missing"),
    ("access-log-file = {folder}", "2: access-log-file: {folder}: ", "Is a directory", "write the path of a file"),
    ("access-log-file = {under}", "2: access-log-file: {under}: ", "Not a directory", "write another path"),
    ("takeover-socket = {file}", "2: takeover-socket: {file}: ", "File exists", "remove that file"),
    ("takeover-socket = {long}", "2: takeover-socket: {long}: ", "File name too long", "write a shorter path"),
    ("takeover-socket = {none}", "2: takeover-socket: {none}: ", "No such file or directory", "make the folder"),
    ("listen = unix:{none}", "2: listen: unix:{none}: ", "No such file or directory", "make the folder"),
    ("listen = unix:{file}", "2: listen: unix:{file}: ", "Socket operation on non-socket", "remove that file"),
    ("admin-listen = unix:{file}", "2: admin-listen: unix:{file}: ", "Socket operation on non-socket", "remove that file"),
    ("takeover-socket = {under}", "2: takeover-socket: {under}: ", "Not a directory", "write another path"),
    ("http-proxy-file = {absent}", "2: http-proxy-file: ", "No such file or directory", "write the name of a file"),
    ("admin-token-file = {folder}", "2: admin-token-file: ", "Is a directory", "write the name of a file"),
    ("listen = unix:s", "2: listen: ", "is not the path of a socket", "write unix:/PATH"),
    ("listen = 192.0.2.1:0\nclient-allow = 0.0.0.0/0", "2: listen: 192.0.2.1:0: ", "Cannot assign requested address", "write an address of this machine"),
    ("listen = 127.0.0.1:{port}\nadmin-listen = 127.0.0.1:{port}", "3: admin-listen: 127.0.0.1:{port}: ", "is taken already, at {conf}:2", "write another port"),
    ("listen = 127.0.0.1:{port}\nadmin-listen = 0.0.0.0:{port}\nadmin-allow = 0.0.0.0/0", "3: admin-listen: 0.0.0.0:{port}: ", "is taken already",
     "write another port"),
    ("listen = unix:{sock}\ntls-listen = unix:{sock}\ntls-listen-cert = {cert}\ntls-listen-key = {key}", "3: tls-listen: unix:{sock}: ", "is taken already",
     "write another path"),
    ("listen = unix:{sock}\ntakeover-socket = {sock}", "2: listen: unix:{sock}: ", "is taken already, at {conf}:3", "write another path"),
    # certificates and keys
    ("tls-listen = 127.0.0.1:0", "2: tls-listen: ", "needs tls-listen-cert", "write tls-listen-cert = FILE"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {absent}", "3: tls-listen-cert: ", "No such file or directory", "write the name of a PEM file"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {key}\ntls-listen-key = {cert}", "3: tls-listen-cert: ", "has a private key and no certificate",
     "were the two files swapped?"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = {cert}", "4: tls-listen-key: ", "has a certificate and no private key",
     "name the file of the key"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}", "3: tls-listen-cert: ", "has a certificate and no private key", "name the file of the key"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = {other}", "4: tls-listen-key: ", "is not the key of certificate {cert}",
     "write the two files of one pair"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {der}\ntls-listen-key = {key}", "3: tls-listen-cert: ", "is DER", "write a PEM file"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {weak}\ntls-listen-key = {weakkey}", "3: tls-listen-cert: ", "ee key too small", "RSA with 2048 bits"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {text}\ntls-listen-key = {key}", "3: tls-listen-cert: ", "has no certificate", "write the name of a file with"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = {locked}", "4: tls-listen-key: ", "is encrypted", "write it without one"),
    ("admin-listen = 127.0.0.1:0\nadmin-tls-cert = {folder}", "3: admin-tls-cert: ", "is a folder", "write the name of a PEM file"),
    ("tls-ca-file = {absent}", "2: tls-ca-file: ", "No such file or directory", "write the name of a PEM file"),
    ("tls-ca-file = {text}", "2: tls-ca-file: ", "has no certificate", "write the name of a file with"),
    ("[route /a/]\norigin = https://h.test\ntls-cert = {absent}", "4: tls-cert: ", "No such file or directory", "write the name of a PEM file"),
    # interception
    ("intercept = h.test", "2: intercept: ", "needs an authority that clients trust", "utfeed ca --cert FILE --key FILE"),
    ("intercept = h.test:443", "2: intercept: ", "is not a destination", "without ports, example.org"),
    ("intercept = h.test\nintercept-ca-cert = {absent}\nintercept-ca-key = {absent}", "3: intercept-ca-cert: ", "No such file or directory", "utfeed ca makes one"),
    ("intercept = h.test\nintercept-ca-cert = {cakey}\nintercept-ca-key = {ca}", "3: intercept-ca-cert: ", "has a private key and no certificate",
     "were the two files swapped?"),
    ("intercept = h.test\nintercept-ca-cert = {cert}\nintercept-ca-key = {key}", "3: intercept-ca-cert: ", "is not an authority's", "utfeed ca makes one"),
    ("intercept = h.test\nintercept-ca-cert = {oldca}\nintercept-ca-key = {oldcakey}", "3: intercept-ca-cert: ", "expired on", "make another with utfeed ca"),
    ("intercept = h.test\nintercept-ca-cert = {ca}\nintercept-ca-key = {other}", "4: intercept-ca-key: ", "others can read or change it", "chmod 600"),
    ("intercept = h.test\nintercept-ca-cert = {ca}\nintercept-ca-key = {oldcakey}", "4: intercept-ca-key: ", "is not the key of certificate {ca}",
     "write the two files of one pair"),
    ("intercept = h.test\nintercept-ca-cert = {ca}\nintercept-ca-key = {cakey}\nforward = off", "2: intercept: ", "needs the forward proxy", "write forward = on"),
    ("intercept = h.test\nintercept-ca-cert = {ca}\nintercept-ca-key = {cakey}\nintercept-else = tunnel", "5: intercept-else: ", "connect-allow names no destination",
     "write for example connect-allow"),
    # passwords of clients
    ("client-auth = {absent}", "2: client-auth: {absent} cannot be read: ", "No such file or directory", "write the name of a file"),
    ("client-auth = alice:hunter2", "2: client-auth: ", "is not the name of a file", "htpasswd -nB NAME"),
    ("client-auth = {file}", "2: client-auth: {file} ", "names nobody", "htpasswd -nB NAME"),
    ("client-auth = {at}/hunter.users", "hunter.users:1: ", "is not NAME:HASH", "htpasswd -nB NAME"),
    ("client-auth = {at}/plain.users", "plain.users:1: the hash of 'alice' ", "is not of a kind that utfeed takes", "write bcrypt"),
    # users
    ("user = no-such-user", "2: user: ", "there is no such user", "write a name or number of passwd(5)"),
    ("user = nobody:no-such-group", "2: user: ", "there is no such group", "write a name or number of group(5)"),
    ("user = 4000000", "2: user: ", "has no entry in passwd(5)", "write NAME:GROUP"),
    ("user = :daemon", "2: user: ", "there is no such user", "write a name or number of passwd(5)"),
]


@pytest.mark.parametrize("how", ["check", "start"])
@pytest.mark.parametrize("lines, where, wrong, write", FILES, ids=[row[0].replace("\n", " ") for row in FILES])
def test_files(things, tmp_path, lines, where, wrong, write, how):
    """A mistake ends start and check alike: with status 2, which service managers take for what does not become right by itself."""
    conf = tmp_path / "m.conf"
    lines, where, wrong, write = (text.format(**things).replace("{conf}", str(conf)) for text in (lines, where, wrong, write))
    conf.write_text("# a mistake\n" + lines + ("" if "listen = " in lines or "[" in lines else "\nlisten = 127.0.0.1:0") + "\n")
    said = run("serve", "-c", str(conf), *(["--check-config"] if how == "check" else []))
    assert told(said, where, wrong, write) and "hunter2" not in said, said


@pytest.mark.parametrize("lines", ["tls-ca-file = {at}/file", "tls-ca-file = {at}/file\n[route /a/]\norigin = https://h/\n[route /b/]\norigin = https://h/"])
def test_a_file_of_all_routes_is_told_once(things, tmp_path, lines):
    conf = tmp_path / "m.conf"
    conf.write_text(lines.format(**things) + "\n")
    assert run("serve", "-c", str(conf), "--check-config").count("\n") == 1


def test_another_format_is_told_once(tmp_path):
    conf = tmp_path / "m.conf"
    conf.write_text('{\n "listen": "127.0.0.1:8080",\n "workers": 2\n}\n')
    assert run("serve", "-c", str(conf), "--check-config").count("\n") == 1


def test_all_mistakes_are_told_at_once(things, tmp_path):
    conf = tmp_path / "m.conf"
    conf.write_text("polcy = auto\n\nsniff-bytes = lots\n[route /x/]\norigin = ftp://h/\n")
    said = run("serve", "-c", str(conf), "--check-config", env={"UTFEED_OUTPUT": "latin1"}).splitlines()
    assert [f"{conf}:{line}: " in text for line, text in zip((1, 3, 5), said)] == [True] * 3
    assert "UTFEED_OUTPUT: " in said[3] and len(said) == 4


# ---- what works, but may not be meant: said by the check, which is right all the same ----

WARNINGS = [
    ("gateway-stale = 1h", "2: gateway-stale: ", "is a former name", "write stale-if-error below [gateway]"),
    ("feed-hints-max = 1h", "2: feed-hints-max: ", "utfeed does not have this option any more", "leave it out"),
    ("cache-bytes = 2m", ": cache-object-max: ", "is more than all of cache-bytes", "write less"),
    ("decoding-bytes = 1t", "memory: ", "may come to", "lower one of them"),
    ("admin-token-file = {at}/open.secret\nadmin-listen = 127.0.0.1:0", "2: admin-token-file: ", "everybody on this machine may read the file", "chmod 600"),
    ("sandbox-read = {none}", "2: sandbox-read: ", "No such file or directory", "make it before the start"),
    ("listen = 127.0.0.1:{taken}", "2: listen: 127.0.0.1:{taken}: ", "Address already in use", "write another port"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {late}\ntls-listen-key = {latekey}", "3: tls-listen-cert: ", "expired on", "renew it"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {early}\ntls-listen-key = {earlykey}", "3: tls-listen-cert: ", "is not valid before", "renew it"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = {key}\ntls-listen-min = 1.0", "5: tls-listen-min: ", "TLS before 1.2 is broken", "write 1.2"),
    ("listen = 127.0.0.1:0\nadmin-listen = 127.0.0.1:{port}\n[route /a/]\norigin = http://127.0.0.1:{port}/", "4: ", "is a listener of utfeed itself", "write the address of the origin"),
    ("resolv-conf = {absent}", "2: resolv-conf: {absent}: ", "No such file or directory; names are asked for at 127.0.0.1", "resolver = ADDRESS"),
    ("hosts-file = {absent}", "2: hosts-file: {absent}: ", "No such file or directory; no name is known by it", "leave this out"),
    ("listen = 0.0.0.0:{port}\nclient-allow = 127.0.0.1", "2: listen: ", "client-allow lets none of them in", "write their addresses into client-allow"),
    ("listen = 127.0.0.1:0\n[route /a/*]\norigin = http://h.test/", "3: ", "the * of route /a/* stands for itself", "write /a/"),
    ("listen = 127.0.0.1:0\n[route /a/]\norigin = https://h.test/\ntls-verify = off", "5: tls-verify: ", "is off, so whoever is in between", "write tls-ca-file"),
    ("listen = 127.0.0.1:0\n[route /a/]\norigin = http://h.test/\ntls-verify = off", "5: tls-verify: ", "has no effect, because its origin is http", "or leave this out"),
    ("cache = off\ncache-lmdb = {folder}/lmdb", "3: cache-lmdb: ", "has no effect, because cache is off", "write cache = on"),
    ("cache-lmdb-bytes = 2g", "2: cache-lmdb-bytes: ", "has no effect, because cache-lmdb names no folder", "write cache-lmdb = "),
    ("cache-redis-user = feeds", "2: cache-redis-user: ", "has no effect, because cache-redis names no server", "write cache-redis = HOST:PORT"),
    ("tls-listen-min = 1.3", "2: tls-listen-min: ", "has no effect, because tls-listen names no address", "write tls-listen = "),
    ("admin-token = hunter2", "2: admin-token: ", "has no effect, because admin-listen names no address", "write admin-listen = "),
    ("admin-listen = 127.0.0.1:0\nadmin-tls-cert = {cert}\nadmin-tls-key = {key}", "3: admin-tls-cert: ", "does not speak TLS", "have another program ask it"),
    ("admin-listen = 127.0.0.1:0\nadmin-allow = 10.0.0.0/8", "3: admin-allow: ", "it does not name 127.0.0.1", "write 127.0.0.1, too"),
    ("admin-listen = 0.0.0.0:0\nadmin-allow = 0.0.0.0/0", "2: admin-listen: ", "other machines get only /healthz", "for the rest write admin-token-file"),
    ("client-auth = {at}/users\nlisten = 0.0.0.0:0\nclient-allow = 0.0.0.0/0", "3: listen: ", "without TLS, so anybody on the way can read them", "write tls-listen"),
    ("client-allow = 10.0.0.0/8\npurge-allow = 10.1.0.0/16, 192.168.0.0/16", "3: purge-allow: ", "client-allow does not have 192.168.0.0/16", "write 192.168.0.0/16 into client-allow"),
    ("purge-allow = 2001:db8::/32, ::1", "2: purge-allow: ", "client-allow does not have 2001:db8::/32", "or leave it out here"),
    ("access-log = off\nlog-format = json", "3: log-format: ", "has no effect, because access-log is off", "write access-log = on"),
    ("no-proxy = h.test", "2: no-proxy: ", "has no effect, because http-proxy and https-proxy are off", "write http-proxy = "),
    ("listen = 127.0.0.1:0\n[route /a/]\norigin = http://h.test/\nnormalise = off\ncharset = koi8-r", "6: charset: ", "has no effect, because normalise is off", "write normalise = on"),
    ("listen = 127.0.0.1:0\n[route /a/]\norigin = http://h.test/\ntls-key = {key}", "5: tls-key: ", "has no effect, because tls-cert names no file", "write tls-cert = "),
]


@pytest.mark.parametrize("lines, where, wrong, write", WARNINGS, ids=[row[0].replace("\n", " ") for row in WARNINGS])
def test_warnings(things, tmp_path, lines, where, wrong, write):
    conf = tmp_path / "m.conf"
    lines, where = (text.format(**things) for text in (lines, where))
    conf.write_text("# not meant\n" + lines + ("" if re.search(r"^listen = |\[", lines, re.M) else "\nlisten = 127.0.0.1:0") + "\n")
    said = run("serve", "-c", str(conf), "--check-config", status=0)
    assert told(said, where, wrong, write) and "hunter2" not in said, said
    assert len(re.findall("warning: ", said)) == 1, said


@pytest.mark.parametrize("variable, write", [("UTFEED_POLCY", "did you mean UTFEED_POLICY?"), ("UTFEED_LOG_FILE", "write access-log-file"), ("UTFEED_PORT", "write the port behind the address"), ("UTFEED_NONSENSE_NAME", "leave it out")])
def test_variables_that_are_none(variable, write):
    said = run("serve", "--listen", "127.0.0.1:0", "--check-config", env={variable: "hunter2"}, status=0)
    assert told(said, variable, "is not the variable of an option", write) and "hunter2" not in said, said


def test_a_port_of_a_running_utfeed(proxy):
    """A start ends there, with a status that lets a service manager try again."""
    said = run("serve", "--listen", f"127.0.0.1:{proxy.port}", status=1)
    assert told(said, f"--listen: 127.0.0.1:{proxy.port}: ", "Address already in use", "ss -ltnp shows it"), said


@pytest.mark.skipif(not ROOT, reason="only root can start a process as another user")
@pytest.mark.parametrize("lines, where, wrong, write", [
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = {at}/root.key", "4: tls-listen-key: ", "Permission denied", "that utfeed may read"),
    ("cache-redis-password-file = {at}/empty.secret", "2: cache-redis-password-file: ", "Permission denied", "that utfeed may read"),
    ("user = root", "2: user: ", "only root can become another user", "start utfeed as root, or leave this out"),
])
def test_files_of_somebody_else(things, lines, where, wrong, write):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name in ("cert", "key"):
            shutil.copy(things[name], folder)
        for name, mode in (("root.key", 0o600), ("empty.secret", 0o600)):
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                os.chmod(file.fileno(), mode)
        conf, cert = f"{folder}/m.conf", f"{folder}/{os.path.basename(things['cert'])}"
        with open(conf, "w", encoding="ascii") as file:
            file.write("# not ours\n" + lines.format(at=folder, cert=cert) + "\nlisten = 127.0.0.1:0\n")
        os.chmod(conf, 0o644)
        os.chmod(cert, 0o644)
        said = run("serve", "-c", conf, "--check-config", user="nobody")
        assert told(said, where, wrong, write), said


# ---- other commands ----

COMMANDS = [
    (["chek", "feed.xml"], "utfeed: ", "unknown command 'chek'", "did you mean check?"),
    (["start"], "utfeed: ", "unknown command 'start'", "write utfeed serve"),
    (["stop"], "utfeed: ", "unknown command 'stop'", "write kill -TERM PID"),
    (["purge", "http://h/"], "utfeed: ", "unknown command 'purge'", "write curl -X PURGE URL"),
    (["configtest"], "utfeed: ", "unknown command 'configtest'", "write utfeed serve -c FILE --check-config"),
    (["check", "."], ".: ", "Is a directory", "write the name of a file in it"),
    (["opml", "--gateway", "http://h", os.path.abspath(__file__)], "test_mistakes.py: ", "is not a subscription list", "write the name of an OPML file"),
    (["ca", "--cert", os.path.abspath(__file__), "--key", "k"], "test_mistakes.py: ", "is there already", "write another name"),
    (["top", "--admin", "http://127.0.0.1:1"], "utfeed: ", "does not answer", "write --admin with the admin-listen"),
    (["check", "absent.xml"], "absent.xml: ", "No such file or directory", "write the name of a file, or a URL"),
    (["check", "example.org/feed.xml"], "example.org/feed.xml: ", "there is no such file", "write: utfeed check 'https://example.org/feed.xml'"),
    (["check", "feed:https://example.org/f"], "feed:https://example.org/f: ", "there is no such file", "write: utfeed check 'https://example.org/f'"),
    (["check", "feed://example.org/f"], "feed://example.org/f: ", "there is no such file", "write: utfeed check 'https://example.org/f'"),
    (["check", "htp://example.org/f"], "htp://example.org/f: ", "there is no such file", "write: utfeed check 'https://example.org/f'"),
    (["check", "https:/example.org/f"], "https:/example.org/f: ", "there is no such file", "write: utfeed check 'https://example.org/f'"),
    (["check", "http//example.org/f"], "http//example.org/f: ", "there is no such file", "write: utfeed check 'http://example.org/f'"),
    (["check", "ftp://example.org/f"], "ftp://example.org/f: ", "there is no such file", "write a URL that begins with http:// or https://"),
    (["normalise", "https://example.org/f"], "https://example.org/f: ", "there is no such file", "write: curl -sL 'https://example.org/f' | utfeed normalise"),
    (["normalise", "-p", "best", "f"], "utfeed: ", "no such policy (utfeed policies lists them): best", "usage: utfeed normalise"),
    (["normalise", "--to", "latin1", "f"], "utfeed: ", "--to is utf-8 or us-ascii, not: latin1", "usage: utfeed normalise"),
    (["check"], "utfeed: ", "nothing to check", "write a file or a URL"),
    (["healthcheck", "https://127.0.0.1:9180/"], "utfeed: ", "the URL cannot be used", "write http://ADDRESS:PORT"),
    (["normalise", "--repair", "everything", "f"], "--repair: ", "'everything' is not a repair", "write names from bom"),
    (["normalise", "a", "b"], "utfeed: ", "one file at a time", "usage: utfeed normalise"),
    (["reload", "unix:relative"], "unix:relative: ", "does not name a running utfeed", "write the /PATH of its takeover-socket"),
    (["reload"], "reload: ", "the configuration has neither takeover-socket nor admin-listen", "one of them is needed"),
    (["opml", "--gateway", "nas:8080", "f"], "--gateway: ", "is not a URL", "write one such as http://"),
]


STATUS = {"is not a subscription list": 1, "does not answer": 1, "does not name a running utfeed": 1,
          "the configuration has neither takeover-socket nor admin-listen": 1}      # 2 otherwise


@pytest.mark.parametrize("args, where, wrong, write", COMMANDS, ids=[" ".join(row[0]) for row in COMMANDS])
def test_commands(tmp_path, args, where, wrong, write):
    said = run(*args, status=STATUS.get(wrong, 2), cwd=tmp_path)
    if "usage" in write:
        assert wrong in said and write in said[said.index(wrong):], said
    else:
        assert told(said, where, wrong, write), said
