"""nginx and Caddy in front, as utfeed-operating(7), PROXIES IN FRONT, prints their files: a password, TLS, a Unix socket; those that are
installed. What is replaced is where files lie and which ports are taken."""
import base64
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from peers import Client
from ports import server_port
from wire import TIMEOUT, message

MANUAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conf", "utfeed-operating.7")
NAME, PASSWORD = "feeds.example.org", "Authorization: Basic " + base64.b64encode(b"reader:secret").decode()
KEEPS_THE_PASSWORD = re.compile(r"^.*Authorization.*\n", re.M)


class Reader(Client):
    def __init__(self, port, context):
        super().__init__(port)
        self.sock = context.wrap_socket(self.sock, server_hostname=NAME, suppress_ragged_eofs=False)
        self.stream.sock = self.sock


def block(first):
    """The file in the manual that begins with this line."""
    with open(MANUAL, encoding="utf-8") as file:
        return re.search(rf"^# {re.escape(first)}\n(.*?)^\.Ed$", file.read(), re.M | re.S)[1].replace("\\e", "\\")


def nginx(folder, port, certificate):
    said = subprocess.run(["openssl", "passwd", "-apr1", "secret"], capture_output=True, text=True, check=True).stdout
    (folder / "feeds.htpasswd").write_text(f"reader:{said}")
    server = block("/etc/nginx/sites-enabled/feeds").replace("listen 443", f"listen 127.0.0.1:{port}").replace("listen [::]:443 ssl;", "")
    server = server.replace("/etc/nginx/feeds.pem", certificate.chain).replace("/etc/nginx/feeds.key", certificate.key)
    kept = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;\n" if os.getuid() == 0 else ""
    return (f"{user}daemon off;\nerror_log {folder}/error.log;\npid {folder}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{kept}"
            + server.replace("/etc/nginx/", f"{folder}/") + "}\n")


def caddy(folder, port, certificate):
    said = subprocess.run(["caddy", "hash-password", "--plaintext", "secret"], capture_output=True, text=True, check=True).stdout.strip()
    server = block("/etc/caddy/Caddyfile").replace("$2a$14$...", said)
    server = server.replace(f"{NAME} {{", f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {certificate.chain} {certificate.key}")
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout.lstrip("v")
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (2, 8):
        server = server.replace("basic_auth", "basicauth")
    return f"{{\n\tadmin off\n\tauto_https off\n\tstorage file_system {folder}/storage\n}}\n{server}"


def listens(port):
    with socket.socket() as probe:
        return not probe.connect_ex(("127.0.0.1", port))


SERVERS = {"nginx": (nginx, ["nginx", "-c"]), "caddy": (caddy, ["caddy", "run", "--adapter", "caddyfile", "--config"])}


@pytest.fixture(params=sorted(SERVERS))
def ask(request, start, origin, authority, tmp_path):
    """ask(change): a function that asks for the feed of the origin through the server whose file is change(text), which is running."""
    write, command = SERVERS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    origin.serve(lambda request: message("200 OK", "Content-Type: application/xml", "Cache-Control: max-age=600", body=SMALL))
    start(origin, "--listen", f"unix:{tmp_path}/utfeed.sock", "--trusted-proxies", "127.0.0.1", "--client-allow", "0.0.0.0/0, ::/0",
          "--hosts", f"{NAME}, 127.0.0.1", "--cache", "on")
    running = []

    def begin(change):
        port, certificate = server_port(), authority.issue("front", f"DNS:{NAME}")
        text = write(tmp_path, port, certificate).replace("/run/utfeed/utfeed.sock", f"{tmp_path}/utfeed.sock")
        (tmp_path / "conf").write_text(change(text))
        running.append(subprocess.Popen([*command, str(tmp_path / "conf")], env={**os.environ, "HOME": str(tmp_path)},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        until = time.monotonic() + TIMEOUT * 2
        while not listens(port):
            assert running[0].poll() is None and time.monotonic() < until
            time.sleep(0.02)

        def get(*fields, **more):
            client = Reader(port, client_context(authority.root))
            try:
                return client.get(f"/{origin.url}/feed", *fields, host=NAME, **more)
            finally:
                client.close()
        return get
    yield begin
    for process in running:
        process.terminate()
        process.wait(TIMEOUT)


def test_readers_with_a_password_share_the_store(ask, origin):
    get = ask(lambda text: text)
    assert get().status == 401
    first, second = get(PASSWORD), get(PASSWORD)
    assert first.status == 200 and first.body == second.body == SMALL_OUT
    assert "hit" in second["cache-status"] and len(origin.requests) == 1
    assert get(PASSWORD, method="PURGE").status == 403


def test_a_password_that_is_sent_on_keeps_feeds_out_of_the_store(ask, origin):
    """Why the manual takes Authorization off."""
    get = ask(lambda text: KEEPS_THE_PASSWORD.sub("", text))
    for _ in range(2):
        assert "detail=authorization" in get(PASSWORD)["cache-status"]
    assert len(origin.requests) == 2
