"""Webhook verification.

`X-Service-Signature` is `t=<unix seconds>,v1=<hex>`. `v1` is the HMAC-SHA256 of `<t>.<body>`, keyed with the endpoint's secret.
During a rotation of the secret there are several `v1`, and one must match. The body must be the raw bytes: parsing and
serializing JSON changes them. Timestamps outside the tolerance, past or future, are rejected to prevent replay attacks.
"""
from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import Optional, Union, cast

from ._events import is_event
from .errors import CLIENT_ERRORS, ParleyError
from .types import Event

# Passing a parsed body is a common mistake. It is no TypeError, because an unauthenticated sender can cause it.
_NOT_RAW = "the payload is neither text nor bytes; pass the raw request body"


def verify_webhook(
    payload: Union[str, bytes],
    signature: Union[str, bytes, None],
    secret: Optional[str],
    *,
    tolerance: float = 300,
) -> Event:
    """Return the event. Raise a `ParleyError` with the code `invalid_signature` or `invalid_payload`.

    :param payload: The raw request body.
    :param signature: The `X-Service-Signature` header.
    :param secret: The endpoint's secret, including `whsec_`.
    :param tolerance: The maximum age of a signature in seconds.
    """
    body = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise ParleyError("invalid_signature", f"{CLIENT_ERRORS['invalid_signature']}: {_NOT_RAW}")
    body = bytes(body)
    if not _is_signed(body, signature, secret, tolerance):
        raise ParleyError("invalid_signature", CLIENT_ERRORS["invalid_signature"])
    try:
        event = json.loads(body.decode())
    except (ValueError, RecursionError) as cause:
        raise ParleyError("invalid_payload", CLIENT_ERRORS["invalid_payload"]) from cause
    if not is_event(event):
        raise ParleyError("invalid_payload", CLIENT_ERRORS["invalid_payload"])
    return cast(Event, event)


def _is_signed(body: bytes, signature: Union[str, bytes, None], secret: Optional[str], tolerance: float) -> bool:
    header = signature.decode("latin-1") if isinstance(signature, bytes) else signature
    # An empty secret would accept signatures that anyone can create.
    if not isinstance(header, str) or not secret:
        return False
    first, *signatures = header.split(",")
    found = re.fullmatch(r"t=([0-9]{1,12})", first)
    # The second form also rejects if `tolerance` is NaN.
    if not found or not abs(int(time.time()) - int(found[1])) <= tolerance:
        return False
    signed = found[1].encode() + b"." + body
    expected = b"v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    return any(hmac.compare_digest(each.encode("utf-8", "replace"), expected) for each in signatures)
