"""Nodes behind HAProxy, two or more, with the configuration that deploy/haproxy delivers and TLS on both of its sides."""

import contextlib
import json
import re
import signal

import support
from lab import isocenter, process

NODES = ("recon1", "recon2")
# Frames a second of a scan that the test has to find while it lasts: ten seconds.
SLOW = 10


class ClusterTest(support.ServiceTest):
    names = NODES

    def setUp(self):
        super().setUp()
        self.haproxy = support.need("haproxy", "haproxy")
        self.openssl = support.need("openssl", "openssl")
        self.certificates()
        self.nodes = {}

    def path(self, name):
        return self.folder / name

    def ssl(self, *arguments):
        done = process.run([self.openssl, *arguments], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def certificates(self):
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        for authority in ("ca", "consoles-ca"):
            files = ("-keyout", f"{authority}.key", "-out", f"{authority}.pem")
            self.ssl("req", "-x509", *curve, "-days", "2", "-subj", f"/CN={authority}", *files)
        self.path("names").write_text(
            "subjectAltName=IP:127.0.0.1," + ",".join(f"DNS:{node}.example.org" for node in self.names) + "\n"
        )
        for name, authority in (("server", "ca"), ("proxy", "ca"), ("console", "consoles-ca")):
            self.ssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            self.ssl(
                *("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"),
                *("-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem"),
            )
        # HAProxy reads certificate and key from one file.
        with open(self.path("proxy.pem"), "a") as file:
            file.write(self.path("proxy.key").read_text())

    def place(self, name):
        """Further options of lab.isocenter.Service: where that node runs."""
        return {}

    def way_to(self, name):
        """The address at which the proxy reaches a node."""
        return self.nodes[name].grpc

    def start(self, limits="", flags=None):
        """`limits`: of the configuration of all nodes. `flags`: {node: what else it is started with}"""
        for name in self.names:
            self.nodes[name] = self.service(
                name,
                tls={
                    "certificate_file": self.path("server.pem"),
                    "private_key_file": self.path("server.key"),
                    "client_ca_file": self.path("ca.pem"),
                },
                flags=("--node_name", name, *(flags or {}).get(name, ())),
                config="cluster { " + " ".join(f'node: "{node}"' for node in self.names) + " }\n"
                + 'grpc_proxy: "CN=proxy"\n' + limits,
                **self.place(name),
            )
        self.address = f"127.0.0.1:{process.free_port()}"
        self.start_proxy()

    def proxy_configuration(self):
        """As it is delivered, for two nodes; each other one is added as its first lines say."""
        text = (support.ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        last = NODES[-1]
        server = re.search(rf"^  server {last} {last}.example.org:50051 verifyhost .*\n", text, re.MULTILINE)[0]
        backend = re.search(rf"^backend node_{last}\n(?:  .*\n)+", text, re.MULTILINE)[0]
        others = self.names[len(NODES) :]
        text = text.replace(" ".join(NODES), " ".join(self.names))
        text = text.replace(server, server + "".join(server.replace(last, name) for name in others))
        # As on a large machine: what threads of a proxy do to each other's connections does not show with two.
        text = text.replace("  maxconn 1000\n", "  maxconn 1000\n  nbthread 8\n")
        return text + "".join("\n" + backend.replace(last, name) for name in others)

    def start_proxy(self):
        """The configuration as it is delivered, but for addresses and paths."""
        text = self.proxy_configuration()
        text = text.replace("bind :50051", f"bind {self.address}").replace("/etc/haproxy/", f"{self.folder}/")
        for name in self.nodes:
            text = text.replace(f"{name}.example.org:50051", self.way_to(name))
        self.path("haproxy.cfg").write_text(text)
        self.proxy = self.background([self.haproxy, "-db", "-f", self.path("haproxy.cfg")], "haproxy")
        self.proxy.wait_for(lambda: self.call("protocols").returncode == 0, 120, "an answer through it")

    def server(self, address=None):
        """A node itself (`address`) knows no console."""
        who = "server" if address else "console"
        return (
            *("--server", address or self.address, "--ca", self.path("ca.pem")),
            *("--cert", self.path(f"{who}.pem"), "--key", self.path(f"{who}.key")),
        )

    def call(self, *arguments, address=None):
        return isocenter.call(*arguments, *self.server(address), seconds=90)

    def document(self, *arguments):
        """What a command writes with --json."""
        done = self.call(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def console(self, name, fps=30, *options):
        """A scan that takes some seconds, in the background."""
        summary = self.path(f"{name}.json")
        argv = [isocenter.binary("isocenter"), "stream", self.bundle(), *support.GRID, "--fps", fps, "--json", summary]
        return self.background([*argv, *self.server(), *options], name)

    @contextlib.contextmanager
    def held(self, *consoles):
        """Their scans go on only afterwards, however long it takes."""
        for console in consoles:
            console.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for console in consoles:
                console.signal(signal.SIGCONT)

    def jobs_of(self, name):
        done = self.call("jobs", "--node", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"\d{8}T\d{6}-[0-9a-f]{8}.*", done.stdout)

    def wait_for_job(self, where=NODES, states="receiving"):
        """The node that has an active job."""

        def node():
            return next((n for n in where if any(states in line.lower() for line in self.jobs_of(n))), None)

        return process.wait_until(node, 120, f"a job that is {states} on one of {where}")

    def wait_for_the_return_of(self, name):
        """The proxy looks every two seconds; until it has seen the node again, it sends nothing there but what names the node."""

        def is_up():
            told = re.findall(rf"Server any/{name} is (DOWN|UP)", self.proxy.output())
            return not told or told[-1] == "UP"

        self.proxy.wait_for(is_up, 60, f"{name} to be seen again")

    def summary(self, console, name):
        self.assertEqual(console.wait(240), 0, console.output() + self.proxy.output()[-3000:])
        return support.read_json(self.path(f"{name}.json"))

    def volume(self, job, node):
        """The voxels and the series of a job, as that node has them."""
        out = self.path(f"{job}-{node}.mha")
        done = self.call("fetch", job, "--format", "mha", "--out", out, "--overwrite", "--node", node)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out.read_bytes()

    def frames_of(self, node):
        done = self.call("jobs", "--node", node, "--json")
        jobs = json.loads(done.stdout) if done.returncode == 0 else []
        return max([job["frames_received"] for job in jobs if job["state"] == "receiving"], default=0)
