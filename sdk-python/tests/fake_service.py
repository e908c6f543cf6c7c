"""A fake service with one answer per connection; the last one repeats. It records the requests."""
from __future__ import annotations

import json
import socket
import ssl
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

API_KEY = "svc_live_0secret0"


class Received(NamedTuple):
    method: str
    target: str
    headers: Dict[str, str]
    body: bytes


class Peer:
    """The service's end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        # Set when the client has closed the connection.
        self.closed = threading.Event()

    def write(self, text: Union[str, bytes]) -> None:
        try:
            self._connection.sendall(text.encode() if isinstance(text, str) else text)
        except OSError:
            pass

    def close(self) -> None:
        self._connection.close()

    def reset(self) -> None:
        """Close the connection with a reset."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self._connection.close()

    def wait_for_close(self) -> None:
        try:
            while self._connection.recv(1024):
                pass
        except OSError:
            pass
        self.closed.set()


Answer = Union[str, bytes, Callable[[Peer], None]]


class FakeService:
    def __init__(self, *answers: Answer, certificate: Optional[str] = None) -> None:
        self.requests: List[Received] = []
        self.peers: List[Peer] = []
        self._answers = answers
        self._server = socket.create_server(("127.0.0.1", 0))
        self._tls = _tls_context(certificate) if certificate else None
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self._server.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> FakeService:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        if self._tls:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:
                # The client refused the certificate.
                return connection.close()
        with connection:
            received = _read_request(connection)
            if not received:
                return
            answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
            peer = Peer(connection)
            self.peers.append(peer)
            self.requests.append(received)
            if callable(answer):
                answer(peer)
            else:
                peer.write(answer)


# The certificates of the tests of this repository. `tls` is valid for 127.0.0.1, `receiver` for another host.
CERTIFICATES = Path(__file__).parents[2] / "tests" / "fixtures"


def _tls_context(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{certificate}.crt", CERTIFICATES / "tls.key")
    return context


def _read_request(connection: socket.socket) -> Optional[Received]:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    method, target, _ = first.split(" ")
    return Received(method, target, headers, body)


def answer(status: int, body: Any, headers: Dict[str, str] = {}) -> str:
    text = body if isinstance(body, str) else json.dumps(body)
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(text.encode())}\r\n{''.join(lines)}\r\n{text}"


def refusal(status: int, code: str, headers: Dict[str, str] = {}) -> str:
    return answer(status, {"error": {"code": code, "message": "because"}}, headers)


def hang(peer: Peer) -> None:
    peer.wait_for_close()


def reset(peer: Peer) -> None:
    peer.reset()


def drop(_peer: Peer) -> None:
    """Closes the connection without a response."""


OK = answer(200, {"data": {"id": "x"}})
