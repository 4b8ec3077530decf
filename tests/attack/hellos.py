"""Replayed ClientHellos: to send one is no work, to answer it is."""
from hello import FFDHE2048, FFDHE8192, P256, P384, TLS_1_2, TLS_1_3, X25519, hello_of

from .net import Gone

HELLOS = {f"{name} in TLS {version}": hello_of(group, number)
          for name, group in (("X25519", X25519), ("P-256", P256), ("P-384", P384), ("ffdhe2048", FFDHE2048), ("ffdhe8192", FFDHE8192))
          for version, number in (("1.2", TLS_1_2), ("1.3", TLS_1_3))}
WORDS = {b"\x16": "answered", b"\x15": "alert"}
RECORD_HEAD = 5


def replays(name):
    """The answer's first record is waited for, and nothing more said."""
    async def visit(crowd, number):
        peer = await crowd.connect(number, port=crowd.tls_port)
        try:
            await peer.send(HELLOS[name])
            while len(peer.held) < RECORD_HEAD:
                await peer.more()
            return WORDS.get(peer.held[:1], "else")
        except Gone:
            return "closed"
        finally:
            peer.close()
    return visit
