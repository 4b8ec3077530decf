"""Where utfeed meets those in front of it (issue 12): what an untrusted origin's fields may do there (row 18), and what is said of
passwords and loaded again of a configuration (row 20)."""
import subprocess

import pytest

from proxy import BINARY

SECRET = "hunter2"


def serve(*args, env=None, config=None, tmp_path=None):
    if config is not None:
        file = tmp_path / "utfeed.conf"
        file.write_text(config)
        args = ("-c", str(file), *args)
    return subprocess.run([BINARY, "serve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env or {}, timeout=20, check=False)


@pytest.mark.parametrize("target", [f"http://u:{SECRET}@h.test/", f"/http://u:{SECRET}@h.test/", f"/http:/u:{SECRET}@h.test/",
                                    f"/?url=http://u:{SECRET}@h.test/", f"/?url=http%3a%2f%2fu%3A{SECRET}%40h.test",
                                    f"http://u:p/{SECRET}@h.test/", f"u:{SECRET}@h.test:443"])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_trust_20_a_refused_urls_password_is_told_to_nobody(start, target, method):
    proxy = start(None)
    got = proxy.client().ask(target, method=method).response()
    assert got.status in (400, 405) and SECRET not in f"{got.fields}{got.body}"
    line = proxy.access_lines(1)[0].decode()
    assert f" {method} " in line and SECRET not in line and ("***@h.test" in line or f" {method} - " in line)
    proxy.stop()
    assert SECRET not in proxy.err.text()


def test_trust_20_a_name_with_an_at_sign_in_a_path_is_logged_as_it_is(proxy, origin):
    client = proxy.client().ask("/@user/feed.xml")
    origin.receive().answer(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert client.response().status == 204
    assert b" /@user/feed.xml 204 " in proxy.access_lines(1)[0]


@pytest.mark.parametrize("args, env", [
    ([f"--cache-redis-pasword={SECRET}"], {}), (["--cache-redis-password=", SECRET], {}), ([f"-p{SECRET}"], {}),
    (["--route", f"/=http://u:{SECRET}@h/"], {}), (["--route", f"/=http://h htp-proxy=http://u:{SECRET}@h:1"], {}),
    (["--route", f"/ http-proxy=http://u:{SECRET}@h:1"], {}), ([], {"UTFEED_ROUTE": f"/=http://u:{SECRET}@h/"}),
    ([], {"UTFEED_ALLOW": f"u:{SECRET}@h"}),
])
def test_trust_20_a_refused_options_password_is_told_to_nobody(args, env):
    done = serve(*args, env=env)
    assert done.returncode and done.stderr and SECRET.encode() not in done.stderr + done.stdout


@pytest.mark.parametrize("line", [f"cache-redis-pasword = {SECRET}", f"cache-redis-password {SECRET}", f"[route //u:{SECRET}@h/]",
                                  f"[route /]\norigin = http://u:{SECRET}@h/", f"http://u:{SECRET}@h/?a=b"])
def test_trust_20_a_refused_lines_password_is_told_to_nobody(line, tmp_path):
    done = serve(config=line + "\n", tmp_path=tmp_path)
    assert done.returncode and b"utfeed.conf:" in done.stderr and SECRET.encode() not in done.stderr + done.stdout


README = """
listen = 127.0.0.1:0
[route //reader.example.org/old/]     # for one Host only
origin = http://10.0.0.5/
charset = koi8-r
user-agent = "old reader/1.0"
"""


@pytest.mark.parametrize("config", [README, README.replace("old reader/1.0", 'a # \\"b\\" \\\\'), README.replace("old reader/1.0", " ; "),
                                    README.replace("10.0.0.5/", "10.0.0.5/\nhttp-proxy = http://u:p w@h:1")])
def test_trust_20_print_config_loads_again(config, tmp_path):
    first = serve("--print-config", config=config, tmp_path=tmp_path)
    assert first.returncode == 0, first.stderr
    second = serve("--print-config", config=first.stdout.decode(), tmp_path=tmp_path)
    assert second.returncode == 0, second.stderr

    def values(text):
        return [line for line in text.splitlines() if not line.startswith(b"#")]
    assert values(first.stdout) == values(second.stdout)


def test_trust_20_an_inline_route_takes_quotes(start, another):
    """By a flag as by a variable, where ; separates routes."""
    origin = another()
    for how in ({"args": ("--route", f'/={origin.url} user-agent="my reader; 1.0"')},
                {"env": {"UTFEED_ROUTE": f'/x={origin.url}; /={origin.url} user-agent="my reader; 1.0"'}}):
        proxy = start(None, *how.pop("args", ()), **how)
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        assert upstream.request["User-Agent"] == "my reader; 1.0"
        upstream.answer(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert client.response().status == 204
