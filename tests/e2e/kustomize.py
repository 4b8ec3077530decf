"""A kustomization of docker/kubernetes as objects: what `kubectl kustomize` makes of it, as far as these files go. test_kubernetes.py holds
the two against each other where there is a kubectl."""
import copy
import os

import yaml

KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "images", "replicas", "patches"}
# By what items of a list are the same in two objects; other lists are replaced as a whole
KEYS = {"containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}


WORKLOADS = {"Deployment", "StatefulSet"}


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [each for each in yaml.safe_load_all(file.read()) if each]


def merged(base, patch, name=""):
    """patch upon base, by the rules of a strategic merge."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return {**base, **{key: merged(base[key], value, key) if key in base else value for key, value in patch.items()}}
    if name in KEYS and isinstance(base, list):
        key = KEYS[name]
        patches = {item[key]: item for item in patch}
        return [merged(item, patches.pop(item[key], {})) for item in base] + list(patches.values())
    return patch


def containers(each):
    pod = each["spec"]["template"]["spec"] if each["kind"] in WORKLOADS else {}
    return pod.get("initContainers", []) + pod.get("containers", [])


def patched(objects, patch):
    """objects with the patch upon the one that it names."""
    (target,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (patch["kind"], patch["metadata"]["name"])]
    return [merged(each, patch) if each is target else each for each in objects]


def named(objects, image):
    """objects with the image by its new name."""
    for each in objects:
        for container in containers(each):
            name, tag = container["image"].rsplit(":", 1)
            if name == image["name"]:
                container["image"] = f"{image.get('newName', name)}:{image.get('newTag', tag)}"


def rendered(folder, objects=()):
    """The objects of a kustomization, or those given with a component upon them."""
    (text,) = documents(os.path.join(folder, "kustomization.yaml"))
    assert set(text) <= KNOWN, f"{folder}: this is unknown here: {set(text) - KNOWN}"
    made = copy.deepcopy(list(objects))
    for name in text.get("resources", []):
        path = os.path.join(folder, name)
        made += rendered(path) if os.path.isdir(path) else documents(path)
    for name in text.get("components", []):
        made = rendered(os.path.join(folder, name), made)
    for row in text.get("patches", []):
        for patch in documents(os.path.join(folder, row["path"])) if "path" in row else yaml.safe_load_all(row["patch"]):
            made = patched(made, patch)
    for image in text.get("images", []):
        named(made, image)
    for row in text.get("replicas", []):
        made = patched(made, {"kind": "Deployment", "metadata": {"name": row["name"]}, "spec": {"replicas": row["count"]}})
    for each in made if "namespace" in text else []:
        each["metadata"]["namespace"] = text["namespace"]
    return made


def files(folder):
    """Every file that the kustomization needs, and its own."""
    (text,) = documents(os.path.join(folder, "kustomization.yaml"))
    yield os.path.realpath(os.path.join(folder, "kustomization.yaml"))
    for name in text.get("resources", []) + text.get("components", []) + [row["path"] for row in text.get("patches", []) if "path" in row]:
        path = os.path.realpath(os.path.join(folder, name))
        yield from files(path) if os.path.isdir(path) else [path]
