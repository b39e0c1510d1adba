"""The calls of one acquisition: they run one after the other in a thread, which reads; gRPC's own thread writes."""

import threading
import time
from typing import Any, Callable, Iterator, Optional

import grpc

from isocenter.channel import Channel
from isocenter.errors import Cancelled, DataLoss, DeadlineExceeded, IsocenterError, NotFound, Unavailable, from_grpc
from isocenter.frame_window import FrameWindow
from isocenter.reconnect import Reconnect
from isocenter.v1 import acquisition_pb2, jobs_pb2

# A call that lasted so long has moved the acquisition on, even if no frame was left to send.
_MOVED_ON_S = 5.0
_METHOD = "/isocenter.v1.AcquisitionService/Acquire"


def resume_request(job_id: str, header: acquisition_pb2.AcquisitionHeader) -> acquisition_pb2.AcquireRequest:
    """What takes a job up again; the header proves that the frames to come are the job's."""
    return acquisition_pb2.AcquireRequest(resume=acquisition_pb2.Resume(job_id=job_id, header=header))


class Call:
    """One call of Acquire; an acquisition whose connection breaks has several."""

    def __init__(self, again: bool):
        self.again = again  # takes up what a broken call began
        self.answered = False
        self.late = False
        self.over = False
        self.writable = False
        self.accepted_at: Optional[float] = None
        self.moved_on = False


class AcquisitionCalls:
    """What a stream's thread and its callers share; `lock` guards all of it.

    tell: called with each response, without the lock. told_acknowledged: with the indices that are acknowledged for the first time.
    interrupted: with the error of a connection that broke and is about to be tried again.
    """

    def __init__(
        self,
        channel: Channel,
        header: acquisition_pb2.AcquisitionHeader,
        node: str,
        window: FrameWindow,
        admission_timeout_s: float,
        reconnect_timeout_s: float,
        tell: Callable[[acquisition_pb2.AcquireResponse], None],
        interrupted: Callable[[IsocenterError], None],
    ):
        self._channel, self._header, self._node, self.window = channel, header, node, window
        self._admission_timeout_s = admission_timeout_s
        self._reconnect = Reconnect(reconnect_timeout_s)
        self._tell, self._interrupted = tell, interrupted
        # Messages go out as bytes, because Protobuf would copy the pixels into one of its own.
        self._method = channel.grpc.stream_stream(_METHOD, None, acquisition_pb2.AcquireResponse.FromString)
        self.lock = threading.Condition()
        self._rpc: Any = None  # the call under way
        self.finish_requested = False
        self.cancelled = False
        self.reconnects = 0
        self.accepted: Optional[acquisition_pb2.Accepted] = None
        self.result: Optional[jobs_pb2.JobResult] = None
        self.ended = False
        self.error: Optional[BaseException] = None  # with which it has ended
        self._broken_promise: Optional[IsocenterError] = None  # of the server
        self._last_break: Optional[IsocenterError] = None

    def run(self, opening: acquisition_pb2.AcquireRequest) -> None:
        """Until the acquisition has ended."""
        try:
            error = self._run(opening)
        except BaseException as failure:  # pylint: disable=broad-except
            # Also what a callback raises ends the acquisition, and is told to whoever sends.
            error = failure
        with self.lock:
            self.error, self.ended = error, True
            self.lock.notify_all()

    def cancel(self) -> None:
        """Breaks the call off; run ends with Cancelled."""
        with self.lock:
            if self.ended:
                return
            self.cancelled = True
            if self._rpc is not None:
                self._rpc.cancel()
            self.lock.notify_all()

    def _run(self, opening: acquisition_pb2.AcquireRequest) -> Optional[BaseException]:
        limit, again = self._admission_timeout_s, False
        while True:
            call = Call(again)
            ended_with = self._one_call(opening, limit, call)
            over, error = self._verdict(ended_with, call)
            if over:
                return error
            assert ended_with is not None and self.accepted is not None
            self._interrupted(ended_with)
            with self.lock:
                self.lock.wait_for(lambda: self.cancelled, self._reconnect.pause())
            opening = resume_request(self.accepted.job_id, self._header)
            limit, again = min(self._admission_timeout_s, self._reconnect.left(time.monotonic())), True

    def _one_call(self, opening, limit: float, call: Call) -> Optional[IsocenterError]:
        """One call, from its first message to its status."""
        with self.lock:
            if self.cancelled:
                return Cancelled("cancelled by the console")
            # A call that waits for its connection has gRPC watch it; without one, it would look only every five seconds.
            rpc = self._method(
                self._requests(opening, call), metadata=self._channel.metadata(self._node), wait_for_ready=call.again or None
            )
            self._rpc = rpc
        timer = threading.Timer(max(0.0, limit), self._too_late, (rpc, call))
        timer.daemon = True
        timer.start()
        error = None
        try:
            for response in rpc:
                call.answered = True
                timer.cancel()
                self._handle(response, call)
        except grpc.RpcError as failure:
            error = from_grpc(failure)
        finally:
            timer.cancel()
            rpc.cancel()  # of one that has ended, nothing; of one that a callback broke off, its end
            with self.lock:
                call.over, self._rpc = True, None
                self.lock.notify_all()
        if call.accepted_at is not None and time.monotonic() - call.accepted_at > _MOVED_ON_S:
            call.moved_on = True
        if call.late and not call.answered:
            # An unanswered attempt to take the job up again says nothing about the job.
            if call.again:
                return Unavailable("the server cannot be reached or does not answer")
            return DeadlineExceeded(f"the server did not admit the acquisition within {limit:g} s")
        return error

    @staticmethod
    def _too_late(rpc, call: Call) -> None:
        if not call.answered:
            call.late = True
            rpc.cancel()

    def _requests(self, opening, call: Call) -> Iterator[bytes]:
        """What gRPC writes, one message after the other."""
        yield opening.SerializeToString()
        message: Optional[bytes] = b""
        while message is not None:
            with self.lock:
                message, finish = None, False
                while not call.over and message is None and not finish:
                    if call.writable:
                        message = self.window.next()
                        finish = message is None and self.finish_requested
                    if message is None and not finish:
                        self.lock.wait()
            if message is not None:
                yield message
            elif finish:
                yield acquisition_pb2.AcquireRequest(finish=acquisition_pb2.Finish()).SerializeToString()

    def _handle(self, response: acquisition_pb2.AcquireResponse, call: Call) -> None:
        kind = response.WhichOneof("message")
        acknowledged = []
        with self.lock:
            if kind == "accepted":
                if not self._is_kept_promise(response.accepted):
                    self._rpc.cancel()
                    return
                call.accepted_at = time.monotonic()
                acknowledged = self.window.rewind(response.accepted.next_frame_index)
                call.writable = True
            elif kind == "acknowledgement":
                acknowledged = self.window.acknowledge(response.acknowledgement)
            elif kind == "result":
                self.result = response.result
            self.lock.notify_all()
        call.moved_on = call.moved_on or bool(acknowledged)
        self._tell(response)

    def _is_kept_promise(self, answer: acquisition_pb2.Accepted) -> bool:
        if self.accepted is None:
            self.accepted = answer
            return True
        self.reconnects += 1
        if not self.window.was_released(answer.next_frame_index):
            return True
        self._broken_promise = DataLoss(
            f"the server lacks frame {answer.next_frame_index} of job {answer.job_id}, which it had acknowledged"
        )
        return False

    def _verdict(self, error: Optional[IsocenterError], call: Call):
        """(whether the acquisition ends after a call that ended with `error`, with which error)."""
        with self.lock:
            if self.cancelled:
                return True, Cancelled("cancelled by the console")
            if self._broken_promise is not None:
                return True, self._broken_promise
            if self.result is not None:
                return True, None  # what ends the call after it does not matter
            if self.accepted is None or error is None:
                return True, error
            job_id = self.accepted.job_id
        if isinstance(error, NotFound) and call.again:
            return True, NotFound(f"the connection broke and the server does not know job {job_id} any more: {error.message}")
        verdict = self._reconnect.verdict(error, call.moved_on, time.monotonic())
        before, self._last_break = self._last_break, error
        if verdict is None:
            return False, None
        if not call.again or call.accepted_at is not None or before is None or before.code == error.code:
            return True, verdict
        # Why a job cannot be taken up is often said by what broke it: it was cancelled, or failed.
        return True, type(verdict)(f"{verdict.message} (the stream had ended with {before.code}: {before.message})")
