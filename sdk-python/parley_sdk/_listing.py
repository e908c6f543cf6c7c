"""Lazy, paginated lists.

`page()` returns one page; a loop iterates over all items of all pages. No request is sent before, and every loop requests the
list again. Items that are added between two pages cause neither duplicates nor gaps.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Protocol,
    TypedDict,
    TypeVar,
)

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    data: List[Item]
    #: Pass it as `cursor` to get the next page. None on the last page.
    next_cursor: Optional[str]


class _ChangePositionRequired(TypedDict):
    updated_after: str


class ChangePosition(_ChangePositionRequired, total=False):
    """Where a synchronisation continues: a value to store as JSON, and to pass to the next call."""

    # Present if the page was not the last one.
    cursor: str


@dataclass(frozen=True)
class ChangePage(Generic[Item]):
    data: List[Item]
    #: Continues after this page.
    position: ChangePosition


class Listing(Generic[Item]):
    """A list of the synchronous client."""

    def __init__(self, fetch_page: Callable[[Optional[str]], Page[Item]]) -> None:
        self._fetch_page = fetch_page

    def page(self) -> Page[Item]:
        """Return the page at the query's `cursor`, or the first page."""
        return self._fetch_page(None)

    def pages(self) -> Iterator[Page[Item]]:
        """Iterate over pages."""
        page = self._fetch_page(None)
        yield page
        while page.next_cursor is not None:
            page = self._fetch_page(page.next_cursor)
            yield page

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from page.data


class AsyncListing(Generic[Item]):
    """A list of the asynchronous client."""

    def __init__(self, fetch_page: Callable[[Optional[str]], Awaitable[Page[Item]]]) -> None:
        self._fetch_page = fetch_page

    async def page(self) -> Page[Item]:
        """Return the page at the query's `cursor`, or the first page."""
        return await self._fetch_page(None)

    async def pages(self) -> AsyncIterator[Page[Item]]:
        """Iterate over pages."""
        page = await self._fetch_page(None)
        yield page
        while page.next_cursor is not None:
            page = await self._fetch_page(page.next_cursor)
            yield page

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.data:
                yield item


def to_page(envelope: Mapping[str, Any]) -> Page[Any]:
    return Page(envelope["data"], (envelope.get("meta") or {}).get("next_cursor"))


def change_pages(
    position: ChangePosition, list_from: Callable[[ChangePosition], Listing[Item]]
) -> Iterator[ChangePage[Item]]:
    """Iterate over pages of changes, and end with the last change."""
    while True:
        page = list_from(position).page()
        position = _position_after(position, page)
        yield ChangePage(page.data, position)
        if page.next_cursor is None:
            return


async def async_change_pages(
    position: ChangePosition, list_from: Callable[[ChangePosition], AsyncListing[Item]]
) -> AsyncIterator[ChangePage[Item]]:
    """Iterate over pages of changes, and end with the last change."""
    while True:
        page = await list_from(position).page()
        position = _position_after(position, page)
        yield ChangePage(page.data, position)
        if page.next_cursor is None:
            return


def _position_after(position: ChangePosition, page: Page[Any]) -> ChangePosition:
    if page.next_cursor is not None:
        return {"updated_after": position["updated_after"], "cursor": page.next_cursor}
    return {"updated_after": page.data[-1]["updated_at"] if page.data else position["updated_after"]}


class Caller(Protocol):
    """Sends the calls of the synchronous resources."""

    def call(self, method: str, path: str, **options: Any) -> Any: ...

    def list(self, method: str, path: str, *, query: Dict[str, Any] = ..., **options: Any) -> Listing[Any]: ...


class AsyncCaller(Protocol):
    """Sends the calls of the asynchronous resources."""

    async def call(self, method: str, path: str, **options: Any) -> Any: ...

    def list(self, method: str, path: str, *, query: Dict[str, Any] = ..., **options: Any) -> AsyncListing[Any]: ...
