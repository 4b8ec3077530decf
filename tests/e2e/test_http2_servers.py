"""Every body of the corpus by HTTP/2, from the scripted origin and from servers that others wrote."""
import os
import shutil

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from ports import server_port
from test_corpus import bodies, same_as_command_line        # pylint: disable=unused-import
from test_tls import APACHE, NGINX, Elsewhere, server       # pylint: disable=unused-import
from wire import message


def test_every_body(asking, scripted, bodies):
    """The same body, label and X-Encoding-Rule by both, and what `normalise` makes of it."""
    def respond(asked):
        _, data, content_type = bodies[int(asked.target[1:])]
        return message("200 OK", f"Content-Type: {content_type}", body=data)
    proxies = []
    for protocol in ("h2", "http/1.1"):
        origin = scripted(protocol)
        origin["*"] = respond
        proxies.append(asking(origin))
    wrong = []
    for number, row in enumerate(bodies):
        by_2, by_1 = (proxy.get(f"/{number}") for proxy in proxies)
        if (by_2.status, by_2.rule, by_2["Content-Type"], by_2.body) != (by_1.status, by_1.rule, by_1["Content-Type"], by_1.body):
            wrong.append(f"{row[0]}: {by_2.line} {by_2.rule}, not {by_1.line} {by_1.rule}")
        elif number % 20 == 0 and same_as_command_line(proxies[0].port, f"/{number}", row):
            wrong.append(row[0])
    assert not wrong and len(bodies) > 100, wrong


NODE = """
const fs = require("fs"), [port, home, cert, key] = process.argv.slice(1);
require("http2").createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true }, (request, response) => {
	response.setHeader("Content-Type", "application/xml");
	fs.createReadStream(home + request.url).pipe(response);
}).listen(port, "127.0.0.1");
"""


def nginx(home, port, cert):
    (home / "config").write_text(NGINX.format(home=home, port=port, version="1.3", chain=cert.chain, key=cert.key).replace(" ssl;", " ssl http2;", 1))
    return "-p", str(home), "-c", str(home / "config")


def apache2(home, port, cert):
    modules = os.environ.get("APACHE_MODULES", "/usr/lib/apache2/modules")
    if not os.path.exists(f"{modules}/mod_http2.so"):
        pytest.skip("no mod_http2 here")
    (home / "config").write_text(APACHE.format(home=home, port=port, version="1.3", chain=cert.chain, key=cert.key, modules=modules) +
                                 f"LoadModule http2_module {modules}/mod_http2.so\nProtocols h2 http/1.1\n")
    return "-X", "-f", str(home / "config")


def nghttpd(home, port, cert):
    (home / "types").write_text("application/xml xml\n")
    return "-a", "127.0.0.1", "-d", str(home), "--mime-types-file", str(home / "types"), str(port), cert.key, cert.chain


def node(home, port, cert):
    return "-e", NODE, str(port), str(home), cert.chain, cert.key


@pytest.mark.parametrize("program", [nginx, apache2, nghttpd, node], ids=lambda program: program.__name__)
def test_real_servers(asking, start, server, origin, good, bodies, tmp_path, program):
    """Every body of the corpus, as `normalise` has it, and by HTTP/2; with the X-Encoding-Rule that it has by HTTP/1.1."""
    path = shutil.which(program.__name__, path=os.environ["PATH"] + ":/usr/sbin")
    if not path:
        pytest.skip(f"no {program.__name__} here")
    rows = {data: (f"{number}.xml", data, "application/xml") for number, (_, data, _) in enumerate(bodies)}.values()
    for name, data, _ in rows:
        (tmp_path / name).write_bytes(data)
    port = server_port()
    server(port, path, *program(tmp_path, port, good))
    proxy = asking(Elsewhere(port))
    wrong = [found for row in rows if (found := same_as_command_line(proxy.port, "/" + row[0], row))]
    assert not wrong and len(rows) > 100, wrong
    assert proxy.counters()["h2_origin_streams"] == len(rows)
    origin.serve(lambda asked: message("200 OK", "Content-Type: application/xml", body=(tmp_path / asked.target[1:]).read_bytes()))
    by_1 = start(origin, "--workers", "1")
    wrong = [name for name, *_ in rows if proxy.get("/" + name).rule != by_1.get("/" + name).rule]
    assert not wrong, wrong
