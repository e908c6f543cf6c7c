"""The Python client for Parley: calls, event streams and webhook verification."""
from ._async import AsyncEventStream
from ._call import VERSION as __version__
from ._events import StreamedEvent
from ._listing import AsyncListing, ChangePage, ChangePosition, Listing, Page
from ._sync import EventStream
from .client import AsyncParley, Parley
from .errors import ParleyError
from .webhooks import verify_webhook

__all__ = [
    "AsyncEventStream",
    "AsyncListing",
    "AsyncParley",
    "ChangePage",
    "ChangePosition",
    "EventStream",
    "Listing",
    "Page",
    "Parley",
    "ParleyError",
    "StreamedEvent",
    "__version__",
    "verify_webhook",
]
