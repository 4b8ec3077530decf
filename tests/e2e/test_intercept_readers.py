"""What real clients get through an opened CONNECT: every body of the shared corpus as `utfeed normalise` has it, and feeds in readers; what
hostile clients get through it: desync packets, destinations that the guard closes. Issue 17."""
import os
import shutil
import ssl
import subprocess
import sqlite3
import urllib.request

import pytest

from certs import server_context
from inside import InsideClient, OwnCa
from peers import TlsOrigin
from test_corpus import bodies, normalised         # pylint: disable=unused-import
from pages import page
from proxy import is_sanitized
from test_guard import INSIDE, SPELLED
from test_trust_desync import PACKETS, Recorder, bytes_of, send
from wire import PATIENCE, TIMEOUT, message

JAVA = """
import java.io.*; import java.net.*; import java.nio.file.*; import javax.net.ssl.*; import java.security.*; import java.security.cert.*;
public class Get {
	public static void main(String[] args) throws Exception {
		KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
		store.load(null, null);
		try (InputStream in = new FileInputStream(args[0])) {
			store.setCertificateEntry("own", CertificateFactory.getInstance("X.509").generateCertificate(in));
		}
		TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
		trust.init(store);
		SSLContext context = SSLContext.getInstance("TLS");
		context.init(null, trust.getTrustManagers(), null);
		HttpsURLConnection.setDefaultSSLSocketFactory(context.getSocketFactory());
		Proxy proxy = new Proxy(Proxy.Type.HTTP, new InetSocketAddress("127.0.0.1", Integer.parseInt(args[1])));
		for (int i = 0; i < Integer.parseInt(args[3]); i++)
			try (InputStream in = new URL(args[2] + "/" + i).openConnection(proxy).getInputStream()) {
				Files.copy(in, Paths.get(args[4], "" + i));
			}
	}
}
"""


@pytest.fixture(scope="session")
def ca(tmp_path_factory):
    return OwnCa(tmp_path_factory.mktemp("own"), "--rsa")


@pytest.fixture
def served(start, authority, good, ca, tls_origin):
    """served(respond, option...): an https origin, and a utfeed that intercepts it."""
    def run(respond, *options):
        origin = tls_origin(server_context(good))
        origin.serve(respond)
        return start(None, "--tls-ca-file", authority.root.cert, *ca.options("localhost"), *options), origin
    return run


def by_curl(proxy, origin, ca, count, folder):
    subprocess.run(["curl", "-sS", "-f", "-x", f"http://127.0.0.1:{proxy.port}", "--cacert", ca.cert, "-o", f"{folder}/#1", f"{origin.url}/[0-{count - 1}]"],
                   check=True, timeout=TIMEOUT * 10)


def by_python(proxy, origin, ca, count, folder):
    context = ssl.create_default_context(cafile=ca.cert)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": f"http://127.0.0.1:{proxy.port}"}), urllib.request.HTTPSHandler(context=context))
    for number in range(count):
        with opener.open(f"{origin.url}/{number}", timeout=TIMEOUT) as got, open(f"{folder}/{number}", "wb") as file:
            shutil.copyfileobj(got, file)


def by_requests(proxy, origin, ca, count, folder):
    done = subprocess.run(["/usr/bin/python3", "-c", "import requests"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no requests")
    program = ("import requests, sys\nproxy, ca, url, count, folder = sys.argv[1:]\ns = requests.Session()\ns.proxies = {'https': proxy}\ns.verify, s.trust_env = ca, False\n"
               "for n in range(int(count)):\n\tgot = s.get(f'{url}/{n}')\n\tgot.raise_for_status()\n\topen(f'{folder}/{n}', 'wb').write(got.content)\n")
    subprocess.run(["/usr/bin/python3", "-c", program, f"http://127.0.0.1:{proxy.port}", ca.cert, origin.url, str(count), folder], check=True, timeout=TIMEOUT * 10)


def by_java(proxy, origin, ca, count, folder):
    if not shutil.which("javac"):
        pytest.skip("no Java compiler")
    with open(f"{folder}/Get.java", "w", encoding="ascii") as file:
        file.write(JAVA)
    subprocess.run(["java", "-Dhttp.maxConnections=1", f"{folder}/Get.java", ca.cert, str(proxy.port), origin.url, str(count), folder], check=True, timeout=TIMEOUT * 10)


@pytest.mark.parametrize("client", [by_curl, by_python, by_requests, by_java])
def test_every_body(served, ca, bodies, tmp_path, client):
    """The same bytes as the command has them, for each body. What a body does to utfeed's memory, test_corpus.py asks of a sanitizer's build."""
    bodies = bodies[::6] if is_sanitized() else bodies
    def respond(request):
        _, data, content_type = bodies[int(request.target[1:])]
        return message("200 OK", f"Content-Type: {content_type}", body=data)
    proxy, origin = served(respond)
    client(proxy, origin, ca, len(bodies), str(tmp_path))
    wrong = []
    for number, (name, data, content_type) in enumerate(bodies):
        got = (tmp_path / str(number)).read_bytes()
        if got not in (normalised(data, content_type)[0], data):
            wrong.append(name)
        elif got == data != normalised(data, content_type)[0]:
            wrong.append(f"{name}, untouched")
    untouched = [each for each in wrong if each.endswith("untouched")]
    # what is no feed passes as it is, though the command, asked for it, reads it
    assert wrong == untouched and len(untouched) < len(bodies) // 3, wrong
    assert len(bodies) > 100


def as_variables(proxy, ca):
    around = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**around, "https_proxy": f"http://127.0.0.1:{proxy.port}", "SSL_CERT_FILE": ca.cert, "CURL_CA_BUNDLE": ca.cert}


def test_feedparser(served, ca):
    if subprocess.run(["/usr/bin/python3", "-c", "import feedparser"], capture_output=True, check=False).returncode:
        pytest.skip("no feedparser")
    rss = "<?xml version='1.0' encoding='koi8-r'?><rss version='2.0'><channel><title>Новости</title></channel></rss>".encode("koi8-r")
    proxy, origin = served(lambda request: message("200 OK", "Content-Type: text/xml", body=rss))
    program = "import feedparser, sys\nf = feedparser.parse(sys.argv[1])\nprint(f.bozo, f.encoding, f.feed.title)"
    done = subprocess.run(["/usr/bin/python3", "-c", program, f"{origin.url}/feed"], env={**as_variables(proxy, ca), "PYTHONIOENCODING": "utf-8"}, capture_output=True,
                          timeout=PATIENCE, check=True)
    assert done.stdout.decode().split() == ["False", "utf-8", "Новости"], done


def test_newsboat(served, ca, tmp_path):
    if not shutil.which("newsboat"):
        pytest.skip("no newsboat")
    rss = ("<?xml version='1.0' encoding='koi8-r'?><rss version='2.0'><channel><title>Новости</title><link>http://a.test/</link><item><title>Первая</title>"
           "<link>http://a.test/1</link><guid>1</guid></item></channel></rss>").encode("koi8-r")
    proxy, origin = served(lambda request: message("200 OK", "Content-Type: text/xml", body=rss))
    (tmp_path / "urls").write_text(f"{origin.url}/feed\n")
    (tmp_path / "config").write_text(f'use-proxy yes\nproxy "127.0.0.1:{proxy.port}"\nproxy-type http\n')
    where = ["-u", str(tmp_path / "urls"), "-c", str(tmp_path / "cache.db"), "-C", str(tmp_path / "config")]
    env = {**as_variables(proxy, ca), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    subprocess.run(["newsboat", "-q", *where, "-x", "reload"], env=env, check=True, timeout=PATIENCE)
    with sqlite3.connect(tmp_path / "cache.db") as cache:
        assert cache.execute("select title from rss_item").fetchall() == [("Первая",)]
    asked = f"GET https://localhost:{origin.port}/feed 200"
    with proxy.out.news:
        assert proxy.out.news.wait_for(lambda: asked in proxy.out.text(), TIMEOUT), proxy.out.text()


# Hostile clients

class TlsRecorder(Recorder, TlsOrigin):
    """A Recorder that speaks TLS."""

    def __init__(self, context):
        TlsOrigin.__init__(self, context)
        self.authority, self.malformed, self.cut = f"localhost:{self.port}", [], set()
        self.serve(lambda request: page(body=b"answer"))


def is_part(some, those):
    """Whether some are those, in their order, perhaps less those that are refused inside for their Host."""
    rest = iter(those)
    return all(each in rest for each in some)


def test_desync_inside(start, authority, good, ca):
    """No stream of packets.txt makes a request inside that it does not make where there is no TLS, and none otherwise; what
    names another host is refused (421), and what follows on the connection is not. A forward proxy lets targets pass that routes refuse."""
    plain, inner = Recorder(), TlsRecorder(server_context(good))
    try:
        outside = start(None, "--route", f"/=http://{plain.authority}", "--gateway", "off", "--forward", "off")
        opened = start(None, "--tls-ca-file", authority.root.cert, *ca.options("localhost"))
        context = ca.context()
        own_host = b"Host: t\r\n", f"Host: {inner.authority}\r\n".encode()     # on both sides, for it may stand in a body, too
        for number, (_, stream) in enumerate(PACKETS):
            send(outside.port, bytes_of(stream, number, plain.authority).replace(*own_host))
            client = InsideClient(opened.port, inner.authority, context)
            try:
                client.send(bytes_of(stream, number, inner.authority).replace(*own_host))
                client.half_close()
                while client.stream.fill():
                    pass
            except (OSError, ssl.SSLError):
                pass
            client.close()
        meant, seen = plain.read(), inner.read()
        assert not inner.malformed
    finally:
        plain.close()
        inner.close()
    unknown = seen.pop(None, []), meant.pop(None, [])      # targets without a number: which stream they are of is not told
    otherwise = [(PACKETS[number], seen[number], meant.get(number)) for number in seen if not is_part(seen[number], meant.get(number, []))
                 and not (PACKETS[number][0] == "targets" and all(each[0] == "GET" and not each[2] for each in seen[number]))]
    assert not otherwise and not [each for each in unknown[0] if each not in unknown[1]], (otherwise[:5], unknown)
    assert len(PACKETS) >= 500 and len(seen) >= 150, len(seen)


def test_guard(start, authority, ca, canary):
    """No spelling of an address on this machine opens a tunnel, nor anything inside one."""
    proxy = start(None, "--tls-ca-file", authority.root.cert, *ca.options("*"), guarded=True)
    for host in [*INSIDE, *SPELLED]:
        host = host[0] if isinstance(host, tuple) else host
        to = f"[{host}]:{canary.port}" if ":" in host and not host.startswith("[") else f"{host}:{canary.port}"
        for port in (canary.port, 443):
            client = proxy.client()
            client.send(f"CONNECT {to.rpartition(':')[0]}:{port} HTTP/1.1\r\nHost: a\r\n\r\n".encode("latin-1", "replace"))
            got = client.response(method="CONNECT")
            assert got.status in (400, 403, 405, 502, 504), (to, got.line)
            assert got.status != 200
            client.close()
    assert not canary.came()
