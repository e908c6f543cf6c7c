"""All operations against a real service. `tests/sdk-python.test.ts` starts it, and checks that no operation is missing."""
import asyncio
import os
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List

from parley_sdk import AsyncParley, Parley, ParleyError
from parley_sdk.types import NewBroadcast, NewContact, TemplateSend

PHONE = "+14155550100"
TEMPLATE: TemplateSend = {"name": "order_confirmed", "params": ["Ann", "A-1009"]}


class Blocking:
    """Gives the asynchronous client the interface of the blocking one, so that one scenario tests both."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value):
            return Blocking(value)

        def call(*args: Any, **options: Any) -> Any:
            result = value(*args, **options)
            if asyncio.iscoroutine(result):
                return asyncio.run(result)
            return result if not hasattr(result, "__aiter__") else self._collect(result)

        return call

    @staticmethod
    def _collect(items: Any) -> Any:
        async def gather() -> List[Any]:
            return [item async for item in items]

        class Collected:
            def page(self) -> Any:
                return asyncio.run(items.page())

            def __iter__(self) -> Any:
                return iter(asyncio.run(gather()))

        return Collected()


def until(what: str, condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited for {what}")


@unittest.skipUnless("PARLEY_TEST_URL" in os.environ, "tests/sdk-python.test.ts starts the service")
class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.settings = (os.environ["PARLEY_TEST_KEY"], os.environ["PARLEY_TEST_URL"])
        self.is_async = os.environ["PARLEY_TEST_CLIENT"] == "AsyncParley"
        self.parley: Any = Blocking(AsyncParley(*self.settings)) if self.is_async else Parley(*self.settings)

    def test_every_operation_has_a_method(self) -> None:
        parley = self.parley
        self.assertEqual(parley.me()["account"]["id"], os.environ["PARLEY_TEST_WORKSPACE"])
        self._contacts(parley)
        self._segments(parley)
        self._conversations(parley)
        self._broadcasts(parley)
        self.assertEqual(parley.usage()["messages_sent"], 4)
        self._webhooks(parley)
        self._events(parley)
        self._errors(parley)

    def _contacts(self, parley: Any) -> None:
        self.ann = parley.contacts.create({"phone": PHONE, "name": "Ann"})
        self.assertEqual(parley.contacts.create({"phone": PHONE, "name": "Other"}), self.ann)
        updated = parley.contacts.update(self.ann["id"], {"company": "Acme", "tags": ["vip"]})
        self.assertEqual((updated["company"], [tag["name"] for tag in updated["tags"]]), ("Acme", ["vip"]))
        read = parley.contacts.get(self.ann["id"])
        self.assertEqual([each["address"] for each in read.pop("identities")], [PHONE])
        self.assertEqual(read, updated)
        self.assertEqual(parley.contacts.list(search="unknown").page().data, [])
        self.assertEqual(list(parley.contacts.list(tag="vip")), [updated])
        twin, invalid = parley.contacts.create_batch(
            {"contacts": [{"phone": "+14155550177", "attributes": {"plan": "pro"}}, {"phone": "none"}]}
        )
        self.assertEqual((twin["created"], invalid["error"]["code"]), (True, "bad_request"))
        pages = list(parley.contacts.changes({"updated_after": "2000-01-01T00:00:00Z"}, limit=1))
        self.assertEqual([row["id"] for page in pages for row in page.data], [self.ann["id"], twin["id"]])
        self.assertEqual([("cursor" in page.position) for page in pages], [True, False])
        merged = parley.contacts.merge(self.ann["id"], {"contact_id": twin["id"]})
        self.assertEqual(merged["attributes"], {"plan": "pro"})
        later = [row["id"] for page in parley.contacts.changes(pages[-1].position) for row in page.data]
        self.assertEqual(later, [self.ann["id"]])
        self.assertEqual([(tag["name"], tag["contact_count"]) for tag in parley.tags.list()], [("vip", 1)])
        for last in range(5):
            parley.contacts.create({"phone": f"+1415555020{last}"})
        paged = [contact["phone"] for contact in parley.contacts.list(limit=2)]
        self.assertEqual(paged, [*(f"+1415555020{last}" for last in reversed(range(5))), PHONE])
        doomed = parley.contacts.create({"phone": "+14155550178"})["id"]
        self.assertEqual(parley.contacts.delete(doomed), {"id": doomed, "deleted": True})

    def _segments(self, parley: Any) -> None:
        segment = parley.segments.create({"name": "Friends"})["id"]
        ids = {"contact_ids": [self.ann["id"]]}
        self.assertEqual(parley.segments.add_contacts(segment, ids)["added"], 1)
        self.assertEqual(parley.segments.get(segment)["member_count"], 1)
        self.assertEqual(parley.segments.update(segment, {"name": "Best friends"})["name"], "Best friends")
        self.assertEqual([each["name"] for each in parley.segments.list(kind="static")], ["Best friends"])
        self.assertEqual([each["id"] for each in parley.segments.list_contacts(segment)], [self.ann["id"]])
        self.assertEqual(parley.segments.remove_contacts(segment, ids)["removed"], 1)
        self.assertEqual(parley.segments.delete(segment), {"id": segment, "deleted": True})

    def _conversations(self, parley: Any) -> None:
        number = next(each for each in parley.connections.list() if each["channel"] == "msgapp")
        self.assertEqual(parley.connections.get(number["id"]), number)
        message = {"to": PHONE, "from": number["id"], "type": "template", "template": TEMPLATE}
        self.assertEqual(parley.messages.check(message), {"to": PHONE, "contact_id": self.ann["id"]})
        # The response to the first attempt is lost.
        sent = parley.messages.send(message)
        self.assertEqual((sent["contact_id"], sent["contact_created"]), (self.ann["id"], False))
        conversation = parley.conversations.get(sent["conversation_id"])["id"]
        listed = parley.conversations.list(contact_id=self.ann["id"])
        self.assertEqual([each["id"] for each in listed], [conversation])
        changes = list(parley.conversations.changes({"updated_after": "2000-01-01T00:00:00Z"}))
        self.assertEqual([each["id"] for page in changes for each in page.data], [conversation])
        messages = parley.conversations.list_messages(conversation).page().data
        self.assertEqual([each["id"] for each in messages], [sent["message_id"]])
        member = parley.members.list().page().data[0]["id"]
        handed = parley.conversations.update(conversation, {"assigned_agent_id": member, "labels": ["VIP"]})
        self.assertEqual((handed["assigned_agent_id"], handed["labels"][0]["name"]), (member, "VIP"))
        self.assertEqual(parley.conversations.read(conversation)["unread_count"], 0)
        note = parley.conversations.create_note(conversation, {"text": "Call back é\u2028😀"})
        self.assertEqual(list(parley.conversations.list_notes(conversation)), [note])
        reply = parley.conversations.reply(conversation, {"type": "template", "template": TEMPLATE})
        self.assertEqual(parley.messages.get(reply["id"])["template_name"], "order_confirmed")

    def _broadcasts(self, parley: Any) -> None:
        def is_sent(broadcast: Dict[str, Any]) -> bool:
            return bool(parley.broadcasts.get(broadcast["id"])["status"] == "sent")

        body: NewBroadcast = {"name": "All", "template": TEMPLATE, "recipients": [{"to": PHONE}]}
        recipients = [{"to": PHONE}, {"to": "nowhere"}]
        checked = parley.broadcasts.check({"name": "All", "template": TEMPLATE, "recipients": recipients})
        self.assertEqual(checked, {"recipient_count": 1, "skipped_count": 1})
        broadcast = parley.broadcasts.create(body)
        until("the broadcast", lambda: is_sent(broadcast))
        found = parley.templates.list(search="order_confirmed").page().data
        self.assertEqual(found[0], parley.templates.get("order_confirmed", language="en_US"))
        draft = parley.broadcasts.create({"name": "Draft", "template": {"name": "order_confirmed"}, "draft": True})
        batch = {"recipients": [{"to": PHONE, "params": ["Ann", "A-1"]}, {"to": PHONE}]}
        self.assertEqual(parley.broadcasts.add_recipients(draft["id"], batch)["added"], 1)
        self.assertEqual([each["id"] for each in parley.broadcasts.list(status="draft")], [draft["id"]])
        self.assertEqual(parley.broadcasts.start(draft["id"])["total_count"], 1)
        until("the draft", lambda: is_sent(draft))
        self.assertEqual([each["to"] for each in parley.broadcasts.list_recipients(draft["id"])], [PHONE])
        unused = parley.broadcasts.create({"name": "Unused", "template": TEMPLATE, "draft": True})
        self.assertEqual(parley.broadcasts.delete(unused["id"])["deleted"], True)
        tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
        body["scheduled_at"] = tomorrow
        later = parley.broadcasts.create(body)["id"]
        self.assertEqual(parley.broadcasts.pause(later)["is_paused"], True)
        self.assertEqual(parley.broadcasts.resume(later)["is_paused"], False)
        self.assertEqual(parley.broadcasts.cancel(later)["status"], "canceled")

    def _webhooks(self, parley: Any) -> None:
        created = parley.webhooks.create({"url": "https://127.0.0.1:1/x", "events": ["contact.created"]})
        webhook = created["id"]
        shown = {key: value for key, value in created.items() if key != "secret"}
        self.assertEqual(parley.webhooks.get(webhook), shown)
        self.assertEqual(list(parley.webhooks.list()), [shown])
        rotated = parley.webhooks.rotate_secret(webhook, {"overlap_hours": 24})
        self.assertNotIn(rotated["secret"], ("", created["secret"]))
        parley.contacts.create({"phone": "+14155550179"})
        delivery = until("a delivery", lambda: parley.webhooks.list_deliveries(webhook).page().data)[0]
        again = parley.webhooks.redeliver(webhook, delivery["id"])
        self.assertEqual(again["event_id"], delivery["event_id"])
        self.assertEqual(parley.webhooks.update(webhook, {"is_active": False})["is_active"], False)
        self.assertEqual(parley.webhooks.delete(webhook), {"id": webhook, "deleted": True})

    def _events(self, parley: Any) -> None:
        bob: NewContact = {"phone": "+14155550101", "name": "Bob"}
        blocking = Parley(*self.settings)

        async def read() -> Any:
            tasks = []

            def create(_: str) -> None:
                tasks.append(asyncio.ensure_future(AsyncParley(*self.settings).contacts.create(bob)))

            async with AsyncParley(*self.settings).events.stream(events=["contact.created"], on_ready=create) as events:
                async for event in events:
                    await asyncio.gather(*tasks)
                    return event

        if self.is_async:
            event = asyncio.run(read())
        else:
            with blocking.events.stream(
                events=["contact.created"], on_ready=lambda _: blocking.contacts.create(bob)
            ) as events:
                event = next(iter(events))
        self.assertEqual((event["event"], event["data"]["name"]), ("contact.created", "Bob"))

    def _errors(self, parley: Any) -> None:
        def failure(call: Callable[[], Any]) -> ParleyError:
            with self.assertRaises(ParleyError) as caught:
                call()
            return caught.exception

        missing = failure(lambda: parley.contacts.get("01890000-0000-7000-8000-000000000000"))
        self.assertEqual((missing.code, missing.status, missing.message), ("not_found", 404, "contact not found"))
        self.assertRegex(missing.request_id or "", "^[0-9a-f-]{36}$")
        wrong = failure(lambda: parley.messages.send({"to": "12", "text": "hello"}))
        self.assertEqual((wrong.code, wrong.message), ("bad_request", "to: not a phone number"))
        hello = {"to": "+15005550001", "type": "template", "template": {"name": "hello_world"}}
        refused = failure(lambda: parley.messages.send(hello))
        self.assertEqual((refused.code, refused.status), ("platform_error", 502))
        self.assertEqual(refused.details and refused.details["channel_code"], "131026")
        large = failure(lambda: parley.messages.send({"to": PHONE, "text": "x" * 2_000_000}))
        self.assertEqual((large.code, large.status), ("bad_request", 400))
        nowhere = Parley("k", "http://127.0.0.1:1/v1", max_retries=0)
        self.assertEqual(failure(nowhere.me).code, "network_error")
