"""Part tls: what is fetched from https origins for every request, beside nginx with proxy_ssl_session_reuse. The origin is another nginx."""
import contextlib
import os
import random
import subprocess

import drive
import results
import servers
from results import against

VERSIONS = (("TLS 1.3", "TLSv1.3"), ("TLS 1.2", "TLSv1.2"))
SIZES = ((1, "1 KB", 1.1), (16, "16 KB", 1.6), (200, "200 KB", 1.5))
CONNECTIONS = (1, 16)
CLOSING_TIMES = 1.0
LONG_KB = 100                       # longer bodies are too few a second for short turns

EXTENSIONS = {
    "root": "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n",
    "middle": "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n",
    "origin": "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
              "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
}


def certificates(folder):
    """Makes a root, an authority below it and the origin's certificate below that; gives the names (root, chain, key)."""
    issuer = None
    for name, extensions in EXTENSIONS.items():
        key, request, made = (os.path.join(folder, f"{name}.{kind}") for kind in ("key", "csr", "pem"))
        signer = ["-signkey", key] if not issuer else ["-CA", os.path.join(folder, issuer + ".pem"), "-CAkey", os.path.join(folder, issuer + ".key"),
                                                       "-CAcreateserial"]
        for command in (["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", f"/CN={name}", "-out", request],
                        ["x509", "-req", "-in", request, *signer, "-days", "2", "-sha256", "-extfile", servers.write(folder, name + ".ext", extensions),
                         "-out", made]):
            done = subprocess.run(["openssl", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                raise RuntimeError(f"openssl {command}: {done.stdout.decode()}")
        issuer = name
    chain = servers.write(folder, "chain.pem", "".join(servers.read(os.path.join(folder, name + ".pem")) for name in ("origin", "middle")))
    return os.path.join(folder, "root.pem"), chain, os.path.join(folder, "origin.key")


def origin_files(setup):
    folder = os.path.join(setup.folder, "secret")
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(1)
    for size, *_ in SIZES:
        with open(os.path.join(folder, f"{size}k"), "wb") as out:
            out.write(rng.randbytes(size * 1024))
    return folder


def measure(setup, running, table, what, path, connections, bars, slices=drive.SLICES):
    for server in running.values():
        drive.attempt(setup, server, lambda server=server: server.get(path))
    for name, seconds in drive.turns(setup, list(running), slices=slices):
        server = running[name]
        figures = drive.attempt(setup, server, lambda: drive.run(setup, server, path, "-c", connections, seconds=seconds))
        if figures:
            table.row(what, "less", bars).add(name, figures["cpu"])


def contend(setup, files, secrets, options):
    """Contenders by name, before an origin with these options; a context."""
    root, chain, key = secrets
    stack = contextlib.ExitStack()
    make = servers.nginx_origin(files, chain, key, options)
    origin = stack.enter_context(servers.Server("origin", make, setup.folder, None, (servers.LOAD_CPU,)))
    running = setup.start(stack, origin, [
        (results.OURS, None, servers.utfeed(setup.utfeed, "--tls-ca-file", root, scheme="https")),
        ("nginx", "nginx", servers.nginx_secure(root, keep="keepalive_timeout 0" not in options)),
    ])
    return stack, running


def run(setup):
    text = "not stored; every server verifies the origin's chain of three RSA certificates and resumes sessions; nginx has its default buffers"
    closing = results.Table("tls", "https origins without keep-alive, 1 KB, CPU a request", "us", text=text)
    keeping = results.Table("tls", "https origins with keep-alive, CPU a request", "us", text=text + "; 16 connections")
    fresh = results.Table("tls", "https origins that resume no session, 1 KB, CPU a request", "us", text="every connection a full handshake")
    if not servers.program("nginx") or not servers.program("openssl"):
        setup.absent.append("nginx is not installed, or openssl: no https origin")
        return
    files, secrets = origin_files(setup), certificates(setup.folder)
    tables = (
        (closing, VERSIONS, "keepalive_timeout 0;", [(1, f"c = {c}", c, [against("nginx", CLOSING_TIMES)]) for c in CONNECTIONS]),
        (keeping, VERSIONS[:1], "", [(size, label, 16, [against("nginx", times)]) for size, label, times in SIZES]),
        (fresh, VERSIONS, "keepalive_timeout 0; ssl_session_tickets off; ssl_session_cache none;", [(1, "c = 16", 16, [])]),
    )
    for table, versions, options, rows in tables:
        for label, version in versions[:1] if setup.quick else versions:
            stack, running = contend(setup, files, secrets, f"ssl_protocols {version}; {options}")
            with stack:
                for size, what, connections, bars in rows[:1] if setup.quick else rows:
                    measure(setup, running, table, f"{label}, {what}", f"/{size}k", connections, bars, 1 if size > LONG_KB else drive.SLICES)
        yield table
