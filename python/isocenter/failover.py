"""Where an acquisition goes on when its node is away (docs/adr/0067-a-scan-outlives-its-node.md)."""

import collections
from typing import Deque, List, Set

import grpc

from isocenter.channel import Channel
from isocenter.nodes import answered, rank_nodes
from isocenter.v1 import acquisition_pb2, jobs_pb2, jobs_pb2_grpc

#: How long a node may take to admit an acquisition that others could take: one that hangs has no more of the others' time.
TO_BE_TAKEN_S = 4.0
# All from memory; a node that is under load has answered within milliseconds. Twice as long after each round in which nobody did.
_TO_QUOTE_S = 1.0
_MOST_TO_QUOTE_S = TO_BE_TAKEN_S
# A patient lies on the table, and a question costs a node next to nothing.
_BETWEEN_ROUNDS_S = 0.5
_LEAST_TO_ANSWER_S = 1.0
_TO_CANCEL_S = 2.0


def move_request(job_id: str, header: acquisition_pb2.AcquisitionHeader) -> acquisition_pb2.AcquireRequest:
    """What opens an acquisition at another node than that which began it: the same request, and the job keeps its id, so that whatever
    both nodes make of it has the same UIDs."""
    request = acquisition_pb2.AcquireRequest(header=header)
    request.header.continues_job_id = job_id
    return request


class Failover:
    """Chooses between the nodes behind an address during one acquisition. Of one thread at a time.

    nodes: all that there are. Fewer than two, or `after_s` of 0: the acquisition stays where it is. Asks over a connection of its own,
    which no frame has to pass: a proxy that cannot get rid of frames for a node that hangs reads nothing else of theirs.
    """

    def __init__(self, channel: Channel, nodes: List[str], after_s: float):
        self.possible = len(nodes) > 1 and after_s > 0
        #: How long a node may be away, or silent, before the acquisition goes to another.
        self.after_s = after_s
        #: How long it may be silent before it is asked whether it is there.
        self.ask_after_s = after_s / 2
        self._nodes = nodes
        self._channel = channel.anew() if self.possible else None
        self._to_quote_s = _TO_QUOTE_S  # in the next round
        self._round: Deque[str] = collections.deque()  # what is left of it; home is its last
        self._left: Set[str] = set()

    def next(self, move: acquisition_pb2.AcquireRequest, home: str) -> str:
        """The node for the next call of what `move` opens elsewhere: `home`, or another. They are asked anew in each round, and come
        best first, those that said nothing not at all; after them it is `home`'s turn."""
        if not self._round:
            assert self._channel is not None  # as where it is possible
            others = [node for node in self._nodes if node != home]
            ranked = rank_nodes(self._channel, others, move.header, self._to_quote_s)
            self._to_quote_s = _TO_QUOTE_S if ranked else min(2 * self._to_quote_s, _MOST_TO_QUOTE_S)
            self._round.extend([*ranked, home])
        node = self._round.popleft()
        if node != home:
            self._left.add(node)  # it may take it when nobody waits for that any more
        return node

    def longest_pause(self) -> float:
        """How long to wait at most before the next call: not at all for a node that said a moment ago that it would take the acquisition."""
        return 0.0 if len(self._round) > 1 else _BETWEEN_ROUNDS_S

    def arrived(self, node: str, home: str) -> None:
        """A call was accepted by `node`, `home` so far."""
        self._round.clear()
        self._left.add(home)
        self._left.discard(node)

    def answers(self, node: str, job_id: str) -> bool:
        """Whether the node says anything of the job, within half of after_s and at least a second."""
        assert self._channel is not None  # as where it is possible
        stub = jobs_pb2_grpc.JobServiceStub(self._channel.grpc)
        limit = max(self.after_s / 2, _LEAST_TO_ANSWER_S)
        try:
            stub.GetJob(jobs_pb2.GetJobRequest(job_id=job_id), timeout=limit, metadata=self._channel.metadata(node))
        except grpc.RpcError as error:
            return answered(error.code())
        return True

    def withdraw(self, job_id: str) -> None:
        """Tells the nodes that the acquisition has left, or that may have taken it too late, so far as they can be reached at once, that
        they need not wait for its console: their jobs of this id are cancelled."""
        for node in self._left:
            assert self._channel is not None  # as where it is possible
            stub = jobs_pb2_grpc.JobServiceStub(self._channel.grpc)
            try:
                stub.CancelJob(jobs_pb2.CancelJobRequest(job_id=job_id), timeout=_TO_CANCEL_S, metadata=self._channel.metadata(node))
            except grpc.RpcError:
                pass  # a node that cannot be reached ends the job by itself

    def close(self) -> None:
        """Ends its connection."""
        if self._channel is not None:
            self._channel.close()
