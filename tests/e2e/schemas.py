"""JSON held against the schemas that conf/ ships, where jsonschema is installed."""
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conf")


def fits(value, name):
    """Gives the value, which is of the shape of conf/NAME.schema.json."""
    if jsonschema:
        with open(os.path.join(CONF, f"{name}.schema.json"), encoding="utf-8") as schema:
            jsonschema.validate(value, json.load(schema))
    return value
