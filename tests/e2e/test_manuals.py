"""tests/check-manuals.sh, which holds the manuals against the tables of the source: a row that is deleted or added is told."""
import os
import re
import shutil
import subprocess

import pytest

from proxy import is_sanitized

pytestmark = pytest.mark.skipif(is_sanitized(), reason="of the source: it is the same in every build, and another one runs this")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# The files of rows, what a row looks like, and the tables or lists of the manuals that tell them
ROW = r"^[A-Z][A-Z0-9]*\("
TOLD = {
    "stats.def": (ROW, ["counters"]),
    "failure.def": (ROW, ["failures"]),
    "proxy_status.def": (ROW, ["failures"]),
    "headers.def": (ROW, ["headers"]),
    "special_addresses.def": (ROW, ["addresses"]),
    "h2_limits.def": (ROW, ["limits"]),
    "syscalls.def": (ROW, ["calls"]),
    "former.def": (ROW, ["former"]),
    "labels.def": (ROW, ["labels"]),
    "charsets.def": (ROW, ["labels"]),
    "overlay.def": (ROW, ["codes"]),
    "candidates.def": (ROW, ["candidates"]),
    "hints.def": (ROW, ["countries"]),
    "entities.def": (ROW, ["entities"]),
    "namespaces.def": (ROW, ["namespaces"]),
    "enclosures.def": (ROW, ["enclosures"]),
    "containers.def": (ROW, ["containers"]),
    "rule_words.def": (ROW, ["words"]),
    "advice.def": (ROW, ["advice"]),
    "cache_status.def": (ROW, ["forwards"]),
    "cache_control.def": (ROW, ["directives"]),
    "storable.def": (ROW, ["details"]),
    "policy.h": (r'^\tX\([A-Z0-9_]+, *"', ["policies"]),
    "repair.h": (r"^\tX\([A-Z0-9_]+, *1 << ", ["repairs"]),
    "policy.c": (r"\[V(ERR|REASON)_[A-Z_]+\] = \"", ["errors", "reasons"]),
    "policy_auto.c": (r'"(bom|family|utf8|escapes|decl|http|guess|fallback|external)"', ["steps"]),
}
# By check-options.sh, by the compiler, by test_detector
COMPILED = {"options.def", "route_options.def", "conf_types.def", "ways.def", "letters.def", "languages.def", "han.def", "foreign.def", "idle.def"}


def tables():
    found = {}
    for top in ("core", "conf", "proxy"):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            found |= {name: os.path.relpath(os.path.join(folder, name), TOP) for name in names if name in TOLD}
    return found


TABLES = tables()


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what the check reads."""
    tree = tmp_path_factory.mktemp("tree")
    for part in ("core", "conf", "proxy"):
        shutil.copytree(os.path.join(TOP, part), tree / part, ignore=shutil.ignore_patterns("*.o", "*.a", ".deps"))
    return tree


def check(tree):
    done = subprocess.run(["sh", os.path.join(TOP, "tests", "check-manuals.sh")], env={**os.environ, "UTFEED_SRCDIR": str(tree)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode()


@pytest.fixture
def changed(tree):
    """changed(change, name...): what the check says of the tree whose files of that name are change(lines, numbers of their rows)."""
    kept = {}

    def run(change, *names):
        for name in names:
            kept[name] = (tree / TABLES[name]).read_bytes()
            lines = kept[name].decode().splitlines(keepends=True)
            rows = [number for number, line in enumerate(lines) if re.search(TOLD[name][0], line)]
            (tree / TABLES[name]).write_text("".join(change(name, lines, rows)))
        return check(tree)
    yield run
    for name, data in kept.items():
        (tree / TABLES[name]).write_bytes(data)


def assert_told(said, *names):
    """One of the lists that each file fills is named in a line of its own."""
    for name in names:
        assert any(re.search(rf"^check-manuals: conf/\S+: (the table )?{word}\b", said, re.M) for word in TOLD[name][1]), f"{name}\n{said}"


def without(which):
    def change(name, lines, rows):
        line = lines[rows[int(which * (len(rows) - 1))]]
        if name.endswith(".def"):
            return [text for text in lines if text != line]
        word = re.search(r'"[a-z0-9-]+"', line[re.search(TOLD[name][0], line).start():])[0]
        return [text.replace(word, "NULL") for text in lines]
    return change


def and_another(name, lines, rows):
    """A row more: the last one with another name, or once more where it has none."""
    return [*lines, re.sub(r'"([^"\\]+)"', r'"z\1"', lines[rows[-1]], count=1)]


def test_the_tree_is_right(tree):
    status, said = check(tree)
    assert status == 0, said


@pytest.mark.parametrize("which", [0, .5, 1])
def test_a_deleted_row_is_told(changed, which):
    names = TABLES.keys() - {"charsets.def"}          # whose rows give labels.def theirs
    status, said = changed(without(which), *names)
    assert status == 1
    assert_told(said, *names)


def test_a_deleted_charset_is_told(changed):
    status, said = changed(without(.3), "charsets.def")
    assert status == 1
    assert_told(said, "charsets.def")


def test_an_added_row_is_told(changed):
    names = [name for name in TABLES if name.endswith(".def")]
    status, said = changed(and_another, *names)
    assert status == 1
    assert_told(said, *names)


def test_a_table_that_no_manual_tells_is_told(tree):
    (tree / "core" / "new.def").write_text("")
    try:
        status, said = check(tree)
    finally:
        (tree / "core" / "new.def").unlink()
    assert status == 1 and "new.def" in said
    assert not {file.name for file in tree.rglob("*.def")} - TOLD.keys() - COMPILED
