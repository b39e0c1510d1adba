"""What computes: the processor, or a GPU where the build and the machine have one."""

import os
from typing import Dict, List, Optional, Tuple, Union

from isocenter import checks
from isocenter.local import _library

_MOST_THREADS = 1024


class Device:
    """One device. Objects that were made with it stay good when it is gone.

    name: a backend, "cpu" or "cuda", or "cuda:1", the second of its kind; "": the fastest that there is. threads: of the processor; 0: one
    for each core that this process may use. memory_bytes: at most so much of the device's memory; 0: its own limit. Raises NotFound (the
    library, or a backend that this build lacks), Unavailable (no such device in this machine), InvalidArgument.
    """

    def __init__(self, name: str = "", threads: int = 0, memory_bytes: int = 0):
        if not isinstance(name, str):
            raise checks.illegal("device", repr(name), "a name: cpu, cuda, cuda:1 ..")
        checks.whole("threads", threads, 0, _MOST_THREADS)
        checks.whole("memory_bytes", memory_bytes, 0, (1 << 63) - 1)
        self._made_of = (name, threads, memory_bytes)
        self.handle = _library.Handle("device_open", "device_close", name.encode(), threads, memory_bytes)

    def __reduce__(self):
        return Device, self._made_of  # another process opens its own

    def __repr__(self) -> str:
        return f"<Device {self.description}>"

    @property
    def backend(self) -> str:
        """e.g. "cpu"."""
        return _library.text("device_backend", self.handle)

    @property
    def description(self) -> str:
        """For people, e.g. "CPU, 2 threads, AVX-512"."""
        return _library.text("device_description", self.handle)


DeviceLike = Union[Device, str, None]
#: What `device` may be wherever it is an argument: a Device; a name, as of Device; None: the fastest.

# Opened once for each process: a child has neither the threads nor the driver of its parent.
_opened: Dict[Tuple[int, str], Device] = {}


def device_of(device: Optional[DeviceLike]) -> Device:
    """The device that is meant; one that was named before stays open."""
    if isinstance(device, Device):
        return device
    key = (os.getpid(), "" if device is None else device)
    if not isinstance(key[1], str):
        raise checks.illegal("device", repr(device), "a Device or a name: cpu, cuda, cuda:1 ..")
    if key not in _opened:
        _opened[key] = Device(key[1])
    return _opened[key]


def backends() -> List[str]:
    """The backends of the library that is installed. "reference" is float64 on one thread, to compare with."""
    return _library.text("backends").split()
