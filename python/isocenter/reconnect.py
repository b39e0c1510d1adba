"""When a broken call is tried again, and after which pause."""

import math
import random
import uuid
from typing import Optional

from isocenter.errors import Break, IsocenterError, Unavailable

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_MEANT_WHEN_REPEATED = 3
_TO_STAND_S = 3.0  # for a connection
# With these a transport, a server that restarts or a damaged frame end a call.
_TRANSPORT = ("UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN", "DATA_LOSS")


def new_request_id() -> str:
    """A name for an acquisition whose console gave it none: a server that has admitted it knows the repeated opening by it."""
    return f"stream-{uuid.uuid4().hex}"


class Reconnect:
    """One acquisition's breaks. An outage begins with a break and lasts until a call has moved the acquisition on.

    `timeout_s` bounds an outage; 0: never again. Times are of time.monotonic().
    """

    def __init__(self, timeout_s: float):
        self._timeout_s = timeout_s
        self._outage_began = math.inf
        self._next_pause_s = _FIRST_PAUSE_S
        self._repeated = 0  # answers in a row that a server may have meant

    def verdict(self, error: IsocenterError, moved_on: bool, now: float) -> Optional[IsocenterError]:
        """The error with which the acquisition ends after a call that ended with `error`; None: it may be tried again, after
        pause(). `moved_on`: the call did what it was for before it broke.

        CANCELLED, INTERNAL, UNKNOWN and DATA_LOSS a server may mean, and then says them again: three times in a row are its answer.
        """
        if self._timeout_s <= 0 or error.code not in _TRANSPORT:
            return error
        if moved_on or self._outage_began == math.inf:
            self._outage_began, self._next_pause_s, self._repeated = now, _FIRST_PAUSE_S, 0
        self._repeated = 0 if error.code == "UNAVAILABLE" else self._repeated + 1
        if self._repeated >= _MEANT_WHEN_REPEATED:
            return error
        if now - self._outage_began < self._timeout_s:
            return None
        return type(error)(f"no new connection within {self._timeout_s:g} s: {error.message}", error.how)

    def left(self, now: float) -> float:
        """Seconds that are left of the outage."""
        return self._outage_began + self._timeout_s - now

    def lasted(self, now: float) -> float:
        """Seconds since it began; negative infinity when there is none."""
        return now - self._outage_began

    def pause(self) -> float:
        """50 ms, doubled with each try of an outage up to 2 s, of which a random half is kept, so that consoles of one server do not
        come back all at once."""
        pause = self._next_pause_s * random.uniform(0.5, 1.0)
        self._next_pause_s = min(2 * self._next_pause_s, _LONGEST_PAUSE_S)
        return pause


class Opening:
    """The attempts to open one acquisition. `timeout_s` as that of Reconnect."""

    def __init__(self, timeout_s: float):
        self._timeout_s = timeout_s
        self._reconnect = Reconnect(timeout_s)
        self._stood = False  # a connection
        self._first_cut = math.inf

    def verdict(self, error: IsocenterError, now: float) -> Optional[IsocenterError]:
        """The error with which the opening ends after an attempt that ended with `error`; None: it may be repeated.

        Repeated is what broke, by the rules of Reconnect: the server may have admitted the acquisition. What a server says in its own
        words is its answer, and where there never was a connection, nothing was begun. A connection that ends before it stands may
        have been cut by the network, or by a server that expects TLS: it is tried again for 3 s.
        """
        if not isinstance(error, Unavailable) or error.how == Break.CONNECTION:
            self._stood = True
        if self._stood:
            return self._reconnect.verdict(error, False, now)
        if error.how != Break.HANDSHAKE or self._timeout_s <= 0:
            return error
        self._first_cut = min(self._first_cut, now)
        return None if self.left(now) > 0 else error

    def left(self, now: float) -> float:
        """Seconds that are left of the outage."""
        if self._stood:
            return self._reconnect.left(now)
        return self._first_cut + min(_TO_STAND_S, self._timeout_s) - now

    def pause(self) -> float:
        """As Reconnect.pause."""
        return self._reconnect.pause()
