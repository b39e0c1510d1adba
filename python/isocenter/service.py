"""A service: where all begins."""

import inspect
import os
import warnings
from typing import Callable, Iterable, List, Optional, Union

import numpy as np

from isocenter import checks, progress as told_of
from isocenter.acquisition import Acquisition
from isocenter.calibrations import Calibrations
from isocenter.channel import Channel
from isocenter.errors import IsocenterError, ReconstructionWarning
from isocenter.events import Progress, enum_word
from isocenter.geometry import CircularOrbit
from isocenter.jobs import Job, list_jobs, unary
from isocenter.stream import AcquisitionStream, Event, open_stream, resume_stream
from isocenter.v1 import jobs_pb2, node_pb2, node_pb2_grpc, protocols_pb2, protocols_pb2_grpc
from isocenter.volume import Volume

# What reconstruct looks through before it sends the first frame; send a longer scan frame by frame.
_MOST_STACK_BYTES = 256 << 30


def _stream_options(
    max_frames_in_flight: int = 64,
    max_bytes_in_flight: int = 512 << 20,
    admission_timeout_s: float = 30.0,
    reconnect_timeout_s: float = 120.0,
    failover_after_s: float = 2.0,
    max_kept_bytes: int = 4 << 30,
    kept_frames_folder=None,
    trace_parent: str = "",
    on_event: Optional[Callable[[Event], None]] = None,
    on_interrupted: Optional[Callable[[IsocenterError], None]] = None,
    on_moved: Optional[Callable[[str], None]] = None,
) -> dict:
    return {
        "max_frames_in_flight": checks.whole("max_frames_in_flight", max_frames_in_flight, 1, checks.MOST_FRAMES),
        "max_bytes_in_flight": checks.whole("max_bytes_in_flight", max_bytes_in_flight, 1, 1 << 40),
        "admission_timeout_s": checks.real("admission_timeout_s", admission_timeout_s, 0, 86400, above=True),
        "reconnect_timeout_s": checks.real("reconnect_timeout_s", reconnect_timeout_s, 0, 86400),
        "failover_after_s": checks.real("failover_after_s", failover_after_s, 0, 86400),
        "max_kept_bytes": checks.whole("max_kept_bytes", max_kept_bytes, 0, 1 << 50),
        "kept_frames_folder": None if kept_frames_folder is None else os.fspath(kept_frames_folder),
        "trace_parent": checks.trace_parent("trace_parent", trace_parent),
        "on_event": on_event,
        "on_interrupted": on_interrupted,
        "on_moved": on_moved,
    }


def _checked_options(options: dict) -> dict:
    checks.keywords(options, inspect.signature(_stream_options).parameters)
    return _stream_options(**options)


class Service:
    """A connection to isocenterd, which connect makes. Thread-safe; `with` closes it."""

    def __init__(self, channel: Channel):
        self._channel = channel
        #: What was measured of detectors.
        self.calibrations = Calibrations(channel)

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def close(self) -> None:
        """Ends all calls and the connection."""
        self._channel.close()

    def stream(self, acquisition: Acquisition, **options) -> AcquisitionStream:
        """Begins an acquisition: sends what is known before the first frame, and returns once the server has admitted it.

        max_frames_in_flight, max_bytes_in_flight: what may be sent and not yet acknowledged; it is kept in memory, to be sent again
        when the connection breaks; by default 64 frames and 512 MiB. admission_timeout_s: how long the server may take to admit the
        acquisition; 30. reconnect_timeout_s: how long a broken connection is tried again; 120; 0: its error ends the acquisition.
        failover_after_s: where there are several nodes, how long the acquisition's may be away, or silent, before all frames are sent to
        another one; 2; 0: they stay. For that, frames are kept until the result is there: max_kept_bytes (4 GiB) in memory, beyond them
        in a file without a name in kept_frames_folder; where that is None, or full, the acquisition stays with its node.
        trace_parent: the W3C traceparent that the job's spans hang below, where the node makes traces.
        on_event: called with each Preview, Progress and JobWarning; on_interrupted: with the error of a connection that broke and is
        about to be tried again; on_moved: with the node at which the acquisition goes on. They come from the stream's own thread, and
        must return quickly.

        Raises what AcquisitionService.Acquire may answer, DeadlineExceeded, Unavailable.
        """
        return open_stream(self._channel, acquisition, _checked_options(options))

    def resume(self, job_id: str, acquisition: Acquisition, **options) -> AcquisitionStream:
        """Goes on with a job that another stream or process began with this acquisition; `options` as of stream. Send what is missing
        from stream.accepted.next_frame_index on. Raises as stream; NotFound, InvalidArgument (it was begun with another acquisition),
        PermissionDenied (another caller began it)."""
        return resume_stream(self._channel, acquisition, job_id, _checked_options(options))

    def submit(
        self,
        frames: np.ndarray,
        trajectory: Union[np.ndarray, CircularOrbit, None],
        pitch_mm,
        on_event: Optional[Callable[[Event], None]] = None,
        progress: told_of.Progress = None,
        **fields,
    ) -> Job:
        """Sends a whole scan and waits until it is reconstructed; its job. All of it is looked at before anything is sent.

        frames: [frame][row][column], uint16 counts (with i0_counts) or float32 line integrals, C-contiguous, finite. trajectory:
        [frame][3][4] projection matrices, a CircularOrbit, or None (matrices that the service keeps). pitch_mm: of the pixels.
        on_event: as of stream; what the service warns of comes as ReconstructionWarning, too. progress: of back-projection, see
        isocenter.progress: True draws a bar.
        `fields`: of Acquisition: grid, protocol, i0_counts, patient ..
        """
        acquisition = Acquisition.of(frames, trajectory, pitch_mm, **fields)
        if frames.nbytes > _MOST_STACK_BYTES:
            raise checks.illegal("frames", f"{frames.nbytes} bytes", f"up to {_MOST_STACK_BYTES}; send a longer scan with stream")
        if not acquisition.is_counts:
            for index, frame in enumerate(frames):
                checks.finite(f"frames[{index}]", frame)
                checks.line_integrals(f"frames[{index}]", frame)
        with told_of.told(progress, "reconstructing") as show:

            def tell(event: Event) -> None:
                if show is not None and isinstance(event, Progress):
                    show(event.frames_backprojected / max(1, event.frames_total))
                if on_event is not None:
                    on_event(event)

            with self.stream(acquisition, on_event=tell) as stream:
                stream.send_all(frames)
                result = stream.finish()
        for text in result.warning:
            warnings.warn(f"job {result.job_id}: {text}", ReconstructionWarning, stacklevel=2)
        return self.job(result.job_id)

    def reconstruct(self, frames: np.ndarray, trajectory, pitch_mm, **fields) -> Volume:
        """The volume of a whole scan; as submit."""
        return self.submit(frames, trajectory, pitch_mm, **fields).volume()

    def job(self, job_id: str) -> Job:
        """A job of which the id is known."""
        return Job(self._channel, job_id)

    def jobs(self, states: Iterable[str] = (), protocol: str = "", station_name: str = "", limit: int = 50) -> List[jobs_pb2.Job]:
        """Jobs that match, newest first, as jobs.proto has them. states: e.g. ("completed",); empty: all. limit: 1 to 100000."""
        request = jobs_pb2.ListJobsRequest(protocol=protocol, station_name=station_name)
        legal = {enum_word(jobs_pb2.JobState, number, "JOB_STATE_"): number for number in jobs_pb2.JobState.values() if number}
        for state in states:
            if state not in legal:
                raise checks.illegal("a state", repr(state), ", ".join(legal))
            request.state.append(legal[state])
        return list_jobs(self._channel, request, checks.whole("limit", limit, 1, 100000))

    def protocols(self) -> List[protocols_pb2.ReconstructionProtocol]:
        """What the service can be asked for, in the order of its configuration, as protocols.proto has it."""
        stub = protocols_pb2_grpc.ProtocolServiceStub(self._channel.grpc)
        return list(unary(self._channel, stub.ListProtocols, protocols_pb2.ListProtocolsRequest()).protocol)

    def status(self) -> node_pb2.NodeStatus:
        """Whether the service takes acquisitions, and why not; its devices."""
        stub = node_pb2_grpc.NodeServiceStub(self._channel.grpc)
        return unary(self._channel, stub.GetNodeStatus, node_pb2.GetNodeStatusRequest())


def connect(
    address: str = "127.0.0.1:50051",
    *,
    ca_file=None,
    certificate_file=None,
    private_key_file=None,
    token_file=None,
    node: str = "",
) -> Service:
    """The service at HOST:PORT, HOST alone (port 50051) or unix:PATH; connects when it is first used.

    ca_file: PEM, authorities that may have signed the server: turns TLS on. certificate_file, private_key_file: PEM, of this client
    (mutual TLS). token_file: a token of this client, on its first line; without TLS to this machine only. node: of several behind the
    address, the one that all calls are meant for. Raises InvalidArgument, NotFound (a file).
    """
    return Service(Channel(address, ca_file, certificate_file, private_key_file, token_file, node))
