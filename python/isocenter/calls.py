"""The calls of one acquisition: they run one after the other in a thread, which reads; gRPC's own thread writes."""

import threading
import time
from typing import Any, Callable, Iterator, List, Optional, Tuple

import grpc

from isocenter.channel import Channel
from isocenter.errors import Cancelled, DataLoss, DeadlineExceeded, IsocenterError, NotFound, Unavailable, from_grpc
from isocenter.failover import TO_BE_TAKEN_S, Failover, move_request
from isocenter.frame_window import FrameWindow
from isocenter.reconnect import Reconnect
from isocenter.v1 import acquisition_pb2, jobs_pb2

# A call that lasted so long has moved the acquisition on, even if no frame was left to send.
_MOVED_ON_S = 5.0
# For a node whose turn it is to be tried again.
_LEAST_TO_ANSWER_S = 1.0
_METHOD = "/isocenter.v1.AcquisitionService/Acquire"


def resume_request(job_id: str, header: acquisition_pb2.AcquisitionHeader) -> acquisition_pb2.AcquireRequest:
    """What takes a job up again; the header proves that the frames to come are the job's."""
    return acquisition_pb2.AcquireRequest(resume=acquisition_pb2.Resume(job_id=job_id, header=header))


class Call:
    """One call of Acquire; an acquisition whose connection breaks has several."""

    def __init__(self, node: str, again: bool):
        self.node = node  # that it is meant for
        self.again = again  # takes up what a broken call began
        self.moves = False  # at another node, with all frames
        self.answered = False
        self.heard_at = time.monotonic()  # when anything came from there last
        self.late = False  # ended because its answer was
        self.silent = False  # ended because nothing came any more
        self.over = False
        self.writable = False
        self.accepted_at: Optional[float] = None
        self.moved_on = False


class AcquisitionCalls:
    """What a stream's thread and its callers share; `lock` guards all of it but what is the thread's own.

    node: of the first call. first_limit_s: how long its answer may take. tell: called with each response, without the lock.
    interrupted: with the error of a connection that broke and is about to be tried again. moved: with the node at which the acquisition goes on.
    """

    def __init__(
        self,
        channel: Channel,
        header: acquisition_pb2.AcquisitionHeader,
        node: str,
        window: FrameWindow,
        failover: Failover,
        admission_timeout_s: float,
        first_limit_s: float,
        reconnect_timeout_s: float,
        trace_parent: str,
        tell: Callable[[acquisition_pb2.AcquireResponse], None],
        interrupted: Callable[[IsocenterError], None],
        moved: Callable[[str], None],
    ):
        self._given_channel = channel
        self._header, self.window, self._failover = header, window, failover
        self._admission_timeout_s, self._first_limit_s = admission_timeout_s, first_limit_s
        self._reconnect = Reconnect(reconnect_timeout_s)
        self._trace = (("traceparent", trace_parent),) if trace_parent else ()
        self._tell, self._interrupted, self._moved = tell, interrupted, moved
        # The caller's own is not to be blocked by frames for a node that hangs.
        self._use(channel.anew() if failover.possible else channel)
        self.lock = threading.Condition()
        self._rpc: Any = None  # the call under way
        self.node = node  # that has the job; empty: there is no choice
        self.finish_requested = False
        self.cancelled = False
        self.reconnects = 0
        self.accepted: Optional[acquisition_pb2.Accepted] = None  # the first
        self._job_id = ""  # at `node`
        self.result: Optional[jobs_pb2.JobResult] = None
        self.ended = False
        self.error: Optional[BaseException] = None  # with which it has ended
        self._broken_promise: Optional[IsocenterError] = None  # of the server
        self._last_break: Optional[IsocenterError] = None

    def _use(self, channel: Channel) -> None:
        self._channel = channel
        # Messages go out as bytes, because Protobuf would copy the pixels into one of its own.
        self._method = channel.grpc.stream_stream(_METHOD, None, acquisition_pb2.AcquireResponse.FromString)

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
        self._failover.withdraw(self._job_id)
        self._failover.close()
        if self._channel is not self._given_channel:
            self._channel.close()

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
        call, limit = Call(self.node, again=False), self._first_limit_s
        while True:
            ended_with = self._one_call(opening, limit, call)
            over, error = self._verdict(ended_with, call)
            if over:
                return error
            assert ended_with is not None
            self._interrupted(ended_with)
            pause = self._reconnect.pause()
            until_others = self._failover.after_s - self._reconnect.lasted(time.monotonic())
            if self._failover.possible:  # another node is not kept waiting
                pause = min(pause, until_others if until_others > 0 else self._failover.longest_pause())
            with self.lock:
                self.lock.wait_for(lambda: self.cancelled, pause)
            opening, call = self._go_on()
            now = time.monotonic()
            limit = min(self._admission_timeout_s, self._reconnect.left(now))
            if self._failover.possible and not call.moves:
                limit = min(limit, max(self._failover.after_s - self._reconnect.lasted(now), _LEAST_TO_ANSWER_S))
            if call.moves:
                limit = min(limit, TO_BE_TAKEN_S)

    def _go_on(self) -> Tuple[acquisition_pb2.AcquireRequest, Call]:
        """What takes the acquisition up again, where it was or at another node."""
        away = isinstance(self._last_break, Unavailable)
        call = Call(self.node, again=True)
        long_enough = self._reconnect.lasted(time.monotonic()) >= self._failover.after_s
        with self.lock:
            may_move = self._failover.possible and away and long_enough and self.window.why_not_again() is None
        if may_move:
            move = move_request(self._job_id, self._header)
            call.node = self._failover.next(move, self.node)
            call.moves = call.node != self.node
            if call.moves:
                return move, call
        return resume_request(self._job_id, self._header), call

    def _one_call(self, opening, limit: float, call: Call) -> Optional[IsocenterError]:
        """One call, from its first message to its status."""
        with self.lock:
            if self.cancelled:
                return Cancelled("cancelled by the console")
            # A call that waits for its connection has gRPC watch it; without one, it would look only every five seconds.
            rpc = self._method(
                self._requests(opening, call), metadata=self._channel.metadata(call.node) + self._trace, wait_for_ready=call.again or None
            )
            self._rpc = rpc
        watch = threading.Thread(target=self._watch, args=(rpc, call, limit), daemon=True, name="isocenter-watch")
        watch.start()
        error = None
        try:
            for response in rpc:
                with self.lock:
                    call.answered, call.heard_at = True, time.monotonic()
                self._handle(response, call)
        except grpc.RpcError as failure:
            error = from_grpc(failure)
        finally:
            rpc.cancel()  # of one that has ended, nothing; of one that a callback broke off, its end
            with self.lock:
                call.over, self._rpc = True, None
                self.lock.notify_all()
            watch.join()
        if call.accepted_at is not None and time.monotonic() - call.accepted_at > _MOVED_ON_S:
            call.moved_on = True
        return self._end_of(call, limit, error)

    def _end_of(self, call: Call, limit: float, error: Optional[IsocenterError]) -> Optional[IsocenterError]:
        if call.silent:
            # What was sent to the node may fill the connection to the proxy: nothing passes it there.
            left = self._channel
            self._use(left.anew())
            if left is not self._given_channel:
                left.close()
            return Unavailable(f"node '{call.node}' does not answer any more")
        if call.late and not call.answered:
            # An unanswered attempt to take the job up again says nothing about the job.
            if call.again:
                return Unavailable("the server cannot be reached or does not answer")
            return DeadlineExceeded(f"the server did not admit the acquisition within {limit:g} s")
        return error

    def _watch(self, rpc, call: Call, limit: float) -> None:
        """Ends a call whose answer is late, or whose node is silent and gone."""
        deadline = time.monotonic() + max(0.0, limit)
        while self._has_waited_in_vain(call, deadline):
            # A proxy holds the connection of a node that is gone; one that is busy says so.
            if call.answered and self._failover.answers(call.node, self._job_id):
                with self.lock:
                    call.heard_at = time.monotonic()
                continue
            with self.lock:
                call.silent, call.late = call.answered, not call.answered
            rpc.cancel()
            return

    def _has_waited_in_vain(self, call: Call, deadline: float) -> bool:
        """Waits until nothing has come for too long; False: the call is over, or may take as long as it takes."""
        with self.lock:
            while not call.over:
                if not call.answered:
                    until = deadline
                elif self._failover.possible:
                    until = call.heard_at + self._failover.ask_after_s
                else:
                    return False  # what has no other to go to waits for the transport
                left = until - time.monotonic()
                if left <= 0:
                    return True
                self.lock.wait(left)
        return False

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
                        if self.window.failure is not None:  # _verdict says so
                            self._rpc.cancel()
                            return
                        finish = message is None and self.finish_requested
                    if message is None and not finish:
                        self.lock.wait()
            if message is not None:
                yield message
            elif finish:
                yield acquisition_pb2.AcquireRequest(finish=acquisition_pb2.Finish()).SerializeToString()

    def _handle(self, response: acquisition_pb2.AcquireResponse, call: Call) -> None:
        kind = response.WhichOneof("message")
        acknowledged: List[int] = []
        with self.lock:
            before = self.window.acknowledged
            if kind == "accepted":
                if not self._is_kept_promise(response.accepted, call):
                    self._rpc.cancel()
                    return
                acknowledged = self._accept(response.accepted, call)
            elif kind == "acknowledgement":
                acknowledged = self.window.acknowledge(response.acknowledgement)
            elif kind == "result":
                self.result = response.result
            call.moved_on = call.moved_on or bool(acknowledged) or self.window.acknowledged > before
            self.lock.notify_all()
        if call.moves and kind == "accepted":
            self._moved(call.node)
        self._tell(response)

    def _accept(self, answer: acquisition_pb2.Accepted, call: Call) -> List[int]:
        """The frames that are acknowledged by it."""
        call.accepted_at, call.writable = time.monotonic(), True
        self.accepted = self.accepted or answer
        self._job_id = answer.job_id
        if call.again:
            self.reconnects += 1
        if not call.moves:
            return self.window.rewind(answer.next_frame_index)
        self._failover.arrived(call.node, self.node)
        self.node = call.node
        return self.window.restart(answer.next_frame_index)

    def _is_kept_promise(self, answer: acquisition_pb2.Accepted, call: Call) -> bool:
        if not call.again or call.moves or not self.window.was_released(answer.next_frame_index):
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
            if self.window.failure is not None:
                return True, self.window.failure
            if self.accepted is None or error is None:
                return True, error
            why_not_again = self.window.why_not_again()
        if call.moves and call.accepted_at is None:
            # What another node says of it does not end it.
            error = Unavailable(f"node '{self.node}' is away, and node '{call.node}' does not go on: {error.message}")
        if isinstance(error, NotFound) and call.again:
            why = f"the connection broke and the server does not know job {self._job_id} any more: {error.message}"
            if not self._failover.possible or why_not_again is not None:
                return True, NotFound(why)
            # A node that came back without its disk has lost what another can have again.
            error = Unavailable(why)
        broken_since = call.heard_at if call.silent else time.monotonic()
        verdict = self._reconnect.verdict(error, call.moved_on, broken_since)
        before, self._last_break = self._last_break, error
        if verdict is None:
            return False, None
        if self._failover.possible and why_not_again is not None:
            verdict = type(verdict)(f"{verdict.message}; it cannot go to another node: {why_not_again.message}")
        if not call.again or call.accepted_at is not None or before is None or before.code == error.code:
            return True, verdict
        # Why a job cannot be taken up is often said by what broke it: it was cancelled, or failed.
        return True, type(verdict)(f"{verdict.message} (the stream had ended with {before.code}: {before.message})")
