"""The event stream against a fake service that breaks connections."""
import asyncio
import contextlib
import threading
import time
import unittest
from typing import Any, Callable, List, Tuple
from unittest import mock

from parley_sdk import AsyncParley, Parley, ParleyError, StreamedEvent
from parley_sdk._events import FrameReader

from .fake_service import API_KEY, Answer, FakeService, Peer, answer, drop, hang, refusal

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
A, B, C = (f"0199c1d2-6b1{n}-7c3a-9d52-3b6f0e8c4a17" for n in range(3))


def body_of(event_id: str) -> str:
    return f'{{ "id":"{event_id}", "event":"contact.created", "data":{{"name":"é\u2028😀"}} }}'


def chunk(text: str) -> bytes:
    data = text.encode()
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def ready(listener: str = "l") -> str:
    return f'id: {A}\nevent: ready\ndata: {{"listener_id":"{listener}"}}\n\n'


def frame(event_id: str) -> str:
    return f"id: {event_id}\nevent: contact.created\ndata: {body_of(event_id)}\n\n"


def stream(*texts: str, then: Callable[[Peer], None] = hang) -> Callable[[Peer], None]:
    """An answer that is a stream, one byte per chunk, so that no chunk is a complete frame."""

    def serve(peer: Peer) -> None:
        peer.write(HEAD)
        for byte in "".join(texts).encode():
            peer.write(b"1\r\n" + bytes([byte]) + b"\r\n")
        then(peer)

    return serve


def end(peer: Peer) -> None:
    peer.write("0\r\n\r\n")


def follow(client: Any, count: int, **options: Any) -> List[StreamedEvent]:
    """Read `count` events from a stream of either client."""
    frames: List[StreamedEvent] = []
    if isinstance(client, Parley):
        with contextlib.closing(client.events.stream(**options).frames()) as found:  # type: ignore[type-var]
            for each in found:
                frames.append(each)
                if len(frames) == count:
                    break
        return frames

    async def read() -> None:
        async with client.events.stream(**options) as events:
            async for each in events.frames():
                frames.append(each)
                if len(frames) == count:
                    break

    asyncio.run(read())
    return frames


def ids(frames: List[StreamedEvent]) -> List[str]:
    return [each.event["id"] for each in frames]


class StreamTest(unittest.TestCase):
    def setUp(self) -> None:
        for name, value in (("_events.retry_delay", lambda *_: 0.0), ("_events.IDLE_TIMEOUT", 0.3)):
            patch = mock.patch(f"parley_sdk.{name}", value)
            patch.start()
            self.addCleanup(patch.stop)

    def each(self, *answers: Answer, **options: Any) -> Any:
        for kind in (Parley, AsyncParley):
            with self.subTest(kind.__name__), FakeService(*answers) as service:
                yield service, kind(API_KEY, service.url, **options)

    def test_a_lost_connection_resumes_and_each_event_arrives_once_with_its_exact_text(self) -> None:
        again = stream(ready("l2"), frame(A), frame(B), frame(C))
        answers = (stream(": welcome\n\n", ready(), frame(A), frame(B)), refusal(503, "internal"), drop, again)
        for service, client in self.each(*answers):
            calls: List[Any] = []
            frames = follow(
                client,
                3,
                events=["contact.created", "message.received"],
                on_ready=lambda listener: calls.append(listener),
                on_break=lambda error: calls.append(error.code),
                on_return=lambda seconds: calls.append(0 <= seconds < 60),
            )
            self.assertEqual([(each.body, each.last_event_id) for each in frames], [(body_of(x), x) for x in (A, B, C)])
            # The first connection stays silent until the idle timeout.
            self.assertEqual(calls, ["l", "timeout", "internal", "network_error", True])
            self.assertEqual([r.headers.get("last-event-id") for r in service.requests], [None, B, B, B])
            target = "/v1/events/stream?events=contact.created%2Cmessage.received"
            self.assertEqual({r.target for r in service.requests}, {target})

    def test_a_failed_or_ended_connection_is_retried_and_a_rejection_is_final(self) -> None:
        for then in (Peer.close, end):
            for service, client in self.each(stream(ready(), frame(A), then=then), refusal(401, "unauthorized")):
                breaks: List[str] = []
                with self.assertRaises(ParleyError) as caught:
                    follow(client, 2, on_break=lambda error: breaks.append(error.code))
                self.assertEqual(caught.exception.code, "unauthorized")
                self.assertEqual((breaks, len(service.requests)), (["network_error"], 2))
        refusals: List[Tuple[Answer, str]] = [
            (refusal(403, "forbidden"), "forbidden"),
            (answer(200, {"data": []}), "unexpected_response"),
            (answer(200, "<h1>Welcome</h1>"), "unexpected_response"),
            (stream('event: contact.created\ndata: {"id":1}\n\n'), "unexpected_response"),
            (stream("event: ready\ndata: {\n\n"), "unexpected_response"),
        ]
        for refused, code in refusals:
            for service, client in self.each(refused):
                with self.assertRaises(ParleyError) as caught:
                    follow(client, 1)
                self.assertEqual((caught.exception.code, len(service.requests)), (code, 1))

    def test_a_failed_first_connection_is_retried_like_any_other_call(self) -> None:
        for service, client in self.each(drop):
            with self.assertRaisesRegex(ParleyError, "^network_error"):
                follow(client, 1)
            self.assertEqual(len(service.requests), 3)
            with self.assertRaises(ParleyError):
                follow(client, 1, max_retries=0, last_event_id=C)
            self.assertEqual((len(service.requests), service.requests[3].headers["last-event-id"]), (4, C))
            with self.assertRaisesRegex(ValueError, "^last_event_id: "):
                follow(client, 1, last_event_id="a\r\nb")
        for _, client in self.each(refusal(429, "rate_limited"), stream(ready(), frame(A))):
            self.assertEqual(ids(follow(client, 1)), [A])
        for _, client in self.each(hang, timeout=0.1, max_retries=0):
            with self.assertRaisesRegex(ParleyError, "^timeout: no complete response within 0.1 s"):
                follow(client, 1)

    def test_leaving_the_loop_closes_the_connection(self) -> None:
        for service, client in self.each(stream(ready(), frame(A), frame(B))):
            client.events.stream()
            self.assertEqual(service.requests, [], "no request is sent before the loop starts")
            self.assertEqual(ids(follow(client, 1)), [A])
            self.assertTrue(service.peers[0].closed.wait(10))

    def test_an_exception_in_a_callback_is_raised_and_does_not_count_as_a_lost_connection(self) -> None:
        def fail(_: str) -> None:
            raise LookupError("mine")

        for service, client in self.each(stream(ready(), frame(A))):
            with self.assertRaisesRegex(LookupError, "mine"):
                follow(client, 1, on_ready=fail)
            self.assertEqual(len(service.requests), 1)
            self.assertTrue(service.peers[0].closed.wait(10))

    def test_an_event_that_is_too_long_is_refused(self) -> None:
        with mock.patch("parley_sdk._events.MAX_FRAME_CHARACTERS", 50):
            for _, client in self.each(stream(ready(), "data: " + "x" * 60)):
                with self.assertRaisesRegex(ParleyError, "too long"):
                    follow(client, 1)

    def test_another_thread_closes_a_stream_while_it_waits_for_data_and_for_a_retry(self) -> None:
        def close(then: Callable[[Peer], None], wait: Callable[[List[str], threading.Event], object]) -> None:
            with FakeService(stream(ready(), frame(A), then=then)) as service:
                lost = threading.Event()
                events = Parley(API_KEY, service.url).events.stream(on_break=lambda _: lost.set())
                seen: List[str] = []
                thread = threading.Thread(target=lambda: seen.extend(event["id"] for event in events))
                thread.start()
                wait(seen, lost)
                events.close()
                thread.join(10)
                self.assertFalse(thread.is_alive())
                self.assertEqual((seen, len(service.requests)), ([A], 1))

        def wait_for_event(seen: List[str], _lost: threading.Event) -> None:
            while not seen:
                time.sleep(0.01)

        delay = mock.patch("parley_sdk._events.retry_delay", lambda *_: 60)
        with mock.patch("parley_sdk._events.IDLE_TIMEOUT", 60), delay:
            close(hang, wait_for_event)
            close(end, lambda _seen, lost: lost.wait(10))

    def test_the_frame_reader_handles_all_line_endings_wherever_the_chunks_split(self) -> None:
        text = (
            "\ufeffid: 1\r\nevent:x\r\ndata: é\r\n\r\n: a comment\n\ndata:two\ndata: lines\n\nid\rdata\r\rdata: \n\n"
            "retry: 9\n\nda"
        ).encode()
        expected = [("x", "1", "é"), ("", "1", "two\nlines"), ("", "", ""), ("", "", "")]
        for size in range(1, len(text) + 1):
            reader = FrameReader()
            frames = [each for start in range(0, len(text), size) for each in reader.read(text[start : start + size])]
            self.assertEqual([tuple(each) for each in frames], expected, f"chunks of {size}")


class AsyncStreamTest(unittest.IsolatedAsyncioTestCase):
    async def test_cancelling_and_closing_end_a_stream(self) -> None:
        async def read(events: Any, seen: List[str]) -> None:
            async for event in events:
                seen.append(event["id"])

        for ends_by_cancel in (True, False):
            with FakeService(stream(ready(), frame(A))) as service:
                seen: List[str] = []
                events = AsyncParley(API_KEY, service.url).events.stream()
                task = asyncio.ensure_future(read(events, seen))
                while not seen:
                    await asyncio.sleep(0.01)
                if ends_by_cancel:
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                else:
                    events.close()
                    await asyncio.wait_for(task, 10)
                self.assertEqual(seen, [A])
                closed = service.peers[0].closed
                self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, closed.wait, 10))

    async def test_closing_ends_the_wait_for_a_retry(self) -> None:
        with FakeService(stream(ready(), then=end)) as service, mock.patch(
            "parley_sdk._events.retry_delay", lambda *_: 60
        ):
            lost = asyncio.Event()
            events = AsyncParley(API_KEY, service.url).events.stream(on_break=lambda _: lost.set())

            async def read() -> None:
                async for _ in events:
                    pass

            task = asyncio.ensure_future(read())
            await asyncio.wait_for(lost.wait(), 10)
            await asyncio.sleep(0)
            events.close()
            await asyncio.wait_for(task, 10)
