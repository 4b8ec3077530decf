"""What docker/ ships for others to read: the files of compose, the Dockerfile's variables, Prometheus' rules and Grafana's dashboard
(Kubernetes' objects have test_kubernetes.py). Their options are options and their values load; the numbers they show are numbers that
utfeed has."""
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

from peers import Client
from proxy import BINARY, is_sanitized
from wire import PATIENCE

DOCKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docker")
MONITORING = os.path.join(DOCKER, "monitoring")
STATS = os.path.join(DOCKER, "..", "proxy", "base", "stats.def")
# Of a variable of Grafana's, and of Prometheus itself
OF_PROMETHEUS = {"up", "ALERTS"}
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")
PROMTOOL = shutil.which("promtool")

yaml = pytest.importorskip("yaml", reason="no python3-yaml here")


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def services(*names):
    """The services of compose files, of which each adds to those before."""
    made = {}
    for name in names:
        for service, text in yaml.safe_load(text_of(DOCKER, name))["services"].items():
            for key, value in text.items():
                known = made.setdefault(service, {})
                known[key] = {**known.get(key, {}), **value} if isinstance(value, dict) else value
    return made


def containers():
    """(where, arguments, environment, grace) of every container that runs utfeed."""
    image = variables_of_the_image()
    yield "Dockerfile", ["serve"], image, None
    for names in (["compose.yaml"], ["compose.yaml", "compose.admin.yaml"], ["compose.yaml", "compose.fleet.yaml"], ["compose.reader.yaml"]):
        utfeed = services(*names)["utfeed"]
        yield names[-1], utfeed["command"], {**image, **utfeed["environment"]}, utfeed["stop_grace_period"]


def variables_of_the_image():
    joined = text_of(DOCKER, "Dockerfile").replace("\\\n", " ")
    return dict(word.split("=", 1) for line in re.findall(r"^ENV (.*)$", joined, re.M) for word in line.split())


CONTAINERS = list(containers())


def test_the_unit_leaves_the_sandbox_its_calls():
    """systemd's group @system-service has none of these (252); nothing else of the unit takes them away."""
    filters = re.findall(r"^SystemCallFilter=(.*)$", text_of(DOCKER, "debian", "utfeed.service"), re.M)
    allowed = {name for line in filters if not line.startswith("~") for name in line.split()}
    refused = {name for line in filters if line.startswith("~") for name in line[1:].split()}
    calls = {"seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
    assert calls <= allowed and not calls & refused


def in_force(arguments, environment):
    """The configuration of such a container, {option: value}."""
    done = subprocess.run([BINARY, *arguments, "--print-config"], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([a-z-]+) = (.*)$", done.stdout, re.M))


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)?", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, None: 0.001}[unit]


@pytest.mark.parametrize("where, arguments, environment, grace", CONTAINERS, ids=[row[0] for row in CONTAINERS])
def test_containers_configuration(where, arguments, environment, grace, tmp_path):
    """Each variable is an option's, and the values load (as the start would have them); compose waits for the drain."""
    options = set(re.findall(r'^(?:OPTION|SECRET)\([a-z]+, "([a-z-]+)"', text_of(DOCKER, "..", "conf", "options.def"), re.M))
    for name in environment:
        option = name[len("UTFEED_"):].lower().replace("_", "-").removesuffix("-file")
        assert name.startswith("UTFEED_") and option in options, f"{where}: {name}"
    token = tmp_path / "token"
    token.write_text("a-long-random-word\n")
    token.chmod(0o440)
    environment = {name: str(token) if value == "/run/secrets/admin-token" else value for name, value in environment.items()}
    done = subprocess.run([BINARY, *arguments, "--check-config"], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    in_place = in_force(arguments, environment)
    assert grace is None or seconds(grace) > seconds(in_place["drain-delay"]) + seconds(in_place["drain-timeout"])


def test_the_token_of_compose():
    """Who shows it, and who asks for it, have the same file; the ports that the comments name are published on loopback alone."""
    made, text = services("compose.yaml", "compose.admin.yaml"), yaml.safe_load(text_of(DOCKER, "compose.admin.yaml"))
    (secret,) = text["secrets"]
    assert made["utfeed"]["environment"]["UTFEED_ADMIN_TOKEN_FILE"] == f"/run/secrets/{secret}"
    assert made["utfeed"]["secrets"] == made["prometheus"]["secrets"] == [secret]
    (config,) = re.findall(r"--config\.file=/etc/prometheus/(\S+)", made["prometheus"]["command"][0])
    (job,) = yaml.safe_load(text_of(MONITORING, config))["scrape_configs"]
    (plain,) = yaml.safe_load(text_of(MONITORING, "prometheus.yaml"))["scrape_configs"]
    assert job == {**plain, "authorization": {"credentials_file": f"/run/secrets/{secret}"}}
    assert all(port.startswith("127.0.0.1:") for service in [*services("compose.yaml").values(), *made.values()] for port in service.get("ports", []))


def test_the_reader_of_compose():
    """It reaches utfeed by a network that leads nowhere else."""
    text = yaml.safe_load(text_of(DOCKER, "compose.reader.yaml"))
    reader, utfeed = text["services"]["reader"], text["services"]["utfeed"]
    assert reader["networks"] == ["inside"] and text["networks"]["inside"]["internal"] and "inside" in utfeed["networks"]
    assert reader["environment"]["http_proxy"] == "http://utfeed:" + utfeed["environment"]["UTFEED_LISTEN"].split(";")[0].rsplit(":", 1)[1]


def test_what_compose_mounts_is_there():
    made = services("compose.yaml")
    mounted = [volume.split(":")[0] for service in made.values() for volume in service.get("volumes", [])]
    assert len(mounted) == 4
    for path in mounted:
        assert os.path.exists(os.path.join(DOCKER, path)), path
    (target,) = yaml.safe_load(text_of(MONITORING, "prometheus.yaml"))["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == "utfeed:" + made["utfeed"]["environment"]["UTFEED_ADMIN_LISTEN"].rsplit(":", 1)[1]


def dashboard():
    return json.loads(text_of(MONITORING, "grafana", "utfeed.json"))


def expressions():
    """(where, expression) of dashboard and rules."""
    for panel in dashboard()["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", []))
    for group in yaml.safe_load(text_of(MONITORING, "alerts.yaml"))["groups"]:
        yield from ((rule["alert"], rule["expr"]) for rule in group["rules"])


def names_in(expression):
    """The series that an expression asks for: what stands before { or [ or a comparison, and is no function, label or word of the language."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", bare)
    bare = re.sub(r"\b(by|without)\s*\([^)]*\)", " ", bare)
    return {name for name, call in re.findall(r"\b([a-z_][a-z0-9_]*)\b(\s*\()?", bare) if not call and name not in {"by", "and", "or", "unless", "for"}}


def families(start):
    """The series of a utfeed: what its /metrics names, and the rows of stats.def whose owner is not there."""
    proxy = start(None, "--admin-listen", "127.0.0.1:0")
    client = Client(int(re.search(r"admin listener on 127\.0\.0\.1:(\d+)", proxy.err.text())[1]))
    shown = dict(re.findall(r"^# TYPE (\S+) (\S+)$", client.get("/metrics", host="localhost").body.decode(), re.M))
    client.close()
    rows = re.findall(r'^(GAUGE|TALLY)\(\w+, +"(\w+)"', text_of(STATS), re.M)
    owned = {f"utfeed_{name}" + ("_total" if kind == "TALLY" else "") for kind, name in rows}
    return {name: kind for name, kind in shown.items()}, owned


def test_names_in_dashboard_and_rules(start):
    shown, owned = families(start)
    asked = 0
    for where, expression in expressions():
        for name in names_in(expression) - OF_PROMETHEUS:
            family = HISTOGRAM.sub("", name)
            known = name in shown or name in owned or shown.get(family) == "histogram"
            assert known, f"{where}: there is no {name}"
            asked += 1
    assert asked > 50


def test_rates_are_of_what_only_grows():
    """rate() of a gauge, or a counter's bare value, would be drawn, and mean nothing."""
    for where, expression in expressions():
        for name in re.findall(r"(?:rate|increase)\((\w+)", expression):
            assert name.endswith("_total") or HISTOGRAM.search(name), f"{where}: rate of {name}"
        for name in re.findall(r"\b\w+_total\b(?!\{[^}]*\}\[|\[)", expression):
            raise AssertionError(f"{where}: {name} without a rate")


def test_panels_stand_apart():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = {}
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert cell not in taken, f"{panel['title']} lies on {taken[cell]}"
            taken[cell] = panel["title"]


@pytest.mark.skipif(not PROMTOOL, reason="no promtool here: the package prometheus has it")
@pytest.mark.parametrize("arguments", [("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml"), ("check", "config", "prometheus.yaml")],
                         ids=" ".join)
def test_promtool(arguments):
    done = subprocess.run([PROMTOOL, *arguments], cwd=MONITORING, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not PROMTOOL, reason="no promtool here: the package prometheus has it")
def test_expressions_of_the_dashboard(tmp_path):
    """As rules, which promtool reads."""
    rules = [{"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m").replace("$instance", ".*")}
             for number, (_, expression) in enumerate(expressions())]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([PROMTOOL, "check", "rules", tmp_path / "rules.json"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested():
    named = {rule["alertname"] for test in yaml.safe_load(text_of(MONITORING, "alerts_test.yaml"))["tests"]
             for rule in test.get("alert_rule_test", [])}
    rules = {rule["alert"] for group in yaml.safe_load(text_of(MONITORING, "alerts.yaml"))["groups"] for rule in group["rules"]}
    assert named == rules
    (firing,) = [test["exp_samples"][0]["value"] for row in yaml.safe_load(text_of(MONITORING, "alerts_test.yaml"))["tests"]
                 for test in row.get("promql_expr_test", [])]
    assert firing == len(rules)


def test_the_package_needs_what_a_build_needs():
    """Every library of docker/packages' section build is one of debian/control, and no other. What some machines are without has libc6-dev
    as its alternative there, for ./bootstrap takes the first that there is; apt takes any that is installed: in debian/control machines are named."""
    rows = [line.split() for line in text_of(DOCKER, "packages").splitlines() if re.match(r"[a-z]", line)]
    build = {row[1].replace("|libc6-dev", " [MACHINES]").replace("|", " | ") for row in rows if row[0] == "build" and "-dev" in row[1] and row[1] != "libc6-dev"}
    needed = re.search(r"^Build-Depends:((?:.*\n)(?: .*\n)*)", text_of(DOCKER, "debian", "control"), re.M)[1]
    listed = {re.sub(r"\[[a-z0-9 ]+\]", "[MACHINES]", item.strip()) for item in needed.split(",") if "-dev" in item and "<!nocheck>" not in item}
    assert listed == build


def test_a_rustc_without_a_compiler(tmp_path):
    """rustup's rustc stands in PATH also where no compiler was chosen, as in the home that dpkg-buildpackage makes up: make check goes on without."""
    shim = tmp_path / "rustc"
    shim.write_text("#!/bin/sh\necho 'rustup could not choose a version of rustc to run' >&2\nexit 1\n")
    shim.chmod(0o755)
    (tmp_path / "encoding_rs-0.8.35").mkdir()
    done = subprocess.run(["sh", os.path.join(DOCKER, "..", "tests", "check-whatwg.sh")], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CRATES": str(tmp_path)}, check=False)
    assert done.returncode == 77 and "no encoding_rs" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(is_sanitized(), reason="of the libraries that users get; CI links this build of archives")
def test_bill_of_materials():
    """SPDX 2.3: clauses 6 (document), 7 (packages), 11 (relationships). With SOURCE_DATE_EPOCH it is the same by the byte."""
    command = ["sh", os.path.join(DOCKER, "sbom.sh"), BINARY, "0.1.0", "", "zlib"]
    made = subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True, text=True, timeout=PATIENCE, check=True)
    bill = json.loads(made.stdout)
    assert (bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z" and bill["creationInfo"]["creators"]
    assert re.fullmatch(r"https://[^#]+", bill["documentNamespace"])
    ids = [package["SPDXID"] for package in bill["packages"]]
    assert len(set(ids)) == len(ids) > 1 and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in ids)
    for package in bill["packages"]:
        assert package["name"] and package["versionInfo"] and package["downloadLocation"] and package["filesAnalyzed"] is False
    (program,) = [package for package in bill["packages"] if package["name"] == "utfeed"]
    with open(BINARY, "rb") as file:
        assert program["checksums"] == [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read()).hexdigest()}]
    told = {(row["spdxElementId"], row["relatedSpdxElement"]) for row in bill["relationships"]}
    assert told == {("SPDXRef-DOCUMENT", "SPDXRef-Package-utfeed")} | {("SPDXRef-Package-utfeed", each) for each in ids if each != "SPDXRef-Package-utfeed"}
    if shutil.which("dpkg-query"):
        assert any(package["name"].startswith("libevent-core") for package in bill["packages"])
