"""deploy/kubernetes: who reaches what, and who is believed."""

import json
import re
import unittest

import kubernetes_policy as policy
from kubernetes_lab import FOLDER, OVERLAYS, ROOT, client_authority, kustomize, mounted_secret, node_config, only, yaml


class Doors(unittest.TestCase):
    """Who reaches a node of each overlay."""

    @classmethod
    def setUpClass(cls):
        cls.made = {name: kustomize(FOLDER / "overlays" / name) for name in OVERLAYS}

    def test_dicom_takes_certificates_of_an_authority_of_its_own(self):
        for name, manifests in self.made.items():
            with self.subTest(overlay=name):
                config = node_config(manifests)
                self.assertRegex(config, r"(?m)^  tls_only: true$")
                self.assertNotIn("unprotected_listener", config)
                self.assertNotIn("anonymous_callers", config)
                pod = only(manifests, "StatefulSet", "isocenter")["spec"]["template"]["spec"]
                folder = re.search(r'^    ca_file: "(.+)/ca.crt"$', config, re.M)[1]
                secret = mounted_secret(pod, folder)["secretName"]
                self.assertNotIn(secret, [client_authority(manifests), "isocenter-node-tls"])

    def test_clients_have_an_authority_that_signs_for_nobody_else(self):
        for name, manifests in self.made.items():
            with self.subTest(overlay=name):
                issued = {c["spec"]["secretName"]: c["spec"] for c in policy.of_kind(manifests, "Certificate")}
                authority = client_authority(manifests)
                self.assertNotEqual(authority, "isocenter-node-tls")
                self.assertTrue(authority not in issued or issued[authority]["isCA"])

    def test_keys_of_authorities_stay_out_of_the_pods(self):
        for name, manifests in self.made.items():
            for workload in policy.workloads(manifests):
                for volume in workload["spec"]["template"]["spec"]["volumes"]:
                    secret = volume.get("secret", {})
                    if secret.get("secretName", "").endswith("-ca"):
                        keys = [item["key"] for item in secret["items"]]
                        self.assertEqual(keys, ["ca.crt"], f"{name}: {secret['secretName']}")


class Proxy(unittest.TestCase):
    """Envoy, before the nodes of the highly available overlay."""

    @classmethod
    def setUpClass(cls):
        cls.made = kustomize(FOLDER / "overlays" / "ha")
        config = yaml.safe_load(only(cls.made, "ConfigMap", "isocenter-proxy-config-.*")["data"]["envoy.yaml"])
        cls.admin, resources = config["admin"], config["static_resources"]
        cls.grpc, cls.stats = resources["listeners"]
        cls.clusters = [c for c in resources["clusters"] if c["name"] != "admin"]
        cls.pod = only(cls.made, "Deployment", "isocenter-proxy")["spec"]["template"]["spec"]

    def test_only_this_pod_reaches_the_administration_of_the_proxy(self):
        """Whoever reaches it may end the proxy (/quitquitquit)."""
        admin = self.admin["address"]["socket_address"]
        self.assertEqual(admin["address"], "127.0.0.1")
        ports = [p["containerPort"] for p in self.pod["containers"][0]["ports"]]
        self.assertNotIn(admin["port_value"], ports)
        listens = [x["address"]["socket_address"]["port_value"] for x in (self.grpc, self.stats)]
        self.assertEqual(ports, listens)

    def test_of_the_administration_two_paths_are_served(self):
        self.assertNotIn('"admin"', json.dumps(self.grpc))
        hosts = self.stats["filter_chains"][0]["filters"][0]["typed_config"]["route_config"]["virtual_hosts"]
        matches = [route["match"] for host in hosts for route in host["routes"]]
        self.assertEqual([m["path"] for m in matches], ["/stats/prometheus", "/ready"])
        for match in matches:
            self.assertEqual(set(match), {"path", "headers"}, "nothing but this path")
            self.assertEqual(match["headers"], [{"name": ":method", "string_match": {"exact": "GET"}}])

    def test_the_proxy_says_who_calls_and_lets_nobody_else_say_so(self):
        config = self.grpc["filter_chains"][0]["filters"][0]["typed_config"]["route_config"]
        said = {h["header"]["key"]: h for h in config["request_headers_to_add"]}
        self.assertEqual(set(said), {"isocenter-caller-subject", "isocenter-caller-address"})
        self.assertEqual(set(config["request_headers_to_remove"]), set(said))
        self.assertEqual(said["isocenter-caller-subject"]["header"]["value"], "%DOWNSTREAM_PEER_SUBJECT%")
        for header in said.values():
            self.assertEqual(header["append_action"], "OVERWRITE_IF_EXISTS_OR_ADD")
        names = "".join((ROOT / "server/rpc/callers" / f"proxied_caller.{kind}").read_text() for kind in ("h", "cc"))
        for key in said:
            self.assertIn(f'"{key}"', names)

    def test_nodes_believe_the_proxy_alone(self):
        """By its name, from an authority that signs for nothing else."""
        named = re.findall(r'^grpc_proxy: "CN=(.+)"$', node_config(self.made), re.M)
        authority = client_authority(self.made)
        issuers = [i["metadata"]["name"] for i in self.signers(authority)]
        issued = [c for c in policy.of_kind(self.made, "Certificate") if c["spec"]["issuerRef"]["name"] in issuers]
        self.assertEqual([c["spec"]["commonName"] for c in issued], named)
        # Which the proxy presents to each cluster.
        volume = next(v["name"] for v in self.pod["volumes"] if v.get("secret", {}).get("secretName") == issued[0]["spec"]["secretName"])
        folder = next(m["mountPath"] for m in self.pod["containers"][0]["volumeMounts"] if m["name"] == volume)
        for cluster in self.clusters:
            context = cluster["transport_socket"]["typed_config"]["common_tls_context"]
            self.assertEqual(context["tls_certificates"][0]["certificate_chain"]["filename"], f"{folder}/tls.crt")

    def test_consoles_have_an_authority_of_their_own(self):
        chain = self.grpc["filter_chains"][0]
        context = chain["transport_socket"]["typed_config"]["common_tls_context"]
        folder, _, file = context["validation_context"]["trusted_ca"]["filename"].rpartition("/")
        secret = mounted_secret(self.pod, folder)
        self.assertEqual([item["key"] for item in secret["items"]], [file], "not its key")
        self.assertEqual(len(self.signers(secret["secretName"])), 1)

    def signers(self, secret):
        """The issuers that sign with a secret, which must be an authority of this namespace."""
        made = [c for c in policy.of_kind(self.made, "Certificate") if c["spec"]["secretName"] == secret]
        self.assertEqual([(c["spec"].get("isCA"), c["spec"]["issuerRef"]["kind"]) for c in made], [(True, "Issuer")], secret)
        return [i for i in policy.of_kind(self.made, "Issuer") if i["spec"].get("ca", {}).get("secretName") == secret]


if __name__ == "__main__":
    unittest.main(verbosity=2)
