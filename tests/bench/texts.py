"""Feeds to measure on: random words of real languages, the same on every run, in any encoding and size. Each has a number, which the origin
changes (origin.c)."""
import collections
import os
import random

WORDS = {
    "ru": "новости правительство сегодня рынок президент заявил экономика город дорога погода учёные исследование команда победа закон "
          "решение суд выставка театр премьера книга область жители метро поезд рост рубль банк ставка сеть журналист однако также".split(),
    "fr": "aujourd’hui gouvernement économie marché société président déclaré région été élève recherche équipe théâtre cinéma événement "
          "météo forêt pêche hôtel fenêtre très après déjà être même où étude données sécurité réseau énergie prévu garçon leçon".split(),
    "en": "news government today market president announced economy country road weather scientists research team victory law decision "
          "court exhibition theatre premiere book region residents train prices growth bank rate network journalist however also".split(),
    "ja": "日本 東京 政府 発表 経済 市場 上昇 首相 国会 審議 研究 大学 開発 技術 企業 試合 優勝 選手 映画 音楽 小説 天気 台風 地震 電車 空港 旅行 "
          "ニュース データ ネットワーク について として された している により しかし また は が を に で と 。 、".split(),
    "zh": "中国 北京 政府 宣布 经济 市场 增长 总理 会议 法律 研究 大学 技术 企业 发布 比赛 冠军 电影 音乐 小说 天气 台风 铁路 机场 旅游 城市 教育 "
          "软件 安全 数据 网络 新闻 记者 表示 认为 但是 因为 以及 关于 已经 需要 的 了 在 是 和 。 ，".split(),
    "tw": "臺北 政府 宣布 經濟 市場 成長 總統 會議 法律 研究 大學 技術 企業 發表 比賽 冠軍 電影 音樂 小說 天氣 颱風 鐵路 機場 旅遊 城市 教育 軟體 "
          "安全 資料 網路 新聞 記者 表示 認為 但是 因為 以及 關於 已經 需要 的 了 在 是 和 。 ，".split(),
    "ko": "한국 서울 정부 발표 경제 시장 상승 국회 법안 연구 대학교 개발 기술 기업 실적 경기 우승 대표팀 영화 음악 소설 날씨 태풍 지진 열차 공항 "
          "여행 서비스 데이터 보안 뉴스 기자 보도 대해 위해 그러나 또한 따르면 있다 했다 통해 이날".split(),
}
UNSPACED = {"ja", "zh", "tw"}
ITEMS = 300

Text = collections.namedtuple("Text", "language charset codec declared mark")
TEXTS = [Text(*row) for row in (
    ("ru", "windows-1251", "cp1251", "windows-1251", b""),
    ("ru", "koi8-r", "koi8-r", "KOI8-R", b""),
    ("fr", "windows-1252", "cp1252", "ISO-8859-1", b""),
    ("ja", "shift_jis", "cp932", "Shift_JIS", b""),
    ("ja", "euc-jp", "euc-jp", "EUC-JP", b""),
    ("ja", "iso-2022-jp", "iso-2022-jp", "ISO-2022-JP", b""),
    ("zh", "gb18030", "gb18030", "GB18030", b""),
    ("tw", "big5", "big5", "Big5", b""),
    ("ko", "euc-kr", "euc-kr", "EUC-KR", b""),
    ("ru", "utf-16le", "utf-16-le", "UTF-16", b"\xff\xfe"),
    ("ja", "utf-16be", "utf-16-be", "UTF-16", b"\xfe\xff"),
    ("ru", "utf-8", "utf-8", "UTF-8", b""),
    ("ja", "utf-8", "utf-8", "UTF-8", b""),
    ("en", "utf-8", "ascii", "UTF-8", b""),
)]


def sentence(rng, language, count):
    text = ("" if language in UNSPACED else " ").join(rng.choice(WORDS[language]) for _ in range(count))
    return text[:1].upper() + text[1:]


def item(rng, language, number):
    title = sentence(rng, language, rng.randint(5, 11))
    paragraphs = "".join(f"<p>{sentence(rng, language, rng.randint(14, 34))}.</p>" for _ in range(rng.randint(1, 4)))
    return (f"  <item>\n   <title>{title}</title>\n   <link>https://news.example.com/articles/2026/{number}?utm_source=rss&amp;utm_medium=feed"
            f"</link>\n   <guid isPermaLink=\"false\">urn:uuid:{rng.getrandbits(32):08x}-4000-8000-{rng.getrandbits(48):012x}</guid>\n"
            f"   <pubDate>Fri, 20 Nov 2026 {rng.randint(10, 23)}:{rng.randint(10, 59)}:00 GMT</pubDate>\n"
            f"   <description><![CDATA[{paragraphs}<img src=\"https://cdn.example.com/i/{number}.jpg\" width=\"640\" alt=\"{title}\"/>]]>"
            "</description>\n  </item>\n")


def feed(text, size):
    """(the feed in its encoding, about size bytes; the same in UTF-8, as it must arrive)."""
    rng = random.Random(text.language)
    items = [item(rng, text.language, number) for number in range(ITEMS)]
    pairs = [(one.encode(text.codec), one.encode()) for one in items]
    title = sentence(rng, text.language, 4)
    head = f'?>\n<rss version="2.0">\n <channel>\n  <title>{title}</title>\n  <link>https://news.example.com/?n=00000000</link>\n'
    tail = " </channel>\n</rss>\n"
    coded = [text.mark, (f'<?xml version="1.0" encoding="{text.declared}"' + head).encode(text.codec)]
    plain = [('<?xml version="1.0" encoding="UTF-8"' + head).encode()]
    room = size - sum(map(len, coded)) - len(tail.encode(text.codec))
    at = 0
    while (one := pairs[at % ITEMS]) and len(one[0]) <= room:
        coded.append(one[0])
        plain.append(one[1])
        room -= len(one[0])
        at += 1
    return b"".join((*coded, tail.encode(text.codec))), b"".join((*plain, tail.encode()))


def name(text, size):
    return f"{text.language}-{'ascii' if text.codec == 'ascii' else text.charset}-{size}"


def find(language, charset):
    return next(text for text in TEXTS if (text.language, text.charset) == (language, charset))


def write(folder, text, label, size):
    """The feed as a file; its path."""
    path = os.path.join(folder, name(text, label))
    if not os.path.exists(path):
        with open(path, "wb") as out:
            out.write(feed(text, size)[0])
    return path
