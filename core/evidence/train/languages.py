#!/usr/bin/env python3
"""Makes letters.def, languages.def and han.def in core/evidence of the texts that texts.py collected (README beside this file).

usage: languages.py TEXTS-FOLDER OUTPUT-FOLDER
"""
import collections
import math
import os
import sys

import background
from model import BACKGROUNDS, FIRST_CHARACTER, RANGES, SCRIPT, TOP, UNIT, Model, all_letters, letter_shares, script_of, words_of

# Languages of ideographs and syllables, and how many of their most frequent characters are told apart
HAN = {'zh': 2200, 'zh-TW': 2200, 'ja': 1800, 'ko': 1500}
HAN_POWER = 0.8
FIRST_LETTER = 40       # TOKEN_LETTER of letters.h
NO_POOL = ['vi', 'ase']     # in Sign Writing; letters with the tone behind them


def text_of(values):
    """numbers as a C string"""
    assert all(0 <= v <= TOP for v in values)
    return '"' + ''.join(chr(FIRST_CHARACTER + v) for v in values).replace('\\', '\\\\') + '"'


def write_letters(path, letters, pooled):
    every = sorted((ord(c), s) for s in RANGES for c in letters[s])
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* LETTER(script, code point, cost): every letter beyond ASCII that some single-byte charset has, in the order of\n'
                ' * its code points, and what it costs as a stranger in a language of its script. Made by train/languages.py. */\n')
        for code, s in every:
            f.write(f'LETTER({s}, 0x{code:04X}, {round(-math.log((pooled[s][chr(code)] + 1e-4) / 1.01) * UNIT)})\n')
    return [chr(code) for code, s in every]


def pool_shares(shares):
    """what share of all letters beyond ASCII each is, every language counting alike"""
    pooled = collections.Counter()
    for one in shares:
        for c, share in one.items():
            pooled[c] += share / len(shares)
    return pooled


def write_languages(path, order, models, pooled):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* LANGUAGE(id, tag, script, rarity, number of classes, of own letters among them, class of each token, rows of\n'
                ' * costs): how letters follow each other (language.h). Made by train/languages.py; train/README names the texts. */\n')
        for model in models:
            classes = [0] + ([i if model.ascii == 26 else 1 for i in range(1, 27)])
            classes += [model.open, model.close] + [model.sign] * 4 + [model.alien, model.alien, model.sign, 0]
            classes += [model.sign] * (FIRST_LETTER - len(classes))
            classes += [model.index.get(c, model.other if script_of(c) == model.script else model.alien) for c in order]
            text = [text_of(classes[i:i + 100]) for i in range(0, len(classes), 100)]
            name = model.tag.upper().replace('-', '_')
            f.write(f'LANGUAGE({name}, "{model.tag}", {model.script}, {model.rarity}, {model.size}, {len(model.own)},\n\t'
                    + '\n\t'.join(text) + ',\n\t')
            f.write('\n\t'.join(text_of(row) for row in model.rows(pooled[model.script])) + ')\n')


def write_han(path, folder):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('/* HAN(id, tag, { code point, cost }...): the most frequent characters of a language that is written in\n'
                ' * ideographs or syllables, in the order of code points. Made by train/languages.py. */\n')
        for tag, limit in HAN.items():
            n = collections.Counter()
            with open(os.path.join(folder, tag + '.txt'), encoding='utf-8') as text:
                for line in text:
                    n.update(c for c in line if 0x2000 < ord(c) < 0x10000 or c in '·×')
            n = {c: k ** HAN_POWER for c, k in n.items()}
            total = sum(n.values())
            top = sorted(sorted(n, key=lambda c: (-n[c], c))[:limit])
            rows = [' '.join(f'{{ 0x{ord(c):04X}, {min(255, round(-math.log(n[c] / total) * UNIT))} }},' for c in top[i:i + 7])
                    for i in range(0, len(top), 7)]
            f.write(f'HAN({tag.upper().replace("-", "_")}, "{tag}",\n\t' + '\n\t'.join(rows).rstrip(',') + ')\n')


def script_of_words(words):
    """the script of most letters, and how many letters of it there are"""
    n = collections.Counter()
    for word, count in words.items():
        for c in word:
            if c.isalpha():
                n['LATIN' if c.isascii() else script_of(c)] += count
    return n.most_common(1)[0] if n else (None, 0)


def read_pools(folder, modelled):
    """words of the languages of each script that has background models, with those that have a model of their own"""
    words = collections.defaultdict(dict)
    for tag in sorted(name[:-len('.txt')] for name in os.listdir(folder) if name.endswith('.txt')):
        if tag in HAN or tag in NO_POOL:
            continue
        found = modelled[tag] if tag in modelled else words_of(folder, tag)
        script, n = script_of_words(found)
        if script in BACKGROUNDS and n >= background.LEAST:
            words[script][tag] = found
    return words


def main():
    folder, out = sys.argv[1:]
    letters = all_letters()
    words = {tag: words_of(folder, tag) for tag in SCRIPT}
    models = [Model(tag, words[tag], letters) for tag in SCRIPT]
    pooled = {s: pool_shares([letter_shares(words[tag], letters[s])[0] for tag in SCRIPT if SCRIPT[tag] == s]) for s in RANGES}
    for script, found in read_pools(folder, words).items():
        pool = background.Pool(script, found, letters[script])
        pooled[script] = pool_shares([pooled[script], pool_shares(pool.letter_shares.values())])
        models += pool.models(BACKGROUNDS[script])
    order = write_letters(os.path.join(out, 'letters.def'), letters, pooled)
    write_languages(os.path.join(out, 'languages.def'), order, models, pooled)
    write_han(os.path.join(out, 'han.def'), folder)


if __name__ == '__main__':
    main()
