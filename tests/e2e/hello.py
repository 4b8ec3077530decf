"""ClientHellos, byte by byte (RFC 8446 section 4.1.2): whoever sends one does none of the work that it asks for."""
import os

TLS_1_2, TLS_1_3 = 0x0303, 0x0304
P256, P384, X25519, FFDHE2048, FFDHE8192 = 23, 24, 29, 256, 260
SUITES = {TLS_1_3: (0x1301, 0x1302, 0x1303), TLS_1_2: (0xC02B, 0xC02F)}
DHE = (0x009E, 0x009F)
SIGNATURES = (0x0403, 0x0804, 0x0401)
GENERATORS = {
    P256: "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    P384: "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"
          "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f"}
SHARES = {**{group: bytes.fromhex(point) for group, point in GENERATORS.items()}, X25519: b"\x09" + bytes(31), FFDHE2048: b"\x01" * 256,
          FFDHE8192: b"\x01" * 1024}
SERVER_NAME, GROUPS, SIGNATURE_ALGORITHMS, VERSIONS, PSK_MODES, TICKETS, KEYS = 0, 10, 13, 43, 45, 41, 51


def vector(length, data):
    return len(data).to_bytes(length, "big") + data


def numbers(length, values):
    return vector(length, b"".join(value.to_bytes(2, "big") for value in values))


def extension(kind, value):
    return kind.to_bytes(2, "big") + vector(2, value)


def hello_of(group, version):
    """For that group alone; in TLS 1.2 the curve of an ECDSA certificate has to be named, too."""
    if version == TLS_1_3:
        return hello([group])
    return hello([group, P256], version=version, suites=DHE if group in (FFDHE2048, FFDHE8192) else None)


def hello(groups=(X25519,), shares=None, version=TLS_1_3, suites=None, signatures=SIGNATURES, more=b"", record=1 << 14):
    """shares: pairs of a group and its key; None: one for each group. record: the most bytes of a record."""
    keys = [(group, SHARES[group]) for group in groups] if shares is None else shares
    extensions = (extension(GROUPS, numbers(2, groups)) + extension(SIGNATURE_ALGORITHMS, numbers(2, signatures)))
    if version == TLS_1_3:
        extensions += (extension(VERSIONS, numbers(1, [version])) +
                       extension(KEYS, vector(2, b"".join(group.to_bytes(2, "big") + vector(2, key) for group, key in keys))))
    body = (TLS_1_2.to_bytes(2, "big") + os.urandom(32) + b"\0" + numbers(2, suites or SUITES[version]) + b"\x01\0" +
            vector(2, extensions + more))
    message = b"\x01" + vector(3, body)
    return b"".join(b"\x16\x03\x01" + vector(2, message[at:at + record]) for at in range(0, len(message), record))


def tickets(number):
    """So many to resume, none of which is utfeed's."""
    each = vector(2, bytes(33)) + bytes(4)
    return (extension(PSK_MODES, b"\x01\x01") +
            extension(TICKETS, vector(2, each * number) + vector(2, vector(1, bytes(32)) * number)))
