"""The programs under test: isocenterd in the background, and calls of isocenter."""

import json
import os
import pathlib
import signal
import tempfile

from lab import process


def binary(name):
    folder = pathlib.Path(os.environ.get("ISOCENTER_BIN", "build/release/bin"))
    path = folder / name
    if not path.exists():
        raise process.LabError(f"{path} was not found; build it with: ./dev build")
    return path


def has_backend(name):
    """Whether the programs were built with that backend, whatever devices this machine has."""
    choices = process.run([binary("isocenterd"), "--help"]).stdout.partition("--backend ")[2]
    return name in choices.partition("[")[2].split("]")[0]


class Service:
    """One isocenterd with its archive in `folder`; may be started again on the same archive."""

    def __init__(
        self,
        folder,
        peers=(),
        tls=None,
        dicom_port=None,
        flags=(),
        config="",
        dicom="",
        wrapper=(),
        destinations=(),
        web="",
        host="127.0.0.1",
    ):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.peers = list(peers)  # (AE title, port)
        self.destinations = list(destinations)  # fields of DicomDestination, as text
        self.web_fields = web  # further fields of WebConfig, as text
        self.tls = tls or {}  # fields of TlsConfig
        self.dicom = dicom  # further fields of dicom_node, of its peers too, as text
        self.flags = list(flags)  # of isocenterd, beside the configuration
        self.extra_config = config  # text, beside what is below
        self.wrapper = list(wrapper)  # a command that runs isocenterd with what follows it
        # `host`: where gRPC and metrics are; the rest, which has no TLS here, is served on loopback only.
        self.grpc = f"{host}:{process.free_port()}"
        self.metrics = f"{host}:{process.free_port()}"
        self.web = f"127.0.0.1:{process.free_port()}"
        self.dicom_port = dicom_port or process.free_port()
        self.config = self.folder / "isocenterd.textproto"
        self.log = self.folder / "isocenterd.log"
        self.process = None

    def _write_config(self):
        lines = [
            f'grpc_address: "{self.grpc}"',
            f'metrics_address: "{self.metrics}"',
            f'web {{ address: "{self.web}" {self.web_fields} }}',
            f'archive_directory: "{self.folder / "archive"}"',
            "drain_seconds: 60",
            f'dicom_node {{ ae_title: "ISOCENTER" address: "127.0.0.1" port: {self.dicom_port}',
        ]
        for title, port in self.peers:
            lines.append(f'  peer {{ ae_title: "{title}" host: "127.0.0.1" port: {port} }}')
        lines.append(f"  {self.dicom}")
        lines += [f"  destination {{ {fields} }}" for fields in self.destinations]
        lines.append("}")
        if self.tls:
            fields = " ".join(f'{key}: "{value}"' for key, value in self.tls.items())
            lines.append(f"grpc_tls {{ {fields} }}")
        lines.append(self.extra_config)
        self.config.write_text("\n".join(lines) + "\n")

    def start(self):
        self._write_config()
        self.log.write_bytes(b"")
        self.process = process.Process(
            [*self.wrapper, binary("isocenterd"), "--config", self.config, *self.flags], self.log, env={"TCP_NODELAY": "1"}
        )
        self.process.wait_for(self._is_ready, 120, 'its line "ready"')
        return self

    def _is_ready(self):
        return any(line.startswith("ready") for line in self.process.output().splitlines())

    def terminate(self, seconds=90):
        """SIGTERM; the exit code."""
        self.process.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait(60)

    def stop(self):
        if self.process:
            self.process.stop()


def call(*arguments, seconds=240):
    """isocenter ARGUMENTS..; CompletedProcess, whatever its exit code."""
    return process.run([binary("isocenter"), *arguments], seconds)


def must(*arguments, seconds=600):
    """isocenter ARGUMENTS..; its standard output. LabError unless it ends well."""
    done = call(*arguments, seconds=seconds)
    if done.returncode != 0:
        words = " ".join(str(a) for a in arguments)
        raise process.LabError(f"isocenter {words}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def json_of(*arguments, seconds=240):
    """As must, with --json FILE added; what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out.json"
        must(*arguments, "--json", file, seconds=seconds)
        return json.loads(file.read_text())
