"""A console that uses no library of ours: one acquisition that outlives its node, with nothing but gRPC and what protoc makes of the
contract (docs/user-guide/own-console.md). Numbers in comments are the steps of that page. first_scan.py uses it."""

import threading
import time
import uuid

import grpc
from isocenter.v1 import acquisition_pb2 as pb
from isocenter.v1 import acquisition_pb2_grpc, jobs_pb2, jobs_pb2_grpc

AWAY_S = 2.0  # how long a node may be away before another one gets the scan
GIVE_UP_S = 120.0
LONGEST_PAUSE_S = 30.0  # between two openings that are refused
LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS)


def to(node):
    """Request metadata that a proxy routes by."""
    return (("isocenter-node", node),) if node else ()


class Scan:
    """connect: makes a grpc.Channel to the service. header: an AcquisitionHeader. Frames come by add(), as Frame messages, while others
    are being sent; all of them are kept until run() has returned the result."""

    def __init__(self, connect, header):
        self.connect, self.header = connect, pb.AcquisitionHeader()
        self.header.CopyFrom(header)
        self.header.request_id = self.header.request_id or f"console-{uuid.uuid4()}"  # 1
        self.asking, self.sending = connect(), connect()  # no question waits behind frames
        self.frames, self.more = [], threading.Condition()
        self.job = self.node = ""
        self.left = set()  # nodes

    def add(self, frame):
        with self.more:
            self.frames.append(frame)
            self.more.notify_all()

    def ranked(self, nodes):
        """2: the nodes that answer, the earliest predicted finish first."""
        stub = acquisition_pb2_grpc.AcquisitionServiceStub(self.asking)
        request, quotes = pb.QuoteAcquisitionRequest(header=self.header), []
        for node, call in [(n, stub.QuoteAcquisition.future(request, timeout=1, metadata=to(n))) for n in nodes]:
            if call.exception() is None:
                quote = call.result()
                quotes.append(((not quote.holds_related_job, quote.predicted_finish_seconds), node))
        return [node for _, node in sorted(quotes)]

    def answers(self, node):
        """6: whether the node says anything of the job."""
        try:
            stub = jobs_pb2_grpc.JobServiceStub(self.asking)
            stub.GetJob(jobs_pb2.GetJobRequest(job_id=self.job), timeout=0.75 * AWAY_S, metadata=to(node))
        except grpc.RpcError as error:
            return error.code() not in (*LOST, grpc.StatusCode.DEADLINE_EXCEEDED)
        return True

    def pause(self, error):
        """3: how long to wait before an opening that was refused everywhere is repeated. None: it must change, or says nothing of it."""
        told = dict(error.trailing_metadata() or ())
        if told.get("isocenter-try-again") != "later":
            return None
        return min(float(told.get("isocenter-retry-after-ms", 1000)) / 1000, LONGEST_PAUSE_S)

    def run(self):
        """The JobResult; add() is called from another thread meanwhile. Raises grpc.RpcError: the answer with which it ended."""
        stub = acquisition_pb2_grpc.AcquisitionServiceStub(self.asking)
        nodes = list(stub.ListNodes(pb.ListNodesRequest(), timeout=5).node)
        nodes = nodes if len(nodes) > 1 else []
        opening, targets, since = pb.AcquireRequest(header=self.header), self.ranked(nodes) or [""], None
        while True:
            target = targets.pop(0)
            moves = bool(self.job) and target != self.node
            try:
                return self.attempt(opening, target, moves)
            except grpc.RpcError as error:
                if self.heard is not None:
                    since = None  # it had been accepted: a new outage
                since = since or time.monotonic() - (AWAY_S if self.silent else 0)
                # Before it is accepted, the next node may take it (3); what another one says of a job that moves ends nothing.
                elsewhere = not self.job and targets and error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, *LOST)
                later = None if self.job or targets else self.pause(error)
                goes_on = moves or elsewhere or later is not None or (self.job and error.code() in LOST)
                if time.monotonic() - since + (later or 0) > GIVE_UP_S or not goes_on:
                    raise
            if not self.job:
                if later is not None:
                    time.sleep(later)
                    targets = self.ranked(nodes) or [""]
                continue
            time.sleep(0.1)
            if nodes and time.monotonic() - since >= AWAY_S:  # 7
                targets = targets or [*self.ranked([n for n in nodes if n != self.node]), self.node]
                opening = pb.AcquireRequest(header=self.header)
                opening.header.continues_job_id = self.job
            else:
                targets = [self.node]
            if targets[0] == self.node:  # 5
                opening = pb.AcquireRequest(resume=pb.Resume(job_id=self.job, header=self.header))

    def attempt(self, opening, target, moves):
        """One call of Acquire, until its result."""
        begin, over, self.heard, self.silent = threading.Event(), threading.Event(), None, False
        missing = [0]

        def requests():
            yield opening
            begin.wait()
            for index in range(missing[0], self.header.frame_count):  # 4; an acknowledged frame may come twice
                with self.more:
                    self.more.wait_for(lambda: over.is_set() or len(self.frames) > index)
                if over.is_set():
                    return
                yield pb.AcquireRequest(frame=self.frames[index])
            yield pb.AcquireRequest(finish=pb.Finish())

        call = acquisition_pb2_grpc.AcquisitionServiceStub(self.sending).Acquire(requests(), metadata=to(target))
        threading.Thread(target=self.watch, args=(call, target, over), daemon=True).start()
        try:
            for response in call:
                self.heard = time.monotonic()
                if response.HasField("accepted"):
                    if self.job and target != self.node:
                        self.left = (self.left | {self.node}) - {target}
                    self.job, self.node = response.accepted.job_id, target
                    missing[0] = response.accepted.next_frame_index
                    begin.set()
                if response.HasField("result"):
                    self.withdraw()
                    return response.result
            raise RuntimeError("the service ended the call without a result")
        finally:
            over.set()
            begin.set()
            with self.more:
                self.more.notify_all()
            if self.silent:
                self.sending = self.connect()  # what was sent to the node fills the old connection

    def watch(self, call, target, over):
        """6: ends a call from which nothing comes any more."""
        while not over.wait(0.1):
            if self.heard is None or time.monotonic() - self.heard < AWAY_S / 2:
                continue
            if self.answers(target):
                self.heard = time.monotonic()
                continue
            self.silent = True
            call.cancel()
            return

    def withdraw(self):
        """8: nodes that were left need not wait."""
        stub = jobs_pb2_grpc.JobServiceStub(self.asking)
        for node in self.left:
            try:
                stub.CancelJob(jobs_pb2.CancelJobRequest(job_id=self.job), timeout=2, metadata=to(node))
            except grpc.RpcError:
                pass  # a node that is away ends its half by itself
