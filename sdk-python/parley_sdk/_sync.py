"""The synchronous client: moves bytes with blocking sockets.

Each call opens a connection and closes it. So a client has no state: threads can share it, and a process can fork. A key may send
two requests per second, so reused connections would gain little.
"""
from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from typing import Any, Dict, Iterator, Optional, Type, Union

from . import _events
from ._call import Call, Exchange, Failure, Response, Settings, network_failure, timeout_failure
from ._events import StreamedEvent, StreamOptions, StreamSession
from ._http import HttpError, Request
from ._listing import Listing, Page, to_page
from .types import Event


class Connection:
    """A connection to the service. A deadline limits all that happens on it, also when the peer sends slowly."""

    def __init__(self, settings: Settings, timeout: float) -> None:
        self._settings = settings
        self._socket: Optional[socket.socket] = None
        self.limit(timeout)

    def limit(self, timeout: float) -> None:
        """Set a new deadline."""
        self._deadline = time.monotonic() + timeout

    def open(self) -> None:
        """Connect to the first address that accepts."""
        host, port = self._settings.host, self._settings.port
        failure: Optional[OSError] = None
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            opened = socket.socket(family, kind, protocol)
            try:
                opened.settimeout(self._remaining())
                opened.connect(address)
                if self._settings.ssl_context:
                    opened.settimeout(self._remaining())
                    opened = self._settings.ssl_context.wrap_socket(opened, server_hostname=host)
                self._socket = opened
                return
            except BaseException as error:
                opened.close()
                if not isinstance(error, OSError) or isinstance(error, socket.timeout):
                    raise
                failure = error
        raise failure or OSError("the host name has no address")

    def send(self, request: Request) -> None:
        connected = self._connected()
        connected.settimeout(self._remaining())
        try:
            connected.sendall(request.to_buffer(self._settings.api_key))
        except (BrokenPipeError, ConnectionResetError):
            # The service can answer and close before it has read the whole request. The response follows.
            pass

    def receive(self) -> bytes:
        """Return the next bytes, empty at the end of the connection."""
        connected = self._connected()
        connected.settimeout(self._remaining())
        return connected.recv(64 * 1024)

    def interrupt(self) -> None:
        """End a `receive` in another thread."""
        connected = self._socket
        if connected:
            try:
                # The method of an SSL socket would change its state while the other thread uses it.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        if self._socket:
            self._socket.close()

    def _connected(self) -> socket.socket:
        if not self._socket:
            raise OSError("not connected")
        return self._socket

    def _remaining(self) -> float:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise socket.timeout("timed out")
        return remaining


def exchange(connection: Connection, request: Request) -> Exchange:
    """Send a request and read the head of its response, or all of it if it ends at once."""
    connection.open()
    connection.send(request)
    received = Exchange()
    while not received.head:
        received.feed(connection.receive())
    return received


def read_response(connection: Connection, received: Exchange) -> Response:
    while not received.response:
        received.feed(connection.receive())
    return received.response


class SyncCaller:
    """Sends the calls of the resources."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def call(self, method: str, path: str, **options: Any) -> Any:
        return self._send(Call(self._settings, method, path, **options))["data"]

    def list(self, method: str, path: str, *, query: Dict[str, Any] = {}, **options: Any) -> Listing[Any]:
        def fetch_page(cursor: Optional[str]) -> Page[Any]:
            at = query if cursor is None else {**query, "cursor": cursor}
            return to_page(self._send(Call(self._settings, method, path, query=at, **options)))

        return Listing(fetch_page)

    def _send(self, call: Call) -> Dict[str, Any]:
        while True:
            envelope = call.settle(self._attempt(call))
            if envelope is not None:
                return envelope
            time.sleep(call.delay)

    def _attempt(self, call: Call) -> Union[Response, Failure]:
        connection = Connection(self._settings, call.timeout)
        try:
            return read_response(connection, exchange(connection, call.request))
        except socket.timeout:
            return timeout_failure(f"no complete response within {call.timeout:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)
        finally:
            connection.close()


class EventStream:
    """Events in real time, for a `for` loop. The connection opens when the loop starts.

    Leave the `with` block, or call `close` from any thread, to end the stream.
    """

    def __init__(self, settings: Settings, options: StreamOptions) -> None:
        self._settings = settings
        self._options = options
        self._closed = threading.Event()
        self._connection: Optional[Connection] = None

    def __iter__(self) -> Iterator[Event]:
        for frame in self.frames():
            yield frame.event

    def frames(self) -> Iterator[StreamedEvent]:
        """Iterate over events together with their raw body and the id to resume from."""
        session = StreamSession(self._settings, self._options)
        while not self._closed.is_set():
            connection = Connection(self._settings, session.timeout)
            self._connection = connection
            try:
                outcome = self._open(connection, session)
                while isinstance(outcome, Exchange):
                    for frame in session.receive(outcome.take_body()):
                        yield frame
                        if self._closed.is_set():
                            return
                    outcome = self._read(connection, outcome)
            finally:
                self._connection = None
                connection.close()
            if self._closed.is_set():
                return
            self._closed.wait(session.lost(outcome))

    def close(self) -> None:
        """End the stream. A loop in another thread ends too."""
        self._closed.set()
        if self._connection:
            self._connection.interrupt()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _open(self, connection: Connection, session: StreamSession) -> Union[Exchange, Failure]:
        """Open a connection, and return its response or the reason why it is not a stream."""
        try:
            received = exchange(connection, session.connect())
            if received.head and session.is_stream(received.head):
                return received
            return session.refused(read_response(connection, received))
        except socket.timeout:
            return timeout_failure(f"no complete response within {session.timeout:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)

    def _read(self, connection: Connection, received: Exchange) -> Union[Exchange, Failure]:
        """Read the next bytes. The idle timeout does not run while the caller processes an event."""
        if self._closed.is_set():
            return network_failure(HttpError("the stream was closed"))
        if received.response:
            return network_failure(HttpError("the service closed the stream"))
        try:
            connection.limit(_events.IDLE_TIMEOUT)
            received.feed(connection.receive())
        except socket.timeout:
            return timeout_failure(f"no data for {_events.IDLE_TIMEOUT:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)
        return received
