"""A cable that can be cut: takes connections for a server and hands their bytes on, in both directions.

For systems without network namespaces. Cut, it hands nothing on and closes nothing; healed, what waited goes on. A program of its
own, so that it has a processor of its own: python3 relay.py LISTEN_HOST:PORT SERVER_HOST:PORT; SIGUSR1 cuts, SIGUSR2 heals.
"""

import signal
import socket
import sys
import threading

_PIECE = 1 << 18
_whole = threading.Event()


def _hand_on(source, sink):
    piece = memoryview(bytearray(_PIECE))
    try:
        while True:
            _whole.wait()
            got = source.recv_into(piece)
            if got == 0:
                break
            _whole.wait()
            sink.sendall(piece[:got])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One side is gone: so is the other, as soon as the cable is whole.
        _whole.wait()
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def _take(caller, server):
    _whole.wait()
    try:
        callee = socket.create_connection(server, 10)
    except OSError:
        caller.close()
        return
    callee.settimeout(None)
    for end in (caller, callee):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=_hand_on, args=(callee, caller), daemon=True)
    back.start()
    _hand_on(caller, callee)
    back.join()
    caller.close()
    callee.close()


def main(listen, server):
    _whole.set()
    signal.signal(signal.SIGUSR1, lambda *_: _whole.clear())
    signal.signal(signal.SIGUSR2, lambda *_: _whole.set())
    host, port = listen.rsplit(":", 1)
    with socket.create_server((host, int(port)), backlog=128) as door:
        host, port = server.rsplit(":", 1)
        print("ready", flush=True)
        while True:
            caller, _ = door.accept()
            threading.Thread(target=_take, args=(caller, (host, int(port))), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
