"""Webhook verification: only genuine signatures are accepted."""
import hashlib
import hmac
import json
import os
import time
import unittest
from typing import Any, Optional
from unittest import mock

from parley_sdk import ParleyError, verify_webhook

SECRET = "whsec_test_secret"
AT = 1_700_000_000
BODY = '{"a":1,"b":{"c":[1,2,3]}}'
V1 = "15d79cf9ceb13eb2da9bdf43ed419589bcd491e1a8cee7ff71d4a2aaf7d290f2"
EVENT = {"id": "x", "event": "conversation.created", "data": {"contact_id": "é\u2028😀"}}


def sign(body: str, at: Optional[int] = None) -> str:
    t = int(time.time()) if at is None else at
    return f"t={t},v1={hmac.new(SECRET.encode(), f'{t}.{body}'.encode(), hashlib.sha256).hexdigest()}"


def code_of(payload: Any, signature: Any, secret: Any = SECRET, **options: Any) -> Optional[str]:
    """The code of a refusal."""
    try:
        verify_webhook(payload, signature, secret, **options)
    except ParleyError as error:
        return error.code
    return None


class WebhookTest(unittest.TestCase):
    @unittest.skipUnless("PARLEY_TEST_SIGNATURES" in os.environ, "tests/sdk-python.test.ts provides the cases")
    def test_the_cases_of_all_verifiers(self) -> None:
        with open(os.environ["PARLEY_TEST_SIGNATURES"], encoding="utf-8") as file:
            cases = json.load(file)
        self.assertGreater(len(cases), 80)
        for case in cases:
            with self.subTest(json.dumps(case)[:300]), mock.patch("time.time", return_value=case["now"]):
                code = code_of(case["body"], case["header"], case["secret"])
                # The vectors are signed correctly, but they are not events.
                self.assertEqual(code, "invalid_payload" if case["ok"] else "invalid_signature")

    def test_a_header_in_every_form(self) -> None:
        header = f"t={AT},v1={V1}"
        with mock.patch("time.time", return_value=AT):
            for good in (header, header.encode(), f"{header}, {header}", f"t={AT},v1={'0' * 64},v1={V1}"):
                self.assertEqual(code_of(BODY, good), "invalid_payload")
            for bad in (None, "", b"", b"\xff", [header], 5, "null", f"{header}\n"):
                self.assertEqual(code_of(BODY, bad), "invalid_signature")
            for secret in (None, "", "whsec_other"):
                self.assertEqual(code_of(BODY, header, secret), "invalid_signature")

    def test_the_caller_sets_the_maximum_age_of_a_signature(self) -> None:
        header = f"t={AT},v1={V1}"
        with mock.patch("time.time", return_value=AT + 1_000):
            for tolerance in (1_000, float("inf")):
                self.assertEqual(code_of(BODY, header, tolerance=tolerance), "invalid_payload")
            for tolerance in (300, 999, 0, -1, float("nan")):
                self.assertEqual(code_of(BODY, header, tolerance=tolerance), "invalid_signature")
            self.assertEqual(code_of(BODY, header), "invalid_signature")

    def test_a_payload_is_text_or_bytes_and_must_be_an_event(self) -> None:
        body = json.dumps(EVENT, ensure_ascii=False)
        for payload in (body, body.encode(), bytearray(body.encode()), memoryview(body.encode())):
            self.assertEqual(verify_webhook(payload, sign(body), SECRET), EVENT)  # type: ignore[arg-type]
        for parsed in (EVENT, {}, None, 1, []):
            with self.assertRaisesRegex(ParleyError, "pass the raw request body"):
                verify_webhook(parsed, sign(body), SECRET)  # type: ignore[arg-type]
        for other in ("", "[]", "null", '{"id":1}', '{"id":"x","event":"contact.created"}', "[" * 100_000):
            self.assertEqual(code_of(other, sign(other)), "invalid_payload")
