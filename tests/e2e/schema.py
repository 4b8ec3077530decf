"""JSON Schema, as far as the schemas in conf/ use it; a keyword that is not known here is an error of the schema."""
import json
import os
import re

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conf")
PROSE = {"$schema", "$defs", "title", "description"}
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


def bound(kind, holds):
    return lambda value, limit, _: [] if not isinstance(value, kind) or isinstance(value, bool) or holds(value, limit) else [f"{value!r} beyond {limit}"]


def at_least(size):
    return lambda value, least: size(value) >= least


def at_most(size):
    return lambda value, most: size(value) <= most


# Of one value: (value, what the schema wants, the schema around it) gives what is wrong
RULES = {
    "type": lambda value, types, _: [] if any(is_type(value, name) for name in names(types)) else [f"{value!r} is no {types}"],
    "enum": lambda value, words, _: [] if value in words else [f"{value!r} is none of {words}"],
    "pattern": lambda value, pattern, _: [] if not isinstance(value, str) or re.search(pattern, value) else [f"{value!r} is not as {pattern}"],
    "minimum": bound((int, float), at_least(lambda value: value)),
    "maximum": bound((int, float), at_most(lambda value: value)),
    "minLength": bound(str, at_least(len)),
    "maxLength": bound(str, at_most(len)),
    "minItems": bound(list, at_least(len)),
    "maxItems": bound(list, at_most(len)),
    "required": required,
    "additionalProperties": lambda value, allowed, schema: [f"{name} is not named" for name in value if name not in schema["properties"]]
    if allowed is False and isinstance(value, dict) else [] if isinstance(allowed, bool) else ["additionalProperties: only true and false are known here"],
}
# Of what is within a value: gives (value, schema, where) of each
WITHIN = {
    "properties": lambda value, table, where: [(value[name], schema, f"{where}.{name}") for name, schema in table.items() if name in value]
    if isinstance(value, dict) else [],
    "items": lambda value, schema, where: [(item, schema, f"{where}[{i}]") for i, item in enumerate(value)] if isinstance(value, list) else [],
}


def faults(value, schema, where="$", root=None):
    """What of the value is not as the schema says, as texts."""
    root, found = root or schema, []
    for keyword, wanted in schema.items():
        if keyword in PROSE:
            continue
        if keyword == "$ref":
            found += faults(value, root["$defs"][wanted.removeprefix("#/$defs/")], where, root)
        elif keyword == "oneOf":
            fitting = [each for each in wanted if not faults(value, each, where, root)]
            found += [] if len(fitting) == 1 else [f"{where}: {value!r} is {len(fitting)} of what it may be one of"]
        elif keyword in WITHIN:
            found += [fault for inner in WITHIN[keyword](value, wanted, where) for fault in faults(*inner, root)]
        elif keyword in RULES:
            found += [f"{where}: {fault}" for fault in RULES[keyword](value, wanted, schema)]
        else:
            found.append(f"{where}: the keyword {keyword} is not known")
    return found


def fits(value, name):
    """Gives the value, which is of the shape of conf/NAME.schema.json."""
    found = faults(value, load(f"{name}.schema.json"))
    assert not found, found
    return value


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
