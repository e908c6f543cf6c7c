"""Calls against a fake service: retries, timeouts, errors, and what both clients send."""
import asyncio
import gc
import inspect
import json
import ssl
import threading
import time
import traceback
import unittest
import warnings
from email.utils import format_datetime
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, List, Tuple, Type, Union
from unittest import mock

from parley_sdk import AsyncParley, Parley, ParleyError, _call

from .fake_service import API_KEY, CERTIFICATES, OK, Answer, FakeService, Peer, answer, drop, hang, refusal, reset

ABSENT = "01890000-0000-7000-8000-000000000000"
CLIENTS: Tuple[Union[Type[Parley], Type[AsyncParley]], ...] = (Parley, AsyncParley)
Client = Any


def run(client: Client, call: Callable[[Client], Any]) -> Any:
    """Run a call of either client to its end."""

    async def settle() -> Any:
        result = call(client)
        return await result if inspect.isawaitable(result) else result

    return asyncio.run(settle()) if isinstance(client, AsyncParley) else call(client)


def collect(client: Client, create: Callable[[Client], Any]) -> List[Any]:
    """All items of an iterable of either client."""

    async def gather(found: List[Any]) -> None:
        async for item in create(client):
            found.append(item)

    found: List[Any] = []
    if isinstance(client, AsyncParley):
        asyncio.run(gather(found))
    else:
        found.extend(create(client))
    return found


class CallTest(unittest.TestCase):
    def setUp(self) -> None:
        """Record the delays between attempts and let them expire at once."""
        self.delays: List[float] = []

        def skip_delay(error: ParleyError, attempt: int) -> float:
            self.delays.append(retry_delay(error, attempt))
            return 0.0

        retry_delay = _call.retry_delay
        patch = mock.patch("parley_sdk._call.retry_delay", skip_delay)
        patch.start()
        self.addCleanup(patch.stop)

    def each(self, *answers: Answer, **options: Any) -> Any:
        """Yield a fake service and a client, for both kinds of client."""
        for kind in CLIENTS:
            with self.subTest(kind.__name__), FakeService(*answers) as service:
                yield service, kind(API_KEY, service.url, **options)

    def failure(self, client: Client, call: Callable[[Client], Any]) -> ParleyError:
        with self.assertRaises(ParleyError) as caught:
            run(client, call)
        return caught.exception

    def test_a_call_sends_its_path_query_body_and_key(self) -> None:
        for service, client in self.each(OK):
            run(client, lambda p: p.contacts.update("a/../b?c#d é", {"name": "é\u2028😀", "email": None}))
            run(client, lambda p: p.conversations.list(limit=5, assigned_agent_id="none", label="a&b").page())
            update, listed = service.requests
            self.assertEqual((update.method, update.target), ("PATCH", "/v1/contacts/a%2F..%2Fb%3Fc%23d%20%C3%A9"))
            self.assertEqual(json.loads(update.body), {"name": "é\u2028😀", "email": None})
            self.assertEqual(update.headers["authorization"], f"Bearer {API_KEY}")
            self.assertEqual(update.headers["content-type"], "application/json")
            self.assertNotIn("idempotency-key", update.headers)
            self.assertEqual(listed.target, "/v1/conversations?limit=5&assigned_agent_id=none&label=a%26b")
            self.assertNotIn("content-type", listed.headers)
            run(client, lambda p: p.webhooks.rotate_secret("x"))
            self.assertEqual(service.requests[2].body, b"{}")

    def test_only_temporary_failures_are_retried_with_the_same_key_and_body(self) -> None:
        def at(seconds: int) -> str:
            return format_datetime(datetime.now(timezone.utc) + timedelta(seconds=seconds), usegmt=True)

        passing: List[Answer] = [
            refusal(429, "rate_limited", {"Retry-After": "7"}),
            refusal(503, "internal", {"Retry-After": at(30)}),
            refusal(503, "internal", {"Retry-After": at(-30)}),
            refusal(503, "internal", {"Retry-After": "soon"}),
            refusal(503, "internal", {"Retry-After": "x GMT"}),
            refusal(500, "internal"),
            answer(502, "<h1>Bad Gateway</h1>"),
            answer(504, ""),
            reset,
            drop,
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
            "SSH-2.0-OpenSSH\r\n\r\n",
        ]
        for first in passing:
            for service, client in self.each(first, OK):
                run(client, lambda p: p.messages.send({"to": "+1", "text": "hello"}))
                self.assertEqual(len(service.requests), 2, first)
                one, two = service.requests
                self.assertEqual(one.body, two.body)
                self.assertEqual(one.headers["idempotency-key"], two.headers["idempotency-key"])
                self.assertRegex(one.headers["idempotency-key"], "^[0-9a-f-]{36}$")
        self.assertEqual(len(self.delays), 2 * len(passing))
        for delay, least, most in zip(self.delays[::2], [7, 20, 0, 0.25, 0.25], [7.5, 31.5, 0.5, 0.5, 0.5]):
            self.assertTrue(least <= delay <= most, f"waited {delay} s")

        final = [
            (refusal(400, "bad_request"), "bad_request", 400),
            (refusal(402, "plan_limit_reached"), "plan_limit_reached", 402),
            (refusal(404, "not_found"), "not_found", 404),
            (refusal(502, "platform_error"), "platform_error", 502),
            (refusal(500, "template_malformed"), "template_malformed", 500),
            (refusal(500, "internal", {"Idempotent-Replayed": "true"}), "internal", 500),
            (refusal(429, "rate_limited", {"Retry-After": "61"}), "rate_limited", 429),
            (refusal(503, "internal", {"Retry-After": at(3_600)}), "internal", 503),
            (answer(301, "", {"Location": "http://127.0.0.1:1/"}), "unexpected_response", 301),
            (answer(200, "<h1>Welcome</h1>"), "unexpected_response", 200),
            (answer(200, {}), "unexpected_response", 200),
            (answer(200, "[" * 100_000), "unexpected_response", 200),
            (answer(400, {"error": "no"}), "unexpected_response", 400),
            (answer(400, {"error": {"code": 1, "message": "x"}}), "unexpected_response", 400),
        ]
        for first, code, status in final:
            for service, client in self.each(first, OK):
                error = self.failure(client, lambda p: p.messages.send({"to": "+1", "text": "hello"}))
                self.assertEqual((error.code, error.status, len(service.requests)), (code, status, 1))
        self.assertEqual(len(self.delays), 2 * len(passing))

    def test_delays_double_up_to_eight_seconds_and_max_retries_limits_the_attempts(self) -> None:
        for service, client in self.each(drop, max_retries=6):
            self.delays.clear()
            error = self.failure(client, lambda p: p.me())
            self.assertEqual((error.code, error.status, len(service.requests)), ("network_error", 0, 7))
            self.assertIsNotNone(error.__cause__)
            most = [0.5, 1, 2, 4, 8, 8]
            self.assertEqual(len(self.delays), len(most))
            for delay, longest in zip(self.delays, most):
                self.assertTrue(longest / 2 <= delay <= longest, f"{delay} s is not up to {longest} s")
            self.failure(client, lambda p: p.me(max_retries=0))
            self.assertEqual(len(service.requests), 8)

    def test_the_caller_sets_the_idempotency_key(self) -> None:
        for service, client in self.each(OK):
            run(client, lambda p: p.contacts.create({"phone": "+1"}, idempotency_key="order 1009"))
            self.assertEqual(service.requests[0].headers["idempotency-key"], "order 1009")
            for key in ["", "a\r\nX-Evil: 1", "é", "x" * 256, " x"]:
                with self.assertRaisesRegex(ValueError, "^idempotency_key: "):
                    run(client, lambda p: p.contacts.create({"phone": "+1"}, idempotency_key=key))
            self.assertEqual(len(service.requests), 1)

    def test_404_counts_as_success_only_when_a_delete_is_retried_after_a_lost_response(self) -> None:
        gone = refusal(404, "not_found")
        for _, client in self.each(drop, gone):
            deleted = run(client, lambda p: p.segments.delete(ABSENT))
            self.assertEqual(deleted, {"id": ABSENT, "deleted": True})
        for _, client in self.each(refusal(429, "rate_limited"), gone):
            self.assertEqual(self.failure(client, lambda p: p.segments.delete(ABSENT)).code, "not_found")
        for _, client in self.each(drop, gone):
            error = self.failure(client, lambda p: p.segments.remove_contacts(ABSENT, {"contact_ids": []}))
            self.assertEqual(error.code, "not_found")

    def test_a_timeout_limits_an_attempt_even_if_bytes_keep_arriving(self) -> None:
        def trickle(peer: Peer) -> None:
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
            while not peer.closed.wait(0.02):
                peer.write(" ")

        for slow in (hang, trickle):
            for service, client in self.each(slow, timeout=0.2, max_retries=1):
                started = time.monotonic()
                error = self.failure(client, lambda p: p.me())
                self.assertEqual((error.code, error.status, len(service.requests)), ("timeout", 0, 2))
                self.assertLess(time.monotonic() - started, 5)
                self.assertEqual(error.message, "no complete response within 0.2 s")
        for timeout in (0, -1, float("nan")):
            for kind in CLIENTS:
                with self.assertRaisesRegex(ValueError, "^timeout: "):
                    kind(API_KEY, timeout=timeout)

    def test_a_response_that_is_too_long_fails(self) -> None:
        with mock.patch("parley_sdk._call.MAX_BODY_BYTES", 5):
            for _, client in self.each(OK, max_retries=0):
                error = self.failure(client, lambda p: p.me())
                self.assertEqual(error.code, "network_error")
                self.assertIn("longer than 5 bytes", error.message)

    def test_a_response_before_the_end_of_the_request_is_read(self) -> None:
        def refuse_early(peer: Peer) -> None:
            peer.write(refusal(400, "bad_request"))

        with mock.patch("tests.fake_service._read_request") as read_request:
            read_request.side_effect = lambda connection: connection.recv(10) and mock.Mock()
            for _, client in self.each(refuse_early, max_retries=0):
                error = self.failure(client, lambda p: p.messages.send({"to": "+1", "text": "x" * 300_000}))
                # The system may discard the response together with the rest of the request.
                self.assertIn(error.code, ("bad_request", "network_error"))

    def test_an_error_has_the_code_message_details_and_request_id_of_the_service(self) -> None:
        details = {"outcome": "rejected", "message_id": "m", "channel_code": "131026"}
        body = {"error": {"code": "platform_error", "message": "131026: no", "details": details}}
        for _, client in self.each(answer(502, body, {"X-Request-Id": "r-1", "Retry-After": "3"})):
            error = self.failure(client, lambda p: p.messages.send({"to": "+1", "text": "x"}))
            self.assertEqual((error.code, error.message, error.status), ("platform_error", "131026: no", 502))
            self.assertEqual((error.request_id, error.retry_after, error.details), ("r-1", 3, details))
            self.assertEqual(str(error), "platform_error: 131026: no")
            self.assertIn("r-1", repr(error))

    def test_a_failed_page_is_retried_without_repeating_earlier_items(self) -> None:
        first = answer(200, {"data": [{"id": "a"}], "meta": {"next_cursor": "x"}})
        last = answer(200, {"data": [{"id": "b"}], "meta": {"next_cursor": None}})
        for service, client in self.each(first, drop, last):
            items = collect(client, lambda p: p.contacts.list(search="s"))
            self.assertEqual([item["id"] for item in items], ["a", "b"])
            self.assertEqual(
                [request.target for request in service.requests],
                ["/v1/contacts?search=s", *["/v1/contacts?cursor=x&search=s"] * 2],
            )
        for service, client in self.each(first, last):
            pages = collect(client, lambda p: p.contacts.list().pages())
            self.assertEqual([page.next_cursor for page in pages], ["x", None])
        for service, client in self.each(first, refusal(401, "unauthorized")):
            with self.assertRaisesRegex(ParleyError, "unauthorized"):
                collect(client, lambda p: p.contacts.list())
        for service, client in self.each(first):
            client.contacts.list()
            self.assertEqual(service.requests, [], "no request is sent before the iteration starts")

    def test_an_id_cannot_address_another_resource(self) -> None:
        for service, client in self.each(OK):
            for bad in ["..", ".", "", None]:
                with self.assertRaisesRegex(ValueError, "^id: "):
                    run(client, lambda p: p.segments.delete(bad))
                with self.assertRaisesRegex(ValueError, "^id: "):
                    run(client, lambda p: p.segments.list_contacts(bad).page())
            self.assertEqual(service.requests, [])

    def test_a_malformed_key_or_url_is_rejected_at_once(self) -> None:
        for kind in CLIENTS:
            for key in (None, "", "svc_live_x\n", "svc live", "é"):
                with self.assertRaisesRegex(ValueError, "^api_key: "):
                    kind(key)
            for url in ("", "parley.test/v1", "ftp://parley.test", "http://", "http://a:b@c/v1", "http://a/\r\nX: y"):
                with self.assertRaisesRegex(ValueError, "^base_url: "):
                    kind(API_KEY, url)

    def test_a_key_is_in_no_text_that_a_log_or_an_error_report_prints(self) -> None:
        failures: List[Answer] = [drop, refusal(401, "unauthorized"), hang]
        for first in failures:
            for service, client in self.each(first, max_retries=0, timeout=0.2):
                error = self.failure(client, lambda p: p.contacts.create({"phone": "+1"}))
                self.assertEqual(service.requests[0].headers["authorization"], f"Bearer {API_KEY}")
                report = traceback.TracebackException.from_exception(error, capture_locals=True)
                printed = "".join(report.format()) + repr(error) + repr(vars(error))
                self.assertNotIn(API_KEY, printed)
                shown = repr(client) + repr(vars(client)) + repr(vars(client._caller._settings))
                self.assertNotIn(API_KEY, shown)
                self.assertIn("Secret(***)", shown)
        # The connection fails while the request with its key is written.
        broken = OSError("broken")
        sending = mock.patch("socket.socket.sendall", side_effect=broken)
        with sending, mock.patch("asyncio.StreamWriter.write", side_effect=broken):
            for _, client in self.each(hang, max_retries=0):
                error = self.failure(client, lambda p: p.me())
                self.assertIs(error.__cause__, broken)
                text = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
                self.assertIn("<memory at", text)
                self.assertNotIn(API_KEY, text)

    def test_tls_needs_a_certificate_that_is_trusted_and_names_the_host(self) -> None:
        for certificate, is_trusted, is_accepted in [("tls", True, True), ("tls", False, False), ("receiver", True, False)]:
            context = ssl.create_default_context()
            if is_trusted:
                context.load_verify_locations(CERTIFICATES / f"{certificate}.crt")
            for kind in CLIENTS:
                with self.subTest(kind.__name__, certificate=certificate), FakeService(
                    OK, certificate=certificate
                ) as service:
                    client = kind(API_KEY, service.url, max_retries=0, ssl_context=context)
                    if is_accepted:
                        self.assertEqual(run(client, lambda p: p.me()), {"id": "x"})
                    else:
                        error = self.failure(client, lambda p: p.me())
                        self.assertEqual(error.code, "network_error")
                        self.assertIn("CERTIFICATE_VERIFY_FAILED", error.message)
                        self.assertEqual(service.requests, [])
        default = Parley(API_KEY, "https://127.0.0.1:1/v1").events._settings.ssl_context
        assert default
        self.assertEqual((default.verify_mode, default.check_hostname), (ssl.CERT_REQUIRED, True))

    def test_threads_share_a_client(self) -> None:
        with FakeService(OK) as service:
            parley = Parley(API_KEY, service.url)
            results: List[Any] = []
            threads = [threading.Thread(target=lambda: results.append(parley.me())) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [{"id": "x"}] * 20)


class CancellationTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_cancelled_task_ends_its_call_and_closes_the_connection(self) -> None:
        with FakeService(hang) as service, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            task = asyncio.ensure_future(AsyncParley(API_KEY, service.url).me())
            while not service.peers:
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            closed = service.peers[0].closed
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, closed.wait, 10))
            self.assertEqual(len(service.requests), 1)
            gc.collect()
            # A connection that only the garbage collector closes causes a warning.
            self.assertEqual([each.category for each in warned], [])

    async def test_a_cancelled_task_ends_its_delay(self) -> None:
        with FakeService(refusal(429, "rate_limited", {"Retry-After": "60"})) as service:
            task = asyncio.ensure_future(AsyncParley(API_KEY, service.url).me())
            while not service.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

    async def test_calls_run_at_the_same_time(self) -> None:
        together = threading.Barrier(5)

        def meet(peer: Peer) -> None:
            together.wait(10)
            peer.write(OK)

        with FakeService(meet) as service:
            parley = AsyncParley(API_KEY, service.url, max_retries=0)
            self.assertEqual(len(await asyncio.gather(*(parley.me() for _ in range(5)))), 5)


if __name__ == "__main__":
    unittest.main()
