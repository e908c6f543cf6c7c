"""One API call without I/O: its request, the meaning of its response, and whether and when to retry.

Every call is safe to retry: GET, PATCH and DELETE are idempotent, and each POST carries an `Idempotency-Key`. The SDK retries
when there is no response, and on 429, 500, 502, 503 and 504. It does not retry a send that failed at the channel
(`platform_error`) or a response that the service replayed, because the next response would be the same.

The delay is `Retry-After`, or 0.5 s, doubled after each attempt up to 8 s, minus a random part of up to half (jitter). If
`Retry-After` exceeds a minute, the call fails at once.
"""
from __future__ import annotations

import json
import math
import random
import re
import ssl
import uuid
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Mapping, NamedTuple, Optional, Union
from urllib.parse import quote, urlencode, urlsplit

from ._http import MAX_BODY_BYTES, Head, HttpError, Request, ResponseParser, Secret
from .errors import CLIENT_ERRORS, ParleyError

VERSION = "0.2.0.dev0"
DEFAULT_BASE_URL = "http://127.0.0.1:4000/v1"
# The longest time that the service takes.
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2

MAX_RETRY_AFTER = 60
MIN_BACKOFF = 0.5
MAX_BACKOFF = 8.0
# Timers of the platform overflow above.
MAX_TIMEOUT = 2_000_000.0

_RETRYABLE_STATUSES = frozenset([429, 500, 502, 503, 504])
_FINAL_CODES = frozenset(["platform_error", "template_malformed"])


class Settings:
    """The settings of a client."""

    def __init__(
        self,
        api_key: Optional[str],
        base_url: Optional[str],
        timeout: float,
        max_retries: int,
        ssl_context: Optional[ssl.SSLContext],
    ) -> None:
        if not isinstance(api_key, str) or not re.fullmatch(r"[\x21-\x7e]+", api_key):
            raise ValueError("api_key: must be an API key")
        url = urlsplit(base_url) if isinstance(base_url, str) and re.fullmatch(r"[\x21-\x7e]+", base_url) else None
        if not url or url.scheme not in ("http", "https") or not url.hostname or "@" in url.netloc or url.query:
            raise ValueError("base_url: must be an http or https URL")
        self.api_key = Secret(api_key)
        self.host = url.hostname
        self.port = url.port or (443 if url.scheme == "https" else 80)
        self.netloc = url.netloc
        self.path = url.path.rstrip("/")
        self.timeout = check_timeout(timeout)
        self.max_retries = max_retries
        self.ssl_context = (ssl_context or ssl.create_default_context()) if url.scheme == "https" else None

    def request(
        self, method: str, target: str, *, accept: str, headers: Mapping[str, str] = {}, body: Optional[bytes] = None
    ) -> Request:
        common = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": f"parley-sdk-python/{VERSION}"}
        return Request(method, self.path + target, self.netloc, {**common, **headers}, body)


class Failure(NamedTuple):
    """A failed attempt. It is a value, so that the loop of retries catches no exception that it cannot handle."""

    error: ParleyError
    # A retry would return the same error.
    is_final: bool = False


class Response(NamedTuple):
    head: Head
    body: bytes


class Exchange:
    """Collects a response. `feed` takes the received bytes until `response` is set."""

    def __init__(self) -> None:
        self.response: Optional[Response] = None
        self._parser = ResponseParser()
        self._body = bytearray()

    @property
    def head(self) -> Optional[Head]:
        return self._parser.head

    def feed(self, data: bytes) -> None:
        self._body += self._parser.feed(data)
        if len(self._body) > MAX_BODY_BYTES:
            raise HttpError(f"the response is longer than {MAX_BODY_BYTES} bytes")
        if self._parser.head and self._parser.is_complete:
            self.response = Response(self._parser.head, bytes(self._body))

    def take_body(self) -> bytes:
        """Return the bytes of the body so far and forget them, to read a response that does not end."""
        body = bytes(self._body)
        self._body.clear()
        return body


class Call:
    """A call with its attempts: `settle` each outcome, and wait `delay` seconds before the next attempt."""

    def __init__(
        self,
        settings: Settings,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] = {},
        query: Mapping[str, Any] = {},
        body: Any = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> None:
        headers: Dict[str, str] = {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = check_header(
                "idempotency_key", str(uuid.uuid4()) if idempotency_key is None else idempotency_key
            )
        text = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.request = settings.request(
            method,
            _fill_path(path, params) + to_search(query),
            accept="application/json",
            headers=headers,
            body=None if text is None else text.encode(),
        )
        self.timeout = settings.timeout if timeout is None else check_timeout(timeout)
        self.delay = 0.0
        self._max_retries = settings.max_retries if max_retries is None else max_retries
        self._deleted_id = params.get("id", "").lower() if method == "DELETE" and body is None else None
        self._attempts = 0
        self._may_be_applied = False

    def settle(self, outcome: Union[Response, Failure]) -> Optional[Dict[str, Any]]:
        """Return the envelope of a successful response, None to retry, or raise the error."""
        result = parse_response(outcome) if isinstance(outcome, Response) else outcome
        if isinstance(result, dict):
            return result
        error, is_final = result
        # An earlier attempt may have deleted the resource, so 404 counts as success.
        if self._may_be_applied and self._deleted_id is not None and error.code == "not_found":
            return {"data": {"id": self._deleted_id, "deleted": True}}
        if is_final or self._attempts >= self._max_retries:
            raise error
        self._may_be_applied = self._may_be_applied or error.status != 429
        self.delay = retry_delay(error, self._attempts)
        self._attempts += 1
        return None


def network_failure(cause: BaseException) -> Failure:
    """The failure for an exception of the connection."""
    error = ParleyError("network_error", f"{CLIENT_ERRORS['network_error']}: {str(cause) or type(cause).__name__}")
    error.__cause__ = cause
    return Failure(error)


def timeout_failure(message: str) -> Failure:
    return Failure(ParleyError("timeout", message))


def unexpected(detail: str = "") -> ParleyError:
    return ParleyError("unexpected_response", CLIENT_ERRORS["unexpected_response"] + (detail and f": {detail}"))


def parse_response(response: Response) -> Union[Dict[str, Any], Failure]:
    """Parse a response into its envelope or an error."""
    status, headers = response.head
    body = parse_json(response.body)
    if 200 <= status < 300 and isinstance(body, dict) and "data" in body:
        return body
    failure = body.get("error") if isinstance(body, dict) else None
    code = failure.get("code") if isinstance(failure, dict) else None
    message = failure.get("message") if isinstance(failure, dict) else None
    details = failure.get("details") if isinstance(failure, dict) else None
    if not (isinstance(code, str) and isinstance(message, str)):
        code, message, details = "unexpected_response", unexpected(f"HTTP {status}").message, None
    retry_after = _parse_retry_after(headers.get("retry-after", ""))
    error = ParleyError(
        code,
        message,
        status=status,
        request_id=headers.get("x-request-id"),
        retry_after=retry_after,
        details=details,
    )
    is_final = (
        status not in _RETRYABLE_STATUSES
        or code in _FINAL_CODES
        or headers.get("idempotent-replayed") == "true"
        or (retry_after or 0) > MAX_RETRY_AFTER
    )
    return Failure(error, is_final)


def retry_delay(error: ParleyError, attempt: int) -> float:
    """The delay before the next attempt. `attempt` counts from 0. `Retry-After` wins over the exponential backoff."""
    if error.retry_after is not None:
        return error.retry_after + random.random() * MIN_BACKOFF
    return min(MIN_BACKOFF * 2.0 ** min(attempt, 10), MAX_BACKOFF) * (1 - random.random() / 2)


def parse_json(text: Union[str, bytes]) -> Any:
    """Return the parsed value, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def to_search(query: Mapping[str, Any]) -> str:
    """The query of a URL. Entries that are None are skipped."""
    texts = {
        name: ("true" if value else "false") if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }
    return f"?{urlencode(texts)}" if texts else ""


def check_timeout(timeout: float) -> float:
    if not timeout > 0:
        raise ValueError("timeout: must be more than 0 seconds")
    return min(timeout, MAX_TIMEOUT)


def check_header(name: str, value: str) -> str:
    """Reject line breaks and other characters that would end a header."""
    if not isinstance(value, str) or not re.fullmatch(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?", value):
        raise ValueError(f"{name}: must be 1 to 255 printable ASCII characters")
    return value


def _fill_path(path: str, params: Mapping[str, str]) -> str:
    """Reject empty ids, `.` and `..`: in a URL they would address another resource."""
    for name, value in params.items():
        if not isinstance(value, str) or value in ("", ".", ".."):
            raise ValueError(f"{name}: must be an id")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def _parse_retry_after(text: str) -> Optional[float]:
    """Return seconds. The service sends seconds; a proxy may send an HTTP date."""
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        at = parsedate_to_datetime(text) if text.endswith("GMT") else None
    except (TypeError, ValueError, IndexError):
        return None
    return None if at is None else max(math.ceil((at - datetime.now(timezone.utc)).total_seconds()), 0)
