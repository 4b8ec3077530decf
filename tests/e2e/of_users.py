"""-p of_users: the tests that need gcc's build, without a sanitizer. They are all tests of some files, and of the others each test
that names a sanitizer or measures memory, itself or in a function that it calls.
Invariant: a test that a sanitizer's build skips is among them."""
import re

WHOLE = {"test_cache.py", "test_cli.py", "test_corpus.py", "test_examples.py", "test_large_hits.py", "test_life.py",
         "test_process.py", "test_reload.py", "test_stages.py", "test_stores.py", "test_tls.py", "test_tls_system.py",
         "test_unix_sockets.py", "test_workers.py"}
INSIDE = re.compile(r"sanitize[dr]|has_symbol|assert_growth|Vm(HWM|RSS)")


def said_in(code):
    """The names and strings of a function, and of those within it."""
    inner = [said_in(each) for each in code.co_consts if hasattr(each, "co_code")]
    return {*code.co_names, *(each for each in code.co_consts if isinstance(each, str))}.union(*inner)


def is_of_tests(value):
    return getattr(value, "__module__", "").startswith("test_")


def needs(value, seen):
    """Whether a test has one of the words, or a function of a test's file that it calls. Of the harness only proxy.py has them,
    and attack/."""
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, dict):
        return any(needs(each, seen) for each in value.values())
    if isinstance(value, (list, tuple)):
        return any(needs(each, seen) for each in value)
    if not is_of_tests(value):
        return False
    if isinstance(value, type):
        return any(needs(each, seen) for each in vars(value).values())
    value = getattr(value, "__wrapped__", value)
    if not hasattr(value, "__code__"):
        return False
    said = said_in(value.__code__)
    return any(map(INSIDE.search, said)) or any(needs(value.__globals__.get(name), seen) for name in said)


def pytest_ignore_collect(collection_path):
    if collection_path.name.startswith("test_") and collection_path.name not in WHOLE:
        return not INSIDE.search(collection_path.read_text("utf-8")) or None
    return None


def is_needed(item):
    fixtures = [each.func for made in item._fixtureinfo.name2fixturedefs.values() for each in made]
    rows = getattr(item, "callspec", None)
    return (item.path.name in WHOLE or any(item.iter_markers("skipif")) or
            needs([item.function, *fixtures, *(rows.params.values() if rows else ())], set()))


def pytest_collection_modifyitems(config, items):
    left = [item for item in items if not is_needed(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]
