"""Where the service is, and with which credentials it is reached."""

import copy
import ipaddress
import pathlib
import re
import ssl
import stat
import threading
from typing import Optional, Tuple

import grpc

from isocenter.errors import InvalidArgument, NotFound

NODE_METADATA = "isocenter-node"  # names the node that a call is meant for
_DEFAULT_PORT = 50051
_MOST_PEM_BYTES = 16 << 20
_MOST_TOKEN_BYTES = 9 << 10  # a token of 8 KiB, and what may follow its line
_OPTIONS = (
    # The server states its own limit; what it sends back is bounded by pieces of a volume.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", 64 << 20),
    # gRPC would have all channels of a process to one server share a connection.
    ("grpc.use_local_subchannel_pool", 1),
    # A server that comes back is found within seconds, and a cable that was pulled is noticed.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.min_reconnect_backoff_ms", 5000),  # what one attempt may take
    ("grpc.keepalive_time_ms", 20000),
    ("grpc.keepalive_timeout_ms", 10000),
)


def _read(what: str, file, most: int) -> bytes:
    path = pathlib.Path(file)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidArgument(f"{what} {path} is no regular file")
        with open(path, "rb") as data:
            content = data.read(most + 1)
    except FileNotFoundError:
        raise NotFound(f"{what} {path} does not exist") from None
    except OSError as error:
        raise InvalidArgument(f"{what} {path} cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise InvalidArgument(f"{what} {path} is longer than {most} bytes")
    return content


def _read_pem(what: str, file, legal: str) -> bytes:
    """A PEM file with a whole block whose label ends with `legal`: what gRPC cannot use it does not tell."""
    content = _read(what, file, _MOST_PEM_BYTES)
    if b"-----BEGIN " not in content:
        raise InvalidArgument(f"{what} {file} is no PEM file: it has no line -----BEGIN")
    labels = [label.decode("latin-1") for label in re.findall(rb"-----BEGIN ([^\n]*?)-----.+?-----END \1-----", content, re.DOTALL)]
    if not any(label.endswith(legal) for label in labels):
        raise InvalidArgument(f"{what} {file} holds {labels[0] if labels else 'nothing whole'}; legal is a PEM file with BEGIN {legal}")
    if legal == "PRIVATE KEY" and b"ENCRYPTED" in content:
        raise InvalidArgument(f"{what} {file} has a passphrase; legal is a key without one")
    return content


def _is_on_this_machine(address: str) -> bool:
    """Without the network in between."""
    host = address.rpartition(":")[0].strip("[]")
    if address.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _TokenFile:
    """The token of a client, read again when its file has changed: those of an identity provider end after minutes or hours."""

    def __init__(self, file):
        self._path = pathlib.Path(file)
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._token = self._read()

    def _look(self):
        try:
            about = self._path.stat()
        except OSError:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns

    def _read(self) -> str:
        token = _read("the token file", self._path, _MOST_TOKEN_BYTES).partition(b"\n")[0].strip()
        if not re.fullmatch(rb"[!-~]+", token):
            blanks = ": it has blanks" if re.search(rb"\s", token) else ""
            raise InvalidArgument(
                f"the first line of {self._path} is no token{blanks}; legal is one word of letters, digits and signs"
            )
        return token.decode("ascii")

    def token(self) -> str:
        """As the file has it now. While it cannot be read, or has no token, the one before."""
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                try:
                    self._token, self._stamp = self._read(), stamp
                except (InvalidArgument, NotFound):
                    pass  # it is being replaced, or will be
            return self._token


def _open_token_file(file, address: str, encrypted: bool) -> _TokenFile:
    if not encrypted and not _is_on_this_machine(address):
        raise InvalidArgument(
            f"the token would cross the network in plain text to {address}: give ca_file, the certificate authority of the server, too"
        )
    return _TokenFile(file)


def _credentials(ca_file, certificate_file, private_key_file) -> Optional[grpc.ChannelCredentials]:
    if (certificate_file is None) != (private_key_file is None):
        raise InvalidArgument("certificate_file and private_key_file must be given together")
    if ca_file is None:
        if certificate_file is not None:
            raise InvalidArgument("a client certificate needs TLS: give ca_file, the certificate authority of the server, too")
        return None
    authority = _read_pem("ca_file", ca_file, "CERTIFICATE")
    if certificate_file is None:
        return grpc.ssl_channel_credentials(authority)
    key = _read_pem("private_key_file", private_key_file, "PRIVATE KEY")
    certificate = _read_pem("certificate_file", certificate_file, "CERTIFICATE")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate_file, private_key_file)
    except ssl.SSLError as error:
        # What else is wrong with a file gRPC says.
        if error.reason == "KEY_VALUES_MISMATCH":
            raise InvalidArgument(f"private_key_file {private_key_file} does not belong to certificate_file {certificate_file}") from None
    return grpc.ssl_channel_credentials(authority, key, certificate)


class Channel:
    """A connection to one server; connects when it is first used. Thread-safe."""

    def __init__(self, address: str, ca_file=None, certificate_file=None, private_key_file=None, token_file=None, node: str = ""):
        if isinstance(address, str) and re.fullmatch(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", address):
            address = f"{address}:{_DEFAULT_PORT}"
        if not isinstance(address, str) or "://" in address or not re.fullmatch(r"unix:.+|.+:\d{1,5}", address):
            raise InvalidArgument(f"address is {address!r}; legal is HOST:PORT, HOST alone for port {_DEFAULT_PORT}, or unix:PATH")
        self.address, self.node = address, node
        credentials = _credentials(ca_file, certificate_file, private_key_file)
        self._token_file = None if token_file is None else _open_token_file(token_file, address, credentials is not None)
        self._credentials = credentials
        self._connect()

    def _connect(self) -> None:
        if self._credentials is None:
            self.grpc = grpc.insecure_channel(self.address, _OPTIONS)
        else:
            self.grpc = grpc.secure_channel(self.address, self._credentials, _OPTIONS)

    def anew(self) -> "Channel":
        """Another connection to the same server, with the same credentials."""
        other = copy.copy(self)
        other._connect()
        return other

    def metadata(self, node: str = "") -> Tuple[Tuple[str, str], ...]:
        """What goes along with a call, which is meant for `node` if that is given."""
        metadata = []
        if self.node or node:
            metadata.append((NODE_METADATA, self.node or node))
        if self._token_file is not None:
            metadata.append(("authorization", f"Bearer {self._token_file.token()}"))
        return tuple(metadata)

    def await_connection(self, timeout_s: float) -> None:
        """Until there is a connection, or the time has passed."""
        try:
            grpc.channel_ready_future(self.grpc).result(timeout=max(0.0, timeout_s))
        except grpc.FutureTimeoutError:
            pass

    def close(self) -> None:
        """Ends all calls and the connection."""
        self.grpc.close()
