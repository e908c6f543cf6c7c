"""The exception of this package.

Branch on `code`. Most codes come from the service and are listed in its API reference. The codes in `CLIENT_ERRORS` are the
SDK's own; the service uses none of them.
"""
from __future__ import annotations

from typing import Optional

from .types import PlatformErrorDetails

# Error codes of the SDK with their messages.
CLIENT_ERRORS = {
    "network_error": "the service could not be reached, or the connection was lost before the response was complete",
    "timeout": "no complete response within `timeout`",
    "unexpected_response": "the response did not come from a Parley service; check `base_url`, proxies and redirects",
    "invalid_signature": "the webhook was not signed with this secret, or its timestamp is outside the tolerance",
    "invalid_payload": "the webhook is signed correctly, but its payload is not an event",
}


class ParleyError(Exception):
    """A failed call or a refused webhook. `__cause__` has the exception of the connection, if there was one."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        details: Optional[PlatformErrorDetails] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        #: The HTTP status, or 0 if there was no response.
        self.status = status
        #: The response's `X-Request-Id`. Include it in support requests.
        self.request_id = request_id
        #: The response's `Retry-After` in seconds.
        self.retry_after = retry_after
        #: With the code `platform_error` of a send: the outcome, the id of the message and the channel's code.
        self.details = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __repr__(self) -> str:
        return f"ParleyError({self.code!r}, {self.message!r}, status={self.status}, request_id={self.request_id!r})"
