"""Progress of what takes long: a function of the caller's, or a bar of tqdm where that is installed."""

import contextlib
from typing import Callable, Iterator, Optional, Union

Progress = Union[None, bool, Callable[[float], None]]
#: What `progress` may be wherever it is an argument: None or False: nothing is told; True: a bar of tqdm, where that is installed; or a
#: function that is called now and then with the share of the work that is done, 0 to 1.


def _tqdm():
    try:
        import tqdm  # pylint: disable=import-outside-toplevel
    except ImportError:
        return None
    return tqdm.tqdm


@contextlib.contextmanager
def told(progress: Progress, what: str) -> Iterator[Optional[Callable[[float], None]]]:
    """What is to be called with shares of the work, or None. A bar ends with the block."""
    if callable(progress):
        yield progress
        return
    make = _tqdm() if progress else None
    if make is None:
        yield None
        return
    with make(total=100, desc=what, unit="%", bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}") as bar:

        def show(done: float) -> None:
            bar.update(max(0.0, 100 * min(done, 1.0) - bar.n))

        yield show
        show(1.0)
