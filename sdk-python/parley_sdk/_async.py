"""The asynchronous client: moves bytes with asyncio's streams.

Cancelling a task ends its call at once and closes the connection. Threads around the synchronous client could not do this: a
blocked thread cannot be cancelled, and every open stream would occupy one.
"""
from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, AsyncGenerator, AsyncIterator, Awaitable, Dict, Optional, Type, TypeVar, Union

from . import _events
from ._call import Call, Exchange, Failure, Response, Settings, network_failure, timeout_failure
from ._events import StreamedEvent, StreamOptions, StreamSession
from ._http import HttpError, Request
from ._listing import AsyncListing, Page, to_page
from .types import Event

Result = TypeVar("Result")


class Expired(Exception):
    """The time limit of `within` is over."""


async def within(seconds: float, work: Awaitable[Result]) -> Result:
    """Await `work` for at most `seconds`.

    `asyncio.timeout` needs Python 3.11, and `asyncio.wait_for` of older versions can lose a cancellation.
    """
    task = asyncio.ensure_future(work)
    # The result of a task that ends while its caller is cancelled is not used.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise Expired
        return task.result()
    finally:
        task.cancel()


class AsyncConnection:
    """A connection to the service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._writer: Optional[asyncio.StreamWriter] = None
        self._reader: Optional[asyncio.StreamReader] = None

    async def exchange(self, request: Request) -> Exchange:
        """Send a request and read the head of its response, or all of it if it ends at once."""
        context = self._settings.ssl_context
        self._reader, self._writer = await asyncio.open_connection(
            self._settings.host,
            self._settings.port,
            ssl=context,
            server_hostname=self._settings.host if context else None,
        )
        self._writer.write(request.to_buffer(self._settings.api_key))
        try:
            await self._writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            # The service can answer and close before it has read the whole request. The response follows.
            pass
        received = Exchange()
        while not received.head:
            received.feed(await self.receive())
        return received

    async def call(self, request: Request) -> Response:
        return await self.read_response(await self.exchange(request))

    async def read_response(self, received: Exchange) -> Response:
        while not received.response:
            received.feed(await self.receive())
        return received.response

    async def receive(self) -> bytes:
        """Return the next bytes, empty at the end of the connection."""
        if not self._reader:
            raise OSError("not connected")
        return await self._reader.read(64 * 1024)

    def close(self) -> None:
        if self._writer:
            self._writer.transport.abort()


class AsyncCallSender:
    """Sends the calls of the resources."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def call(self, method: str, path: str, **options: Any) -> Any:
        return (await self._send(Call(self._settings, method, path, **options)))["data"]

    def list(self, method: str, path: str, *, query: Dict[str, Any] = {}, **options: Any) -> AsyncListing[Any]:
        async def fetch_page(cursor: Optional[str]) -> Page[Any]:
            at = query if cursor is None else {**query, "cursor": cursor}
            return to_page(await self._send(Call(self._settings, method, path, query=at, **options)))

        return AsyncListing(fetch_page)

    async def _send(self, call: Call) -> Dict[str, Any]:
        while True:
            envelope = call.settle(await self._attempt(call))
            if envelope is not None:
                return envelope
            await asyncio.sleep(call.delay)

    async def _attempt(self, call: Call) -> Union[Response, Failure]:
        connection = AsyncConnection(self._settings)
        try:
            return await within(call.timeout, connection.call(call.request))
        except Expired:
            return timeout_failure(f"no complete response within {call.timeout:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)
        finally:
            connection.close()


class AsyncEventStream:
    """Events in real time, for an `async for` loop. The connection opens when the loop starts.

    Leave the `async with` block, call `close`, or cancel the task to end the stream.
    """

    def __init__(self, settings: Settings, options: StreamOptions) -> None:
        self._settings = settings
        self._options = options
        self._is_closed = False
        self._connection: Optional[AsyncConnection] = None
        self._delay: Optional[asyncio.Future[None]] = None

    async def __aiter__(self) -> AsyncIterator[Event]:
        frames = self.frames()
        try:
            async for frame in frames:
                yield frame.event
        finally:
            await frames.aclose()

    async def frames(self) -> AsyncGenerator[StreamedEvent, None]:
        """Iterate over events together with their raw body and the id to resume from."""
        session = StreamSession(self._settings, self._options)
        while not self._is_closed:
            connection = AsyncConnection(self._settings)
            self._connection = connection
            try:
                outcome = await self._open(connection, session)
                while isinstance(outcome, Exchange):
                    for frame in session.receive(outcome.take_body()):
                        yield frame
                        if self._is_closed:
                            return
                    outcome = await self._read(connection, outcome)
            finally:
                connection.close()
            if self._is_closed:
                return
            await self._wait(session.lost(outcome))

    def close(self) -> None:
        """End the stream and its loop."""
        self._is_closed = True
        if self._connection:
            self._connection.close()
        if self._delay and not self._delay.done():
            self._delay.set_result(None)

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    async def _wait(self, seconds: float) -> None:
        self._delay = asyncio.get_running_loop().create_future()
        try:
            await within(seconds, self._delay)
        except Expired:
            pass

    async def _open(self, connection: AsyncConnection, session: StreamSession) -> Union[Exchange, Failure]:
        """Open a connection, and return its response or the reason why it is not a stream."""

        async def open_stream() -> Union[Exchange, Failure]:
            received = await connection.exchange(session.connect())
            if received.head and session.is_stream(received.head):
                return received
            return session.refused(await connection.read_response(received))

        try:
            return await within(session.timeout, open_stream())
        except Expired:
            return timeout_failure(f"no complete response within {session.timeout:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)

    async def _read(self, connection: AsyncConnection, received: Exchange) -> Union[Exchange, Failure]:
        """Read the next bytes. The idle timeout does not run while the caller processes an event."""
        if received.response:
            return network_failure(HttpError("the service closed the stream"))
        try:
            received.feed(await within(_events.IDLE_TIMEOUT, connection.receive()))
        except Expired:
            return timeout_failure(f"no data for {_events.IDLE_TIMEOUT:g} s")
        except (OSError, HttpError) as cause:
            return network_failure(cause)
        return received
