"""Web Bot Auth (sign-key, sign-agent): each signature is one of the key over what the origin was asked, and the keys are where
Signature-Agent says. Sources: draft-ietf-webbotauth-httpsig-protocol-01, RFC 9421, RFC 9530 section 2, RFC 7638."""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import pytest

from certs import client_context, openssl, server_context
from feeds import SMALL, SMALL_OUT
from peers import TlsClient
from proxy import BINARY, REFUSED
from wire import PATIENCE, TIMEOUT, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
KEPT = message("200 OK", XML, "Cache-Control: max-age=600", body=SMALL)
AGENT = "bot.example"
PATH = "/.well-known/http-message-signatures-directory"
FIELDS = {"signature", "signature-input", "signature-agent"}


def url64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """A file with keys, the first of which signs."""

    def __init__(self, path):
        self.path = str(path)
        self.renew()

    def renew(self, keep=False):
        """A new key; keep: the former ones stay behind it."""
        former = open(self.path, encoding="ascii").read() if keep else ""
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.path)
        self.public_path = self.path + ".public"
        openssl("pkey", "-in", self.path, "-pubout", "-out", self.public_path)
        openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER", "-out", self.path + ".der")
        with open(self.path + ".der", "rb") as file:
            self.public = file.read()[-32:]
        with open(self.path, "a", encoding="ascii") as file:
            file.write(former)
        os.chmod(self.path, 0o600)
        return self

    @property
    def jwk(self):
        return {"kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": url64(self.public), "use": "sig"}

    @property
    def id(self):
        return url64(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{url64(self.public)}"}}'.encode()).digest())

    def verifies(self, signature, text):
        """By the openssl command, whose code is none of ours."""
        for name, data in ("signature", signature), ("text", text):
            with open(f"{self.path}.{name}", "wb") as file:
                file.write(data)
        return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", self.public_path, "-rawin", "-in", f"{self.path}.text",
                               "-sigfile", f"{self.path}.signature"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=PATIENCE, check=False).returncode == 0


def member(value, label):
    """What a dictionary that a field holds in one or more lines has under that key."""
    found = re.findall(rf"(?:^|, ){label}=((?:\"[^\"]*\"|[^\",])*)", value)
    assert len(found) == 1, value
    return found[0]


def signed(got, key, values, label="sig1"):
    """The parameters of the signature under that label, which is the key's over the values, in their order."""
    written = member(", ".join(got.all("Signature-Input")), label)
    covered, parameters = re.fullmatch(r"\((.*?)\)((?:;[a-z]+=(?:\d+|\"[^\"]*\"))*)", written).groups()
    assert covered.split(" ") == list(values)
    base = "".join(f"{name}: {value}\n" for name, value in values.items()) + f'"@signature-params": {written}'
    coded = re.fullmatch(r":(.*):", member(", ".join(got.all("Signature")), label))[1]
    assert key.verifies(base64.b64decode(coded, validate=True), base.encode()), base
    return {name: text.strip('"') for name, text in re.findall(r";([a-z]+)=(\d+|\"[^\"]*\")", parameters)}


def checked(request, key, authority=None):
    """The parameters of a signed request to that authority; by default the one in its Host."""
    agent = f'"https://{AGENT}{PATH}"'
    assert all(len(request.all(name)) == 1 for name in FIELDS)
    assert request["Signature-Agent"] == f"sig1={agent}"
    got = signed(request, key, {'"@authority"': authority or request["Host"], '"signature-agent";key="sig1"': agent})
    assert set(got) == {"created", "expires", "keyid", "alg", "nonce", "tag"}
    assert (got["keyid"], got["alg"], got["tag"]) == (key.id, "ed25519", "web-bot-auth")
    assert abs(int(got["created"]) - time.time()) < TIMEOUT + 2 and int(got["expires"]) - int(got["created"]) == 330
    assert len(base64.b64decode(got["nonce"], validate=True)) == 64
    return got


@pytest.fixture
def key(tmp_path):
    return Key(tmp_path / "sign.pem")


@pytest.fixture
def signing(start, tmp_path, key):
    """signing(section..., option=...): a utfeed with these sections and options of serve, whose gateway signs."""
    config = tmp_path / "utfeed.conf"

    def run(*sections, options=(), origin=None, gateway=True, **how):
        lines = [f"sign-agent = https://{AGENT}", *([f"[gateway]\nsign-key = {key.path}"] if gateway else []), *sections]
        config.write_text("\n".join(lines) + "\n")
        return start(origin, "-c", str(config), *options, **how)
    return run


def route(prefix, origin, key=None, *lines):
    return "\n".join((f"[route {prefix}]", f"origin = {origin.url}", *([f"sign-key = {key.path}"] if key else []), *lines))


# ---- requests ----

@pytest.mark.parametrize("target", ["/{}/f", "/?url={}/f"])
def test_the_gateway_signs(signing, origin, key, target):
    proxy = signing()
    got, asked = proxy.through(origin, FEED, target.format(origin.url))
    assert got.body == SMALL_OUT and asked["Host"] == f"127.0.0.1:{origin.port}"
    checked(asked, key)
    assert proxy.counters()["fetches_signed"] == 1


def test_each_request_has_a_signature_of_its_own(signing, origin, key):
    proxy = signing()
    nonces = {checked(proxy.through(origin, FEED, f"/{origin.url}/f")[1], key)["nonce"] for _ in range(3)}
    assert len(nonces) == 3


def test_only_what_is_chosen_is_signed(signing, origin, key, tmp_path):
    other = Key(tmp_path / "other.pem")
    proxy = signing(route("/signed", origin, key), route("/other", origin, other), route("/plain", origin),
                    route("/off", origin, None, "sign-key ="), gateway=False)
    checked(proxy.through(origin, FEED, "/signed/f")[1], key)
    checked(proxy.through(origin, FEED, "/other/f")[1], other)
    for target in "/plain/f", "/off/f", f"/{origin.url}/f", f"{origin.url}/f":
        assert not FIELDS & proxy.through(origin, FEED, target)[1].names()
    assert proxy.counters()["fetches_signed"] == 2


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_every_method_of_a_route(signing, origin, key, method):
    proxy = signing(route("/", origin, key))
    client = proxy.client().ask("/f", method=method)
    upstream = origin.receive()
    checked(upstream.request, key)
    upstream.answer(FEED)
    assert client.response().status == 200


def test_https(signing, tls_origin, good, authority, key):
    origin = tls_origin(server_context(good))
    proxy = signing(options=("--tls-ca-file", authority.root.cert))
    asked = proxy.through(origin, FEED, f"/{origin.url}/f")[1]
    checked(asked, key, f"localhost:{origin.port}")


def test_a_redirect_is_signed_for_where_it_leads(signing, origin, another, key):
    """Also if a route sends what is its own to its own origin alone."""
    other = another()
    proxy = signing(route("/", origin, key, "follow-redirects = on", "origin-fields = X-Key: abc"))
    client = proxy.client().ask("/f")
    nonces = []
    for place, location in (origin, "/here"), (origin, f"{other.url}/there"), (other, "/at"):
        upstream = place.receive()
        nonces.append(checked(upstream.request, key, f"127.0.0.1:{place.port}")["nonce"])
        upstream.answer(message("302 Found", f"Location: {location}"))
    upstream = other.receive()
    nonces.append(checked(upstream.request, key, f"127.0.0.1:{other.port}")["nonce"])
    assert "X-Key" not in upstream.request and len(set(nonces)) == 4
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_a_retry_is_signed_anew(signing, origin, key):
    """A nonce that is used once only is not spent on a connection that was dead."""
    client = signing(options=("--workers", "1")).client()
    client.ask(f"/{origin.url}/a")
    origin.receive().answer(FEED)
    assert client.response().status == 200
    client.ask(f"/{origin.url}/b")
    first = origin.receive()
    first.close()
    second = origin.receive()
    assert checked(first.request, key)["nonce"] != checked(second.request, key)["nonce"]
    second.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_a_client_behind_the_forward_proxy_signs_for_itself(signing, origin):
    """Section 6.6: a proxy should not take the fields away."""
    given = ("Signature-Agent: a=\"https://a.example\"", "Signature-Input: a=(\"@authority\")", "Signature: a=:YQ==:")
    asked = signing().through(origin, FEED, f"{origin.url}/f", *given)[1]
    assert [asked[name] for name in ("Signature-Agent", "Signature-Input", "Signature")] == [each.split(": ", 1)[1] for each in given]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("sent", ["*", "Signature, Signature-Input, Signature-Agent, Signature_Input"])
def test_no_field_of_a_clients_stands_beside_them(signing, origin, key, sent, method):
    given = ("Signature-Agent: sig1=\"https://evil.example\"", "Signature-Input: sig1=(\"@authority\")", "signature: sig1=:YQ==:",
             "SIGNATURE: b=:YQ==:", "Signature_Input: c=()", "X-Other: 1")
    proxy = signing(route("/signed", origin, key, f"request-fields = {sent}"), route("/plain", origin, None, f"request-fields = {sent}"))
    for prefix in "/signed", "/plain":
        client = proxy.client().ask(f"{prefix}/f", *given, method=method)
        upstream = origin.receive()
        upstream.answer(FEED)
        assert client.response().status == 200
        if prefix == "/signed":
            checked(upstream.request, key)
            assert "signature_input" not in upstream.request.names()
        else:
            assert upstream.request.all("Signature") == ["sig1=:YQ==:", "b=:YQ==:"]


def test_origin_fields_have_none_of_them(signing, origin, key, tmp_path):
    for name in FIELDS:
        (tmp_path / "bad.conf").write_text(f"sign-agent = https://{AGENT}\n" + route("/", origin, key, f"origin-fields = {name}: a") + "\n")
        said = faults(tmp_path / "bad.conf")
        assert f"bad.conf:5: origin-fields: {name} is a field that utfeed writes itself" in said
    asked = signing(route("/", origin, None, "origin-fields = Signature: a")).through(origin, FEED)[1]
    assert asked["Signature"] == "a"


def test_a_parent_passes_the_signature_on(signing, parent, key, authority, tls_origin):
    """It is for the origin: CONNECT, which the parent reads alone, has none."""
    secure = tls_origin(server_context(authority.issue("feeds.invalid", names="DNS:feeds.invalid")), "feeds.invalid")
    proxy = signing(options=("--allow", "feeds.invalid:*", "--tls-ca-file", authority.root.cert, "--http-proxy", parent.url,
                             "--https-proxy", parent.url))
    asked = proxy.through(parent, FEED, "/http://feeds.invalid/f")[1]
    assert asked.line == "GET http://feeds.invalid/f HTTP/1.1"
    checked(asked, key, "feeds.invalid")
    client = proxy.client().ask(f"/{secure.url}/f")
    assert not FIELDS & parent.connected(secure).names()
    upstream = secure.receive()
    checked(upstream.request, key, f"feeds.invalid:{secure.port}")
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_a_response_to_an_unsigned_request_is_not_used_for_a_signed_one(start, origin, key, tmp_path):
    config = tmp_path / "utfeed.conf"
    config.write_text("[gateway]\n")
    proxy = start(None, "--cache", "on", "-c", str(config))
    target = f"/{origin.url}/f"
    assert not FIELDS & proxy.through(origin, KEPT, target)[1].names()
    assert proxy.get(target).body == SMALL_OUT
    config.write_text(f"sign-agent = https://{AGENT}\n[gateway]\nsign-key = {key.path}\n")
    proxy.reload()
    checked(proxy.through(origin, KEPT, target)[1], key)


# ---- the directory ----

def directory(got, *keys):
    """Each key proves that it stands there for this host, and for these bytes."""
    assert got.status == 200 and got["Content-Type"] == "application/http-message-signatures-directory+json"
    assert got["Cache-Control"] == "max-age=3600"
    assert json.loads(got.body) == {"keys": [key.jwk for key in keys]}
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(got.body).digest()).decode()}:"
    assert got["Content-Digest"] == digest
    for number, key in enumerate(keys, 1):
        said = signed(got, key, {'"@authority";req': AGENT, '"content-digest"': digest}, f"key{number}")
        assert set(said) == {"created", "expires", "keyid", "tag"}
        assert (said["keyid"], said["tag"]) == (key.id, "http-message-signatures-directory")
        assert int(said["created"]) <= time.time() + 1 and int(said["expires"]) - int(said["created"]) == 7 * 24 * 3600


def test_the_directory(signing, key):
    proxy = signing()
    got = proxy.get(PATH, host=AGENT)
    directory(got, key)
    head = proxy.get(PATH, host=AGENT, method="HEAD")
    assert head.status == 200 and head["Content-Length"] == str(len(got.body)) and head["Content-Digest"] == got["Content-Digest"]


def test_the_directory_over_tls(signing, key, authority):
    made = authority.issue(AGENT)
    proxy = signing(options=("--tls-listen", "127.0.0.1:0", "--tls-listen-cert", made.cert, "--tls-listen-key", made.key))
    client = TlsClient(proxy.tls_port, client_context(authority.root))
    directory(client.get(PATH, host=AGENT), key)
    client.close()


@pytest.mark.parametrize("way", ["h2", "h2c"])
def test_the_directory_over_http2(speaking, tmp_path, key, way):
    (tmp_path / "utfeed.conf").write_text(f"sign-agent = https://{AGENT}\n[gateway]\nsign-key = {key.path}\n")
    conn = speaking(way, None, "-c", str(tmp_path / "utfeed.conf")).http2()
    directory(conn.ask(PATH, host=AGENT).response(), key)


def test_no_route_hides_it(signing, origin, key):
    directory(signing(route("/", origin), route(f"//{AGENT}/", origin)).get(PATH, host=AGENT), key)


@pytest.mark.parametrize("host, target", [("feeds.test", PATH), ("127.0.0.1", PATH), (AGENT, PATH + "/"), (f"{AGENT}:80", PATH)])
def test_other_requests_are_as_they_were(signing, origin, host, target):
    """A route has that path for the names that it serves."""
    proxy = signing(route("/", origin), options=("--hosts", f"feeds.test, 127.0.0.1, {AGENT}"))
    assert proxy.through(origin, FEED, target, host=host)[1].target == target


def test_it_takes_no_other_method(signing):
    proxy = signing()
    for method in "POST", "PURGE", "OPTIONS":
        got = proxy.get(PATH, "Content-Length: 0", host=AGENT, method=method)
        assert got.status == 405 and got["Allow"] == "GET, HEAD"


def test_without_keys_there_is_none(signing):
    assert signing(gateway=False).get(PATH, host=AGENT).status == 404


def test_it_needs_no_password(signing, origin, key, tmp_path):
    """Verifiers have none; everything else still needs one."""
    users = tmp_path / "users"
    users.write_text("alice:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n")
    proxy = signing(route("/", origin), options=("--client-auth", str(users)))
    directory(proxy.get(PATH, host=AGENT), key)
    for target, host in (PATH, "localhost"), ("/f", AGENT), (PATH + "/..", AGENT), (f"http://{AGENT}{PATH}", AGENT):
        assert proxy.get(target, host=host).status in (401, 407)
    assert proxy.get(PATH, host=AGENT, method="PURGE").status == 401


@pytest.mark.parametrize("address, status", [("10.0.0.1", 200), ("10.0.0.2", 403)])
def test_behind_a_proxy_the_clients_address_counts(signing, address, status):
    proxy = signing(options=("--trusted-proxies", "127.0.0.1", "--client-allow", "10.0.0.1"))
    assert proxy.get(PATH, f"X-Forwarded-For: {address}", host=AGENT).status == status


def test_client_allow_counts(signing, key):
    proxy = signing(options=("--client-allow", "10.0.0.1"))
    assert proxy.get(PATH, host=AGENT).status == 403


def test_a_further_key_is_published_and_signs_nothing(signing, origin, key, tmp_path):
    """Section 5.5.2: rotation."""
    former = Key(tmp_path / "former.pem")
    shutil.copy(former.path, key.path)
    key.renew(keep=True)
    proxy = signing()
    checked(proxy.through(origin, FEED, f"/{origin.url}/f")[1], key)
    directory(proxy.get(PATH, host=AGENT), key, former)


def test_a_reload_reads_the_key_anew(signing, origin, key, tmp_path):
    """In the sandbox. A file that cannot be used leaves all as it was."""
    proxy = signing(options=("--sandbox", "on"))
    target = f"/{origin.url}/f"
    checked(proxy.through(origin, FEED, target)[1], key)
    checked_id = key.id
    key.renew()
    assert key.id != checked_id
    proxy.reload()
    checked(proxy.through(origin, FEED, target)[1], key)
    directory(proxy.get(PATH, host=AGENT), key)
    with open(key.path, "w", encoding="ascii") as file:
        file.write("hunter2\n")
    proxy.reload(REFUSED)
    said = proxy.err.text()
    assert f"utfeed.conf:3: sign-key: {key.path} has no private key; write" in said and "hunter2" not in said
    checked(proxy.through(origin, FEED, target)[1], key)


# ---- mistakes ----

def faults(config):
    """What --check-config says of a file that cannot be used."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED")}
    done = subprocess.run([BINARY, "serve", "-c", str(config), "--check-config"], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, env=around)
    assert done.returncode != 0, done.stdout
    return done.stderr


def test_a_key_of_another_algorithm(tmp_path, key):
    openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key.path)
    config = tmp_path / "a.conf"
    config.write_text(f"sign-agent = https://a.example\n[gateway]\nsign-key = {key.path}\n")
    assert f"a.conf:3: sign-key: key 1 of {key.path} is not an Ed25519 key; openssl genpkey -algorithm ed25519" in faults(config)


@pytest.mark.parametrize("lines, said", [
    ("[gateway]\nsign-key = KEY", "a.conf:2: sign-key: needs the host at which origins find the public key; write sign-agent = https://HOST"),
    ("sign-agent = https://a.example\n[route /]\norigin = http://o\nsign-key = /none",
     "a.conf:4: sign-key: /none: No such file or directory; write the name of a PEM file"),
    ("sign-agent = http://a.example", "a.conf:1: sign-agent: 'http://a.example' is not an https URL without a path; write https://host"),
    ("sign-agent = https://a.example/b", "a.conf:1: sign-agent: 'https://a.example/b' is not an https URL without a path; write https://host"),
    ("sign-agent = a.example", "a.conf:1: sign-agent: 'a.example' is not an https URL without a path; write https://host"),
    ("sign-key = KEY", "a.conf:1: sign-key: is an option of a route; write it below [gateway] or a [route PATTERN]"),
])
def test_what_cannot_be_used_is_told_with_its_place(tmp_path, key, lines, said):
    config = tmp_path / "a.conf"
    config.write_text(lines.replace("KEY", key.path) + "\n")
    assert said in faults(config)


def test_a_file_that_others_may_read_is_warned_of(signing, key):
    os.chmod(key.path, 0o644)
    proxy = signing()
    assert (f"utfeed.conf:3: sign-key: others than its owner can read or change {key.path}, and could sign as {AGENT}; chmod 600"
            in proxy.err.text())
