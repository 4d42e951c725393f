"""A proxy between a client and a PostgreSQL server, which can cut a connection at a chosen message."""

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Literal, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

Side = Literal["client", "server"]
Test = Callable[[bytes, bytes], bool]
"""Whether a message is the one: by its type, and its SQL (of those that a client sends) or its tag (of an answer)."""

ENCRYPTION = (80877103, 80877104)
"""What clients ask before anything else, if they want TLS or GSSAPI."""


def commit_sent(kind: bytes, text: bytes) -> bool:
    """The client's order to run COMMIT, prepared or not."""
    return kind == b"B" and text == b"COMMIT"


def commit_answered(kind: bytes, text: bytes) -> bool:
    """The server's word that it has committed."""
    return kind == b"C" and text == b"COMMIT"


@dataclass
class Cut:
    """Where to cut: the message does not arrive any more.

    With `half` the client's side is closed only, and the server does not notice.
    """

    side: Side
    test: Test
    half: bool = False


class Proxy:
    """Listens for clients until it is closed; `url` is the connection string of the same store through it."""

    def __init__(self, store: str) -> None:
        parts = conninfo_to_dict(store)
        self._host, self._port = str(parts.get("host") or "localhost"), int(parts.get("port") or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = make_conninfo(store, host="127.0.0.1", port=port, sslmode="disable", gssencmode="disable")
        self.cuts = 0
        self._cut: Cut | None = None
        self._lock = Lock()
        self._sockets = list[socket.socket]()
        self._threads = list[Thread]()
        self._run(self._accept)

    def cut(self, cut: Cut) -> None:
        """Cut the next connection that comes to this place, once."""
        with self._lock:
            self._cut = cut

    def refuse(self) -> None:
        """Cut everything, and let nobody in any more."""
        for each in (self._listener, *self._sockets):
            _shut(each)

    def close(self) -> None:
        """Cut everything, and leave nothing behind."""
        for each in (self._listener, *self._sockets):
            _shut(each)
        for thread in self._threads:
            thread.join(10)
        for each in (self._listener, *self._sockets):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, what: Callable[..., None], *arguments: object) -> None:
        thread = Thread(target=what, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets.append(client)
                server = self._connected()
                self._sockets.append(server)
                self._run(self._serve, client, server)

    def _connected(self) -> socket.socket:
        if self._host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            self._sockets.append(server)
            server.connect(f"{self._host}/.s.PGSQL.{self._port}")
            return server
        return socket.create_connection((self._host, self._port))

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """Let the two of them greet each other, then pass on what each says."""
        with suppress(OSError):
            while True:
                greeting = _exactly(client, 4)
                greeting += _exactly(client, int.from_bytes(greeting) - 4)
                server.sendall(greeting)
                if int.from_bytes(greeting[4:8]) not in ENCRYPTION:
                    break
                client.sendall(_exactly(server, 1))
            self._run(self._pass_on, "server", server, client)
            self._pass_on("client", client, server)

    def _pass_on(self, side: Side, source: socket.socket, sink: socket.socket) -> None:
        statements = dict[bytes, bytes]()
        half = False
        with suppress(OSError):
            for kind, message in _messages(source):
                cut = self._cut_here(side, kind, _text(side, kind, message[5:], statements))
                if cut:
                    half = cut.half
                    break
                sink.sendall(message)
        client, server = (source, sink) if side == "client" else (sink, source)
        _shut(client)
        if not half:
            _shut(server)

    def _cut_here(self, side: Side, kind: bytes, text: bytes) -> Cut | None:
        with self._lock:
            cut = self._cut
            if cut is None or cut.side != side or not cut.test(kind, text):
                return None
            self._cut, self.cuts = None, self.cuts + 1
            return cut


def _text(side: Side, kind: bytes, body: bytes, statements: dict[bytes, bytes]) -> bytes:
    """The SQL that a message of a client is about, or the tag of an answer."""
    parts = body.split(b"\0", 2)
    if side == "server":
        return parts[0] if kind == b"C" else b""
    if kind == b"P":
        statements[parts[0]] = parts[1]
        return parts[1]
    return statements.get(parts[1], b"") if kind == b"B" else b""


def _messages(source: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    while True:
        head = _exactly(source, 5)
        yield head[:1], head + _exactly(source, int.from_bytes(head[1:]) - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        some = source.recv(size - len(found))
        if not some:
            raise ConnectionResetError
        found += some
    return found


def _shut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
