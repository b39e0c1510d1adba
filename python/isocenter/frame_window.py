"""What has become of the frames of one acquisition: sent, acknowledged, to be sent again."""

import collections
from typing import Deque, Dict, List, Optional

from isocenter.errors import FailedPrecondition, IsocenterError
from isocenter.frame_store import FrameStore
from isocenter.v1 import acquisition_pb2

_ABSENT = 0  # neither handed in nor acknowledged
_KEPT = 1  # handed in, not acknowledged
_RELEASED = 2  # handed in and acknowledged
_ACKNOWLEDGED = 3  # acknowledged without being handed in: sent before, or given up
_STORED = 4  # handed in and acknowledged by a server that was left, not by this one


class FrameWindow:
    """Keeps every frame until it is acknowledged, so that a new call can send it again; with a store also after it, for a node that has
    none of them.

    The bounds count frames that were handed in and are not acknowledged: one that never comes closes nothing. At least one frame is
    always kept. Not thread-safe.
    """

    def __init__(self, frame_count: int, max_frames: int, max_bytes: int, store: Optional[FrameStore] = None):
        self._max_frames, self._max_bytes, self._store = max_frames, max_bytes, store
        #: Why a frame that was to be written could not be read back; None any more is written then.
        self.failure: Optional[IsocenterError] = None
        self._state = bytearray(frame_count)
        self._proof: Optional[bytes] = None  # that is to be written
        self._proven = False
        self._kept: Dict[int, bytes] = {}
        self._kept_bytes = 0
        self._unwritten: Deque[int] = collections.deque()  # in this call; may hold frames that are acknowledged meanwhile
        self._below = 0  # all frames below are acknowledged
        self.acknowledged = 0  # frames that the server has, whoever sent them

    def has_room_for(self, size: int) -> bool:
        """Whether a frame of so many bytes may be added."""
        if not self._kept:
            return True
        return len(self._kept) < self._max_frames and self._kept_bytes + size <= self._max_bytes

    def has(self, index: int) -> bool:
        """True when the frame waits for its acknowledgement or has it."""
        return self._state[index] != _ABSENT

    def lacks_proof(self, index: int) -> bool:
        """Whether the server has a frame from another stream, as far as is known, and nothing has been sent yet to prove that this one's
        are of the same scan."""
        return not self._proven and self._state[index] == _ACKNOWLEDGED

    def add_proof(self, message: bytes) -> None:
        """The server is sent such a frame, once, and compares it with what it has; it is not waited for."""
        self._proof, self._proven = message, True

    def add(self, index: int, message: bytes) -> None:
        """Takes a frame that the window does not have."""
        self._state[index] = _KEPT
        self._kept[index] = message
        self._kept_bytes += len(message)
        self._unwritten.append(index)

    def next(self) -> Optional[bytes]:
        """The message that is to be written next, or None."""
        if self._proof is not None:
            proof, self._proof = self._proof, None
            return proof
        while self._unwritten:
            index = self._unwritten.popleft()
            message = self._kept.get(index)
            if message is None and self._state[index] == _STORED:
                message = self._read_back(index)
                if message is None:
                    return None
            if message is not None:
                return message
        return None

    def _read_back(self, index: int) -> Optional[bytes]:
        assert self._store is not None  # as of restart
        try:
            message = self._store.get(index)
        except IsocenterError as error:
            self.failure = error
            return None
        self._kept[index] = message
        self._kept_bytes += len(message)
        return message

    def why_not_again(self) -> Optional[IsocenterError]:
        """Why not all frames that the server was ever said to have can be sent to another; None: they can."""
        if self._store is None:
            return FailedPrecondition("no frames are kept")
        if _ACKNOWLEDGED in self._state:
            return FailedPrecondition("some frames were sent by another stream")
        return self._store.incomplete

    def _acknowledge(self, first: int, last: int, released: List[int]) -> None:
        for index in range(first, min(last, len(self._state) - 1) + 1):
            state = self._state[index]
            if state in (_RELEASED, _ACKNOWLEDGED):
                continue
            self.acknowledged += 1
            if state == _ABSENT:
                self._state[index] = _ACKNOWLEDGED
                continue
            self._state[index] = _RELEASED
            message = self._kept.pop(index, None)  # none: stored, and not written again yet
            if message is not None:
                self._kept_bytes -= len(message)
                if state == _KEPT and self._store is not None:
                    self._store.put(index, message)
            if state == _KEPT:
                released.append(index)

    def acknowledge(self, message: acquisition_pb2.Acknowledgement) -> List[int]:
        """The frames that this acknowledges for the first time, of those that were handed in: not those that a server had acknowledged
        which was left since."""
        released: List[int] = []
        if message.HasField("frame_index"):
            self._acknowledge(self._below, message.frame_index, released)
            self._below = max(self._below, message.frame_index + 1)
        for part in message.beyond:
            self._acknowledge(max(self._below, part.first), part.last, released)
        return released

    def rewind(self, next_frame_index: int) -> List[int]:
        """A new call begins at a server whose first missing frame this is: all frames without acknowledgement are to be written
        again, in ascending order. The frames that were acknowledged by this, as of acknowledge."""
        released: List[int] = []
        self._acknowledge(self._below, next_frame_index - 1, released)
        self._below = max(self._below, next_frame_index)
        self._unwritten = collections.deque(index for index, state in enumerate(self._state) if state in (_KEPT, _STORED))
        return released

    def restart(self, next_frame_index: int) -> List[int]:
        """A new call begins at another server, as rewind, which has only the frames below `next_frame_index`. why_not_again() is None."""
        self._state = bytearray(_STORED if state == _RELEASED else state for state in self._state)
        self._below = self.acknowledged = 0
        return self.rewind(next_frame_index)

    def was_released(self, index: int) -> bool:
        """True when the server acknowledged a frame of ours."""
        return index < len(self._state) and self._state[index] == _RELEASED
