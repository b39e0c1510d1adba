#!/usr/bin/env python3
"""How long 512 CT images take by C-MOVE from this service and from DCMTK's dcmqrscp, with the same files, and by WADO-RS, on loopback.

Run it as ./dev bench retrieve [--rounds N] [--size VOXELS]. Both nodes are asked in turn by movescu and send to one storescp,
which throws away what it gets, as curl does: a receiver that writes would hide the senders. Prints, asserts nothing.
"""

import argparse
import contextlib
import pathlib
import re
import shutil
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lab import isocenter, process  # noqa: E402

FOLDER = pathlib.Path(".retrieve").resolve()
PDU_BYTES = 131072
NO_DELAY = {"TCP_NODELAY": "1"}
PROTOCOL = 'protocol { name: "ct" dicom_forms: DICOM_FORM_CT_SERIES } default_protocol: "ct"'
DESTINATION = "STORESCP"


def listens(port):
    def probe():
        with contextlib.suppress(OSError):
            process.socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return False

    return probe


def make_series(service, size):
    """Some volume; what the voxels are makes no difference to how they are sent."""
    bundle = FOLDER / "bundle"
    isocenter.must(
        *("simulate", "--phantom", "head", "--out", bundle, "--trajectory", "circle", "--frames", 30),
        *("--detector", "155x120", "--pitch-mm", 2.464, "--patient-id", "BENCH"),
        seconds=300,
    )
    grid = ("--grid", f"{size}x{size}x{size}", "--voxel-mm", 200 / size)
    return isocenter.json_of("stream", bundle, "--server", service.grpc, *grid, seconds=1800)


class Peer:
    """DCMTK's query/retrieve server, with copies of the service's files."""

    def __init__(self, files, destination_port):
        self.port = process.free_port()
        area = FOLDER / "dcmqrscp"
        area.mkdir()
        copies = [shutil.copy(file, area / file.name) for file in files]
        config = FOLDER / "dcmqrscp.cfg"
        config.write_text(
            f"NetworkTCPPort = {self.port}\nMaxPDUSize = {PDU_BYTES}\nMaxAssociations = 4\n"
            f"HostTable BEGIN\nsink = ({DESTINATION}, 127.0.0.1, {destination_port})\nHostTable END\n"
            "VendorTable BEGIN\nVendorTable END\n"
            f"AETable BEGIN\nDCMQRSCP {area} R (10, 8192mb) ANY\nAETable END\n"
        )
        done = process.run([process.find_tool("dcmqridx", "dcmtk"), area, *copies], 600)
        if done.returncode != 0:
            raise process.LabError(f"dcmqridx: {done.stderr[-2000:]}")
        tool = process.find_tool("dcmqrscp", "dcmtk")
        self.process = process.Process([tool, "-c", config], FOLDER / "dcmqrscp.log", env=NO_DELAY)
        self.process.wait_for(listens(self.port), 30, "its port")


def move(title, port, result, count):
    """The seconds that a C-MOVE of the series takes. LabError unless it sends so many images."""
    keys = (
        "QueryRetrieveLevel=SERIES",
        f"StudyInstanceUID={result['study_instance_uid']}",
        f"SeriesInstanceUID={result['series_instance_uid']}",
    )
    command = [process.find_tool("movescu", "dcmtk"), "-S", "-d", "-aec", title, "-aem", DESTINATION]
    for key in keys:
        command += ["-k", key]
    began = time.monotonic()
    done = process.run([*command, "127.0.0.1", port], 600, env=NO_DELAY)
    seconds = time.monotonic() - began
    sent = re.findall(r"Completed Suboperations\s*: (\d+)", done.stdout + done.stderr)
    if done.returncode != 0 or sent[-1:] != [str(count)]:
        raise process.LabError(f"movescu of {title}: exit code {done.returncode}, {sent[-1:]} of {count} images")
    return seconds


def wado(service, result, least_bytes):
    """The seconds that the series takes by WADO-RS. LabError unless as many bytes come as it has, at least."""
    study, series = result["study_instance_uid"], result["series_instance_uid"]
    url = f"http://{service.web}/dicomweb/studies/{study}/series/{series}"
    command = [process.find_tool("curl", "curl"), "-sS", "-f", "-o", "/dev/null", "-w", "%{size_download}"]
    began = time.monotonic()
    done = process.run([*command, "-H", 'Accept: multipart/related; type="application/dicom"', url], 600)
    seconds = time.monotonic() - began
    if done.returncode != 0 or int(done.stdout) < least_bytes:
        raise process.LabError(f"curl: exit code {done.returncode}, {done.stdout} of {least_bytes} bytes: {done.stderr}")
    return seconds


def spread(seconds):
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f})"


def retrieve(stack, rounds, size):
    shutil.rmtree(FOLDER, ignore_errors=True)
    stack.callback(shutil.rmtree, FOLDER, ignore_errors=True)
    sink_port = process.free_port()
    service = isocenter.Service(FOLDER / "service", peers=[(DESTINATION, sink_port)], config=PROTOCOL)
    stack.callback(service.stop)
    service.start()
    result = make_series(service, size)
    files = sorted((service.folder / "archive" / "results").glob("*/dicom/*.dcm"))

    sink = process.Process(
        [process.find_tool("storescp", "dcmtk"), "--ignore", "-pdu", PDU_BYTES, sink_port],
        FOLDER / "storescp.log",
        env=NO_DELAY,
    )
    stack.callback(sink.stop)
    sink.wait_for(listens(sink_port), 30, "its port")
    peer = Peer(files, sink_port)
    stack.callback(peer.process.stop)

    total = sum(file.stat().st_size for file in files)
    senders = {
        "ISOCENTER": lambda: move("ISOCENTER", service.dicom_port, result, len(files)),
        "DCMQRSCP": lambda: move("DCMQRSCP", peer.port, result, len(files)),
        "WADO-RS": lambda: wado(service, result, total),
    }
    seconds = {title: [] for title in senders}
    for turn in range(rounds + 1):
        for title in senders if turn % 2 else reversed(senders):
            took = senders[title]()
            if turn > 0:  # the first round brings the files into memory
                seconds[title].append(took)
    size_mib = total / 2**20
    ratios = [a / b for a, b in zip(seconds["ISOCENTER"], seconds["DCMQRSCP"])]
    print(f"{len(files)} CT images, {size_mib:.0f} MiB, median (range) of {rounds} rounds in s")
    for title in senders:
        print(f"{title:<10} {spread(seconds[title])}")
    print(f"ratio      {spread(ratios)}")
    print(f"WADO-RS to C-MOVE {spread([a / b for a, b in zip(seconds['WADO-RS'], seconds['ISOCENTER'])])}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--size", type=int, default=512, help="voxels per axis, and images")
    arguments = options.parse_args()
    try:
        with contextlib.ExitStack() as at_end:
            retrieve(at_end, arguments.rounds, arguments.size)
    except process.LabError as error:
        sys.exit(f"retrieve: {error}")
