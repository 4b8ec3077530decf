#!/usr/bin/env python3
"""Collects the texts of unpacked Debian packages: one file a language, one paragraph a line, none twice.

usage: texts.py PACKAGES-FOLDER OUTPUT-FOLDER
"""
import collections
import gzip
import html
import json
import os
import re
import struct
import sys
import unicodedata
import zipfile

MOST = 3000000          # characters of one kind of source in a language
# Languages that have texts enough without the packages in the folder "more"
LANGUAGES = '''ru uk bg sr be mk pl cs hu sk hr sl ro el tr he ar fa lt lv et vi th ja zh zh-TW ko
fr de pt it nl sv da nb fi is ca en sq es'''.split()
OTHER_NAMES = {'nb-no': 'nb', 'nb_NO': 'nb', 'no': 'nb', 'sv-se': 'sv', 'pt-br': 'pt', 'pt_BR': 'pt', 'pt-pt': 'pt', 'pt_PT': 'pt',
               'es-es': 'es', 'zh-cn': 'zh', 'zh_CN': 'zh', 'zh-tw': 'zh-TW', 'zh_TW': 'zh-TW', 'en_GB': 'en', 'en_US': 'en', 'C': 'en'}
NOT_TRANSLATED = 'en-more'
OTHER_NAMES_MORE = {'ga-ie': 'ga', 'fy-nl': 'fy', 'nn-no': 'nn', 'tg-cyrl': 'tg', 'tt-cyrl': 'tt', 'kk-cyrl': 'kk', 'ku-latn': 'ku',
                    'kmr': 'ku', 'gug': 'gn', 'ug-arab': 'ug', 'skr-arab': 'skr', 'ks-arab': 'ks', 'crh-latn': 'crh', 'en-gb': 'en',
                    'fil': 'tl'}
# Paragraphs of these languages that are all ASCII are English that nobody has translated.
WITHOUT_ASCII = '''ru uk bg sr be mk pl cs hu sk hr sl ro el tr he ar fa lt lv vi th ja zh zh-TW ko is'''.split()


def language_of(name):
    """the language of a locale's or a package's name; None: it is a variant of one that is there without it"""
    name = OTHER_NAMES.get(name, name)
    name = OTHER_NAMES_MORE.get(name.lower().replace('_', '-'), name)
    # MediaWiki's qqq is what its messages are for, in English
    return name if name in LANGUAGES or name != 'qqq' and re.fullmatch('[a-z]{2,3}(-(cyrl|latn|arab))?', name) else None


def messages(path):
    """the translations of a compiled catalogue (GNU gettext's .mo) that differ from their originals"""
    with open(path, 'rb') as f:
        data = f.read()
    if data[:4] != b'\xde\x12\x04\x95':
        return
    count, originals, translations = struct.unpack('<III', data[8:20])
    for i in range(count):
        texts = []
        for table in (originals, translations):
            length, at = struct.unpack('<II', data[table + 8 * i:table + 8 * i + 8])
            texts.append(data[at:at + length].split(b'\4')[-1].decode('utf-8', 'replace').split('\0'))
        if texts[0] != ['']:
            yield from (text for text in texts[1] if text not in texts[0])


def wiki(path):
    """the messages of MediaWiki, without its markup"""
    with open(path, encoding='utf-8') as f:
        texts = json.load(f)
    for key, text in texts.items():
        if isinstance(text, str) and not key.startswith('@'):
            for _ in range(3):
                text = re.sub(r'\{\{[^{}|]*\|?([^{}|]*)[^{}]*\}\}', r'\1', text)
            yield re.sub(r"\[\[([^][|]*\|)?([^][|]*)\]\]|\[\S+ ([^][]*)\]|'{2,}|\$\d", r'\2\3', text)


def extension(path):
    """the messages of a language pack of Firefox"""
    with zipfile.ZipFile(path) as pack:
        for name in pack.namelist():
            if not name.endswith(('.ftl', '.properties')):
                continue
            for line in pack.read(name).decode('utf-8', 'replace').split('\n'):
                value = re.match(r'\s*[\w.-]*\s*=\s*(.*)', line)
                if not line.startswith('#') and (value or line.startswith(' ')):
                    yield value.group(1) if value else line


def page(path):
    """the paragraphs of a help page, HTML or Mallard"""
    with open(path, encoding='utf-8', errors='replace') as f:
        text = re.sub(r'(?s)<(script|style|head)\b.*?</\1>', ' ', f.read())
    for part in re.split(r'(?i)</?(?:p|h\d|li|td|th|div|title|item|note|section|br)\b[^>]*>', text):
        yield html.unescape(re.sub(r'<[^>]*>', '', part))


def manual(path):
    """the paragraphs of a manual page, without requests and escapes"""
    lines = []
    with gzip.open(path) as f:
        text = f.read().decode('utf-8', 'replace')
    for line in text.split('\n') + ['.']:
        if not line.startswith(('.', "'")):
            lines.append(re.sub(r'\\\(..|\\\[\w*\]|\\f(\[\w*\]|\(..|.)|\\.', lambda m: '-' if m[0] == r'\-' else '', line))
        elif lines:
            yield ' '.join(lines)
            lines = []


def clean(text):
    """without markup, placeholders, accelerator marks, addresses and paths"""
    text = re.sub(r'<[^<>]*>', ' ', text)
    text = re.sub(r'\{[^{}]*\}|\$\(?\w+\)?|%(\d+\$)?[-+0-9.]*l*[a-zA-Z%]|&\w+;|%\d+|@\w+@', ' ', text)
    text = re.sub(r'[_~&](?=\w)|(?<=\w)~|\(_?\w\)', '', text)
    text = re.sub(r'https?://\S+|\S+@\S+|\S*[/\\]\S*', ' ', text)
    return re.sub(r'\s+', ' ', unicodedata.normalize('NFC', text)).strip()


def sources(folder):
    """(language, kind, reader, path) of every file that has text"""
    for root, _, names in os.walk(folder):
        for name in names:
            path, parts = os.path.join(root, name), os.path.join(root, name).split('/')
            if name.endswith('.mo') and 'LC_MESSAGES' in parts:
                yield language_of(parts[parts.index('LC_MESSAGES') - 1]), 'messages', messages, path
            elif name.endswith('.xpi'):
                yield language_of(re.search('l10n-([^/]*)/', path).group(1)), 'extension', extension, path
            elif name.endswith('.json') and 'i18n' in parts:
                yield language_of(name[:-len('.json')]), 'wiki', wiki, path
            elif '/help/' in path and name.endswith(('.html', '.page')):
                yield language_of(parts[parts.index('help') + 1]), 'page', page, path
            elif '/man/' in path and name.endswith('.gz'):
                yield language_of(parts[parts.index('man') + 1].split('.')[0]), 'manual', manual, path


def texts_of(language, found, english):
    """the texts of a language, none twice; those of English are not another language's"""
    texts, size = {}, collections.Counter()
    for kind, reader, path in found:
        if size[kind] > MOST:
            continue
        for text in map(clean, reader(path)):
            if len(text) < 4 or text in texts or size[kind] > MOST or not re.search(r'[^\W\d_]', text):
                continue
            if text.isascii() and (language in WITHOUT_ASCII or text in english):
                continue
            texts[text] = None
            size[kind] += len(text)
    return texts


def write(out, language, texts):
    with open(os.path.join(out, language + '.txt'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(texts) + '\n')


def main():
    folder, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    found = collections.defaultdict(list)
    for language, kind, reader, path in sorted((s for s in sources(folder) if s[0]), key=lambda s: (s[0], s[1], s[3])):
        if '/more/' not in path:
            found[language].append((kind, reader, path))
        elif language not in LANGUAGES or language == 'en':
            found[language if language != 'en' else NOT_TRANSLATED].append((kind, reader, path))
    english = texts_of('en', found['en'], {})
    english_more = {**english, **texts_of('en', found.pop(NOT_TRANSLATED), {})}
    write(out, 'en', english)
    for language in found:
        if language != 'en':
            write(out, language, texts_of(language, found[language], english_more if language not in LANGUAGES else {}))


main()
