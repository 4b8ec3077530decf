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
    return any(sum(k for c, k in n.items() if c.encode(codec, 'ignore')) >= CARRIED[script] * sum(n.values()) for codec in model.POOL_CODECS)


class Pool:
    """The languages of a script: what share of its text each pair of classes is, in each language."""

    def __init__(self, script, words, letters):
        self.script, self.letters = script, letters
        words = {tag: w for tag, w in words.items() if is_carried(w, script)}
        shares = {tag: model.letter_shares(w, letters)[0] for tag, w in words.items()}
        mean = collections.Counter()
        for s in shares.values():
            for c, share in s.items():
                mean[c] += share ** 0.5     # in how many languages counts more than how often
        self.order = [c for c, _ in sorted(mean.items(), key=lambda n: (-n[1], n[0]))]
        self.pairs, self.weight, self.letter_shares = {}, {}, shares
        for tag, w in words.items():
            counted = Background(self, 'any')
            counted.count(w)
            total = sum(map(sum, counted.pairs))
            self.pairs[tag] = {(i, j): n / total for i, row in enumerate(counted.pairs) for j, n in enumerate(row) if n}
            self.weight[tag] = min(1, sum(len(word) * n for word, n in w.items()) / FULL)

    def clusters(self, seeds):
        """the languages in groups, each of those that are more like one seed than like another"""
        tags = sorted(self.pairs)
        models = [self.model([s]) for s in seeds]
        for _ in range(ROUNDS):
            groups = [[] for _ in models]
            for t in tags:
                costs = [m.cost(self.pairs[t]) for m in models]
                groups[costs.index(min(costs))].append(t)
            models = [self.model(g) if g else m for g, m in zip(groups, models)]
        return groups

    def models(self, seeds):
        groups = self.clusters(seeds)
        tag = {'LATIN': 'latn', 'CYRILLIC': 'cyrl', 'ARABIC': 'arab'}[self.script]
        return [self.model(group, f'mul-{tag}-{i + 1}') for i, group in enumerate(groups)]

    def model(self, tags, name='any'):
        made = Background(self, name)
        made.learn(tags)
        return made


class Background(model.Model):
    """A group of a pool's languages as one model. A pair that few of them have leans on that of the letters without marks."""

    def __init__(self, pool, tag):
        self.tag, self.script, self.rarity, self.pool = tag, pool.script, model.BACKGROUND_RARITY, pool
        self.name_classes(pool.order, shared_kinds(pool.script, pool.letters))
        classes = {c: i for c, i in self.index.items()}
        self.bases = collections.defaultdict(set)       # of each class
        for i in range(self.size):
            self.bases[i] = {('class', i)}
        for c, i in classes.items():
            b = base_of(c)
            like = ord(b) - 96 if self.script == 'LATIN' and b.isascii() else classes.get(b, i)
            self.bases[i] = (self.bases[i] - {('class', i)}) | {('class', like)}

    def learn(self, tags):
        n = self.size
        pairs, one, squares = [[0.0] * n for _ in range(n)], [0.0] * n, [0.0] * n
        for tag in tags:
            rows = collections.Counter()
            for (i, j), share in self.pool.pairs[tag].items():
                pairs[i][j] += share * self.pool.weight[tag]
                rows[i] += share * self.pool.weight[tag]
            for i, share in rows.items():
                one[i] += share
                squares[i] += share * share
        self.probabilities = self.smooth(pairs, one, squares)
        self.costs = [[-math.log(p) for p in row] for row in self.probabilities]

    def smooth(self, pairs, one, squares):
        n = self.size
        rows = [sum(row) for row in pairs]
        alone = [sum(row[j] for row in pairs) / sum(rows) for j in range(n)]
        everywhere = self.pool_alone()
        alone = [0.8 * a + 0.2 * e + 2e-6 for a, e in zip(alone, everywhere)]
        # pairs of letters without their marks
        base = [{b[1] for b in self.bases[i]} for i in range(n)]
        plain = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                if pairs[i][j]:
                    for a in base[i]:
                        for b in base[j]:
                            plain[a][b] += pairs[i][j] / len(base[i]) / len(base[j])
        plain_one = [sum(row[j] for row in plain) for j in range(n)]
        of_base = [0.0] * n
        for j in range(n):
            for b in base[j]:
                of_base[b] += alone[j] / len(base[j])
        total = sum(plain_one)
        for i in range(n):
            lean = 0.01 * total / n
            row = sum(plain[i]) + lean
            plain[i] = [(plain[i][j] + lean * of_base[j]) / row for j in range(n)]
        share = [{b: alone[j] / len(base[j]) / of_base[b] for b in base[j]} for j in range(n)]
        result = []
        for i in range(n):
            row = [sum(plain[a][b] for a in base[i]) / len(base[i]) for b in range(n)]
            back = [sum(row[b] * share[j][b] for b in base[j]) for j in range(n)]
            back_sum = sum(back)
            languages = one[i] ** 2 / squares[i] if squares[i] else 0
            lean = max(LEAN_LEAST, LEAN / (LEAN + languages))
            result.append([(1 - lean) * (pairs[i][j] / rows[i] if rows[i] else alone[j]) + lean * (0.9 * back[j] / back_sum + 0.1 * alone[j])
                           for j in range(n)])
        return result

    def pool_alone(self):
        if not hasattr(self.pool, 'alone'):
            alone = [0.0] * self.size
            for pairs in self.pool.pairs.values():
                for (_, j), share in pairs.items():
                    alone[j] += share / len(self.pool.pairs)
            self.pool.alone = alone
        return self.pool.alone

    def is_plain(self, i):
        return i < 1 + self.ascii

    def cost(self, pairs):
        """what a text of these pairs costs, as language_cost() counts"""
        return sum(share * self.costs[i][j] * (0.5 if self.is_plain(i) and self.is_plain(j) else 1) for (i, j), share in pairs.items())

    def rows(self, pooled):
        """The costs. Within a class that letters share, language_cost() adds what the letter costs as a stranger; so what the class
        has of strangers comes off here."""
        shared = range(1 + self.ascii + len(self.own), self.open)
        off = {k: -math.log(sum(pooled.get(c, 0) for c, i in self.index.items() if i == k) + 1e-4) for k in shared}
        for i, row in enumerate(self.costs):
            yield [min(model.TOP, max(0, round((cost - off.get(j, 0)) * model.UNIT) + self.clash(i, j))) for j, cost in enumerate(row)]
