"""Feeds of our own writing in many encodings, each with the UTF-8 it must arrive as; and readers to hold answers against."""
import re
import xml.etree.ElementTree as ElementTree
from xml.parsers import expat

UTF_8_TYPE = "application/xml; charset=utf-8"

RUSSIAN = "Ежедневные новости: съешь ещё этих мягких булочек"
CHINESE = "每日新闻 总理朱镕基"
JAPANESE = "毎日のニュース、表示できますか"
KOREAN = "날마다 새로운 소식"
FRENCH = "Le café déçu d’un été à Besançon — 12 €"
GREEK = "Καθημερινές ειδήσεις"


def rss(text, declared=None, version="1.0", items=3):
    """An RSS document saying text; declared is its encoding declaration, None for no XML declaration at all, "" for one
    without an encoding."""
    head = ""
    if declared is not None:
        head = f'<?xml version="{version}"' + (f' encoding="{declared}"' if declared else "") + "?>\n"
    entries = "".join(f"<item><title>{text} {number}</title><guid>{number}</guid></item>\n" for number in range(items))
    return f'{head}<rss version="2.0"><channel><title>{text}</title>\n{entries}</channel></rss>\n'


def utf_8(text):
    """What a document must arrive as: its declaration's encoding replaced where it is not UTF-8, all else as it was."""
    return re.sub(r"""^(<\?xml[^>]*?encoding=(["']))(?!(?i:utf-8)\2)[^"']*\2""", r"\1UTF-8\2", text, count=1).encode()


def swapped(data, order):
    """UCS-4 big-endian data in another octet order: "2143" swaps the octets of each half, "3412" the halves."""
    index = [int(digit) - 1 for digit in order]
    return b"".join(bytes(data[at + i] for i in index) for at in range(0, len(data), 4))


def titles(xml, encoding=None):
    """The text of every title, as a parser sees it that takes encoding (HTTP's word) or else the document's own."""
    parser, found, inside = expat.ParserCreate(encoding), [], []
    parser.StartElementHandler = lambda name, _: (inside.append(name), name == "title" and found.append(""))
    parser.EndElementHandler = lambda _: inside.pop()

    def characters(data):
        if inside[-1] == "title":
            found[-1] += data
    parser.CharacterDataHandler = characters
    parser.Parse(xml, True)
    return found


def well_formed(xml):
    return ElementTree.fromstring(xml) is not None


def rule(path, charset, was=None):
    return re.compile(rf"auto:{path};charset={charset}" + (rf";was={was}" if was else "") + r"\Z")


def feed(name, content_type, data, text, expected):
    """One row: what the origin sends and what must come out. text: the document in characters, with the declaration it had."""
    return {"name": name, "type": content_type, "data": data, "out": utf_8(text), "rule": expected}


BIG = 160_000       # bytes that reach well past sniff-bytes, so that the head is out before the body ends


def big(codec="windows-1251", declared="windows-1251", size=BIG):
    """A feed of at least size bytes in codec, and what it must arrive as."""
    text = rss(RUSSIAN, declared, items=size // 80)
    data = text.encode(codec)
    assert len(data) >= size
    return data, utf_8(text)


def plain(text, codec, declared):
    return rss(text, declared).encode(codec)


SMALL_TEXT = rss(RUSSIAN, "windows-1251")
SMALL = SMALL_TEXT.encode("windows-1251")
SMALL_OUT = utf_8(SMALL_TEXT)

# name, Content-Type, bytes, characters, X-Encoding-Rule
FEEDS = [
    feed("windows-1251 declared", "application/xml", SMALL, SMALL_TEXT, rule("2.0/1.2", "windows-1251")),
    feed("windows-1251 declared, labelled iso-8859-1", "text/xml; charset=iso-8859-1", SMALL, SMALL_TEXT,
         rule("2.5/decl", "windows-1251", "(iso-8859-1|windows-1252)")),
    feed("windows-1251 in header and declaration", "application/rss+xml; charset=windows-1251", SMALL, SMALL_TEXT,
         rule("2.5", "windows-1251")),
    feed("windows-1251 in the header alone", "application/rss+xml; charset=Windows-1251",
         rss(RUSSIAN).encode("windows-1251"), rss(RUSSIAN), rule("2.5", "windows-1251")),
    feed("koi8-r as text/html", "text/html", plain(RUSSIAN, "koi8-r", "koi8-r"), rss(RUSSIAN, "koi8-r"),
         rule(r"2\.6/lenient-html.*/decl", "koi8-r", "us-ascii")),
    feed("utf-8 undeclared text/xml", "text/xml", rss(RUSSIAN).encode(), rss(RUSSIAN),
         rule(r"2\.1/utf8", "utf-8", "us-ascii")),
    feed("utf-8 under a stale windows-1251 declaration", "application/xml", plain(RUSSIAN, "utf-8", "windows-1251"),
         rss(RUSSIAN, "windows-1251"), rule(r"2\.0/1\.2/utf8", "utf-8", "windows-1251")),
    feed("utf-8 with a mark, labelled iso-8859-1", "application/xml; charset=iso-8859-1",
         plain(RUSSIAN, "utf-8-sig", "utf-8"), rss(RUSSIAN, "utf-8"),
         rule(r"2\.5/bom", "utf-8", "(iso-8859-1|windows-1252)")),
    feed("charset=utf8", "text/xml; charset=utf8", plain(FRENCH, "utf-8", "utf8"), rss(FRENCH, "utf8"),
         rule(r"2\.5", "utf-8")),
    feed("utf-16le with a mark", "application/xml", b"\xff\xfe" + plain(CHINESE, "utf-16-le", "UTF-16"),
         rss(CHINESE, "UTF-16"), rule(r"2\.0/1\.6\+", "utf-16le")),
    feed("utf-16be with a mark, no declaration", "application/xml", b"\xfe\xff" + rss(GREEK).encode("utf-16-be"),
         rss(GREEK), rule(r"2\.0/1\.6\+", "utf-16be")),
    feed("utf-16le without a mark", "application/xml", plain(CHINESE, "utf-16-le", "UTF-16"), rss(CHINESE, "UTF-16"),
         rule(r"2\.0/1\.1", "utf-16le")),
    feed("utf-16, the mark's order", "text/xml; charset=utf-16", b"\xff\xfe" + plain(GREEK, "utf-16-le", "utf-16"),
         rss(GREEK, "utf-16"), rule(r"2\.3", "utf-16le")),
    feed("shift_jis labelled utf-8", "application/xml; charset=utf-8", plain(JAPANESE, "cp932", "Shift_JIS"),
         rss(JAPANESE, "Shift_JIS"), rule(r"2\.5/decl", "shift_jis", "utf-8")),
    feed("euc-jp", "text/xml; charset=euc-jp", plain(JAPANESE, "euc-jp", "euc-jp"), rss(JAPANESE, "euc-jp"),
         rule(r"2\.5", "euc-jp")),
    feed("iso-2022-jp", "text/xml; charset=iso-2022-jp", plain(JAPANESE, "iso-2022-jp", "iso-2022-jp"),
         rss(JAPANESE, "iso-2022-jp"), rule(r"2\.5", "iso-2022-jp")),
    feed("gbk labelled gb2312", "text/xml; charset=gb2312", plain(CHINESE, "gbk", "gb2312"), rss(CHINESE, "gb2312"),
         rule(r"2\.5", "(gbk|gb18030)")),
    feed("big5", "application/rss+xml", plain("每日新聞", "big5", "big5"), rss("每日新聞", "big5"), rule(r"2\.0/1\.2", "big5")),
    feed("euc-kr", "application/rss+xml", plain(KOREAN, "euc-kr", "euc-kr"), rss(KOREAN, "euc-kr"),
         rule(r"2\.0/1\.2", "euc-kr")),
    feed("iso-8859-1 means windows-1252", "text/xml; charset=iso-8859-1", plain(FRENCH, "windows-1252", "iso-8859-1"),
         rss(FRENCH, "iso-8859-1"), rule(r"2\.5", "(windows-1252|iso-8859-1)")),
    feed("ebcdic 500", "application/xml", plain(FRENCH.replace("€", "").replace("’", "'").replace("—", "-"), "cp500", "IBM500"),
         rss(FRENCH.replace("€", "").replace("’", "'").replace("—", "-"), "IBM500"),
         re.compile(r"auto:2\.0/1\.\d\+?(/family)?;charset=ibm500(;was=utf-8)?\Z")),
    feed("ucs-4, order 2143", "application/xml", swapped(b"\0\0\xfe\xff" + plain(GREEK, "utf-32-be", "UCS-4"), "2143"),
         rss(GREEK, "UCS-4"), re.compile(r"auto:2\.0/1\.\d\+?(/bom|/family)?;charset=x-iso-10646-ucs-4-2143(;was=\S+)?\Z")),
    feed("utf-32le with a mark", "text/xml", b"\xff\xfe\0\0" + plain(GREEK, "utf-32-le", "UTF-32"), rss(GREEK, "UTF-32"),
         re.compile(r"auto:\S*/bom;charset=utf-32le;was=\S+\Z")),
    feed("ascii alone", "text/xml", rss("Daily news").encode(), rss("Daily news"), rule(r"2\.1", "us-ascii")),
    feed("a feed as octet-stream", "application/octet-stream", SMALL, SMALL_TEXT,
         re.compile(r"auto:2\.6/lenient-decl;charset=windows-1251\Z")),
    feed("a feed as text/plain", "text/plain; charset=utf-8", rss(GREEK).encode(), rss(GREEK),
         re.compile(r"auto:2\.6/\S+;charset=utf-8\Z")),
    feed("a feed without a type", None, SMALL, SMALL_TEXT,
         re.compile(r"auto:2\.6/lenient-decl;charset=windows-1251\Z")),
    feed("quoted charset", "text/xml; charset='koi8-r'", rss(RUSSIAN).encode("koi8-r"), rss(RUSSIAN), rule(r"2\.5", "koi8-r")),
]
