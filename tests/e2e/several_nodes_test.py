"""Two nodes behind HAProxy, with the configuration that deploy/haproxy delivers and TLS on both of its sides."""

import contextlib
import json
import re
import signal

import support
from lab import isocenter, process

NODES = ("recon1", "recon2")
# Frames a second of a scan that the test has to find while it lasts: ten seconds.
SLOW = 10


class SeveralNodesTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        self.haproxy = support.need("haproxy", "haproxy")
        self.openssl = support.need("openssl", "openssl")
        self.certificates()
        self.nodes = {}

    # The lab.

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
            "subjectAltName=IP:127.0.0.1," + ",".join(f"DNS:{node}.example.org" for node in NODES) + "\n"
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

    def start(self, limits="", flags=None):
        """`limits`: of the configuration of all nodes. `flags`: {node: what else it is started with}"""
        for name in NODES:
            self.nodes[name] = self.service(
                name,
                tls={
                    "certificate_file": self.path("server.pem"),
                    "private_key_file": self.path("server.key"),
                    "client_ca_file": self.path("ca.pem"),
                },
                flags=("--node_name", name, *(flags or {}).get(name, ())),
                config="cluster { " + " ".join(f'node: "{node}"' for node in NODES) + " }\n"
                + 'grpc_proxy: "CN=proxy"\n' + limits,
            )
        self.address = f"127.0.0.1:{process.free_port()}"
        self.start_proxy()

    def start_proxy(self):
        """The configuration as it is delivered, but for addresses and paths."""
        text = (support.ROOT / "deploy/haproxy/haproxy.cfg").read_text()
        text = text.replace("bind :50051", f"bind {self.address}").replace("/etc/haproxy/", f"{self.folder}/")
        for name, node in self.nodes.items():
            text = text.replace(f"{name}.example.org:50051", node.grpc)
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

    # What must hold.

    def test_scans_at_once_are_shared(self):
        self.start()
        first = self.console("first", SLOW)
        busy = self.wait_for_job()
        with self.held(first):
            second = self.console("second", SLOW)
            other = self.wait_for_job([n for n in NODES if n != busy])
        self.assertEqual(self.summary(first, "first")["node"], busy)
        summary = self.summary(second, "second")
        self.assertEqual(summary["node"], other)
        # A job belongs to its node: named, it is found there, and nowhere else.
        out = self.path("volume.mha")
        fetch = ("fetch", summary["job_id"], "--format", "mha", "--out", out)
        self.assertNotEqual(self.call(*fetch, "--node", busy).returncode, 0)
        done = self.call(*fetch, "--node", other)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_full_node_is_passed_over_and_full_nodes_refuse(self):
        self.start(limits="limits { max_active_jobs: 1 }")
        consoles = {"first": self.console("first", SLOW)}
        busy = self.wait_for_job()
        with self.held(consoles["first"]):
            consoles["second"] = self.console("second", SLOW)
            self.wait_for_job([n for n in NODES if n != busy])
            with self.held(consoles["second"]):
                refused = self.call("stream", self.bundle(), *support.GRID)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("1 place among the active jobs is needed", refused.stderr)
        nodes = {self.summary(console, name)["node"] for name, console in consoles.items()}
        self.assertEqual(nodes, set(NODES))

    def test_consoles_that_begin_at_once_are_refused_by_none(self):
        """Both are promised the same place; who comes second is refused there, and taken by the other node."""
        self.start(limits="limits { max_active_jobs: 1 }")
        for attempt in range(3):
            names = [f"{console}-{attempt}" for console in ("first", "second")]
            consoles = [self.console(name, 20) for name in names]
            found = {self.summary(console, name)["node"] for console, name in zip(consoles, names)}
            self.assertEqual(found, set(NODES))

    def test_promises_decide_where_a_scan_goes(self):
        """Not the proxy's count of connections, by which every second scan would go to the node that cannot take it."""
        self.start(flags={"recon1": ("--memory_bytes", "4MiB")})
        for name in ("first", "second", "third"):
            self.assertEqual(self.summary(self.console(name, 0), name)["node"], "recon2")
        self.assertEqual(self.jobs_of("recon1"), [])
        # By operators' choice, too.
        done = self.call("drain", "--node", "recon2", "--reason", "new filter")
        self.assertEqual(done.returncode, 0, done.stderr)
        refused = self.call("stream", self.bundle(), *support.GRID)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("iB of memory", refused.stderr)

    def test_a_node_that_is_down_is_passed_over(self):
        self.start()
        for down in NODES:
            up = next(node for node in NODES if node != down)
            self.nodes[down].kill()
            for fps in (0, 60):
                name = f"{down}-down-{fps}"
                self.assertEqual(self.summary(self.console(name, fps), name)["node"], up)
            # What only that node has, cannot be had.
            done = self.call("jobs", "--node", down)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the proxy has no server for the call", done.stderr)
            self.nodes[down].start()
            self.wait_for_the_return_of(down)

    def test_a_node_that_drains_finishes_and_the_other_takes_what_is_new(self):
        self.start()
        first = self.console("first", SLOW)
        draining = self.wait_for_job()
        self.nodes[draining].process.signal(signal.SIGTERM)
        second = self.console("second", 0)
        self.assertNotEqual(self.summary(second, "second")["node"], draining)
        self.assertEqual(self.summary(first, "first")["node"], draining)
        self.assertEqual(self.nodes[draining].process.wait(120), 0)

    def test_a_console_comes_back_to_the_node_that_was_killed(self):
        self.start()
        console = self.console("console", SLOW, "--failover-seconds", 60)
        node = self.wait_for_job()
        self.nodes[node].kill()
        self.nodes[node].start()
        summary = self.summary(console, "console")
        self.assertEqual(summary["node"], node)
        self.assertGreaterEqual(summary["reconnects"], 1)
        self.assertEqual(summary["frames"], 100)
        for other in NODES:
            self.assertEqual(len(self.jobs_of(other)), 1 if other == node else 0)

    def volume(self, job, node):
        """The voxels and the series of a job, as that node has them."""
        out = self.path(f"{job}-{node}.mha")
        done = self.call("fetch", job, "--format", "mha", "--out", out, "--node", node)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out.read_bytes()

    def test_a_scan_outlives_its_node(self):
        """Killed in mid-scan: the other node makes the same volume, under the same id."""
        self.start()
        self.summary(self.console("whole", 0), "whole")
        whole = support.read_json(self.path("whole.json"))
        reference = self.volume(whole["job_id"], whole["node"])
        for name, frames in (("early", 5), ("middle", 40), ("late", 75)):
            with self.subTest(name):
                console = self.console(name, SLOW)
                node = self.wait_for_job()
                other = next(n for n in NODES if n != node)
                process.wait_until(lambda: self.frames_of(node) >= frames, 60, f"{frames} frames at {node}")
                self.nodes[node].kill()
                summary = self.summary(console, name)
                self.assertEqual(summary["node"], other)
                self.assertEqual(summary["frames"], 100)
                job = summary["job_id"]
                self.assertEqual(self.volume(job, other), reference)
                # What the dead node has of it when it is back ends without a series, or with the same.
                self.nodes[node].start()
                self.wait_for_the_return_of(node)
                self.assertEqual([line.split()[0] for line in self.jobs_of(other)].count(job), 1)
                self.end_what_was_left(node, job)

    def frames_of(self, node):
        done = self.call("jobs", "--node", node, "--json")
        jobs = json.loads(done.stdout) if done.returncode == 0 else []
        return max([job["frames_received"] for job in jobs if job["state"] == "receiving"], default=0)

    def end_what_was_left(self, node, job):
        self.assertIn(job, [line.split()[0] for line in self.jobs_of(node)])
        done = self.call("cancel", job, "--node", node)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_proxy_that_is_replaced_costs_a_reconnection(self):
        self.start()
        console = self.console("console", SLOW)
        node = self.wait_for_job()
        self.proxy.stop()
        self.start_proxy()
        summary = self.summary(console, "console")
        self.assertEqual(summary["node"], node)
        self.assertGreaterEqual(summary["reconnects"], 1)

    def test_another_process_takes_up_a_job_wherever_it_is(self):
        self.start()
        console = self.console("console", SLOW)
        node = self.wait_for_job()
        job = self.jobs_of(node)[0].split()[0]
        console.signal(signal.SIGKILL)
        again = self.console("again", 0, "--resume", job)
        self.assertEqual(self.summary(again, "again")["node"], node)

    def test_nodes_know_who_calls_through_the_proxy(self):
        """As the proxy says, and not as the caller does."""
        self.start()
        curl = support.need("curl", "curl")
        self.path("empty").write_bytes(bytes(5))  # a message without fields
        files = ("--cacert", self.path("ca.pem"), "--cert", self.path("console.pem"), "--key", self.path("console.key"))
        claims = ("isocenter-caller-subject: CN=chief", "isocenter-caller-address: 192.0.2.7:1", "isocenter-node: recon2")
        grpc = ("content-type: application/grpc", "te: trailers")
        headers = [f"-H{header}" for header in (*grpc, *claims)]
        url = f"https://{self.address}/isocenter.v1.NodeService/DrainNode"
        done = process.run([curl, "-sS", "--http2", *files, *headers, "--data-binary", f"@{self.path('empty')}", "-o", "/dev/null", url])
        self.assertEqual(done.returncode, 0, done.stderr)
        log = self.nodes["recon2"].process.output()
        self.assertRegex(log, r'event=node_drained by="console"')
        self.assertNotIn("chief", log)
        # Whoever is a proxy, and does not say who calls, is nobody.
        direct = ("--server", self.nodes["recon1"].grpc, "--ca", self.path("ca.pem"), "--cert", self.path("proxy.pem"))
        done = isocenter.call("drain", *direct, "--key", self.path("proxy.key"), seconds=90)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the proxy says 0 times who calls", done.stderr)

    def test_a_call_for_another_node_is_refused(self):
        self.start()
        address = self.nodes["recon1"].grpc
        done = self.call("stream", self.bundle(), *support.GRID, "--node", "recon2", address=address)
        self.assertEqual(done.returncode, 1)
        self.assertIn("this is node 'recon1'", done.stderr)
        # The proxy knows no such node: it sends the call nowhere.
        self.assertEqual(self.call("stream", self.bundle(), *support.GRID, "--node", "recon9").returncode, 1)
        self.assertEqual([self.jobs_of(n) for n in NODES], [[], []])


if __name__ == "__main__":
    support.main()
