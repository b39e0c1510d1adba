"""deploy/kubernetes: what kustomize makes of each overlay is legal, keeps to the policies, and fits together."""

import contextlib
import copy
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from kubernetes_lab import EXIT_SKIPPED, FOLDER, OVERLAYS, ROOT, kustomize, node_command, node_config, only

try:
    import yaml

    import kubernetes_policy as policy
    import kubernetes_schema as schema
    from lab import process
except ImportError as error:
    print(f"{error}; install it with: ./dev setup test")
    sys.exit(EXIT_SKIPPED)

PROMETHEUS = ROOT / "deploy" / "prometheus"
DASHBOARDS = ROOT / "deploy" / "grafana" / "dashboards"


class Overlays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = {name: kustomize(FOLDER / "overlays" / name) for name in OVERLAYS}

    def test_there_are_all(self):
        self.assertEqual(OVERLAYS, ["cpu", "gpu", "ha"])

    def test_legal(self):
        for name, manifests in self.made.items():
            for manifest in manifests:
                with self.subTest(overlay=name, manifest=policy.name(manifest)):
                    self.assertEqual(schema.mistakes(manifest), [])

    def test_policies(self):
        for name, manifests in self.made.items():
            with self.subTest(overlay=name):
                self.assertEqual(policy.mistakes(manifests), [])

    def test_every_component_is_used(self):
        used = "".join(p.read_text() for p in FOLDER.glob("overlays/*/kustomization.yaml"))
        for component in (FOLDER / "components").iterdir():
            self.assertIn(f"components/{component.name}\n", used)

    def test_isocenterd_takes_the_configuration(self):
        for name, manifests in self.made.items():
            with self.subTest(overlay=name), tempfile.TemporaryDirectory() as folder:
                argv = [*node_command(manifests, pathlib.Path(folder)), "--check"]
                done = subprocess.run(argv, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_probes_are_answered(self):
        """By isocenterd itself, at the ports that the pod names."""
        container = only(self.made["cpu"], "StatefulSet", "isocenter")["spec"]["template"]["spec"]["containers"][0]
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        free = {number: process.free_port() for number in ports.values()}
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        argv = node_command(self.made["cpu"], folder)
        config = folder / "isocenterd.textproto"
        text = config.read_text().replace("0.0.0.0", "127.0.0.1").replace("/var/lib/isocenter", str(folder))
        for number, instead in free.items():
            text = re.sub(rf"\b{number}\b", str(instead), text)
        config.write_text(text)
        node = process.Process(argv, folder / "log")
        self.addCleanup(node.stop)
        unverified = ssl.create_default_context()  # as the kubelet
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE

        def answers(url):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return urllib.request.urlopen(url, context=unverified, timeout=60).status == 200

        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            get = container[name]["httpGet"]
            url = f"{get.get('scheme', 'HTTP').lower()}://127.0.0.1:{free[ports[get['port']]]}{get['path']}"
            node.wait_for(lambda: answers(url), 120, f"{name} at {url}")

    def test_drains_within_the_grace_period(self):
        for name, manifests in self.made.items():
            with self.subTest(overlay=name):
                pod = only(manifests, "StatefulSet", "isocenter")["spec"]["template"]["spec"]
                drain = float(re.search(r"^drain_seconds: (\d+)", node_config(manifests), re.M)[1])
                before = float(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
                self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], before + drain + 10)

    def test_rules_are_those_of_prometheus(self):
        """But for the addresses of this cluster, which alerts lead to."""
        made = {m["metadata"]["name"]: m["spec"]["groups"] for m in policy.of_kind(self.made["ha"], "PrometheusRule")}
        names = ("targets", "recording", "alerts")
        files = {f"isocenter-{n}": yaml.safe_load((PROMETHEUS / f"{n}.rules.yml").read_text())["groups"] for n in names}
        local, cluster = (groups["isocenter-targets"][0]["rules"][-1]["labels"] for groups in (files, made))
        self.assertIn(local["docs_url"], "http://127.0.0.1:8080/docs")
        page = only(self.made["ha"], "Service", "isocenter-page")["spec"]["ports"][0]["port"]
        host = re.fullmatch(rf"https://([a-z.]+):{page}/docs", cluster["docs_url"])[1]
        self.assertIn(host, only(self.made["ha"], "Certificate", "isocenter-node")["spec"]["dnsNames"])
        local.update(cluster)
        self.assertEqual(made, files)

    def test_dashboards_are_those_of_grafana(self):
        made = only(self.made["ha"], "ConfigMap", "isocenter-dashboards")
        self.assertEqual(made["metadata"]["labels"]["grafana_dashboard"], "1")
        files = {file.name: file.read_text() for file in DASHBOARDS.glob("*.json")}
        self.assertEqual(made["data"], files)

    def test_gpu(self):
        for name in ("gpu", "ha"):
            pod = only(self.made[name], "StatefulSet", "isocenter")["spec"]["template"]["spec"]
            self.assertEqual(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1")
            self.assertIn("nvidia.com/gpu.present", json.dumps(pod["affinity"]["nodeAffinity"]))
        pod = only(self.made["cpu"], "StatefulSet", "isocenter")["spec"]["template"]["spec"]
        self.assertNotIn("nvidia", json.dumps(pod))


class Balancer(unittest.TestCase):
    """The highly available overlay names its nodes in three places."""

    @classmethod
    def setUpClass(cls):
        cls.made = kustomize(FOLDER / "overlays" / "ha")
        text = only(cls.made, "ConfigMap", "isocenter-proxy-config-.*")["data"]["envoy.yaml"]
        cls.envoy = yaml.safe_load(text)
        cls.clusters = {c["name"]: c for c in cls.envoy["static_resources"]["clusters"] if c["name"] != "admin"}

    def manager(self):
        chain = self.envoy["static_resources"]["listeners"][0]["filter_chains"][0]
        return chain["filters"][0]["typed_config"]

    def test_names_agree(self):
        nodes = re.findall(r'^  node: "(.+)"$', node_config(self.made), re.M)
        self.assertEqual(sorted(self.clusters), sorted(["any", *nodes]))
        scaling = only(self.made, "ScaledObject", "isocenter")["spec"]
        self.assertEqual(nodes, [f"isocenter-{i}" for i in range(scaling["maxReplicaCount"])])
        self.assertGreaterEqual(scaling["minReplicaCount"], only(self.made, "StatefulSet", "isocenter")["spec"]["replicas"])

    def test_addresses_are_of_services(self):
        services = {s["metadata"]["name"]: s["spec"] for s in policy.of_kind(self.made, "Service")}
        for name, cluster in self.clusters.items():
            endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
            address = endpoint["address"]["socket_address"]
            host = address["address"].removesuffix(".isocenter.svc.cluster.local")
            service = "isocenter" if name == "any" else "isocenter-nodes"
            self.assertEqual(host, service if name == "any" else f"{name}.{service}")
            self.assertIn(address["port_value"], [p["port"] for p in services[service]["ports"]])
        self.assertNotIn("publishNotReadyAddresses", services["isocenter"])

    def test_routes_by_the_node_first(self):
        routes = self.manager()["route_config"]["virtual_hosts"][0]["routes"]
        self.assertEqual(routes[0]["match"]["headers"], [{"name": "isocenter-node", "present_match": True}])
        self.assertEqual(routes[0]["route"]["cluster_header"], "isocenter-node")
        self.assertNotIn("retry_policy", routes[0]["route"], "a console is sent to its node or to none")
        self.assertEqual(routes[1]["route"]["cluster"], "any")
        for route in routes:
            self.assertEqual(route["route"]["timeout"], "0s", "a stream lasts as long as its job")

    def test_both_sides_are_encrypted(self):
        chain = self.envoy["static_resources"]["listeners"][0]["filter_chains"][0]
        self.assertIs(chain["transport_socket"]["typed_config"]["require_client_certificate"], True)
        for name, cluster in self.clusters.items():
            context = cluster["transport_socket"]["typed_config"]["common_tls_context"]
            names = context["validation_context"]["match_typed_subject_alt_names"]
            wanted = names[0]["matcher"]["exact"]
            issued = only(self.made, "Certificate", "isocenter-node")["spec"]["dnsNames"]
            self.assertIn(wanted, issued, f"cluster {name}")

    def test_secrets_are_issued(self):
        issued = {c["spec"]["secretName"] for c in policy.of_kind(self.made, "Certificate")}
        mounted = {
            v["secret"]["secretName"]
            for w in policy.workloads(self.made)
            for v in w["spec"]["template"]["spec"]["volumes"]
            if "secret" in v
        }
        # Who signs in is no matter of certificates, and the PACS has its own.
        self.assertEqual(issued | {"isocenter-access", "isocenter-pacs-ca"}, mounted)

    def test_only_proxies_reach_the_nodes(self):
        ingress = only(self.made, "NetworkPolicy", "isocenter-node")["spec"]["ingress"]
        for rule in ingress:
            if "grpc" in [port["port"] for port in rule["ports"]]:
                self.assertEqual(rule["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"], "proxy")


class TheChecksThemselves(unittest.TestCase):
    """Each planted fault is found."""

    @classmethod
    def setUpClass(cls):
        cls.made = kustomize(FOLDER / "overlays" / "ha")

    def found(self, change):
        manifests = copy.deepcopy(self.made)
        change(manifests)
        return policy.mistakes(manifests) + [what for m in manifests for what in schema.mistakes(m)]

    def test_planted_faults(self):
        def pod(manifests):
            return only(manifests, "StatefulSet", "isocenter")["spec"]["template"]["spec"]

        def container(manifests):
            return pod(manifests)["containers"][0]

        faults = {
            "runs as root": lambda m: pod(m)["securityContext"].pop("runAsNonRoot"),
            "writable root": lambda m: container(m)["securityContext"].pop("readOnlyRootFilesystem"),
            "no memory limit": lambda m: container(m)["resources"].pop("limits"),
            "no readiness": lambda m: container(m).pop("readinessProbe"),
            "floating image": lambda m: container(m).update(image="isocenter:latest"),
            "misspelt field": lambda m: container(m).update(readOnly=True),
            "number for text": lambda m: container(m)["env"][1].update(value=1),
            "text for number": lambda m: only(m, "StatefulSet", "isocenter")["spec"].update(replicas="2"),
            "missing name": lambda m: container(m)["ports"][0].pop("containerPort"),
            "quantity as number": lambda m: container(m)["resources"]["requests"].update(cpu=8),
            "lost volume": lambda m: pod(m)["volumes"].pop(),
            "no budget": lambda m: m.remove(only(m, "PodDisruptionBudget", "isocenter")),
            "open network": lambda m: m.remove(only(m, "NetworkPolicy", "isocenter-default")),
            "misspelt trigger": lambda m: only(m, "ScaledObject", "isocenter")["spec"]["triggers"][0].update(kind="x"),
            "service without pods": lambda m: only(m, "Service", "isocenter-dicom")["spec"].update(selector={"a": "b"}),
            "misspelt rule": lambda m: only(m, "PrometheusRule", "isocenter-alerts")["spec"]["groups"][0].update(rule=[]),
            "token": lambda m: pod(m).pop("automountServiceAccountToken"),
            "DICOM for all": lambda m: only(m, "NetworkPolicy", "isocenter-node")["spec"]["ingress"][1]["from"].append(
                {"ipBlock": {"cidr": "10.0.0.0/8"}}
            ),
        }
        self.assertEqual(self.found(lambda m: None), [])
        for name, fault in faults.items():
            with self.subTest(name):
                self.assertNotEqual(self.found(fault), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
