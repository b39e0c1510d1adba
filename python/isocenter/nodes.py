"""Which of several nodes behind an address an acquisition goes to (docs/adr/0022-several-nodes.md)."""

from typing import List

import threading
import time

import grpc

from isocenter.channel import Channel
from isocenter.errors import Break, DeadlineExceeded, Unavailable, from_grpc
from isocenter.v1 import acquisition_pb2, acquisition_pb2_grpc, jobs_pb2, jobs_pb2_grpc

_TO_LIST_S = 5.0  # a list comes from memory
# As a quote does: a node that has none so long after another has its own is busy, or away.
_AFTER_THE_FIRST_S = 0.3
_NOT_ANSWERED = (
    *(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED),
    *(grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL),
)


def answered(code: grpc.StatusCode) -> bool:
    """Whether a node said this itself, rather than what is between it and here."""
    return code not in _NOT_ANSWERED


def list_nodes(channel: Channel, timeout_s: float) -> List[str]:
    """The names of all nodes behind the address. Empty where there is no choice: one node, a channel to a certain one, a service that
    knows no nodes or where nobody listens: the call itself is to say so.

    They must be known before a scan begins: without their names a proxy would send what takes it up again to any of them, and nothing
    could take it elsewhere. Raises Unavailable, which opening.verdict lets try again, when nobody answers though somebody is there."""
    if channel.node:
        return []
    stub = acquisition_pb2_grpc.AcquisitionServiceStub(channel.grpc)
    try:
        response = stub.ListNodes(
            acquisition_pb2.ListNodesRequest(), timeout=min(timeout_s, _TO_LIST_S), metadata=channel.metadata()
        )
    except grpc.RpcError as failure:
        error = from_grpc(failure)
        if error.how in (Break.HANDSHAKE, Break.MISMATCH, Break.CONNECTION):
            raise error from None
        if isinstance(error, (DeadlineExceeded, Unavailable)) and error.how != Break.UNREACHABLE:
            raise Unavailable(error.message, Break.HANDSHAKE) from None
        return []
    return list(response.node) if len(response.node) > 1 else []


def _wait_for_all(calls: List[grpc.Future], grace_s: float) -> None:
    """Until each is done; once one has succeeded, for `grace_s` more at most: then the others are cancelled."""
    changed = threading.Condition()

    def tell(_):
        with changed:
            changed.notify()

    for call in calls:
        call.add_done_callback(tell)
    end = None
    with changed:
        while not all(call.done() for call in calls):
            if end is None and any(call.done() and call.exception() is None for call in calls):
                end = time.monotonic() + grace_s
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            changed.wait(left)
    for call in calls:
        call.cancel()  # of one that is done, nothing


def rank_nodes(channel: Channel, nodes: List[str], header: acquisition_pb2.AcquisitionHeader, timeout_s: float) -> List[str]:
    """Asks each of `nodes` for a quote, all at once; the names of those that answered (within timeout_s, and a moment after the first that
    would take it), best first: the node that has this acquisition's job or the other half of its pair, then the earliest predicted finish. A node that is
    full comes after those that are not. Nodes that cannot be reached or drain are left out."""
    stub = acquisition_pb2_grpc.AcquisitionServiceStub(channel.grpc)
    request = acquisition_pb2.QuoteAcquisitionRequest(header=header)
    calls = [(node, stub.QuoteAcquisition.future(request, timeout=timeout_s, metadata=channel.metadata(node))) for node in nodes]
    _wait_for_all([call for _, call in calls], _AFTER_THE_FIRST_S)
    ranked = []
    for node, call in calls:
        if call.cancelled() or not answered(call.code()):
            continue
        refused = call.exception() is not None
        quote = acquisition_pb2.AcquisitionQuote() if refused else call.result()
        order = (not quote.holds_related_job, refused, quote.predicted_finish_seconds, quote.wait_seconds, quote.active_jobs)
        ranked.append((order, node))
    return [node for _, node in sorted(ranked, key=lambda entry: entry[0])]


def node_of_job(channel: Channel, nodes: List[str], job_id: str, timeout_s: float) -> str:
    """The one of `nodes` that knows a job; empty when none that answers does."""
    stub = jobs_pb2_grpc.JobServiceStub(channel.grpc)
    request = jobs_pb2.GetJobRequest(job_id=job_id)
    calls = [(node, stub.GetJob.future(request, timeout=timeout_s, metadata=channel.metadata(node))) for node in nodes]
    _wait_for_all([call for _, call in calls], 0.0)
    return next((node for node, call in calls if not call.cancelled() and call.exception() is None), "")
