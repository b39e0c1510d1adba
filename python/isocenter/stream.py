"""Streams one acquisition into the service while it is exposed."""

import collections
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Optional, Union

import numpy as np

from isocenter import checks
from isocenter.acquisition import Acquisition
from isocenter.calls import AcquisitionCalls, resume_request
from isocenter.channel import Channel
from isocenter.errors import Break, DeadlineExceeded, FailedPrecondition, Internal, IsocenterError, ResourceExhausted, Unavailable
from isocenter.events import Preview, Progress, JobWarning
from isocenter.failover import TO_BE_TAKEN_S, Failover
from isocenter.frame_message import frame_message
from isocenter.frame_store import FrameStore
from isocenter.frame_window import FrameWindow
from isocenter.geometry import Grid
from isocenter.nodes import list_nodes, node_of_job, rank_nodes
from isocenter.reconnect import Opening, new_request_id
from isocenter.v1 import acquisition_pb2, jobs_pb2

# Warnings that nobody has taken yet; the job keeps a hundred.
_MOST_WAITING_WARNINGS = 1000
Event = Union[Preview, Progress, JobWarning]


class AcquisitionStream:
    """One acquisition: send each frame, then finish. Service.stream opens it.

        with service.stream(acquisition) as stream:
            for index, frame in enumerate(frames):
                stream.send(index, frame)
            result = stream.finish()

    When the connection breaks, before or after finish, the stream makes a new one, takes up the job where it stands and sends again
    what the server lacks; where there are several nodes and the job's own is away for failover_after_s, another one gets all frames, and
    the job keeps its id. Only send and finish take longer. Leaving the block before finish breaks the call off: the job waits for
    somebody who resumes it, and fails when nobody does; cancel_job ends it.

    send and finish belong to one thread; the others may be called from any.
    """

    def __init__(
        self, channel: Channel, acquisition: Acquisition, header, opening, nodes: List[str], node: str, options: dict,
        limit_s: Optional[float] = None
    ):
        """limit_s: how long the first call's answer may take; None: admission_timeout_s."""
        self._acquisition, self._channel = acquisition, channel
        failover = Failover(channel, nodes, options["failover_after_s"])
        self._store = FrameStore(options["max_kept_bytes"], options["kept_frames_folder"]) if failover.possible else None
        self._window = FrameWindow(
            acquisition.frame_count, options["max_frames_in_flight"], options["max_bytes_in_flight"], self._store
        )
        self._calls = AcquisitionCalls(
            *(channel, header, node, self._window, failover),
            admission_timeout_s=options["admission_timeout_s"],
            first_limit_s=options["admission_timeout_s"] if limit_s is None else limit_s,
            reconnect_timeout_s=options["reconnect_timeout_s"],
            trace_parent=options["trace_parent"],
            tell=self._tell,
            interrupted=options["on_interrupted"] or (lambda why: None),
            moved=options["on_moved"] or (lambda node: None),
        )
        self._on_event: Callable[[Event], None] = options["on_event"] or (lambda event: None)
        self._warnings: Deque[JobWarning] = collections.deque(maxlen=_MOST_WAITING_WARNINGS)
        self._newest: Dict[str, Event] = {}  # of previews and of progress the last alone
        self._sender: Optional[threading.Thread] = None
        self._sender_error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._calls.run, args=(opening,), daemon=True, name="isocenter-stream")
        self._thread.start()
        with self._calls.lock:
            self._calls.lock.wait_for(lambda: self._calls.accepted is not None or self._calls.ended)
        if self._calls.accepted is None:
            raise self._calls.error or Internal("the server ended the call without an answer")

    # What the server has said.

    @property
    def accepted(self) -> acquisition_pb2.Accepted:
        """What the server answered first: job_id, grid, next_frame_index (the first frame that it wants), peak_bytes, the first node."""
        assert self._calls.accepted is not None  # as of the constructor
        return self._calls.accepted

    @property
    def job_id(self) -> str:
        """The job that this acquisition has become."""
        return self.accepted.job_id

    @property
    def grid(self) -> Grid:
        """The grid that is reconstructed."""
        return Grid.from_proto(self.accepted.grid)

    @property
    def node(self) -> str:
        """The node that has the job; empty where there is no choice."""
        with self._calls.lock:
            return self._calls.node

    @property
    def acknowledged_frames(self) -> int:
        """Frames that the server has on its disk, whoever sent them."""
        with self._calls.lock:
            return self._window.acknowledged

    @property
    def reconnects(self) -> int:
        """How often a broken connection was replaced."""
        with self._calls.lock:
            return self._calls.reconnects

    # What the console does.

    def send(self, index: int, pixels: np.ndarray, measured_matrix: Optional[np.ndarray] = None, dose: float = 0.0,
             phase: Optional[float] = None) -> None:
        """Sends one frame with its CRC-32C; waits while too many are unacknowledged. Frames may come in any order, and some never.
        One that was sent already, or that the server has, is not sent again. The pixels are copied.

        index: 0 to frame_count - 1. pixels: [row][column] of the acquisition's dtype, C-contiguous, finite. measured_matrix: 3x4, in
        place of the planned one. dose: of this frame, relative to the calibrated one, 0.001 to 1000; 0: not told. phase: where in the cycle of a
        heart or of breathing it was taken, 0 to less than 1, of all frames or of none; None: not told.
        Raises InvalidArgument (nothing was sent), or the error with which the acquisition has ended.
        """
        a = self._acquisition
        checks.whole("frame index", index, 0, a.frame_count - 1)
        checks.pixel_array("pixels", pixels, "rows, columns")
        if pixels.shape != (a.rows, a.columns) or pixels.dtype != a.dtype:
            raise checks.illegal(
                f"frame {index}", f"{pixels.shape} of {pixels.dtype}", f"({a.rows}, {a.columns}) of {a.dtype}, as the acquisition says"
            )
        if not a.is_counts:
            checks.finite(f"frame {index}", pixels)
            checks.line_integrals(f"frame {index}", pixels)
        if measured_matrix is not None:
            measured_matrix = checks.matrices(np.asarray(measured_matrix)[None], 1)[0]
        if dose:
            checks.real("dose", dose, 0.001, 1000)
        if phase is not None:
            checks.phase(f"phase of frame {index}", phase)
        self._send(index, frame_message(index, pixels, measured_matrix, dose, phase))

    def _send(self, index: int, message: bytes) -> None:
        calls = self._calls
        with calls.lock:
            calls.lock.wait_for(
                lambda: calls.ended or self._window.has(index) or self._window.has_room_for(len(message))
            )
            if calls.ended:
                raise calls.error or FailedPrecondition(f"the server ended the acquisition before frame {index}")
            if self._window.lacks_proof(index):
                self._window.add_proof(message)
            elif not self._window.has(index):
                self._window.add(index, message)
            calls.lock.notify_all()

    def send_all(self, frames: Iterable[np.ndarray], background: bool = False) -> None:
        """Sends frames 0, 1, 2.. and says that these are all. `background`: from a thread of its own, while this one looks at
        events(); what goes wrong there is raised by events() and finish()."""
        if not background:
            for index, pixels in enumerate(frames):
                self.send(index, pixels)
            self._request_finish()
            return
        if self._sender is not None:
            raise FailedPrecondition("frames are being sent in the background already")
        self._sender = threading.Thread(target=self._send_in_background, args=(frames,), daemon=True, name="isocenter-sender")
        self._sender.start()

    def _send_in_background(self, frames: Iterable[np.ndarray]) -> None:
        try:
            self.send_all(frames)
        except BaseException as error:  # pylint: disable=broad-except
            self._sender_error = error
            self._calls.cancel()

    def _request_finish(self) -> None:
        with self._calls.lock:
            self._calls.finish_requested = True
            self._calls.lock.notify_all()

    def finish(self) -> jobs_pb2.JobResult:
        """Tells the server that all frames are sent, and waits for the result. Raises the error with which the acquisition ended."""
        if self._sender is not None:
            self._sender.join()
        self._request_finish()
        self._end()
        self._raise_error()
        if self._calls.result is None:
            raise Internal("the server ended the call without a result")
        return self._calls.result

    def _end(self) -> None:
        self._thread.join()
        if self._store is not None:
            self._store.close()

    def _raise_error(self) -> None:
        if self._sender_error is not None:
            raise self._sender_error
        if self._calls.error is not None:
            raise self._calls.error

    def events(self) -> Iterator[Event]:
        """Warnings, previews and progress as they come, until the acquisition has ended. Who is slow gets the newest preview and
        progress alone. Raises the error with which the acquisition ended."""
        while True:
            with self._calls.lock:
                self._calls.lock.wait_for(lambda: self._calls.ended or self._warnings or self._newest)
                events = [*self._warnings, *self._newest.values()]
                self._warnings.clear()
                self._newest.clear()
                ended = self._calls.ended and not events
            yield from events
            if ended:
                self._raise_error()
                return

    def close(self) -> None:
        """Breaks the call off, if it is still under way: the job waits for somebody who resumes it."""
        self._calls.cancel()
        self._end()
        if self._sender is not None and self._sender is not threading.current_thread():
            self._sender.join()

    def __enter__(self) -> "AcquisitionStream":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def _tell(self, response: acquisition_pb2.AcquireResponse) -> None:
        kind = response.WhichOneof("message")
        translate: Any = {"warning": JobWarning, "preview": Preview, "progress": Progress}.get(kind)
        if translate is None:
            return
        event = translate.from_proto(getattr(response, kind))
        with self._calls.lock:
            if kind == "warning":
                self._warnings.append(event)
            else:
                self._newest[kind] = event
            self._calls.lock.notify_all()
        self._on_event(event)


def _open_once(channel: Channel, acquisition: Acquisition, header, options: dict) -> AcquisitionStream:
    """One attempt, at the best node that takes it."""
    opening = acquisition_pb2.AcquireRequest(header=header)
    nodes = list_nodes(channel, options["admission_timeout_s"])
    # Where nobody answers, the call itself is to say why.
    ranked = rank_nodes(channel, nodes, header, options["admission_timeout_s"]) or nodes or [""]
    refusal: Optional[IsocenterError] = None
    for node in ranked:
        limit_s = options["admission_timeout_s"]
        if node != ranked[-1]:
            limit_s = min(limit_s, TO_BE_TAKEN_S)
        try:
            return AcquisitionStream(channel, acquisition, header, opening, nodes, node, options, limit_s)
        except (ResourceExhausted, Unavailable, DeadlineExceeded) as error:
            # A node whose connection broke may have admitted the acquisition, and is asked again first.
            if error.how == Break.CONNECTION:
                raise
            # That of the best which said anything.
            refusal = error if isinstance(refusal, DeadlineExceeded) else refusal or error
    assert refusal is not None  # there is one node at least
    raise refusal


def _repeat(channel: Channel, options: dict, attempt: Callable[[], AcquisitionStream]) -> AcquisitionStream:
    """Attempts until one does not break."""
    opening = Opening(options["reconnect_timeout_s"])
    while True:
        try:
            return attempt()
        except IsocenterError as error:
            verdict = opening.verdict(error, time.monotonic())
            if verdict is not None:
                raise verdict from None
            if options["on_interrupted"]:
                options["on_interrupted"](error)
        time.sleep(opening.pause())
        channel.await_connection(opening.left(time.monotonic()))


def open_stream(channel: Channel, acquisition: Acquisition, options: dict) -> AcquisitionStream:
    """Sends the header and waits until the server admits it; see Service.stream."""
    header = acquisition.to_proto()
    header.request_id = header.request_id or new_request_id()
    return _repeat(channel, options, lambda: _open_once(channel, acquisition, header, options))


def resume_stream(channel: Channel, acquisition: Acquisition, job_id: str, options: dict) -> AcquisitionStream:
    """Goes on with a job that another stream or process began; see Service.resume."""
    header = acquisition.to_proto()

    def attempt() -> AcquisitionStream:
        nodes = list_nodes(channel, options["admission_timeout_s"])
        node = node_of_job(channel, nodes, job_id, options["admission_timeout_s"])
        return AcquisitionStream(channel, acquisition, header, resume_request(job_id, header), nodes, node, options)

    return _repeat(channel, options, attempt)
