"""What kustomize makes of a folder of deploy/kubernetes, and what is to be found in it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

EXIT_SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
try:
    import yaml
except ImportError as error:
    print(f"{error}; install it with: ./dev setup test")
    sys.exit(EXIT_SKIPPED)

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = sorted(p.name for p in (FOLDER / "overlays").iterdir())


def kustomize(folder):
    """The manifests of a folder."""
    for command in (["kubectl", "kustomize"], ["kustomize", "build"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, folder], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise AssertionError(f"{folder}: {done.stderr}")
            return [m for m in yaml.safe_load_all(done.stdout) if m]
    print("neither kubectl nor kustomize was found; install one of them (4.1 or newer)")
    sys.exit(EXIT_SKIPPED)


def only(manifests, kind, name):
    found = [m for m in manifests if m["kind"] == kind and re.fullmatch(name, m["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def node_config(manifests):
    return only(manifests, "ConfigMap", "isocenter-config-.*")["data"]["isocenterd.textproto"]


def node_command(manifests, folder):
    """isocenterd as in the pod; configuration and what the secrets bring are in the folder."""
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=node"]
    argv += ["-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt"]
    subprocess.run(argv, capture_output=True, check=True)
    shutil.copy(f"{folder}/tls.crt", f"{folder}/ca.crt")
    (folder / "tokens").write_text(f"operator {'0123456789abcdef' * 4} ward 3\n")
    (folder / "tokens").chmod(0o440)
    config = folder / "isocenterd.textproto"
    config.write_text(re.sub("/etc/isocenter/(tls|access|clients|pacs)", str(folder), node_config(manifests)))
    program = pathlib.Path(os.environ.get("ISOCENTER_BIN", ROOT / "build/release/bin")) / "isocenterd"
    return [program, "--config", config, "--node_name", "isocenter-0"]


def mounted_secret(pod, folder):
    """What a container finds there."""
    mount = next(m["name"] for m in pod["containers"][0]["volumeMounts"] if m["mountPath"] == folder)
    return next(v["secret"] for v in pod["volumes"] if v["name"] == mount)


def client_authority(manifests):
    """The secret with the authority whose certificates the nodes take on gRPC."""
    folder = re.search(r'^  client_ca_file: "(.+)/ca.crt"$', node_config(manifests), re.M)[1]
    return mounted_secret(only(manifests, "StatefulSet", "isocenter")["spec"]["template"]["spec"], folder)["secretName"]
