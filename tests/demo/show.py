#!/usr/bin/env python3
"""Fetches each demonstration feed with curl from the origin and through utfeed, and prints both side by side.

usage: show.py ORIGIN-URL UTFEED-URL   Exit status 1 when a strict parser reads any text wrong."""
import email
import email.message
import re
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree

from feeds import FEEDS

COLUMN = 56


def curl(url):
    """(Content-Type, X-Encoding-Rule, body) of one GET."""
    answer = subprocess.run(["curl", "-sSi", "--max-time", "20", url], stdout=subprocess.PIPE, check=True).stdout
    head, _, content = answer.partition(b"\r\n\r\n")
    fields = email.message_from_bytes(head.partition(b"\r\n")[2])
    return fields["Content-Type"], fields["X-Encoding-Rule"], content


def trusting(content_type, content):
    """What a reader sees that trusts the labels: charset, then the type's old default, then the declaration, then UTF-8."""
    message = email.message.Message()
    message["Content-Type"] = content_type or ""
    declared = re.search(rb"<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)", content)
    default = {"text/xml": "us-ascii", "text/html": "windows-1252"}.get(
        message.get_content_type(), declared[1].decode("ascii") if declared else "utf-8")
    return content.decode(message.get_content_charset(default), "replace")


def visible(text, width):
    """One line of at most width columns, nothing in it that moves the cursor."""
    shown, used = "", 0
    for character in re.sub(r"\s+", " ", text):
        if unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp"):
            character = "·"
        size = 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used + size > width:
            break
        shown, used = shown + character, used + size
    return shown + " " * (width - used)


def part(text, pattern, otherwise):
    found = re.search(pattern, text, re.S)
    return found[0] if found else otherwise


def side(content_type, rule, content):
    text = trusting(content_type, content)
    return ["Content-Type: " + (content_type or "none"),
            "X-Encoding-Rule: " + rule if rule else "",
            part(text, r"^.{0,20}?<\?xml.*?\?>", text[:60]),
            part(text, r"<title>.*?</title>", text[60:160]),
            part(text, r"<description>.*?</description>", text[160:260])]


def read_by_parser(content):
    """(title, description) as a strict parser reads them."""
    try:
        channel = xml.etree.ElementTree.fromstring(content).find("channel")
    except xml.etree.ElementTree.ParseError:
        return None
    return channel.findtext("title"), channel.findtext("description")


def main(origin, proxy):
    wrong = 0
    for row in FEEDS:
        before, after = curl(origin + row.path), curl(proxy + row.path)
        right = read_by_parser(after[2]) == (row.title, row.text)
        wrong += not right
        print(f"\n{row.path}: {row.story}{'' if right else '   *** WRONG ***'}")
        print(f"  {'from the origin, read as its labels say':{COLUMN}} | through utfeed")
        for left, after_line in zip(side(*before), side(*after)):
            print(f"  {visible(left, COLUMN)} | {visible(after_line, 78).rstrip()}")
    print(f"\n{len(FEEDS) - wrong} of {len(FEEDS)} right through utfeed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
