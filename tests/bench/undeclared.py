"""Part undeclared: undeclared feeds beside declared ones and UTF-8, 20 KB, not stored, none of which comes twice."""
import contextlib
import os

import drive
import results
import servers
import texts
from results import against

SIZE = 20_000
DECLARED, UTF_8 = "declared", "in UTF-8"
LANGUAGES = (("ru", "windows-1251"), ("fr", "windows-1252"), ("ja", "shift_jis"), ("ko", "euc-kr"))
BAR = .67                              # an undeclared feed may take 1.5 times a declared one
URLS = 1_000_000


def ways(which):
    """(contender, body) of one language."""
    text = texts.find(*which)
    coded, plain = texts.feed(text, SIZE)
    declaration = f' encoding="{text.declared}"'.encode()
    assert coded.count(declaration) == 1
    yield results.OURS, coded.replace(declaration, b"")
    yield DECLARED, coded
    yield UTF_8, plain


def origin_files(setup):
    folder = os.path.join(setup.folder, "undeclared")
    os.makedirs(folder, exist_ok=True)
    for which in LANGUAGES:
        for contender, body in ways(which):
            name = path(which, contender)
            with open(os.path.join(folder, name), "wb") as out:
                out.write(body)
            servers.write(folder, name + ".head", "Content-Type: application/rss+xml\r\nCache-Control: no-store\r\n")
    return folder


def path(which, contender):
    return f"{which[0]}-{contender.replace(' ', '-')}"


def compare(setup, server, which, table):
    for name, seconds in drive.turns(setup, (results.OURS, DECLARED, UTF_8)):
        figures = drive.attempt(setup, server, lambda: drive.run(setup, server, "/" + path(which, name), "-c", 16, "-n", URLS, seconds=seconds))
        if figures:
            table.row(f"{which[0]}, {which[1]}", "less", [against(DECLARED, BAR)]).add(name, figures["cpu"])


def run(setup):
    table = results.Table("undeclared", "CPU per undeclared feed", "us", text="16 connections, 20 KB, nothing stored; the same feed with a "
                          "declaration, and in UTF-8; no body comes twice")
    folder = origin_files(setup)
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(folder))
        server = setup.start(stack, origin, [(results.OURS, None, servers.utfeed(setup.utfeed))])[results.OURS]
        for which in LANGUAGES:
            compare(setup, server, which, table)
    yield table
