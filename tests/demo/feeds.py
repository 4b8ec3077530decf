"""The demonstration's feeds: readable text here, mislabelled bytes on the wire. One row a feed."""
import collections
from xml.sax.saxutils import quoteattr

Feed = collections.namedtuple("Feed", "path story content_type encoding declared language title text before item")


def feed(path, story, content_type, encoding, declared, language, title, text, before="", item=""):
    return Feed(path, story, content_type, encoding, declared, language, title, text, before, item)


FEEDS = [
    feed("/russian.xml", "windows-1251, labelled iso-8859-1 by the server", "application/rss+xml; charset=iso-8859-1",
         "cp1251", "windows-1251", "ru", "Погода на завтра", "Ночью небольшой дождь, днём до двенадцати градусов."),
    feed("/polish.xml", "UTF-16LE without a byte order mark, no charset", "application/rss+xml",
         "utf-16-le", "utf-16", "pl", "Zażółć gęślą jaźń", "Biblioteka jest czynna również w sobotę."),
    feed("/japanese.xml", "Shift_JIS, labelled utf-8", "application/rss+xml; charset=utf-8",
         "cp932", "Shift_JIS", "ja", "図書館からのお知らせ", "来週の月曜日は休館です。本の返却は入口の箱へどうぞ。"),
    feed("/bulgarian.xml", "UTF-8 with a stale windows-1251 declaration", "application/xml",
         "utf-8", "windows-1251", "bg", "Новини от града", "Мостът отново е отворен за движение."),
    feed("/french.xml", "EBCDIC (ibm037)", "application/xml",
         "cp037", "ibm037", "fr", "Été à la mer", "Le marché a déjà ouvert près de l'église."),
    feed("/ukrainian.xml", "KOI8-U, served as text/html", "text/html",
         "koi8-u", "koi8-u", "uk", "Їжа та здоров'я", "Свіжий хліб щоранку о сьомій."),
    feed("/greek.xml", "blank lines, then control characters a parser refuses", "application/rss+xml; charset=utf-8",
         "utf-8", "utf-8", "el", "Νέα της γειτονιάς", "Το φαρμακείο άλλαξε ώρες λειτουργίας.", "\r\n \n", " \x0b\x1f&#8;"),
    feed("/chinese.xml", "GBK characters, labelled gb2312", "text/xml; charset=gb2312",
         "gbk", "gb2312", "zh", "镕城早报喆新闻", "今天上午图书馆开放，欢迎大家来看書。"),
    feed("/korean.xml", "UTF-8, but text/xml without charset once meant us-ascii", "text/xml",
         "utf-8", "utf-8", "ko", "동네 소식", "도서관은 이번 주말에도 문을 엽니다."),
    feed("/czech.xml", "windows-1250, labelled iso-8859-1 by the server", "text/xml; charset=iso-8859-1",
         "cp1250", "windows-1250", "cs", "Příliš žluťoučký kůň", "Vlak přijede o deset minut později."),
]


def subscriptions(host):
    """The feeds as a reader's list of subscriptions (OPML 2.0)."""
    outlines = "".join(f"<outline type=\"rss\" text={quoteattr(row.title)} xmlUrl={quoteattr(f'http://{host}{row.path}')}/>\n" for row in FEEDS)
    return f"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\"><head/><body>\n{outlines}</body></opml>\n"


PAGE = "<!DOCTYPE html>\n<html lang=\"en\"><title>A page</title><p>Not a feed: passes byte for byte.</p></html>\n"


def body(row):
    """The bytes that the origin sends for a row."""
    declaration = f"<?xml version=\"1.0\" encoding=\"{row.declared}\"?>\n" if row.declared else ""
    return (f"{row.before}{declaration}<rss version=\"2.0\"><channel><title>{row.title}</title><language>{row.language}</language>"
            f"<link>http://feeds.example{row.path}</link><description>{row.text}</description>"
            f"<item><title>{row.title}{row.item}</title><description>{row.text}</description></item></channel></rss>\n"
            ).encode(row.encoding)
