"""The event stream without I/O: parsing of server-sent events, and the state that survives a reconnect.

- A loop delivers each event once. It reads the next event after the loop body finishes (back-pressure).
- After a lost connection the stream reconnects without limit and sends `Last-Event-ID`. The service replays the last two
  minutes before it, because transactions can commit out of order. The stream drops events that it has already delivered.
- `on_return` reports how long the connection was lost. Events of a long outage may be lost.
- The stream raises if the service rejects the request, or if the first connection fails after `max_retries` retries.
"""
from __future__ import annotations

import codecs
import re
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, cast

from ._call import Failure, Response, Settings, check_header, check_timeout, parse_json, parse_response
from ._call import retry_delay, to_search, unexpected
from ._http import Head, Request
from .errors import ParleyError
from .types import Event

# The service sends a heartbeat every 15 seconds.
IDLE_TIMEOUT = 45.0
# Delivered ids are remembered for longer than the two minutes that the service replays.
SEEN_TTL_MS = 180_000
# A connection that lasted this many seconds resets the backoff.
STABLE = 10.0
MAX_FRAME_CHARACTERS = 16 * 1024 * 1024


@dataclass(frozen=True)
class StreamedEvent:
    event: Event
    #: The event's exact text: the body that a webhook would have.
    body: str
    #: Store it to resume after this event when your program restarts.
    last_event_id: str


class StreamOptions(NamedTuple):
    events: Optional[Iterable[str]]
    last_event_id: Optional[str]
    on_ready: Optional[Callable[[str], object]]
    on_break: Optional[Callable[[ParleyError], object]]
    on_return: Optional[Callable[[float], object]]
    timeout: Optional[float]
    max_retries: Optional[int]


class Frame(NamedTuple):
    # The value of the `event` field.
    name: str
    # The most recent `id` field, of this frame or an earlier one.
    id: str
    data: str


class FrameReader:
    """An incremental parser for server-sent events. Incomplete frames wait for the next bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._name = ""
        self._id = ""
        self._data: List[str] = []
        self._length = 0

    def read(self, data: bytes) -> List[Frame]:
        """Return the frames that these bytes complete."""
        # A final carriage return may be the first half of a CRLF.
        *lines, self._rest = re.split(r"\r\n|\n|\r(?!\Z)", self._rest + self._decoder.decode(data))
        frames: List[Frame] = []
        for line in lines:
            if line:
                self._read_field(line)
                continue
            if self._data:
                frames.append(Frame(self._name, self._id, "\n".join(self._data)))
            self._name, self._data, self._length = "", [], 0
        if self._length + len(self._rest) > MAX_FRAME_CHARACTERS:
            raise unexpected("an event is too long")
        return frames

    def _read_field(self, line: str) -> None:
        field, _, value = line.partition(":")
        if value.startswith(" "):
            value = value[1:]
        if field == "event":
            self._name = value
        elif field == "id":
            self._id = value
        elif field == "data":
            self._data.append(value)
            self._length += len(value)


class StreamSession:
    """A stream with its connections, one after the other."""

    def __init__(self, settings: Settings, options: StreamOptions) -> None:
        self.timeout = settings.timeout if options.timeout is None else check_timeout(options.timeout)
        self._settings = settings
        self._options = options
        self._max_retries = settings.max_retries if options.max_retries is None else options.max_retries
        self._events = None if options.events is None else ",".join(options.events)
        self._last_event_id = options.last_event_id
        if self._last_event_id is not None:
            check_header("last_event_id", self._last_event_id)
        self._seen: Dict[str, None] = {}
        self._was_ready = False
        # When the last data arrived after the `ready` frame.
        self._last_data_at = 0.0
        self._attempt = 0
        self._connect()

    def _connect(self) -> None:
        self._started_at = time.monotonic()
        self._is_ready = False
        self._reader = FrameReader()

    def connect(self) -> Request:
        """Return the request of the next connection."""
        self._connect()
        headers = {} if self._last_event_id is None else {"Last-Event-ID": self._last_event_id}
        target = "/events/stream" + to_search({"events": self._events})
        return self._settings.request("GET", target, accept="text/event-stream", headers=headers)

    @staticmethod
    def is_stream(head: Head) -> bool:
        return head.status == 200 and head.headers.get("content-type", "").startswith("text/event-stream")

    @staticmethod
    def refused(response: Response) -> Failure:
        """The failure of a response that is not a stream."""
        result = parse_response(response)
        return result if isinstance(result, Failure) else Failure(unexpected(), True)

    def receive(self, data: bytes) -> Iterator[StreamedEvent]:
        """Yield the new events that these bytes complete."""
        if self._is_ready and data:
            self._last_data_at = time.monotonic()
        for frame in self._reader.read(data):
            value = parse_json(frame.data)
            self._last_event_id = frame.id or self._last_event_id
            if frame.name == "ready" and isinstance(value, dict) and isinstance(value.get("listener_id"), str):
                self._become_ready(value["listener_id"])
            elif not is_event(value):
                raise unexpected("a frame of the stream is not an event")
            elif self._mark_seen(value["id"], frame.id):
                yield StreamedEvent(cast(Event, value), frame.data, frame.id)

    def lost(self, failure: Failure) -> float:
        """Return the delay before the next connection, or raise the error."""
        error, is_final = failure
        if is_final or not (self._was_ready or self._attempt < self._max_retries):
            raise error
        if self._was_ready and self._options.on_break:
            self._options.on_break(error)
        if self._last_data_at - self._started_at > STABLE:
            self._attempt = 0
        delay = retry_delay(error, self._attempt)
        self._attempt += 1
        return delay

    def _become_ready(self, listener_id: str) -> None:
        now = time.monotonic()
        if self._was_ready:
            if self._options.on_return:
                self._options.on_return(now - self._last_data_at)
        elif self._options.on_ready:
            self._options.on_ready(listener_id)
        self._was_ready = self._is_ready = True
        self._last_data_at = now

    def _mark_seen(self, event_id: str, last_event_id: str) -> bool:
        """Add an id and return whether it is new. Remove ids that are too old to be replayed."""
        if event_id in self._seen:
            return False
        self._seen[event_id] = None
        oldest_ms = _created_at_ms(last_event_id) - SEEN_TTL_MS
        for seen in list(self._seen):
            if _created_at_ms(seen) >= oldest_ms:
                break
            del self._seen[seen]
        return True


def is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and isinstance(value.get("event"), str)
        and isinstance(value.get("data"), dict)
    )


def _created_at_ms(event_id: str) -> int:
    """The creation time in a UUIDv7: its first 48 bits are milliseconds. 0 for other texts."""
    match = re.match(r"([0-9a-f]{8})-([0-9a-f]{4})-", event_id)
    return int(match[1] + match[2], 16) if match else 0
