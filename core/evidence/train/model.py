"""What a model of a language is made of: words, letters and their classes, and the costs of pairs of classes.

A model says how much each letter costs behind the one before it: the negative logarithm of its probability, in sixths of a nat. Letters
of small and capital case are one.
"""
import collections
import math
import os
import re
import unicodedata

UNIT = 6                # costs are in sixths of a nat
TOP = 62                # the highest cost in a row, so that each is one printable character
FIRST_CHARACTER = 0x40  # the one that stands for 0
# A word counts by its number to this power: manuals repeat their own words more than other texts do.
WORD_POWER = 0.7
CLASH = 24

LATIN = 'en fr de es pt it nl sv da nb fi is ca sq pl cs sk hu hr sl ro tr lt lv et vi'.split()
CYRILLIC = 'ru uk bg sr be mk'.split()
# Languages with few feeds
LATIN_FEW = 'cy ga gd br eu gl oc af nn lb fo fy mt eo ku hsb'.split()
CYRILLIC_FEW = 'kk tt ky ba tg'.split()
RARITY = 12             # what it costs that few feeds are in a language or in one without a model
SCRIPT = {**{tag: 'LATIN' for tag in LATIN + LATIN_FEW}, **{tag: 'CYRILLIC' for tag in CYRILLIC + CYRILLIC_FEW},
          'el': 'GREEK', 'he': 'HEBREW', 'yi': 'HEBREW', 'ar': 'ARABIC', 'fa': 'ARABIC', 'ur': 'ARABIC', 'th': 'THAI'}
FEW = LATIN_FEW + CYRILLIC_FEW + ['yi', 'ur']
# Models of the languages of a script that have none of their own: a language that each is like
BACKGROUNDS = {'LATIN': 'oc nds sw dsb'.split(), 'CYRILLIC': ['ru', 'kk'], 'ARABIC': ['fa']}
POOL_CODECS = 'cp1252 cp1250 cp1254 cp1257 iso8859-14 iso8859-3 cp1251 ptcp154 cp1255 cp1256'.split()
RANGES = {'LATIN': [(0xC0, 0x24F), (0x300, 0x323), (0x1E00, 0x1EFF)], 'CYRILLIC': [(0x400, 0x52F)], 'GREEK': [(0x370, 0x3FF)],
          'HEBREW': [(0x590, 0x5FF)], 'ARABIC': [(0x600, 0x6FF)], 'THAI': [(0xE00, 0xE7F)]}
# A letter is the language's own from this share of all its letters beyond ASCII on.
OWN = {'LATIN': 0.002}
OWN_ELSE = 0.0003
OWN_OF_ALL = 0.00002    # and of all its letters
CODECS = '''cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 iso8859-2 iso8859-3 iso8859-4 iso8859-5
iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u cp866
mac-cyrillic mac-roman mac-latin2 mac-turkish mac-croatian mac-romanian cp437 cp737 cp775 cp850 cp852 cp855 cp857 cp860
cp861 cp863 cp865 cp869 ptcp154 koi8-t kz1048'''.split()
OPEN, CLOSE = '“„«‘‚‹¿¡「『（【《', '”»’›…‟」』）】》、。，'
TONES = '\u0300\u0301\u0303\u0309\u0323'


def script_of(c):
    if c in '×÷':
        return None
    return next((s for s, ranges in RANGES.items() if any(a <= ord(c) <= b for a, b in ranges)), None)


def fold(c):
    """the small letter; a dotted capital I is a letter of its own"""
    small = c.lower()
    return small if len(small) == 1 else c


def all_letters():
    """the letters of each script that some single-byte charset has"""
    seen = set('șț')
    for codec in CODECS:
        for byte in range(128, 256):
            c = bytes([byte]).decode(codec, 'ignore')
            if c and script_of(c):
                seen.add(fold(c))
    return {s: {c for c in seen if script_of(c) == s} for s in RANGES}


def as_windows_1258(text):
    """Vietnamese as windows-1258 writes it: letters with the mark of their own, then the tone"""
    out = ''
    for c in unicodedata.normalize('NFC', text):
        if c.encode('cp1258', 'ignore'):
            out += c
            continue
        marks = unicodedata.normalize('NFD', c)
        tones = ''.join(m for m in marks[1:] if m in TONES)
        out += unicodedata.normalize('NFC', marks[0] + ''.join(m for m in marks[1:] if m not in tones)) + tones
    return out


def typographic(word):
    """the word with the quotes and dashes of news, where documentation has those of ASCII"""
    word = re.sub(r"(?<=\w)['\"]", '’', re.sub(r'"(?=\w)', '“', word))
    return re.sub(r'(?<!\w)-|-(?!\w)', '–', word)


def words_of(folder, tag):
    words = collections.Counter()
    with open(os.path.join(folder, tag + '.txt'), encoding='utf-8') as f:
        for line in f:
            if line.isascii() and SCRIPT.get(tag, 'LATIN') != 'LATIN':
                continue
            if tag == 'vi':
                line = as_windows_1258(line)
            if tag == 'ro':
                line = line.translate(str.maketrans('șțȘȚ', 'şţŞŢ'))
            words.update(line.split())
    for word, n in list(words.items()):
        if typographic(word) != word:
            words[typographic(word)] += n
    return words


def letter_shares(words, letters):
    """what share of the letters beyond ASCII each is, and what share they are of all letters"""
    n, ascii_letters = collections.Counter(), 0
    for word, count in words.items():
        for c in word:
            if fold(c) in letters:
                n[fold(c)] += count ** WORD_POWER
            elif c.isascii() and c.isalpha():
                ascii_letters += count ** WORD_POWER
    total = sum(n.values())
    return {c: k / total for c, k in n.items()}, total / (total + ascii_letters)


class Model:
    """One language: its classes of letters and the costs of their pairs."""

    def __init__(self, tag, words, letters):
        self.tag, self.script, self.rarity = tag, SCRIPT[tag], RARITY if tag in FEW else 0
        shares, of_all = letter_shares(words, letters[self.script])
        least = max(OWN.get(self.script, OWN_ELSE), OWN_OF_ALL / of_all)
        self.name_classes(sorted((c for c, s in shares.items() if s > least), key=lambda c: -shares[c]), [])
        self.count(words)

    def name_classes(self, own, shared):
        """the classes: break, ASCII letters, own letters (most frequent first), shared ones (lists), five others"""
        self.ascii = 26 if self.script == 'LATIN' else 1
        self.own = sorted(own[:TOP + 1 - 6 - self.ascii - len(shared)])
        self.size = 1 + self.ascii + len(self.own) + len(shared) + 5
        self.index = {c: 1 + self.ascii + i for i, c in enumerate(self.own)}
        for i, sharers in enumerate(shared):
            self.index.update({c: 1 + self.ascii + len(self.own) + i for c in sharers if c not in self.index})
        self.open, self.close, self.sign, self.other, self.alien = range(self.size - 5, self.size)

    def class_of(self, c):
        if ord(c) < 128:
            return 0 if not c.isalpha() else ord(c.lower()) - 96 if self.script == 'LATIN' else 1
        f = fold(c)
        if f in self.index:
            return self.index[f]
        if c in OPEN or c in CLOSE:
            return self.open if c in OPEN else self.close
        if c == '\u00a0':
            return 0
        if script_of(c) == self.script:
            return self.other
        return self.alien if script_of(c) or unicodedata.category(c)[0] == 'L' and c not in 'ªº' else self.sign

    def count(self, words):
        self.pairs = [[0.0] * self.size for _ in range(self.size)]
        for word, n in words.items():
            last = 0
            for c in word:
                k = self.class_of(c)
                self.pairs[last][k] += n ** WORD_POWER
                last = k
            self.pairs[last][0] += n ** WORD_POWER

    def rows(self, pooled):
        """the cost of each class behind each; pairs that were rarely seen lean on the class alone (Witten and Bell)"""
        total = sum(map(sum, self.pairs))
        alone = [sum(row[j] for row in self.pairs) / total + 2e-6 for j in range(self.size)]
        for i, row in enumerate(self.pairs):
            lean = 3 + sum(1 for n in row if n)
            yield [min(TOP, max(0, round(-math.log((row[j] + lean * alone[j]) / (sum(row) + lean)) * UNIT) + self.clash(i, j)))
                   for j in range(self.size)]

    def clash(self, i, j):
        """what it costs more that an ASCII letter and one of another script stand in one word"""
        letters = range(2, self.open)
        return CLASH if self.ascii == 1 and (i == 1 and j in letters or j == 1 and i in letters) else 0
