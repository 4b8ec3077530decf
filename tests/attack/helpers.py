"""What else an attack needs: each a context manager (folder) that gives more options for utfeed."""
import contextlib
import os
import socket
import time

from certs import Authority
from fake_redis import SILENCE, FakeRedis
from peers import deaf_port

HOSTS = 5000


@contextlib.contextmanager
def hosts_file(folder):
    hosts, conf = os.path.join(folder, "hosts"), os.path.join(folder, "resolv.conf")
    with open(hosts, "w", encoding="ascii") as file:
        file.writelines(f"127.0.0.1 h{number}.attack.test\n" for number in range(HOSTS))
    with open(conf, "w", encoding="ascii") as file:
        file.write("nameserver 127.0.0.1\n")
    yield "--hosts-file", hosts, "--resolv-conf", conf


@contextlib.contextmanager
def tls_door(folder):
    """With a certificate as most have: P-256."""
    made = Authority(folder).issue("localhost")
    yield "--tls-listen", "127.0.0.1:0", "--tls-listen-cert", made.cert, "--tls-listen-key", made.key


@contextlib.contextmanager
def lmdb(folder):
    """It keeps a quarter of what comes."""
    yield "--cache-lmdb", folder, "--cache-lmdb-bytes", "16m"


@contextlib.contextmanager
def redis(say):
    server = FakeRedis()
    server.say = say
    try:
        yield "--cache-redis", f"127.0.0.1:{server.port}"
    finally:
        server.stop()


def slow_redis(_):
    """5 ms for each command, one after the other; then honest."""
    return redis(lambda args: time.sleep(0.005))


def silent_redis(_):
    """It takes connections and says nothing."""
    return redis(lambda args: SILENCE)


@contextlib.contextmanager
def no_redis(_):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    yield "--cache-redis", f"127.0.0.1:{port}"


@contextlib.contextmanager
def deaf_redis(_):
    """Whose connections are never made."""
    with deaf_port() as port:
        yield "--cache-redis", f"127.0.0.1:{port}"
