"""docker/kubernetes: every kustomization as the objects that it makes. Their options load and say nothing to be warned of, their probes are
answered, their numbers, ports, labels, names and Secrets fit each other."""
import glob
import json
import os
import re
import shutil
import subprocess

import pytest

from peers import Client
from proxy import BINARY
from wire import PATIENCE

yaml = pytest.importorskip("yaml", reason="no python3-yaml here")

# It needs yaml
import kustomize  # noqa: E402  pylint: disable=wrong-import-position

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDER = os.path.join(TOP, "docker", "kubernetes")
NAMESPACE = "feeds"


def kubectl():
    """Its path, if it knows components: Debian 12's does not, which is of 2021, and tells no version of its kustomize either."""
    path = shutil.which("kubectl")
    told = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=PATIENCE, check=False).stdout if path else ""
    return path if "kustomizeVersion" in told else None


KUBECTL = kubectl()


def kustomizations():
    """{name: folder} of those that make objects by themselves."""
    for path in sorted(glob.glob(os.path.join(FOLDER, "**", "kustomization.yaml"), recursive=True)):
        if kustomize.documents(path)[0]["kind"] == "Kustomization":
            yield os.path.relpath(os.path.dirname(path), FOLDER), os.path.dirname(path)


FOLDERS = dict(kustomizations())
OBJECTS = {name: kustomize.rendered(folder) for name, folder in FOLDERS.items()}
# Components alone upon what they are for
for component, base in (("dual-stack", "base"), ("monitoring", "base"), ("pod-monitor", "sidecar")):
    OBJECTS[f"{base} and {component}"] = kustomize.rendered(os.path.join(FOLDER, "components", component), OBJECTS[base])
every = pytest.mark.parametrize("name", OBJECTS)


def of_kind(name, kind):
    return [each for each in OBJECTS[name] if each["kind"] == kind]


def workloads(name):
    """What makes pods."""
    return [each for each in OBJECTS[name] if each["kind"] in kustomize.WORKLOADS]


def utfeeds(name):
    """(pod, container) of every container that runs utfeed."""
    for each in workloads(name):
        for container in kustomize.containers(each):
            if container["name"] == "utfeed":
                yield each["spec"]["template"]["spec"], container


def secret_files(pod, container):
    """{path in the container: (Secret, key)}; without items every key is a file: those that options name."""
    volumes = {volume["name"]: volume["secret"] for volume in pod.get("volumes", []) if "secret" in volume}
    for mount in container.get("volumeMounts", []):
        secret = volumes.get(mount["name"])
        for row in secret.get("items", []) if secret else []:
            yield f"{mount['mountPath']}/{row['path']}", (secret["secretName"], row["key"])
        if secret and "items" not in secret:
            for value in (row.get("value", "") for row in container["env"]):
                if value.startswith(mount["mountPath"] + "/"):
                    yield value, (secret["secretName"], os.path.basename(value))


@pytest.fixture(scope="module")
def authority_of_readers(tmp_path_factory):
    """{key: path} of what `utfeed ca` makes."""
    folder = tmp_path_factory.mktemp("ca")
    made = {name: str(folder / name) for name in ("ca.pem", "ca.key")}
    subprocess.run([BINARY, "ca", "--for", "example.org", "--cert", made["ca.pem"], "--key", made["ca.key"]], check=True, capture_output=True, timeout=PATIENCE)
    return made


@pytest.fixture
def variables(tmp_path, authority_of_readers):
    """variables(pod, container): the environment as the kubelet makes it, but for files, which are in a folder of the test's."""
    def make(pod, container):
        files = {}
        for path, (_, key) in secret_files(pod, container):
            if key not in authority_of_readers:
                (tmp_path / key).write_text("a-long-random-word\n")
                (tmp_path / key).chmod(0o440)
            files[path] = authority_of_readers.get(key, str(tmp_path / key))
        made = {}
        for row in container["env"]:
            if "valueFrom" in row:
                assert row["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.namespace"}}
                made[row["name"]] = NAMESPACE
                continue
            # A variable sees those before it
            value = re.sub(r"\$\((\w+)\)", lambda found: made[found[1]], row["value"])
            assert not value.startswith("/") or value in files, f"{value} is in no Secret that is mounted"
            made[row["name"]] = files.get(value, value)
        return made
    return make


def asked(environment, *arguments):
    return subprocess.run([BINARY, "serve", *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)?", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, None: 0.001}[unit]


def size(text):
    return int(re.fullmatch(r"(\d+)(?:Mi|m)", text)[1]) << 20


def needed(options, limit):
    """utfeed-operating(7), SIZING, with the cache that such a container has."""
    workers, connections = int(options["workers"]), int(options["max-connections"])
    return (24 + 2 * workers << 20) + limit // 4 * 1.05 + workers * connections * 6000 + size(options["decoding-bytes"])


@every
def test_options(name, variables):
    """Each variable is an option's; the values load without a warning, but for the listener that has no token."""
    options = set(re.findall(r'^(?:OPTION|SECRET)\([a-z]+, "([a-z-]+)"', open(os.path.join(TOP, "conf", "options.def"), encoding="utf-8").read(), re.M))
    for pod, container in utfeeds(name):
        environment = variables(pod, container)
        for variable in environment:
            option = variable[len("UTFEED_"):].lower().replace("_", "-")
            assert variable == "POD_NAMESPACE" or option in options or option.removesuffix("-file") in options, variable
        done = asked(environment, "--check-config")
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if "is right" not in line]
        assert all("admin-token" in line and "UTFEED_ADMIN_TOKEN_FILE" not in environment for line in warnings), warnings


@every
def test_numbers_and_ports(name, variables):
    """The pod's patience, its probes, ports and memory are those of the options."""
    assert list(utfeeds(name))
    for pod, container in utfeeds(name):
        options = dict(re.findall(r"^([a-z-]+) = (.*)$", asked(variables(pod, container), "--print-config").stdout, re.M))
        ports = {row["name"]: row["containerPort"] for row in container["ports"]}
        assert str(ports["metrics"]) == options["admin-listen"].rsplit(":", 1)[1]
        assert "http" not in ports or str(ports["http"]) == options["listen"].rsplit(":", 1)[1]
        for probe, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
            assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
        assert pod["terminationGracePeriodSeconds"] > seconds(options["drain-delay"]) + seconds(options["drain-timeout"])
        assert needed(options, size(container["resources"]["limits"]["memory"])) <= size(container["resources"]["limits"]["memory"])
        assert container["securityContext"]["readOnlyRootFilesystem"] and container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def admin_status(port, path, *fields):
    """As the kubelet and Prometheus ask: by the pod's address."""
    client = Client(port)
    try:
        return client.get(path, *fields, host="10.1.2.3:9180").status
    finally:
        client.close()


@every
def test_what_a_pod_answers(name, variables, start, dead_port):
    """The kubelet's probes; the token; and every name of the Service."""
    for pod, container in utfeeds(name):
        environment = variables(pod, container)
        if "UTFEED_CACHE_REDIS" in environment:
            environment["UTFEED_CACHE_REDIS"] = f"127.0.0.1:{dead_port}"
        proxy = start(None, "--admin-listen", "127.0.0.1:0", env=environment)
        port = int(re.search(r"admin listener on 127\.0\.0\.1:(\d+)", proxy.err.text())[1])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert admin_status(port, container[probe]["httpGet"]["path"]) == 200
        assert admin_status(port, "/metrics") == (401 if "UTFEED_ADMIN_TOKEN_FILE" in environment else 200)
        assert admin_status(port, "/metrics", "Authorization: Bearer a-long-random-word") == 200
        for service in of_kind(name, "Service"):
            called = service["metadata"]["name"]
            if service["spec"]["selector"] == {"app.kubernetes.io/name": "utfeed"}:
                for host in (called, f"{called}.{NAMESPACE}", f"{called}.{NAMESPACE}.svc", f"{called}.{NAMESPACE}.svc.cluster.local", "10.96.0.1",
                             "[fd00::1]", "localhost"):
                    assert proxy.get("/", host=f"{host}:8080").status != 421, host
                for host in (f"{called}.elsewhere.svc", f"a.{called}.{NAMESPACE}", "reader.example.org"):
                    assert proxy.get("/", host=f"{host}:8080").status == 421, host


def labels_and_ports(name):
    """[(labels, {name: port})] of the pods."""
    for each in workloads(name):
        template = each["spec"]["template"]
        assert each["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        yield template["metadata"]["labels"], {port["name"]: port["containerPort"] for container in kustomize.containers(each)
                                               for port in container.get("ports", [])}


def chosen(labels, pods):
    (ports,) = [ports for of_pod, ports in pods if labels.items() <= of_pod.items()]
    return ports


@every
def test_services_policies_budgets(name):
    """They name pods that are there, and their ports. A policy lets in what a pod listens on, and out to a pod what that listens on."""
    pods = list(labels_and_ports(name))
    for each in of_kind(name, "Service"):
        ports = chosen(each["spec"]["selector"], pods)
        assert all(ports[row["targetPort"]] == row["port"] for row in each["spec"]["ports"])
    for each in of_kind(name, "NetworkPolicy"):
        ports = chosen(each["spec"]["podSelector"]["matchLabels"], pods)
        assert {row["port"] for rule in each["spec"]["ingress"] for row in rule["ports"]} == set(ports.values())
        assert each["spec"]["policyTypes"] == ["Ingress", "Egress"]
        for rule in each["spec"]["ingress"] + each["spec"]["egress"]:
            assert all(set(row) <= {"port", "protocol"} for row in rule["ports"])
            assert all(set(peer) <= {"podSelector", "namespaceSelector"} or set(peer) == {"ipBlock"} for peer in rule.get("to", []) + rule.get("from", []))
        for rule in each["spec"]["egress"]:
            for peer in rule["to"]:
                if "podSelector" in peer and "namespaceSelector" not in peer:
                    assert set(chosen(peer["podSelector"]["matchLabels"], pods).values()) == {row["port"] for row in rule["ports"]}
    assert len(of_kind(name, "NetworkPolicy")) == len(pods)
    for each in of_kind(name, "PodDisruptionBudget"):
        (replicas,) = [row["spec"]["replicas"] for row in workloads(name)
                       if each["spec"]["selector"]["matchLabels"].items() <= row["spec"]["template"]["metadata"]["labels"].items()]
        assert 0 < each["spec"]["minAvailable"] < replicas


def rules_to(name, policy, port):
    """The peers of the policy's rules out to that port."""
    (each,) = [row for row in of_kind(name, "NetworkPolicy") if row["metadata"]["name"] == policy]
    return [peer for rule in each["spec"]["egress"] if port in {row["port"] for row in rule["ports"]} for peer in rule["to"]]


@every
def test_ways_out(name):
    """To the cluster's DNS by both protocols, NodeLocal DNSCache too; to the web in both families, but to nothing that the guard closes as
    private, shared or link-local."""
    for policy in {each["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] for each in workloads(name)} - {"utfeed-valkey"}:
        assert {"ipBlock": {"cidr": "169.254.20.10/32"}} in rules_to(name, policy, 53)
        assert any("podSelector" in peer for peer in rules_to(name, policy, 53))
        web = {peer["ipBlock"]["cidr"]: set(peer["ipBlock"]["except"]) for peer in rules_to(name, policy, 443)}
        assert web == {peer["ipBlock"]["cidr"]: set(peer["ipBlock"]["except"]) for peer in rules_to(name, policy, 80)}
        assert web["0.0.0.0/0"] >= {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8"}
        assert web["::/0"] >= {"fc00::/7", "fe80::/10", "::1/128"}


@every
def test_monitors(name):
    """They select what is there, at a port that it has, and show the token that utfeed wants; the job is the alert rules'."""
    for each in of_kind(name, "ServiceMonitor"):
        labels = each["spec"]["selector"]["matchLabels"]
        (service,) = [row for row in of_kind(name, "Service") if labels.items() <= row["metadata"]["labels"].items()]
        (endpoint,) = each["spec"]["endpoints"]
        assert endpoint["port"] in {row["name"] for row in service["spec"]["ports"]} and service["metadata"]["name"] == "utfeed"
        shown = endpoint["authorization"]["credentials"]
        ((pod, container),) = utfeeds(name)
        (path,) = [row["value"] for row in container["env"] if row["name"] == "UTFEED_ADMIN_TOKEN_FILE"]
        assert dict(secret_files(pod, container))[path] == (shown["name"], shown["key"])
    for each in of_kind(name, "PodMonitor"):
        (endpoint,) = each["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] in chosen(each["spec"]["selector"]["matchLabels"], list(labels_and_ports(name)))
        assert {"targetLabel": "job", "replacement": "utfeed"} in endpoint["relabelings"] and "authorization" not in endpoint
        assert not any(row["name"].startswith("UTFEED_ADMIN_TOKEN") for _, container in utfeeds(name) for row in container["env"])


def secrets(name):
    """(Secret, key) that the pods need."""
    for each in workloads(name):
        pod = each["spec"]["template"]["spec"]
        for container in kustomize.containers(each):
            yield from (key for _, key in secret_files(pod, {"env": [], **container}))
            for row in container.get("env", []):
                if "secretKeyRef" in row.get("valueFrom", {}):
                    yield row["valueFrom"]["secretKeyRef"]["name"], row["valueFrom"]["secretKeyRef"]["key"]


@every
def test_secrets_are_made_as_the_comments_say(name):
    """Every Secret has a command that makes it, with that key; a file of it is for the group that the pod has, and for nobody else."""
    text = "".join(open(path, encoding="utf-8").read() for path in sorted(set(kustomize.files(FOLDERS[name.split(" ")[0]]))))
    commands = re.sub(r" \\\n# +", " ", text)
    for secret, key in secrets(name):
        assert re.search(rf"kubectl create secret generic {secret} .*--from-(literal={key}=|file={key}\b)", commands), f"{secret}: {key}"
    for pod, container in utfeeds(name):
        mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
        for volume in pod.get("volumes", []):
            if "secret" in volume and volume["name"] in mounted:
                assert volume["secret"]["defaultMode"] == 0o440
                assert pod["securityContext"]["fsGroup"] == container["securityContext"]["runAsGroup"]


def test_every_file_is_of_a_kustomization():
    needed = {path for folder in FOLDERS.values() for path in kustomize.files(folder)}
    needed |= {path for folder in glob.glob(os.path.join(FOLDER, "components", "*")) for path in kustomize.files(folder)}
    there = {os.path.join(folder, file) for folder, _, files in os.walk(FOLDER) for file in files}
    assert there == needed


def test_papers_name_kustomizations():
    """`kubectl apply -k FOLDER`, wherever it is written."""
    texts = [open(path, encoding="utf-8").read() for pattern in ("README", "conf/*.[157]", "docker/kubernetes/**/*.yaml")
             for path in glob.glob(os.path.join(TOP, pattern), recursive=True)]
    named = {folder for text in texts for folder in re.findall(r"kubectl apply -k (docker/\S+?)[)`]?(?:\s|$)", text)}
    assert len(named) >= 4 and {os.path.join(TOP, folder) for folder in named} <= set(FOLDERS.values()), named
    assert not any("kubectl apply -f" in text for text in texts)


def test_readers_of_the_sidecar():
    """The reader's proxy is the sidecar's address, for the schemes that it can serve; the authority's key is not the reader's to see."""
    for name, schemes in (("sidecar", {"http_proxy"}), ("overlays/sidecar-intercept", {"http_proxy", "https_proxy"})):
        ((pod, container),) = utfeeds(name)
        (listen,) = [row["value"] for row in container["env"] if row["name"] == "UTFEED_LISTEN"]
        (reader,) = pod["containers"]
        environment = {row["name"]: row["value"] for row in reader["env"]}
        assert {key for key in environment if key in ("http_proxy", "https_proxy")} == schemes
        assert {environment[key] for key in schemes} == {f"http://{listen}"}
        for each in pod["containers"] + [row for row in pod["initContainers"] if row["name"] != "utfeed"]:
            assert not any(key == "ca.key" for _, (_, key) in secret_files(pod, {"env": [], **each}))


def sortable(value, name=""):
    """Lists in which the order says nothing in one order."""
    if isinstance(value, dict):
        return {key: sortable(item, key) for key, item in value.items()}
    if isinstance(value, list):
        items = [sortable(item) for item in value]
        return sorted(items, key=lambda item: item[kustomize.KEYS[name]]) if name in kustomize.KEYS else items
    return value


@pytest.mark.skipif(not KUBECTL, reason="no kubectl here, or an old one")
@pytest.mark.parametrize("name", FOLDERS)
def test_kubectl_makes_the_same(name):
    done = subprocess.run([KUBECTL, "kustomize", FOLDERS[name]], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    made = sorted((sortable(each) for each in yaml.safe_load_all(done.stdout)), key=lambda each: (each["kind"], each["metadata"]["name"]))
    ours = sorted((sortable(each) for each in OBJECTS[name]), key=lambda each: (each["kind"], each["metadata"]["name"]))
    assert json.dumps(made, sort_keys=True, indent=1) == json.dumps(ours, sort_keys=True, indent=1)


def told(given, read, where=""):
    """What kubectl leaves out of an object that it read: fields that its types do not have."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(read, dict) or key not in read:
                yield f"{where}.{key}"
            else:
                yield from told(value, read[key], f"{where}.{key}")
    elif isinstance(given, list):
        if not isinstance(read, list) or len(given) != len(read):
            yield where
        else:
            for number, item in enumerate(given):
                yield from told(item, read[number], f"{where}[{number}]")
    elif given != read:
        yield f"{where}: {given} is {read}"


@pytest.mark.skipif(not KUBECTL, reason="no kubectl here, or an old one")
@every
def test_kubectl_knows_every_field(name):
    """Offline it reads these two kinds by their types."""
    for kind, *command in (("Deployment", "set", "image", "*=same"), ("StatefulSet", "set", "image", "*=same"), ("Service", "set", "selector", "app=same")):
        for each in of_kind(name, kind):
            done = subprocess.run([KUBECTL, *command[:2], "--local", "-f", "-", command[2], "-o", "json"], input=json.dumps(each), capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
            assert done.returncode == 0, done.stderr
            lost = [row for row in told(each, json.loads(done.stdout), each["metadata"]["name"]) if not row.endswith("is same") and ".spec.selector" not in row]
            assert not lost, lost
