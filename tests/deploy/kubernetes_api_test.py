"""deploy/kubernetes against the schemas of a current Kubernetes (1.34) and of the operators that it uses (KEDA, cert-manager, Prometheus).

They come from the npm registry, as schemas/package-lock.json has them, which `./dev test` fetches once; the test itself needs no
network. kubernetes_test.py holds the manifests against the API of the distribution's package, which is older.
"""

import copy
import json
import shutil
import subprocess
import sys
import unittest

from kubernetes_lab import EXIT_SKIPPED, FOLDER, OVERLAYS, ROOT, kustomize, only

SCHEMAS = ROOT / "tests" / "deploy" / "schemas"
NODE = shutil.which("node")


def mistakes(manifests):
    """What is wrong with the manifests of a list, as sentences."""
    named = {f"{number} {m['kind']}/{m['metadata']['name']}": m for number, m in enumerate(manifests)}
    done = subprocess.run(
        [NODE, SCHEMAS / "check.mjs"], input=json.dumps(named), capture_output=True, text=True, check=False, timeout=500
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = {name: kustomize(FOLDER / "overlays" / name) for name in OVERLAYS}

    def test_every_manifest_is_legal(self):
        self.assertEqual(mistakes([m for name in OVERLAYS for m in self.made[name]]), [])

    def test_what_is_wrong_is_found(self):
        """Each planted in a manifest that is delivered: a field that does not exist, a wrong type, one that is missing, a wrong word, a
        resource that no API has; in the API's own resources and in those of operators."""
        pod = ("spec", "template", "spec")
        planted = [
            ("StatefulSet", "isocenter", (*pod, "containers", 0, "imagee"), "a", '"imagee"\' does not exist'),
            ("StatefulSet", "isocenter", ("spec", "replicas"), "three", "spec/replicas must be integer"),
            ("StatefulSet", "isocenter", (*pod, "restartPolicy"), "Perhaps", "restartPolicy must be equal to one of"),
            ("StatefulSet", "isocenter", ("spec", "selector"), None, "must have required property selector"),
            ("PodDisruptionBudget", "isocenter", ("spec", "maxUnavailables"), 1, '"maxUnavailables"\' does not exist'),
            ("ScaledObject", "isocenter", ("spec", "scaleTargetRef", "names"), "a", '"names"\' does not exist'),
            ("ScaledObject", "isocenter", ("spec", "triggers"), None, "must have required property triggers"),
            ("Certificate", "isocenter-node", ("spec", "dnsName"), ["a"], '"dnsName"\' does not exist'),
            ("ServiceMonitor", "isocenter", ("spec", "endpoints", 0, "intervall"), "5s", '"intervall"\' does not exist'),
            ("StatefulSet", "isocenter", ("apiVersion",), "apps/v3", "apps/v3/StatefulSet: no such resource"),
        ]
        wrong = []
        for kind, name, place, value, _ in planted:
            manifest = copy.deepcopy(only(self.made["ha"], kind, name))
            inner = manifest
            for step in place[:-1]:
                inner = inner[step]
            if value is None:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            wrong.append(manifest)
        found = mistakes(wrong)
        for number, (*_, said) in enumerate(planted):
            with self.subTest(said):
                about = [mistake for mistake in found if mistake.startswith(f"{number} ")]
                self.assertTrue(any(said in mistake for mistake in about), about)


if __name__ == "__main__":
    if NODE is None or not (SCHEMAS / "node_modules").is_dir():
        print(f"needs node and the schemas; get them with: npm ci --prefix {SCHEMAS.relative_to(ROOT)} --ignore-scripts")
        sys.exit(EXIT_SKIPPED)
    unittest.main(verbosity=2)
