"""--json of every command, as docs/formats/json.md says: one document, alone on standard output or in a file, with the page's names."""

import json
import re
import signal

import docs
import support
from lab import isocenter, process

PAGE = (docs.DOCS / "formats/json.md").read_text()
# Tell nothing that a program would read, or write a file that is JSON.
WITHOUT = {("render",), ("completion",), ("trace",)}
# Names that come from the contract and the configuration are documented there.
PROTOCOL = {("protocols",)}


def commands(path=()):
    """All commands that do something: (names..) of each, as the help tells."""
    text = isocenter.must(*path, "--help")
    names = []
    for part in re.split(r"\n(?=[A-Z][^\n]*:\n)", text):
        heading, _, rest = part.partition("\n")
        if re.match(r"(Arguments|Options|Server|Patient|X-ray|Iterative|De-ident|Object|Truth|What is scanned)", heading):
            continue
        if path and heading != "Subcommands:":
            continue
        names += re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}", rest)
    return [leaf for name in names for leaf in commands((*path, name))] or [path]


def keys(value):
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from keys(member)
    if isinstance(value, list):
        for member in value:
            yield from keys(member)


def mirrored(matrix):
    """A matrix of frames of 480 rows, of the detector read from its other end."""
    value = [float(number) for number in matrix[1].split(",")]
    value[4:8] = [479 * w - v for v, w in zip(value[4:8], value[8:12])]
    return f"value: {value}"


class JsonTest(support.ServiceTest):
    def test_every_command_has_it(self):
        found = commands()
        self.assertGreater(len(found), 35, found)
        for path in found:
            with self.subTest(" ".join(path)):
                text = isocenter.must(*path, "--help")
                self.assertEqual("--json" in text, path not in WITHOUT)
                if path not in WITHOUT:
                    self.assertRegex(text, r"--json \[FILE\]")
                    self.assertIn(f"`{path[0]}", PAGE)

    def document(self, *arguments, code=0):
        """Of `--json -`, whose standard output is nothing else."""
        done = isocenter.call(*arguments, "--json", "-")
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stderr}")
        document = json.loads(done.stdout)
        if code != 0:
            error = document["error"]
            self.assertEqual([key for key in error if key != "job_id"], ["code", "message", "hint", "exit_code"])
            self.assertEqual(error["exit_code"], code)
            self.assertIn(error["message"], done.stderr)
            self.assertTrue(error["hint"], arguments)
        if arguments[:1] not in PROTOCOL:
            for key in keys(document):
                self.assertRegex(key, r"^[a-z][a-z0-9_]*$")
                self.assertIn(f"`{key}`", PAGE, arguments)
        return document

    def service_with_destination(self):
        port = process.free_port()
        return self.service(
            peers=[("PACS", port)], destinations=['ae_title: "PACS" first_retry_seconds: 1 longest_retry_seconds: 1']
        )

    def test_documents_of_a_service(self):
        service = self.service_with_destination()
        at = ("--server", service.grpc)
        streamed = self.document("stream", self.bundle(), *support.GRID, "--protocol", "fdk_then_ossart", *at)
        job, refined = streamed["job_id"], streamed["refined_by_job_id"]
        self.assertEqual(refined, f"{job}-ref")
        watched = self.document("watch", refined, *at)
        self.assertEqual(watched["state"], "completed")
        self.assertEqual(len(watched["iterations"]), watched["iterations_total"])
        jobs = self.document("jobs", *at)
        self.assertEqual({found["job_id"] for found in jobs}, {job, refined})
        again = self.document("refine", job, "--protocol", "fdk_then_ossart", "--batch", *at)
        self.document("cancel", again["job_id"], *at)
        self.document("send", job, "--to", "PACS", *at)
        self.assertIn(job, {transfer["job_id"] for transfer in self.document("transfers", *at)})
        self.assertEqual(self.document("transfers", "--job", refined, "--state", "failed", *at), [])
        self.assertEqual(self.document("transfers", "--job", "none", *at, code=4)["error"]["job_id"], "none")
        self.assertIsInstance(self.document("destinations", *at), list)
        self.assertIsInstance(self.document("retry", "--all", *at)["instance_count"], int)
        self.assertEqual(self.document("fetch", job, "--out", self.folder / "dicom", *at)["file_count"], support.INSTANCES)
        fetched = self.document("fetch", job, "--out", self.folder / "v.mha", *at)
        self.assertEqual(fetched["grid"]["size"], [64, 64, 64])
        self.assertEqual(self.document("health", *at), {"serving": True})
        self.assertTrue(self.document("status", *at)["devices"])
        wrong = isocenter.call("drain", "--node", "another", *at)
        self.assertEqual(wrong.returncode, 4, wrong.stdout)
        self.assertIn("there is no node 'another' at", wrong.stderr)
        self.assertTrue(self.document("status", *at)["ready"], "the wrong node was drained")
        self.assertFalse(self.document("drain", *at)["ready"])
        self.assertTrue(self.document("resume", *at)["ready"])
        protocols = self.document("protocols", *at)
        self.assertEqual(sum(protocol["is_default"] for protocol in protocols), 1)
        self.assertEqual(self.document("protocols", "fdk_then_ossart", *at)["name"], "fdk_then_ossart")
        self.assertEqual(self.document("calibrations", "list", *at), [])
        self.assertEqual(self.document("delete", job, "--force", *at)["job_id"], job)
        # There is nothing of theirs here: the error is the document then.
        for code, *arguments in (
            (5, "worklist"),
            (5, "steps"),
            (5, "steps", "retry", job),
            (5, "steps", "drop", job),
            (4, "calibrations", "get", "none", "--out", self.folder / "none"),
            (4, "calibrations", "withdraw", "none"),
            (4, "watch", "none"),
            (4, "retry", "--to", "PASC"),
            (4, "transfers", "--to", "PASC"),
            (4, "quality", "trend"),
        ):
            self.document(*arguments, *at, code=code)
        trace = json.loads(isocenter.must("trace", refined, "--out", "-", *at))
        self.assertIn("traceEvents", trace)

    def test_an_interrupted_stream_names_its_job(self):
        service, file = self.service(), self.folder / "interrupted"
        argv = [isocenter.binary("isocenter"), "stream", self.bundle(), *support.GRID, "--fps", "5", "--json", "-", "--server", service.grpc]
        stream = process.Process(argv, file)
        self.addCleanup(stream.stop)
        process.wait_until(lambda: isocenter.json_of("jobs", "--server", service.grpc), 60, "the job began")
        process.wait_until(lambda: "job " in stream.output(), 60, "the job is known")
        stream.signal(signal.SIGINT)
        self.assertEqual(stream.wait(60), 130, stream.output())
        (job,) = isocenter.json_of("jobs", "--server", service.grpc)
        self.assertIn(f'"job_id": "{job["job_id"]}"', stream.output())

    def test_documents_without_a_service(self):
        bundle, volume = self.folder / "bundle", self.folder / "v.mha"
        small = ("--frames", 60, "--detector", "62x48", "--pitch-mm", 6.16)
        made = self.document(
            "simulate", "--phantom", "head", "--out", bundle, *small, "--truth", self.folder / "t.mha", "--truth-size", 32
        )
        self.assertEqual((made["frames"], made["files"]), (60, [str(self.folder / "t.mha")]))
        made = self.document("reconstruct", bundle, "--out", volume, "--size", 32, "--algorithm", "sirt", "--iterations", 2)
        self.assertEqual(len(made["iterations"]), 2)
        self.document("compare", volume, "--phantom", "head")
        self.document("consistency", bundle)
        beads = self.folder / "beads"
        isocenter.must("simulate", "--beads", "helix", "--out", beads, "--frames", 40, "--photons", 30000)
        fitted = self.document("calibrate", "geometry", "--sweep", beads, "--beads", "helix", "--matrices", self.folder / "m.csv")
        self.assertEqual(len(fitted["frames"]), 40)
        self.assertEqual(fitted["warnings"], [])
        # A table of the other hand explains all shadows; the sweep's own matrices tell it, as here those that mirror.
        header = beads / "acquisition.textproto"
        header.write_text(re.sub(r"value: \[([^]]*)\]", mirrored, header.read_text()))
        fitted = self.document("calibrate", "geometry", "--sweep", beads, "--beads", "helix", "--matrices", self.folder / "n.csv")
        self.assertIn("patients would come out with left and right exchanged", fitted["warnings"][0])

    def test_a_file_beside_the_text(self):
        service = self.service()
        file = self.folder / "jobs.json"
        text = isocenter.must("jobs", "--json", file, "--server", service.grpc)
        self.assertTrue(text.startswith("JOB"))
        self.assertEqual(json.loads(file.read_text()), [])
        # Without a file, at the end or before what is required, it is standard output.
        self.assertEqual(json.loads(isocenter.must("jobs", "--server", service.grpc, "--json")), [])
        done = isocenter.call("watch", "--server", service.grpc, "--json", "none")
        self.assertIn("there is no job 'none'", done.stderr)


if __name__ == "__main__":
    support.main()
