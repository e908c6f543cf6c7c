"""The HTTP parser: all framings, wherever the bytes are split, and limits."""
import unittest
from unittest import mock

from parley_sdk import _http
from parley_sdk._call import Exchange
from parley_sdk._http import HttpError, Request, Secret

RESPONSES = {
    "a length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
    "the end of the connection": b"HTTP/1.0 200\r\n\r\nhello",
    "interim responses": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
}

MALFORMED = {
    "no HTTP": b"SSH-2.0-x\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a folded header": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "an unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nhello",
    "no chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nhello",
    "a long chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000,
    "an endless chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 70_000,
}


def read(data: bytes, size: int, closes: bool = True) -> bytes:
    exchange = Exchange()
    for start in range(0, len(data), size):
        if exchange.response:
            break
        exchange.feed(data[start : start + size])
    if not exchange.response and closes:
        exchange.feed(b"")
    assert exchange.response
    return exchange.response.body


class ResponseTest(unittest.TestCase):
    def test_every_framing_is_read_wherever_the_bytes_are_split(self) -> None:
        for name, data in RESPONSES.items():
            for size in range(1, len(data) + 1):
                with self.subTest(name, size=size):
                    self.assertEqual(read(data, size), b"hello")

    def test_a_response_without_a_body_is_complete_after_its_headers(self) -> None:
        for status in (204, 304):
            exchange = Exchange()
            exchange.feed(f"HTTP/1.1 {status} X\r\n\r\n".encode())
            self.assertEqual(exchange.response and exchange.response.body, b"")

    def test_malformed_responses_are_refused(self) -> None:
        for name, data in MALFORMED.items():
            for size in (1_000, len(data)):
                with self.subTest(name, size=size), self.assertRaises(HttpError):
                    read(data, size, closes=False)

    def test_a_truncated_response_is_refused(self) -> None:
        for name in ("a length", "chunks"):
            data = RESPONSES[name]
            for length in range(len(data)):
                with self.subTest(name, length=length), self.assertRaises(HttpError):
                    read(data[:length], 1_000)

    def test_a_response_has_a_limit(self) -> None:
        with mock.patch("parley_sdk._call.MAX_BODY_BYTES", 4):
            for name, data in RESPONSES.items():
                with self.subTest(name), self.assertRaisesRegex(HttpError, "longer than 4 bytes"):
                    read(data, 1)

    def test_a_repeated_header_is_joined(self) -> None:
        exchange = Exchange()
        exchange.feed(b"HTTP/1.1 204 X\r\nA: 1\r\na:  2 \r\n\r\n")
        self.assertEqual(exchange.head and exchange.head.headers, {"a": "1, 2"})


class RequestTest(unittest.TestCase):
    def test_a_request_has_its_key_and_length(self) -> None:
        request = Request("POST", "/v1/x", "parley.test", {"A": "b"}, "é".encode())
        self.assertEqual(
            bytes(request.to_buffer(Secret("k"))),
            b"POST /v1/x HTTP/1.1\r\nHost: parley.test\r\nA: b\r\nConnection: close\r\nContent-Length: 2\r\n"
            b"Authorization: Bearer k\r\n\r\n\xc3\xa9",
        )
        self.assertNotIn("k", repr(Secret("k")).replace("Secret", ""))
        self.assertGreater(_http.MAX_BODY_BYTES, 10_000_000)
