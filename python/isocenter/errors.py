"""What goes wrong, in our words: one class for each canonical status code of the service.

Messages name the field, the offending value and what is legal. Those of the service stay as it wrote them; what gRPC says of a
connection comes with what to look at.
"""

import enum
import os
import re
from typing import Mapping, Optional, Union

import grpc


class Break(enum.Enum):
    """What the transport says of a call that no server ended."""

    NONE = 0  # a server ended it, with a sentence of its own
    UNREACHABLE = 1  # there was no connection: nobody listens, no such name
    HANDSHAKE = 2  # a connection ended before it stood
    CONNECTION = 3  # a connection that stood broke
    NO_SERVER = 4  # a proxy stands there, and has no server for the call now
    MISMATCH = 5  # somebody is there: certificates, names or the port do not fit, and waiting does not mend it


class IsocenterError(Exception):
    """Base of all errors of this package. `code`: the canonical status code, e.g. "NOT_FOUND"."""

    code = "UNKNOWN"

    def __init__(self, message: str, how: Break = Break.NONE):
        super().__init__(message)
        self.message = message
        #: Whether the transport ended the call, and how. Of `Break.MISMATCH` another call with the same files and address ends the same.
        self.how = how
        #: Whether the service may take later what it refused, without any change.
        self.try_again = False
        #: When, in seconds, where it says so.
        self.retry_after_s: Optional[float] = None


class ReconstructionWarning(UserWarning):
    """Why a volume may not be what it seems: frames that were missing, dark or saturated, that repeat, that do not fit their matrices .."""


class InvalidArgument(IsocenterError, ValueError):
    """A value is illegal, here or to the service; nothing was begun."""

    code = "INVALID_ARGUMENT"


class NotFound(IsocenterError, LookupError):
    """No such job, protocol or calibration."""

    code = "NOT_FOUND"


class AlreadyExists(IsocenterError, FileExistsError):
    """Something else has this name: a file, or a calibration set."""

    code = "ALREADY_EXISTS"


class ResourceExhausted(IsocenterError):
    """Memory, spool, disk, queue or a quota; nothing was accepted. See `try_again`."""

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
    *("Stream removed", "RST_STREAM"),
)
_MISFITS = ("certificate", "wrong version number", "WRONG_VERSION_NUMBER", "ALPN", "http1.x", "Failed parsing HTTP/2")
_CUT = ("Socket closed", "handshake failed", "Connection reset", "Broken pipe")
_NEVER_STOOD = ("failed to connect", "connections to all backends", "DNS resolution")


def _contains(text: str, words) -> bool:
    return any(word in text for word in words)


def _is_cut(text: str) -> bool:
    """A server ends the connection without a word when it expects TLS, or does not take the certificate."""
    return not _contains(text, _MISFITS) and _contains(text, _CUT)


def _how_it_never_stood(text: str) -> Break:
    if _contains(text, _MISFITS):
        return Break.MISMATCH
    return Break.HANDSHAKE if _is_cut(text) else Break.UNREACHABLE


def _peer(text: str) -> str:
    """Of whom gRPC speaks: "127.0.0.1:50051", the path of a socket, or a name that is not known."""
    found = re.search(r"(?:ipv4:|ipv6:|unix:|DNS resolution failed for )(.*?)(?:: |$)", text)
    return found[1] if found else "the address"


_DOORS = {
    ":8080": "the operator page (web.address)",
    ":9464": "metrics (metrics_address)",
    ":11112": "DICOM (dicom_node.port)",
    ":2762": "DICOM over TLS (dicom_node.tls_port)",
}
_RIGHT_DOOR = "legal is the HOST:PORT of isocenterd's grpc_address, by default port 50051"


def _door(peer: str) -> str:
    """What isocenterd has at this port unless its configuration says otherwise, as a clause; else empty."""
    return next((f"; isocenterd's port {port[1:]} is that of {door}" for port, door in _DOORS.items() if peer.endswith(port)), "")


def _proxy(peer: str) -> str:
    """That gRPC went to a proxy of the environment, as a clause; else empty. It takes the first variable that is set, in small letters."""
    variable = next((name for name in ("grpc_proxy", "https_proxy", "http_proxy") if os.environ.get(name)), None)
    _, colon, port = os.environ.get(variable or "", "").rstrip("/").rpartition(":")
    if not colon or not peer.endswith(f":{port}"):
        return ""
    return f"; that is the proxy of {variable} in the environment: no_proxy, with the host or address of the service, leaves it out"


def _explained(text: str) -> str:
    """Why no connection came about, without gRPC's words for it; client/connection_failure.cc says the same."""
    peer = _peer(text)
    return _explained_of(text, peer) + _proxy(peer)


def _explained_of(text: str, peer: str) -> str:
    if "certificate verify failed" in text:
        return f"the certificate of {peer} is not of an authority in ca_file, or has expired"
    if "is not in peer certificate" in text:
        return "its certificate is for another name than that in the address"
    if _contains(text, ("wrong version number", "WRONG_VERSION_NUMBER")):
        return f"{peer} speaks no TLS: leave out ca_file, certificate_file and private_key_file, or give the port that has TLS{_door(peer)}"
    if "ALPN" in text:
        return f"{peer} has TLS but speaks no gRPC: it is a web server, such as the operator page, or DICOM over TLS{_door(peer)}; {_RIGHT_DOOR}"
    if "http1.x" in text:
        return f"{peer} is a web server without TLS, perhaps the operator page or the metrics{_door(peer)}; {_RIGHT_DOOR}"
    if "Failed parsing HTTP/2" in text:
        return f"{peer} speaks no gRPC, or expects TLS{_door(peer)}; {_RIGHT_DOOR}"
    if _is_cut(text):
        return (
            f"{peer} ended the connection: it expects TLS, or another certificate, or is another port than that of gRPC, by default "
            f"50051: look at ca_file, certificate_file and private_key_file, and at its log{_door(peer)}"
        )
    if "DNS resolution" in text:
        return f"no address is known of {peer}; check that the address is right, legal is HOST:PORT"
    check = "; check that isocenterd runs and that the address is right"
    if "refused" in text:
        return f"connection refused, nothing listens at {peer}{check}"
    if "No such file" in text:
        return f"there is no socket {peer}{check}"
    if _contains(text, ("unreachable", "No route")):
        return f"no network leads to {peer}{check}"
    return f"no answer from {peer}{check}{_door(peer)}"


def _unavailable(text: str) -> IsocenterError:
    # No connection is tried: TLS could not be set up on this side.
    if text.startswith("empty address list"):
        return InvalidArgument(
            "TLS cannot be set up with these files: is private_key_file the key of certificate_file, and are the certificates of ca_file and "
            "certificate_file whole?"
        )
    if _contains(text, _NEVER_STOOD):
        return Unavailable(f"the server cannot be reached: {_explained(text)}", _how_it_never_stood(text))
    if not text or _contains(text, _BROKE):
        # 503: a proxy has no server for the call, which therefore began nothing.
        no_server = "http2 header with status: 503" in text
        message = "the connection to the server broke, or it is shutting down; try again"
        return Unavailable(message, Break.NO_SERVER if no_server else Break.CONNECTION)
    return Unavailable(text)


def _tell_when(error: IsocenterError, trailers: Mapping[str, Union[str, bytes]]) -> None:
    error.try_again = "isocenter-try-again" in trailers
    after_ms = str(trailers.get("isocenter-retry-after-ms", ""))
    error.retry_after_s = int(after_ms) / 1000 if after_ms.isdigit() else None


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
    _tell_when(translated, dict(error.trailing_metadata() or ()))
    return translated
