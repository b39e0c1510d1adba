"""DCMTK's command-line tools as a PACS, and dciodvfy as the judge of the objects."""

import re

import support
from lab import isocenter, process

STUDY_ROOT = "-S"


def responses(output):
    """findscu's answers as a list of {tag: value}."""
    answers = []
    for part in output.split("Find Response:")[1:]:
        fields = re.findall(r"\((\w{4},\w{4})\) \w\w \[([^\]]*)\]", part)
        answers.append({tag: value.strip().rstrip("\0") for tag, value in fields})
    return answers


class DicomToolsTest(support.ServiceTest):
    def setUp(self):
        super().setUp()
        self.own_port = process.free_port()
        self.node = self.service(peers=[("MOVESCU", self.own_port)])

    def tool(self, name, *arguments):
        done = process.run(
            [support.need(name, "dcmtk"), "-v", "-aet", "MOVESCU", "-aec", "ISOCENTER", *arguments]
            + ["127.0.0.1", str(self.node.dicom_port)],
            env={"TCP_NODELAY": "1"},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def find(self, level, *keys):
        arguments = ["-k", f"0008,0052={level}"]
        for key in keys:
            arguments += ["-k", key]
        return responses(self.tool("findscu", STUDY_ROOT, *arguments))

    def pulled(self, folder):
        return sorted(folder.iterdir())

    def validate(self, file):
        done = process.run([support.need("dciodvfy", "dicom3tools"), file])
        lines = (done.stdout + done.stderr).splitlines()
        self.assertEqual([line for line in lines if line.startswith(("Error", "Warning"))], [], file)

    def uid_of(self, file):
        dump = process.run([support.need("dcmdump", "dcmtk"), "+P", "0008,0018", file]).stdout
        return re.search(r"\[([\d.]+)\]", dump)[1]

    def test_echo(self):
        self.tool("echoscu")

    def test_find_move_get_and_validate(self):
        result = self.stream(self.node)
        study, series = result["study_instance_uid"], result["series_instance_uid"]
        count = result["instance_count"]
        self.assertEqual(count, support.INSTANCES)

        found = self.find("STUDY", f"0008,0050={support.ACCESSION}", "0020,000D", "0010,0010", "0020,1208")
        self.assertEqual([answer["0020,000d"] for answer in found], [study])
        self.assertEqual(found[0]["0010,0010"], "Test^Head")
        self.assertEqual(self.find("STUDY", "0008,0050=NO_SUCH", "0020,000D"), [])
        self.assertEqual(len(self.find("STUDY", "0010,0010=Test*", "0020,000D")), 1)
        found = self.find("SERIES", f"0020,000D={study}", "0020,000E", "0008,0060")
        self.assertEqual([a["0008,0060"] for a in found], ["CT", "XA"])
        self.assertEqual(found[0]["0020,000e"], series)
        images = []
        for answer in found:
            images += self.find("IMAGE", f"0020,000D={study}", f"0020,000E={answer['0020,000e']}", "0008,0018")
        self.assertEqual(len({answer["0008,0018"] for answer in images}), count)

        level = ("-k", "0008,0052=STUDY", "-k", f"0020,000D={study}")
        moved, got, fetched = self.folder / "moved", self.folder / "got", self.folder / "fetched"
        for folder in (moved, got):
            folder.mkdir()
        self.tool("movescu", STUDY_ROOT, "-aem", "MOVESCU", "+P", self.own_port, "-od", moved, *level)
        self.tool("getscu", STUDY_ROOT, "-od", got, *level)
        isocenter.must(
            *("fetch", result["job_id"], "--server", self.node.grpc, "--format", "dicom", "--out", fetched)
        )
        uids = {answer["0008,0018"] for answer in images}
        for folder in (moved, got, fetched):
            self.assertEqual({self.uid_of(file) for file in self.pulled(folder)}, uids, folder)
        for file in self.pulled(fetched):
            self.validate(file)


if __name__ == "__main__":
    support.main()
