"""What hostile origins send: feeds that are made to be slow to read, and small bodies that unpack to large ones."""
import functools
import gzip
import subprocess
import zlib

MB = 1 << 20
WORDS = "Погода и новости. ".encode("windows-1251")
SMALL = b'<?xml version="1.0" encoding="windows-1251"?><rss>' + WORDS * 220 + b"</rss>"        # 4 KB
FEED = b'<?xml version="1.0" encoding="windows-1251"?><rss>' + WORDS * (MB // len(WORDS)) + b"</rss>"
CYRILLIC = b'<?xml version="1.0" encoding="windows-1251"?><rss>'
UTF_8 = b'<?xml version="1.0" encoding="utf-8"?><rss>'


def filled(start, pattern, end=b""):
    """1 MB: start, then pattern over and over."""
    return start + pattern * ((MB - len(start) - len(end)) // len(pattern)) + end


# Feeds for the detector, the decoders and the repairs to work hard upon; 1 MB each
TEXTS = {
    "an attribute of 1 MB": lambda: filled(CYRILLIC[:-1] + b' a="', b"\xc0", b'"/>'),
    "less-than signs": lambda: filled(CYRILLIC, b"<"),
    "elements in elements": lambda: filled(CYRILLIC, b"<a>"),
    "ends of CDATA": lambda: filled(CYRILLIC, b"]]>"),
    "brackets": lambda: filled(CYRILLIC, b"]"),
    "beginnings of CDATA": lambda: filled(CYRILLIC, b"<![CDATA["),
    "empty CDATA": lambda: filled(CYRILLIC, b"<![CDATA[]]>"),
    "a comment of hyphens": lambda: filled(CYRILLIC + b"<!--", b"-"),
    "beginnings of comments": lambda: filled(CYRILLIC, b"<!-"),
    "beginnings of instructions": lambda: filled(CYRILLIC, b"<?"),
    "declarations": lambda: filled(CYRILLIC, b'<?xml version="1.0"?>'),
    "references to forbidden characters": lambda: filled(CYRILLIC, b"&#1;"),
    "references that never end": lambda: filled(CYRILLIC, b"&#x"),
    "a reference of 1 MB": lambda: filled(CYRILLIC + b"&#", b"0", b"1;"),
    "ampersands": lambda: filled(CYRILLIC, b"&"),
    "entities declared": lambda: filled(b'<?xml version="1.0" encoding="windows-1251"?><!DOCTYPE a [', b"<!ENTITY a '&a;&a;'>", b"]><a>&a;</a>"),
    "a document type of 1 MB": lambda: filled(b"<!DOCTYPE a [", b'"', b"]><a/>"),
    "a declaration of 1 MB": lambda: filled(b'<?xml version="1.0"', b" ", b"?><rss/>"),
    "white space first": lambda: filled(b"", b" \n", b"<rss/>"),
    "junk first": lambda: filled(b"", b"junk ", CYRILLIC),
    "roots behind junk": lambda: filled(b"", b"<rs<rdf:RD<fee"),
    "no valid UTF-8": lambda: filled(UTF_8, b"\xff"),
    "UTF-8 cut short": lambda: filled(UTF_8, b"\xf0\x9f\x98"),
    "UTF-8 and windows-1251 in turn": lambda: filled(UTF_8, "Ж".encode() + b"\xc6"),
    "control characters": lambda: filled(CYRILLIC, b"\x01"),
    "surrogates without another": lambda: filled(b"\xff\xfe<\0r\0s\0s\0>\0", b"\0\xd8"),
    "escapes of ISO-2022-JP": lambda: filled(b'<?xml version="1.0" encoding="iso-2022-jp"?><rss>', b"\x1b$B\x1b(B"),
    "GB 18030 that is none": lambda: filled(b'<?xml version="1.0" encoding="gb18030"?><rss>', b"\x81\x30\xff\x30"),
    "GB 18030 by fours": lambda: filled(b'<?xml version="1.0" encoding="gb18030"?><rss>', b"\x81\x30\x81\x30"),
    "EBCDIC": lambda: filled('<?xml version="1.0" encoding="cp037"?><rss>'.encode("cp037"), b"\x25"),
    "nothing said, every byte": lambda: filled(b"<rss>", bytes(range(0x80, 0x100))),
    "nothing said, ASCII for long": lambda: b"<rss>" + b"a" * (MB // 2) + WORDS * (MB // 2 // len(WORDS)),
    "nothing said, Japanese of three kinds": lambda: filled(b"<rss>", "テスト".encode("shift_jis") + "テスト".encode("euc_jp") + b"\x1b$B%F\x1b(B"),
}


def slug(name):
    return name.replace(",", "").replace(" ", "-")


SLUGS = {slug(name): make for name, make in TEXTS.items()}


@functools.cache
def text(name):
    """name: as it stands in a path."""
    return SLUGS[name]()


def by_tool(*command):
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def by_members(_):
    """Half a million gzip members with nothing in them."""
    return gzip.compress(b"") * 500_000 + gzip.compress(b"<rss/>")


# Content-Encoding, and what is done to 64 MB of white space
BOMBS = {
    "gzip": ("gzip", ("gzip",)), "deflate": ("deflate", ("deflate",)), "br": ("br", ("br",)), "zstd": ("zstd", ("zstd",)),
    "gzip-gzip": ("gzip, gzip", ("gzip", "gzip")), "br-gzip": ("br, gzip", ("br", "gzip")), "zstd-br": ("zstd, br", ("zstd", "br")),
    "members": ("gzip, gzip", ("members", "gzip")),
}
PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "members": by_members, "br": by_tool("brotli", "-q", "5", "-w", "24", "-c"),
           "zstd": by_tool("zstd", "-q", "-c")}


@functools.cache
def bomb(name):
    """(Content-Encoding, body)."""
    label, packers = BOMBS[name]
    data = CYRILLIC + b" " * (64 * MB)
    for packer in packers:
        data = PACKERS[packer](data)
    return label, data
