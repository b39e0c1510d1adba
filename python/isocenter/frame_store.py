"""Frames that were acknowledged, kept in case their node is lost."""

import tempfile
from typing import IO, Dict, Optional, Tuple

from isocenter.errors import FailedPrecondition, NotFound, ResourceExhausted


class FrameStore:
    """Messages by their frames' indices: the first ones in memory, by reference, those beyond a bound in a file without a name, which is
    gone with the process. Not thread-safe.

    folder: of that file, which is made when it is needed; None: nothing is kept beyond `max_memory_bytes`.
    """

    def __init__(self, max_memory_bytes: int, folder: Optional[str]):
        self._max_memory_bytes, self._folder = max_memory_bytes, folder
        self._in_memory: Dict[int, bytes] = {}
        self._in_file: Dict[int, Tuple[int, int]] = {}  # offset and size
        self._memory_bytes = self._file_bytes = 0
        self._file: Optional[IO[bytes]] = None
        #: Why the first frame that is not kept could not be; None: all that was put is there.
        self.incomplete: Optional[FailedPrecondition] = None

    def put(self, index: int, message: bytes) -> None:
        """Once for each frame. What cannot be kept is told by `incomplete`."""
        if self.incomplete is not None:
            return  # what is there is of no use
        if self._memory_bytes + len(message) <= self._max_memory_bytes:
            self._in_memory[index] = message
            self._memory_bytes += len(message)
            return
        if self._folder is None:
            self._give_up(f"the frames take more than {self._max_memory_bytes} bytes of memory, and no folder is set")
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="isocenter-frames-", buffering=0)
            self._write_all(self._file, message)
        except OSError as error:
            self._give_up(f"frames kept in {self._folder!r}: {error.strerror or error}")
            return
        self._in_file[index] = (self._file_bytes, len(message))
        self._file_bytes += len(message)

    def _write_all(self, file: IO[bytes], message: bytes) -> None:
        file.seek(self._file_bytes)
        left = memoryview(message)
        while left:
            left = left[file.write(left) :]

    def _give_up(self, why: str) -> None:
        self.incomplete = FailedPrecondition(why)
        self._in_memory.clear()
        self._in_file.clear()
        self._memory_bytes = 0
        self.close()  # its room is others'

    def get(self, index: int) -> bytes:
        """Raises ResourceExhausted (the file cannot be read), NotFound (the frame was never put, or not kept)."""
        if index in self._in_memory:
            return self._in_memory[index]
        if index not in self._in_file or self._file is None:
            raise NotFound(f"frame {index} was not kept")
        offset, size = self._in_file[index]
        try:
            self._file.seek(offset)
            message = self._file.read(size)
        except OSError as error:
            raise ResourceExhausted(f"frames kept in {self._folder!r}: {error.strerror or error}") from None
        if len(message) != size:
            raise ResourceExhausted(f"frames kept in {self._folder!r}: the file is shorter than what was written")
        return message

    def close(self) -> None:
        """Gives the file back."""
        if self._file is not None:
            self._file.close()
            self._file = None
