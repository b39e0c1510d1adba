"""Two nodes behind one address, for tests of the client: they keep to the contract, compute nothing, and die on demand."""

import collections
import concurrent.futures
import threading
import time

import grpc
from isocenter.v1 import acquisition_pb2, acquisition_pb2_grpc, jobs_pb2, jobs_pb2_grpc

_THREADS = 16


class Node:
    """What a node does, and has: `held` are the frames of each job."""

    def __init__(self):
        self.away = False  # its calls end, and new ones are refused, as by a proxy
        self.silent = False  # its calls stay, and nothing comes of them; new ones are refused
        self.dies_at_frame = self.falls_silent_at_frame = -1
        self.dies_after_finish = False
        self.hangs_when_asked = False  # quotes stay without an answer
        self.hangs_when_begun = False  # acquisitions, too
        self.refuses = False  # all that it does not know
        self.later = ()  # what its refusals say of coming again, as trailing metadata
        self.held = collections.defaultdict(set)
        self.cancelled = set()
        self.trace_parents = []  # of its acquisitions' calls

    def come_back(self):
        """As it was before it was ill."""
        self.away = self.silent = False
        self.dies_at_frame = self.falls_silent_at_frame = -1


class TwoNodes(acquisition_pb2_grpc.AcquisitionServiceServicer, jobs_pb2_grpc.JobServiceServicer):
    """Nodes "a" and "b"; quotes make "a" the better one."""

    def __init__(self):
        self.nodes = {"a": Node(), "b": Node()}
        self.lists_refused = 0  # so many questions which nodes there are find no server behind the proxy
        self._lock = threading.Lock()
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(_THREADS))
        acquisition_pb2_grpc.add_AcquisitionServiceServicer_to_server(self, self._server)
        jobs_pb2_grpc.add_JobServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self):
        self._server.stop(0)

    def _meant(self, context):
        name = dict(context.invocation_metadata()).get("isocenter-node", "")
        node = self.nodes[name]
        if node.away or node.silent:
            context.abort(grpc.StatusCode.UNAVAILABLE, "no such server")
        return name, node

    @staticmethod
    def _hang(hangs, context):
        while hangs and context.is_active():
            time.sleep(0.01)

    # The contract's names.

    def ListNodes(self, request, context):  # noqa: N802
        if self.lists_refused > 0:
            self.lists_refused -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "Received http2 header with status: 503")
        return acquisition_pb2.ListNodesResponse(answered_by="a", node=["a", "b"])

    def QuoteAcquisition(self, request, context):  # noqa: N802
        name, node = self._meant(context)
        self._hang(node.hangs_when_asked, context)
        return acquisition_pb2.AcquisitionQuote(node=name, predicted_finish_seconds=1 if name == "a" else 2)

    def GetJob(self, request, context):  # noqa: N802
        self._meant(context)
        return jobs_pb2.Job(job_id=request.job_id)

    def CancelJob(self, request, context):  # noqa: N802
        self._meant(context)[1].cancelled.add(request.job_id)
        return jobs_pb2.Job(job_id=request.job_id)

    def Acquire(self, requests, context):  # noqa: N802
        name, node = self._meant(context)
        self._hang(node.hangs_when_begun, context)
        node.trace_parents.append(dict(context.invocation_metadata()).get("traceparent"))
        job = self._admit(next(requests), name, node, context)
        yield acquisition_pb2.AcquireResponse(
            accepted=acquisition_pb2.Accepted(job_id=job, node=name, next_frame_index=self._first_missing(node, job))
        )
        for request in requests:
            if node.silent:
                continue
            if request.HasField("finish"):
                if node.dies_after_finish:
                    node.away = True
                    context.abort(grpc.StatusCode.UNAVAILABLE, "no such server")
                yield acquisition_pb2.AcquireResponse(result=jobs_pb2.JobResult(job_id=job))
                return
            index = request.frame.index
            node.away = node.away or index == node.dies_at_frame
            node.silent = index == node.falls_silent_at_frame
            if node.away:
                context.abort(grpc.StatusCode.UNAVAILABLE, "no such server")
            if node.silent:
                continue
            with self._lock:
                node.held[job].add(index)
            below = self._first_missing(node, job)
            if below > 0:
                yield acquisition_pb2.AcquireResponse(acknowledgement=acquisition_pb2.Acknowledgement(frame_index=below - 1))
        while node.silent and context.is_active():
            time.sleep(0.01)
        context.abort(grpc.StatusCode.CANCELLED, "the console has gone")

    def _admit(self, request, name, node, context):
        if request.HasField("resume"):
            job = request.resume.job_id
            if job not in node.held:
                context.abort(grpc.StatusCode.NOT_FOUND, "no such job")
        else:
            job = request.header.continues_job_id or f"job-of-{name}"
        if node.refuses and job not in node.held:
            context.set_trailing_metadata(node.later)
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no memory")
        return job

    def _first_missing(self, node, job):
        with self._lock:
            held = node.held[job]
            return next(index for index in range(len(held) + 1) if index not in held)
