"""Models of text in languages that have none of their own: what is common to the languages of a script."""
import collections
import math
import unicodedata

import model

LEAST = 4000            # a language of fewer letters says nothing
FULL = 20000            # one of more says no more than this
ROUNDS = 12             # of assigning languages to their likest model
# which part of a language's letters a charset has to have; feeds in Persian write other letters for some, texts do not
CARRIED = {'LATIN': 0.97, 'CYRILLIC': 0.97, 'ARABIC': 0.75}
LEAN, LEAN_LEAST = 0.7, 0.06
VOWELS = 'aeiouyæœøıƏəаеиоуыэюяіөү'
# What letters that Unicode does not decompose are like
LIKE = dict(zip('æœøđðþßħıłŋŧəƒ', 'aooddtshilntef')) | dict(zip('қғңөүұһәҗҳҷҝҹїєўђћљњџґѓќйё', 'кгноуухажхчкчіеудћлнџггкие'))


def base_of(c):
    """the letter without its mark"""
    return LIKE.get(c) or unicodedata.normalize('NFD', c)[0]


def shared_kinds(script, letters):
    """the letters with a mark that have no class of their own: vowels and consonants"""
    if script != 'LATIN':
        return []
    marked = sorted(c for c in letters if not unicodedata.combining(c))
    return [[c for c in marked if base_of(c) in VOWELS], [c for c in marked if base_of(c) not in VOWELS]]


def is_carried(words, script):
    """whether one of the charsets of feeds has nearly all letters of a language"""
    n = collections.Counter()
    for word, count in words.items():
        n.update({c: count for c in word if not c.isascii() and unicodedata.category(c)[0] in 'LM'})
    least = CARRIED[script] * sum(n.values())
    return any(sum(k for c, k in n.items() if c.encode(codec, 'ignore')) >= least for codec in model.POOL_CODECS)


class Pool:
    """The languages of a script: what share of its text each pair of classes is, in each language."""

    def __init__(self, script, words, letters):
        self.script, self.letters = script, letters
        words = {tag: w for tag, w in words.items() if is_carried(w, script)}
        self.letter_shares = {tag: model.letter_shares(w, letters)[0] for tag, w in words.items()}
        mean = collections.Counter()
        for shares in self.letter_shares.values():
            for c, share in shares.items():
                mean[c] += share ** 0.5     # in how many languages counts more than how often
        self.order = [c for c, _ in sorted(mean.items(), key=lambda n: (-n[1], n[0]))]
        self.pairs, self.weight = {}, {}
        self.alone = collections.Counter()  # what share of all languages' text each class is
        for tag, w in words.items():
            counted = Background(self, 'any')
            counted.count(w)
            total = sum(map(sum, counted.pairs))
            self.pairs[tag] = {(i, j): n / total for i, row in enumerate(counted.pairs) for j, n in enumerate(row) if n}
            self.weight[tag] = min(1, sum(len(word) * n for word, n in w.items()) / FULL)
            for (_, j), share in self.pairs[tag].items():
                self.alone[j] += share / len(words)

    def clusters(self, seeds):
        """the languages in groups, each of those that are more like one seed than like another"""
        models = [self.model([s]) for s in seeds]
        for _ in range(ROUNDS):
            groups = [[] for _ in models]
            for tag in sorted(self.pairs):
                costs = [m.cost(self.pairs[tag]) for m in models]
                groups[costs.index(min(costs))].append(tag)
            models = [self.model(g) if g else m for g, m in zip(groups, models)]
        return groups

    def models(self, seeds):
        script = {'LATIN': 'latn', 'CYRILLIC': 'cyrl', 'ARABIC': 'arab'}[self.script]
        return [self.model(group, f'mul-{script}-{i + 1}') for i, group in enumerate(self.clusters(seeds))]

    def model(self, tags, name='any'):
        made = Background(self, name)
        made.learn(tags)
        return made


class Background(model.Model):
    """A group of a pool's languages as one model. A pair that few of them have leans on that of the letters without marks."""

    def __init__(self, pool, tag):
        self.tag, self.script, self.rarity, self.pool = tag, pool.script, model.RARITY, pool
        self.name_classes(pool.order, shared_kinds(pool.script, pool.letters))
        self.bases = [set() for _ in range(self.size)]      # the classes that each is like; itself where there is none
        for c, i in self.index.items():
            b = base_of(c)
            self.bases[i].add(ord(b) - 96 if self.script == 'LATIN' and b.isascii() else self.index.get(b, i))
        self.bases = [b or {i} for i, b in enumerate(self.bases)]

    def learn(self, tags):
        """the costs of pairs in these languages, of which each counts as much as its text allows"""
        n = self.size
        pairs, squares = [[0.0] * n for _ in range(n)], [0.0] * n
        for tag in tags:
            rows = collections.Counter()
            for (i, j), share in self.pool.pairs[tag].items():
                pairs[i][j] += share * self.pool.weight[tag]
                rows[i] += share * self.pool.weight[tag]
            for i, share in rows.items():
                squares[i] += share * share
        self.costs = [[-math.log(p) for p in row] for row in self.smooth(pairs, squares)]

    def smooth(self, pairs, squares):
        """the probability of each class behind each: the less languages have one, the more it leans on its base"""
        rows = [sum(row) for row in pairs]
        alone = [0.8 * sum(row[j] for row in pairs) / sum(rows) + 0.2 * self.pool.alone[j] + 2e-6 for j in range(self.size)]
        for i, back in enumerate(self.by_bases(pairs, alone)):
            languages = rows[i] ** 2 / squares[i] if rows[i] else 0
            lean = max(LEAN_LEAST, LEAN / (LEAN + languages))
            yield [(1 - lean) * (n / rows[i] if rows[i] else alone[j]) + lean * (0.9 * back[j] / sum(back) + 0.1 * alone[j])
                   for j, n in enumerate(pairs[i])]

    def by_bases(self, pairs, alone):
        """how likely each class is behind each if letters follow each other as they do without marks"""
        every, bases = range(self.size), self.bases
        plain, of_base = [[0.0] * self.size for _ in every], [0.0] * self.size
        for j in every:
            for b in bases[j]:
                of_base[b] += alone[j] / len(bases[j])
                for i in every:
                    for a in bases[i] if pairs[i][j] else ():
                        plain[a][b] += pairs[i][j] / len(bases[i]) / len(bases[j])
        least = 0.01 * sum(map(sum, plain)) / self.size
        plain = [[(n + least * one) / (sum(row) + least) for n, one in zip(row, of_base)] for row in plain]
        for i in every:
            row = [sum(plain[a][b] for a in bases[i]) / len(bases[i]) for b in every]
            yield [sum(row[b] * alone[j] / len(bases[j]) / of_base[b] for b in bases[j]) for j in every]

    def is_plain(self, i):
        return i < 1 + self.ascii

    def cost(self, pairs):
        """what a text of these pairs costs, as language_cost() counts"""
        return sum(share * self.costs[i][j] * (0.5 if self.is_plain(i) and self.is_plain(j) else 1) for (i, j), share in pairs.items())

    def rows(self, pooled):
        """The costs. Within a class that letters share, language_cost() adds what the letter costs as a stranger; so what the class
        has of strangers comes off here."""
        off = {k: -math.log(sum(pooled.get(c, 0) for c, i in self.index.items() if i == k) + 1e-4)
               for k in range(1 + self.ascii + len(self.own), self.open)}
        for i, row in enumerate(self.costs):
            yield [min(model.TOP, max(0, round((cost - off.get(j, 0)) * model.UNIT) + self.clash(i, j))) for j, cost in enumerate(row)]
