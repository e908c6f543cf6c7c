"""HTTP/1.1 without I/O: the bytes of a request, and an incremental parser for its response.

The synchronous and the asynchronous client differ only in how they move bytes, so both use this module. Every size is limited.
"""
from __future__ import annotations

import re
from typing import Callable, Dict, NamedTuple, Optional

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024


class HttpError(Exception):
    """The peer sent no valid HTTP/1.1 response, or too much of it, or closed the connection too early."""


class Secret:
    """A text that `repr` does not show: logs and error reports print objects and local variables."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"


class Request(NamedTuple):
    method: str
    target: str
    host: str
    # Without the key. They are printable ASCII.
    headers: Dict[str, str]
    body: Optional[bytes]

    def to_buffer(self, api_key: Secret) -> memoryview:
        """Return the request with its key. Error reports print local variables, and a memoryview prints no content."""
        headers = {"Host": self.host, **self.headers, "Connection": "close"}
        if self.body is not None:
            headers["Content-Length"] = str(len(self.body))
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join(lines).encode("ascii")
        key = api_key.reveal().encode("ascii")
        return memoryview(head + b"\r\nAuthorization: Bearer " + key + b"\r\n\r\n" + (self.body or b""))


class Head(NamedTuple):
    status: int
    # Names in lower case.
    headers: Dict[str, str]


class ResponseParser:
    """Parses one response from chunks of bytes."""

    def __init__(self) -> None:
        self.head: Optional[Head] = None
        self.is_complete = False
        self._buffer = bytearray()
        # Bytes of the body or chunk that are missing; None until the connection closes.
        self._missing: Optional[int] = None
        self._is_chunked = False
        self._state: Callable[[bytearray], bool] = self._read_head

    def feed(self, data: bytes) -> bytes:
        """Take received bytes, empty at the end of the connection, and return the bytes of the body in them."""
        if not data:
            if self._state == self._read_until_close:
                self.is_complete = True
            if not self.is_complete:
                raise HttpError("the connection closed before the response was complete")
            return b""
        self._buffer += data
        body = bytearray()
        while not self.is_complete and self._state(body):
            pass
        return bytes(body)

    # Each state consumes a part of the buffer and returns whether it made progress.

    def _read_head(self, _body: bytearray) -> bool:
        end = re.search(rb"\r?\n\r?\n", self._buffer)
        if not end:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise HttpError("the headers of the response are too long")
            return False
        head = _parse_head(bytes(self._buffer[: end.start()]))
        del self._buffer[: end.end()]
        if 100 <= head.status < 200:
            return True
        self.head = head
        if head.status in (204, 304):
            self.is_complete = True
        elif head.headers.get("transfer-encoding", "").lower() == "chunked":
            self._is_chunked = True
            self._state = self._read_chunk_size
        elif "transfer-encoding" in head.headers:
            raise HttpError("the response has an unknown transfer encoding")
        elif "content-length" in head.headers:
            self._missing = _parse_size(head.headers["content-length"], 10)
            self._state = self._read_sized
        else:
            self._state = self._read_until_close
        return True

    def _read_sized(self, body: bytearray) -> bool:
        missing = self._missing or 0
        part = self._buffer[:missing]
        body += part
        del self._buffer[: len(part)]
        self._missing = missing - len(part)
        if self._missing > 0:
            return False
        if self._is_chunked:
            self._state = self._read_chunk_end
        else:
            self.is_complete = True
        return True

    def _read_until_close(self, body: bytearray) -> bool:
        body += self._buffer
        self._buffer.clear()
        return False

    def _read_chunk_size(self, _body: bytearray) -> bool:
        line = self._take_line()
        if line is None:
            return False
        self._missing = _parse_size(line.split(b";")[0].strip().decode("latin-1"), 16)
        self._state = self._read_sized if self._missing else self._read_trailer
        return True

    def _read_chunk_end(self, _body: bytearray) -> bool:
        line = self._take_line()
        if line:
            raise HttpError("a chunk of the response is longer than announced")
        self._state = self._state if line is None else self._read_chunk_size
        return line is not None

    def _read_trailer(self, _body: bytearray) -> bool:
        line = self._take_line()
        self.is_complete = line == b""
        return line is not None

    def _take_line(self) -> Optional[bytes]:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise HttpError("a line of the response is too long")
            return None
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        return line


def _parse_head(text: bytes) -> Head:
    first, *lines = re.split(r"\r?\n", text.decode("latin-1"))
    status = re.fullmatch(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: .*)?", first)
    if not status:
        raise HttpError("the response is not HTTP/1.1")
    headers: Dict[str, str] = {}
    for line in lines:
        field = re.fullmatch(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*", line)
        if not field:
            raise HttpError("a header of the response is malformed")
        name = field[1].lower()
        headers[name] = f"{headers[name]}, {field[2]}" if name in headers else field[2]
    return Head(int(status[1]), headers)


def _parse_size(text: str, base: int) -> int:
    if not re.fullmatch(r"[0-9]{1,15}" if base == 10 else r"[0-9A-Fa-f]{1,12}", text):
        raise HttpError("the response has a malformed length")
    return int(text, base)
