"""The API clients: `Parley` blocks, `AsyncParley` is for asyncio. Both have the same methods.

A client holds no connection. Create one per program; it needs no closing. `repr` does not show the key.
"""
from __future__ import annotations

import ssl
from typing import Callable, Iterable, Optional

from ._async import AsyncCallSender, AsyncEventStream
from ._call import DEFAULT_BASE_URL, DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, Settings
from ._events import StreamOptions
from ._sync import EventStream, SyncCaller
from .async_resources import AsyncApi
from .errors import ParleyError
from .resources import Api


class Events:
    """The methods of `parley.events`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stream(
        self,
        *,
        events: Optional[Iterable[str]] = None,
        last_event_id: Optional[str] = None,
        on_ready: Optional[Callable[[str], object]] = None,
        on_break: Optional[Callable[[ParleyError], object]] = None,
        on_return: Optional[Callable[[float], object]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> EventStream:
        """Stream events in real time. The connection opens when the loop starts.

        :param events: The names of the events to receive. Default: all.
        :param last_event_id: Resume after this event of an earlier run of your program. The two minutes before it are
            replayed: process each `id` once.
        :param on_ready: The first connection is open, with this listener id. All events from now on are delivered.
        :param on_break: The connection is lost. The stream reconnects by itself.
        :param on_return: The stream has reconnected, so many seconds after the last data. Up to 60, no event is lost.
        :param timeout: The timeout in seconds for the response to begin.
        :param max_retries: The maximum number of retries of the first connection.
        """
        options = StreamOptions(events, last_event_id, on_ready, on_break, on_return, timeout, max_retries)
        return EventStream(self._settings, options)


class AsyncEvents:
    """The methods of `parley.events`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def stream(
        self,
        *,
        events: Optional[Iterable[str]] = None,
        last_event_id: Optional[str] = None,
        on_ready: Optional[Callable[[str], object]] = None,
        on_break: Optional[Callable[[ParleyError], object]] = None,
        on_return: Optional[Callable[[float], object]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AsyncEventStream:
        """Stream events in real time. The connection opens when the loop starts.

        :param events: The names of the events to receive. Default: all.
        :param last_event_id: Resume after this event of an earlier run of your program. The two minutes before it are
            replayed: process each `id` once.
        :param on_ready: The first connection is open, with this listener id. All events from now on are delivered.
        :param on_break: The connection is lost. The stream reconnects by itself.
        :param on_return: The stream has reconnected, so many seconds after the last data. Up to 60, no event is lost.
        :param timeout: The timeout in seconds for the response to begin.
        :param max_retries: The maximum number of retries of the first connection.
        """
        options = StreamOptions(events, last_event_id, on_ready, on_break, on_return, timeout, max_retries)
        return AsyncEventStream(self._settings, options)


class Parley(Api):
    """The client for programs without asyncio. Threads can share it.

    :param api_key: An API key of the workspace. A missing or malformed key raises a `ValueError`.
    :param base_url: The URL of the API, including `/v1`.
    :param timeout: The timeout of each attempt in seconds.
    :param max_retries: The maximum number of retries.
    :param ssl_context: For a private certificate authority. Default: the certificates of the system.
    """

    def __init__(
        self,
        api_key: Optional[str],
        base_url: str = DEFAULT_BASE_URL,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        settings = Settings(api_key, base_url, timeout, max_retries, ssl_context)
        super().__init__(SyncCaller(settings))
        self.events = Events(settings)


class AsyncParley(AsyncApi):
    """The client for asyncio. It takes the arguments of `Parley`."""

    def __init__(
        self,
        api_key: Optional[str],
        base_url: str = DEFAULT_BASE_URL,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        settings = Settings(api_key, base_url, timeout, max_retries, ssl_context)
        super().__init__(AsyncCallSender(settings))
        self.events = AsyncEvents(settings)
