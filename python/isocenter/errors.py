"""What goes wrong, in our words: one class for each canonical status code of the service.

Messages name the field, the offending value and what is legal. Those of the service stay as it wrote them; what gRPC says of a
connection comes with what to look at.
"""

import enum
from typing import Optional

import grpc


class Break(enum.Enum):
    """What the transport says of a call that no server ended."""

    NONE = 0  # a server ended it, with a sentence of its own
    UNREACHABLE = 1  # there was no connection: nobody listens, no such name, the wrong certificate
    HANDSHAKE = 2  # a connection ended before it stood
    CONNECTION = 3  # a connection that stood broke


class IsocenterError(Exception):
    """Base of all errors of this package. `code`: the canonical status code, e.g. "NOT_FOUND"."""

    code = "UNKNOWN"

    def __init__(self, message: str, how: Break = Break.NONE, retry_after_s: Optional[float] = None):
        super().__init__(message)
        self.message = message
        #: Whether the transport ended the call, and how.
        self.how = how
        #: When the service could take what it refused, in seconds, where it says so.
        self.retry_after_s = retry_after_s


class InvalidArgument(IsocenterError, ValueError):
    """A value is illegal, here or to the service; nothing was begun."""

    code = "INVALID_ARGUMENT"


class NotFound(IsocenterError, LookupError):
    """No such job, protocol or calibration."""

    code = "NOT_FOUND"


class AlreadyExists(IsocenterError):
    """Something else has this name."""

    code = "ALREADY_EXISTS"


class ResourceExhausted(IsocenterError):
    """Memory, spool, disk, queue or a quota; nothing was accepted. See `retry_after_s`."""

    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(IsocenterError):
    """Not in this state: a job that has ended, frames that are gone, a calibration that does not fit."""

    code = "FAILED_PRECONDITION"


class Aborted(IsocenterError):
    """Another stream has taken over the job."""

    code = "ABORTED"


class PermissionDenied(IsocenterError):
    """The role of this caller, or another caller's job."""

    code = "PERMISSION_DENIED"


class Unauthenticated(IsocenterError):
    """Neither a certificate nor a token that the service knows."""

    code = "UNAUTHENTICATED"


class Unavailable(IsocenterError, ConnectionError):
    """The service cannot be reached, broke the connection, or drains."""

    code = "UNAVAILABLE"


class DeadlineExceeded(IsocenterError, TimeoutError):
    """The service did not answer in time."""

    code = "DEADLINE_EXCEEDED"


class Cancelled(IsocenterError):
    """Cancelled by this program, or the job by somebody else."""

    code = "CANCELLED"


class DataLoss(IsocenterError):
    """What arrived is not what was sent."""

    code = "DATA_LOSS"


class Internal(IsocenterError):
    """A fault of the service."""

    code = "INTERNAL"


_CLASSES = {
    kind.code: kind
    for kind in (
        *(InvalidArgument, NotFound, AlreadyExists, ResourceExhausted, FailedPrecondition, Aborted, PermissionDenied),
        *(Unauthenticated, Unavailable, DeadlineExceeded, Cancelled, DataLoss, Internal),
    )
}
# What the service calls an index beyond the end is a value that is illegal, too.
_CLASSES["OUT_OF_RANGE"] = InvalidArgument

# gRPC's words for a connection that was there, and a proxy's answer.
_BROKE = (
    *("Socket closed", "Connection reset", "Broken pipe", "GOAWAY", "ransport", "Endpoint", "keepalive", "http2"),
    "Stream removed",
)
_CUT = ("Socket closed", "handshake failed", "Connection reset", "Broken pipe")
_NEVER_STOOD = ("failed to connect", "connections to all backends", "DNS resolution")


def _contains(text: str, words) -> bool:
    return any(word in text for word in words)


def _advice(text: str) -> str:
    """What to look at, by what gRPC says of the handshake."""
    if "certificate verify failed" in text:
        return "its certificate is not of an authority in ca_file, or has expired"
    if "is not in peer certificate" in text:
        return "its certificate is for another name than that in the address"
    # A server ends the connection without a word when it expects TLS, or does not take the certificate.
    if _contains(text, ("Socket closed", "handshake failed", "Connection reset")):
        return "it expects TLS, or another certificate: look at ca_file, certificate_file and private_key_file, and at its log"
    return "check that isocenterd runs and that the address is right"


def _unavailable(text: str) -> Unavailable:
    if _contains(text, _NEVER_STOOD):
        cut = _contains(text, _CUT) and "certificate" not in text
        message = f"the server cannot be reached ({text}); {_advice(text)}"
        return Unavailable(message, Break.HANDSHAKE if cut else Break.UNREACHABLE)
    if not text or _contains(text, _BROKE):
        # 503: a proxy has no server for the call, which therefore began nothing.
        no_server = "http2 header with status: 503" in text
        message = f"the connection to the server broke, or it is shutting down ({text}); try again"
        return Unavailable(message, Break.UNREACHABLE if no_server else Break.CONNECTION)
    return Unavailable(text)


def _retry_after_s(error: grpc.RpcError) -> Optional[float]:
    for name, value in error.trailing_metadata() or ():
        if name == "isocenter-retry-after-ms" and str(value).isdigit():
            return int(value) / 1000
    return None


def from_status(code: str, message: str) -> IsocenterError:
    """The error of a canonical code, e.g. "NOT_FOUND"."""
    if code in _CLASSES:
        return _CLASSES[code](message)
    error = IsocenterError(f"{code}: {message}")
    error.code = code
    return error


_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


def from_code(code: int, message: str) -> IsocenterError:
    """The error of a canonical code's number, e.g. 5."""
    return from_status(_NAMES.get(code, "UNKNOWN"), message)


def from_grpc(error: grpc.RpcError) -> IsocenterError:
    """The error with which a call ended."""
    text = error.details() or ""
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        return _unavailable(text)
    translated = from_status(error.code().name, text)
    translated.retry_after_s = _retry_after_s(error)
    return translated
