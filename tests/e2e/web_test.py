"""The web interface of the real server: what an operator page and an operator do with it."""

import hashlib
import http.client
import json
import re
import struct
import urllib.request

import docs
import support
from lab import isocenter, process


class WebTest(support.ServiceTest):
    def get(self, service, target, headers=None):
        connection = http.client.HTTPConnection(service.web, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", target, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def get_json(self, service, target):
        status, _, body = self.get(service, target)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_a_client_of_the_docs_is_told_of_volumes(self):
        (client,) = docs.blocks(docs.section("web-api.md", "To be told when a volume is there"), "python")
        names = {}
        exec(client, names)  # as whoever copies it runs it
        service = self.service()
        before = self.stream(service)["job_id"]
        jobs = names["completed_jobs"](f"http://{service.web}")
        self.assertEqual(next(jobs)["job_id"], before)
        for restarts in (False, True):
            # What completes while nobody reads, and what before a restart, are told like all else.
            job = self.stream(service)["job_id"]
            if restarts:
                service.stop()
                service.start()
            told = next(jobs)
            self.assertEqual((told["job_id"], told["state"]), (job, "completed"))
        jobs.close()

    def volume(self, service, job):
        """What there is of a volume, once it is prepared."""
        def prepared():
            volume = self.get_json(service, f"/api/v1/jobs/{job}/volume")
            return volume if volume["prepared"] else None

        return process.wait_until(prepared, 120, "the volume is prepared")

    def test_a_job_from_the_list_to_its_planes(self):
        service = self.service()
        job = self.stream(service)["job_id"]
        listed = self.get_json(service, "/api/v1/jobs?state=completed")["jobs"]
        self.assertEqual([each["job_id"] for each in listed], [job])
        self.assertIn("traceEvents", self.get_json(service, f"/api/v1/jobs/{job}/trace"))
        volume = self.volume(service, job)
        self.assertLess(volume["hu_min"], 0)
        self.assertGreater(volume["hu_max"], 0)

        nx, ny, nz = (volume["grid"][key] for key in ("nx", "ny", "nz"))
        stored = struct.unpack(f"<{nx * ny * nz}f", self.fetch_voxels(service, job))
        status, headers, body = self.get(service, f"/api/v1/jobs/{job}/slices/sagittal/{nx // 2}")
        self.assertEqual(status, 200)
        columns, rows = int(headers["X-Isocenter-Columns"]), int(headers["X-Isocenter-Rows"])
        self.assertEqual((columns, rows), (ny, nz))
        plane = struct.unpack(f"<{ny * nz}h", body)
        worst = max(
            abs(plane[z * ny + y] - stored[(z * ny + y) * nx + nx // 2]) for z in range(nz) for y in range(ny)
        )
        self.assertLessEqual(worst, 0.5, "a plane differs by more than its rounding")
        again = self.get(service, f"/api/v1/jobs/{job}/slices/sagittal/{nx // 2}", {"If-None-Match": headers["ETag"]})
        self.assertEqual(again[0], 304)

        # The page and the command give the same file.
        for ending in ("mha", "nii"):
            fetched = self.folder / f"fetched.{ending}"
            isocenter.must("fetch", job, "--out", fetched, "--server", service.grpc)
            status, _, downloaded = self.get(service, f"/api/v1/jobs/{job}/download?format={ending}")
            self.assertEqual(status, 200)
            self.assertEqual(downloaded, fetched.read_bytes(), ending)

        isocenter.must("delete", job, "--server", service.grpc)
        self.assertEqual(self.get(service, f"/api/v1/jobs/{job}/volume")[0], 404)
        self.assertEqual(list((self.folder / "service" / "archive" / "viewer").iterdir()), [])

    def test_a_drained_node_refuses_until_it_resumes(self):
        service = self.service()
        self.assertEqual(self.get(service, "/readyz")[0], 200)
        out = isocenter.must("drain", "--server", service.grpc, "--reason", "new filter in room 2")
        self.assertIn("new filter in room 2", out)
        status, _, body = self.get(service, "/readyz")
        self.assertEqual(status, 503)
        self.assertEqual(json.loads(body)["reasons"][0]["component"], "admission")
        refused = isocenter.call("stream", self.bundle(), "--server", service.grpc, *support.GRID, seconds=60)
        self.assertEqual(refused.returncode, 6)
        self.assertIn("new filter in room 2", refused.stderr)
        self.assertIn("is ready", isocenter.must("resume", "--server", service.grpc))
        self.assertIn("healthy", isocenter.must("status", "--server", service.grpc))
        self.stream(service)

    def test_a_token_is_taken_back_although_another_line_is_wrong(self):
        tokens, own = self.folder / "tokens", self.folder / "own.token"
        lines = [f"viewer {hashlib.sha256(name.encode()).hexdigest()} {name}\n" for name in ("stolen", "other", "mine")]
        tokens.write_text("".join(lines))
        tokens.chmod(0o640)
        service = self.service(web=f'tokens_file: "{tokens}"')

        def jobs_of(token):
            own.write_text(token)
            return isocenter.call("jobs", "--server", service.grpc, "--token-file", own).returncode

        def is_right():
            with urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=30) as answer:
                return re.search(r"(?m)^isocenter_tokens_file_ok (\d)$", answer.read().decode())[1]

        self.assertEqual((jobs_of("stolen"), jobs_of("other"), is_right()), (0, 0, "1"))
        tokens.write_text(lines[1].replace("viewer", "viewwer") + lines[2])
        self.assertEqual(is_right(), "0")
        self.assertIn("event=tokens_lines_wrong lines=1 holders=1", service.process.output())
        self.assertEqual((jobs_of("stolen"), jobs_of("other"), jobs_of("mine")), (5, 5, 0))
        tokens.unlink()
        self.assertEqual((is_right(), jobs_of("mine")), ("0", 5))
        self.assertIn("event=tokens_file_missing", service.process.output())

    def test_roles_hold_on_grpc(self):
        tokens = self.folder / "tokens"
        lines, flags = [], {}
        for role in ("viewer", "console", "operator", "administrator"):
            digest = hashlib.sha256(f"{role}-secret".encode()).hexdigest()
            lines.append(f"{role} {digest} the {role}\n")
            own = self.folder / f"{role}.token"
            own.write_text(f"{role}-secret\n")
            flags[role] = ("--token-file", own)
        tokens.write_text("".join(lines))
        tokens.chmod(0o640)
        audit = self.folder / "audit.jsonl"
        service = self.service(web=f'tokens_file: "{tokens}"', config=f'audit {{ file: "{audit}" }}')

        def refused(*argv):
            done = isocenter.call(*argv, "--server", service.grpc)
            self.assertEqual(done.returncode, 5, done.stdout)
            return done.stderr

        self.assertIn("neither a token", refused("jobs"))
        self.assertIn("neither a token", refused("stream", self.bundle(), *support.GRID))
        self.assertIn("the role is viewer; this needs console", refused("stream", self.bundle(), *support.GRID, *flags["viewer"]))
        job = self.stream(service, *flags["console"])["job_id"]
        self.assertIn(job, isocenter.must("jobs", "--server", service.grpc, *flags["viewer"]))
        self.assertIn("this needs console", refused("fetch", job, "--out", self.folder / "out", *flags["viewer"]))
        self.assertIn("this needs operator", refused("drain", *flags["console"]))
        isocenter.must("drain", "--server", service.grpc, *flags["operator"])
        self.assertIn('event=node_drained by="the operator"', service.process.output())
        isocenter.must("resume", "--server", service.grpc, *flags["operator"])
        self.assertIn("this needs administrator", refused("delete", job, *flags["operator"]))
        isocenter.must("delete", job, "--server", service.grpc, *flags["administrator"])
        # Probes need nothing.
        isocenter.must("health", "--server", service.grpc, "--timeout", 60)
        self.assertEqual(self.get(service, "/readyz")[0], 200)

        def records(action):
            """(actor, outcome) of each; records follow the answers."""
            lines = audit.read_text().rpartition("\n")[0].splitlines()
            found = [record for record in map(json.loads, lines) if record["action"] == action]
            return [(record.get("actor"), record["outcome"]) for record in found]

        wanted = [("the administrator", "success")]
        process.wait_until(lambda: records("delete") == wanted, 60, "the record of the deletion")
        for action in ("drain", "undrain"):
            self.assertEqual(records(action), [("the operator", "success")])
        for who in ("the viewer", "the console", "the operator"):
            self.assertIn((who, "refused"), records("call"))
        self.assertIn((None, "refused"), records("sign_in"))
        done = process.run([isocenter.binary("isocenterd"), "--verify_audit", audit.parent])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("whole: records 1 to ", done.stdout)
        self.assertIn('event=call_refused address=127.0.0.1:', service.process.output())
        for role in flags:
            self.assertNotIn(f"{role}-secret", service.process.output() + audit.read_text())
        # A token stays off the network unless it is encrypted.
        away = isocenter.call("jobs", "--server", "node.example:50051", *flags["viewer"])
        self.assertIn("in plain text", away.stderr)

    def test_the_server_ends_while_somebody_follows(self):
        service = self.service()
        connection = http.client.HTTPConnection(service.web, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/events")
        answer = connection.getresponse()
        self.assertIn(b"event: hello", answer.read(200))
        # Less than the 60 s for which it would wait for jobs.
        self.assertEqual(service.terminate(seconds=40), 0, service.process.output())


if __name__ == "__main__":
    support.main()
