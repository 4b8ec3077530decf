"""JSON Schema, as far as the schemas in conf/ use it; a keyword that is not known here is an error of the schema."""
import json
import os
import re

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conf")
PROSE = {"$schema", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float)}


def load(name):
    with open(os.path.join(CONF, name), encoding="utf-8") as file:
        return json.load(file)


def is_type(value, name):
    """In JSON, unlike Python, true is no number."""
    return isinstance(value, TYPES[name]) and (not isinstance(value, bool) or name == "boolean")


def names(types):
    return [types] if isinstance(types, str) else types


def required(value, wanted, _):
    return [f"{name} is missing" for name in wanted if isinstance(value, dict) and name not in value]


def properties(value, table, where):
    return [fault for name, schema in table.items() if isinstance(value, dict) and name in value
            for fault in faults(value[name], schema, f"{where}.{name}")]


def bound(kind, holds):
    return lambda value, limit, _: [] if not isinstance(value, kind) or isinstance(value, bool) or holds(value, limit) else [f"{value!r} beyond {limit}"]


RULES = {
    "type": lambda value, types, _: [] if any(is_type(value, name) for name in names(types)) else [f"{value!r} is no {types}"],
    "enum": lambda value, words, _: [] if value in words else [f"{value!r} is none of {words}"],
    "pattern": lambda value, pattern, _: [] if not isinstance(value, str) or re.search(pattern, value) else [f"{value!r} is not as {pattern}"],
    "minimum": bound((int, float), lambda value, least: value >= least),
    "maximum": bound((int, float), lambda value, most: value <= most),
    "minLength": bound(str, lambda value, least: len(value) >= least),
    "maxLength": bound(str, lambda value, most: len(value) <= most),
    "required": required,
    "properties": properties,
    "additionalProperties": lambda value, allowed, _: [] if allowed is True else ["additionalProperties: only true is known here"],
}


def faults(value, schema, where="$"):
    """What of the value is not as the schema says, as texts."""
    found = []
    for keyword, wanted in schema.items():
        if keyword in PROSE:
            continue
        if keyword not in RULES:
            found.append(f"{where}: the keyword {keyword} is not known")
        else:
            found += [fault if fault.startswith("$") else f"{where}: {fault}" for fault in RULES[keyword](value, wanted, where)]
    return found


def refuse(word):
    raise AssertionError(f"{word} is not JSON")


ACCESS = load("access-log.schema.json")


def access_line(line):
    """A line of the access log as log-format = json writes it, held against the schema: raw bytes, with the newline."""
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and len(line) <= 4096, line
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", line), line
    value = json.loads(line.decode("utf-8"), parse_constant=refuse)
    assert not faults(value, ACCESS), (faults(value, ACCESS), line)
    assert set(value) == set(ACCESS["properties"]) == set(ACCESS["required"]), "the schema names every member, and no other"
    return value
