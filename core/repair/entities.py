#!/usr/bin/env python3
"""Makes entities.def of the names that Debian's Python knows (package libpython3-stdlib, html.entities).

usage: entities.py >core/repair/entities.def
Of the names of HTML's standard those that end in a semicolon count, but for XML's own five.
"""
import html.entities

HEAD = """\
/* ENTITY(name, first, second): what HTML has a name for, and XML has not: a character or two; second 0: one.
 * Source: HTML's standard, 13.5 "Named character references". entities.py wrote this. The rows are sorted by name
 * (strcmp order), since repair_entities.c searches them by halves. */"""
XML = ("amp", "lt", "gt", "quot", "apos")


def main():
    names = {name[:-1]: text for name, text in html.entities.html5.items() if name.endswith(";") and name[:-1] not in XML}
    print(HEAD)
    for name in sorted(names):
        first, second = (*map(ord, names[name]), 0)[:2]
        print(f"ENTITY({name}, {first}, {second})")


if __name__ == "__main__":
    main()
