"""Which of several nodes behind an address an acquisition goes to (docs/adr/0022-several-nodes.md)."""

from typing import List

import grpc

from isocenter.channel import Channel
from isocenter.v1 import acquisition_pb2, acquisition_pb2_grpc, jobs_pb2, jobs_pb2_grpc

_TO_LIST_S = 5.0  # a list comes from memory
_NOT_ANSWERED = (
    *(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED),
    *(grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL),
)


def _list_nodes(channel: Channel, timeout_s: float) -> List[str]:
    if channel.node:
        return []
    stub = acquisition_pb2_grpc.AcquisitionServiceStub(channel.grpc)
    try:
        response = stub.ListNodes(
            acquisition_pb2.ListNodesRequest(), timeout=min(timeout_s, _TO_LIST_S), metadata=channel.metadata()
        )
    except grpc.RpcError:
        return []
    return list(response.node) if len(response.node) > 1 else []


def rank_nodes(channel: Channel, header: acquisition_pb2.AcquisitionHeader, timeout_s: float) -> List[str]:
    """Asks every node for a quote, all at once; the names of those that answered, best first: the node that has this acquisition's
    job or the other half of its pair, then the earliest predicted finish. A node that is full comes after those that are not. Nodes
    that cannot be reached or drain are left out, unless that leaves none. Empty where there is no choice."""
    nodes = _list_nodes(channel, timeout_s)
    stub = acquisition_pb2_grpc.AcquisitionServiceStub(channel.grpc)
    request = acquisition_pb2.QuoteAcquisitionRequest(header=header)
    calls = [(node, stub.QuoteAcquisition.future(request, timeout=timeout_s, metadata=channel.metadata(node))) for node in nodes]
    ranked = []
    for node, call in calls:
        refused = call.exception() is not None
        quote = acquisition_pb2.AcquisitionQuote() if refused else call.result()
        order = (not quote.holds_related_job, refused, quote.predicted_finish_seconds, quote.wait_seconds, quote.active_jobs)
        ranked.append((order, node, call.code() not in _NOT_ANSWERED))
    if any(answered for _, _, answered in ranked):
        ranked = [entry for entry in ranked if entry[2]]
    return [node for _, node, _ in sorted(ranked, key=lambda entry: entry[0])]


def node_of_job(channel: Channel, job_id: str, timeout_s: float) -> str:
    """The node that knows a job; empty where there is no choice, or when none that answers does."""
    stub = jobs_pb2_grpc.JobServiceStub(channel.grpc)
    request = jobs_pb2.GetJobRequest(job_id=job_id)
    nodes = _list_nodes(channel, timeout_s)
    calls = [(node, stub.GetJob.future(request, timeout=timeout_s, metadata=channel.metadata(node))) for node in nodes]
    return next((node for node, call in calls if call.exception() is None), "")
