"""utfeed ca: the authority that interception takes, made and shown. Judged by the openssl command (RFC 5280)."""
import os
import re
import subprocess

import pytest

from certs import openssl
from proxy import BINARY
from wire import PATIENCE


def ca(*args, status=0, **kind):
    done = subprocess.run([BINARY, "ca", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False, text=True, **kind)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout, done.stderr


def make(folder, *args):
    """(certificate, key, what was printed)"""
    cert, key = str(folder / "ca.pem"), str(folder / "ca.key")
    return cert, key, ca(*args, "--cert", cert, "--key", key)[0]


def text(cert):
    return subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-text"], capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize("options,key", [((), "prime256v1"), (("--rsa",), "Public-Key: (2048 bit)")])
def test_made(tmp_path, options, key):
    """One's own key, signed by itself; a CA for servers only, above nothing but leaves; nobody else reads the key."""
    cert, private, said = make(tmp_path, *options)
    shown = text(cert)
    for word in (key, "CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign", "TLS Web Server Authentication", "Subject Key Identifier"):
        assert word in shown
    assert "Name Constraints" not in shown and "signs for:    any name" in said
    openssl("verify", "-CAfile", cert, "-check_ss_sig", cert)
    assert os.stat(private).st_mode & 0o777 == 0o600 and os.stat(cert).st_mode & 0o777 == 0o644
    digest = subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-sha256", "-fingerprint"], capture_output=True, check=True, text=True)
    assert digest.stdout.strip().rpartition("=")[2] in said


def test_key_is_private_from_the_first(tmp_path):
    """Whatever the umask: the key's file is made for its owner, not made and then closed."""
    os.chmod(tmp_path, 0o755)
    before = os.umask(0)
    try:
        key = make(tmp_path)[1]
    finally:
        os.umask(before)
    assert os.stat(key).st_mode & 0o777 == 0o600


def test_names(tmp_path):
    """The openssl command refuses what the constraints do not name: other hosts, and addresses where none is named."""
    cert, key, said = make(tmp_path, "--for", "example.org", "--for", ".example.net")
    assert "only example.org, example.net; not for 0.0.0.0/0.0.0.0" in said
    for name, fine in (("DNS:example.org", True), ("DNS:a.example.org", True), ("DNS:b.example.net", True), ("DNS:example.com", False),
                       ("DNS:notexample.org", False), ("IP:192.0.2.1", False), ("IP:2001:db8::1", False)):
        leaf = str(tmp_path / "leaf")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/O=leaf", "-CA", cert, "-CAkey", key, "-days", "2", "-keyout", leaf + ".key",
                "-out", leaf, "-addext", f"subjectAltName={name}", "-addext", "basicConstraints=CA:FALSE")
        done = subprocess.run(["openssl", "verify", "-CAfile", cert, leaf], capture_output=True, check=False)
        assert (done.returncode == 0) == fine, (name, done.stdout, done.stderr)


def test_addresses(tmp_path):
    """Where addresses alone are named, no name is allowed."""
    said = make(tmp_path, "--for", "192.0.2.0/24")[2]
    assert "192.0.2.0" in said and "Excluded:" in text(str(tmp_path / "ca.pem")) and "DNS:" in text(str(tmp_path / "ca.pem"))


def test_days(tmp_path):
    said = make(tmp_path, "--days", "1")[2]
    assert re.search(r"valid: +\d{4}-\d\d-\d\d \d\d:\d\d UTC to ", said)
    assert subprocess.run(["openssl", "x509", "-in", str(tmp_path / "ca.pem"), "-noout", "-checkend", "86300"], check=False).returncode == 0
    assert subprocess.run(["openssl", "x509", "-in", str(tmp_path / "ca.pem"), "-noout", "-checkend", "86500"], check=False).returncode == 1


def test_two_are_two(tmp_path):
    """A client that trusts both finds the right one by its name."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = (text(make(tmp_path / name)[0]) for name in ("a", "b"))
    subject = re.compile(r"Subject: (.*)")
    assert subject.search(first)[1] != subject.search(second)[1]


def test_shown(tmp_path):
    cert, key, said = make(tmp_path)
    with open(key, encoding="ascii") as file:
        secret = file.read()
    shown = ca("--show", cert)[0]
    assert shown.splitlines()[:5] == said.splitlines()[:5]
    for who in ("curl --cacert", "keytool -importcert", "certutil -addstore", "Android", "Firefox", "/usr/local/share/ca-certificates"):
        assert who in shown
    assert key in said and key not in shown and not any(line in said for line in secret.splitlines()[1:-1])


@pytest.mark.parametrize("there", ["ca.pem", "ca.key"])
def test_nothing_is_written_over(tmp_path, there):
    """An authority that clients trust is not lost to a second run; nor is half of another left."""
    (tmp_path / there).write_text("mine")
    errors = ca("--cert", str(tmp_path / "ca.pem"), "--key", str(tmp_path / "ca.key"), status=2)[1]
    assert f"{tmp_path / there}: is there already" in errors
    assert [path.name for path in tmp_path.iterdir()] == [there] and (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize("args,word", [
    ((), "--cert and --key"), (("--cert", "a"), "--cert and --key"), (("--show", "a", "--key", "b"), "stands alone"),
    (("--show", "/nowhere"), "/nowhere"), (("--show", "/dev/null"), "/dev/null"), (("--days", "0"), "--days"), (("--days", "x"), "--days"),
    (("--for", "*.example.org"), "--for"), (("--for", "a b"), "--for"), (("--for", "10.0.0.0/33"), "--for"), (("--for", ""), "--for"),
    (("--what",), "usage"), (("x",), "no such argument"), (("--cert", "/nowhere/a", "--key", "/nowhere/b"), "/nowhere/b"),
])
def test_wrong_use(args, word):
    assert word in ca(*args, status=2)[1]
