"""One method per API operation, synchronous. Generated from the OpenAPI document by `npm run sdk-types`."""
from __future__ import annotations

from typing import Iterator, Literal, Optional, Union

from ._listing import Caller, Listing, ChangePage, ChangePosition, change_pages
from .types import (
    AddSegmentContactsResult,
    AddedRecipients,
    Automation,
    AutomationChange,
    AutomationDefinition,
    AutomationDryRun,
    AutomationDryRunRequest,
    AutomationPause,
    AutomationRun,
    AutomationRunDetail,
    AutomationSecret,
    AutomationStart,
    AvailabilityReport,
    Broadcast,
    BroadcastRecipient,
    CheckedBroadcast,
    CheckedDefinition,
    CheckedMessage,
    Connection,
    Contact,
    ContactBatch,
    ContactChanges,
    ContactIds,
    ContactMerge,
    Conversation,
    ConversationChanges,
    CountedSegment,
    CountedTag,
    CreateContactsResult,
    CreatedWebhook,
    DeleteAutomationResult,
    DeleteBroadcastResult,
    DeleteContactResult,
    DeleteSegmentResult,
    DeleteWebhookResult,
    Episode,
    Me,
    Member,
    Message,
    NewAutomation,
    NewBroadcast,
    NewContact,
    NewMessage,
    NewNote,
    NewRecipients,
    NewReply,
    NewScheduledMessage,
    NewSegment,
    NewWebhook,
    Note,
    RemoveSegmentContactsResult,
    Report,
    SatisfactionReport,
    ScheduledMessage,
    ScheduledMessageChanges,
    SecretRotation,
    Segment,
    SegmentChanges,
    SendResult,
    StartAutomationResult,
    TakenOver,
    TargetsReport,
    Team,
    Template,
    Usage,
    Webhook,
    WebhookChanges,
    WebhookDelivery,
)


class Automations:
    """The methods of `parley.automations`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Automation]:
        """List automations.

        All automations of the workspace, in the order in which they are tried.
        """
        return self._caller.list(
            "GET",
            "/automations",
            timeout=timeout,
            max_retries=max_retries,
        )

    def create(
        self,
        body: NewAutomation,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Create an automation.

        Creates a draft. It starts nothing before it is published.
        """
        return self._caller.call(
            "POST",
            "/automations",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def check(
        self,
        body: AutomationDefinition,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CheckedDefinition:
        """Check a definition without saving it.

        Takes the body of `PUT /automations/{id}/draft` and applies the same checks. Changes nothing. A definition
        that is not valid is a 400 that begins with the path of its first fault.
        """
        return self._caller.call(
            "POST",
            "/automations/check",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Read an automation.

        With its definition, its draft and how its runs of the last seven days ended.
        """
        return self._caller.call(
            "GET",
            "/automations/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        id: str,
        body: AutomationChange,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Change the name, the description or the place of an automation.

        Only the fields that are present change.
        """
        return self._caller.call(
            "PATCH",
            "/automations/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> DeleteAutomationResult:
        """Delete an automation.

        With its versions and runs. Open runs end, and their conversations are the team’s.
        """
        return self._caller.call(
            "DELETE",
            "/automations/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def save_draft(
        self,
        id: str,
        body: AutomationDefinition,
        *,
        if_updated_at: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Save the draft of an automation.

        Replaces the definition that is edited. A definition that is not valid is a 400 that begins with the path of
        its first fault, such as `steps[2].cases[0].when.rules[1].op`.

        :param if_updated_at: The `updated_at` that the caller has read. If the automation has changed since, another
            definition than its draft is refused.
        """
        return self._caller.call(
            "PUT",
            "/automations/{id}/draft",
            params={"id": id},
            query={"if_updated_at": if_updated_at},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def publish(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Publish an automation.

        The draft becomes the newest version, and the automation is active: new runs use it, open ones keep theirs.
        Without a draft it only activates a paused automation.
        """
        return self._caller.call(
            "POST",
            "/automations/{id}/publish",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def pause(
        self,
        id: str,
        body: Optional[AutomationPause] = None,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Automation:
        """Pause an automation.

        It starts no new runs. Open ones go on, unless `end_runs` is true.
        """
        return self._caller.call(
            "POST",
            "/automations/{id}/pause",
            params={"id": id},
            body={} if body is None else body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def dry_run(
        self,
        id: str,
        body: Optional[AutomationDryRunRequest] = None,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AutomationDryRun:
        """Try an automation on the past.

        Which conversations of the last days the automation would have touched, and what it would have sent. Changes
        nothing and sends nothing. Tries the `definition` of the body, else the draft, else the published version. An
        automation that is started by hand, or by tags or attributes, is a 400: there is no past to try it on. A
        workspace has one dry run at a time: another one is a 429.
        """
        return self._caller.call(
            "POST",
            "/automations/{id}/dry-run",
            params={"id": id},
            body={} if body is None else body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def rotate_secret(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AutomationSecret:
        """Replace the secret of an automation.

        The secret signs the calls of the step `call` as those of a webhook. Only this call returns it; the earlier
        one is not valid any more.
        """
        return self._caller.call(
            "POST",
            "/automations/{id}/rotate-secret",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_runs(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        state: Optional[Literal["open", "ended"]] = None,
        reason: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[AutomationRun]:
        """List the runs of an automation.

        Newest first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param state: All when absent.
        :param reason: Why they ended.
        """
        return self._caller.list(
            "GET",
            "/automations/{id}/runs",
            params={"id": id},
            query={"limit": limit, "cursor": cursor, "state": state, "reason": reason},
            timeout=timeout,
            max_retries=max_retries,
        )

    def start(
        self,
        id: str,
        body: AutomationStart,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> StartAutomationResult:
        """Start an automation on conversations.

        For automations with the trigger `manual`. A conversation on which it cannot start does not stop the others.
        """
        return self._caller.call(
            "POST",
            "/automations/{id}/runs",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get_run(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AutomationRunDetail:
        """Read a run of an automation.

        With what each of its steps did.
        """
        return self._caller.call(
            "GET",
            "/automation-runs/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Broadcasts:
    """The methods of `parley.broadcasts`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self,
        body: NewBroadcast,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Send a template to many recipients.

        Accepts the broadcast and sends it in the background, at the pace of your number. Recipients without a usable
        number, with a missing value, or who opted out are skipped.
        """
        return self._caller.call(
            "POST",
            "/broadcasts",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def check(
        self,
        body: NewBroadcast,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CheckedBroadcast:
        """Check a broadcast without sending it.

        Takes the body of `POST /broadcasts` and applies the same checks: the template with its values, the recipients
        or the segment, the schedule, the plan. Sends and changes nothing.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/check",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        status: Optional[Literal["draft", "scheduled", "sending", "sent", "canceled"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Broadcast]:
        """List broadcasts.

        Newest first, with their counters.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param status: Only broadcasts of this status.
        """
        return self._caller.list(
            "GET",
            "/broadcasts",
            query={"limit": limit, "cursor": cursor, "status": status},
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Read a broadcast.

        The counters are exact. The total is the sum of pending, sent, failed and skipped.
        """
        return self._caller.call(
            "GET",
            "/broadcasts/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def add_recipients(
        self,
        id: str,
        body: NewRecipients,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AddedRecipients:
        """Add recipients to a draft.

        Adds up to 1,000 recipients with values of their own. Repeat it for more: a workspace can have 1,000,000 that
        are not sent to yet. A number is added once: adding it again skips it, so a batch can be repeated safely.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/{id}/recipients",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_recipients(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        status: Optional[Literal["pending", "sent", "delivered", "read", "failed", "skipped"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[BroadcastRecipient]:
        """List the recipients of a broadcast.

        In the order in which they were added. With `status`, a page can be short or empty although more pages follow:
        continue until `next_cursor` is null.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param status: Only recipients of this status.
        """
        return self._caller.list(
            "GET",
            "/broadcasts/{id}/recipients",
            params={"id": id},
            query={"limit": limit, "cursor": cursor, "status": status},
            timeout=timeout,
            max_retries=max_retries,
        )

    def start(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Start a draft.

        Sends a draft now, or schedules it if its `scheduled_at` is later. A scheduled broadcast is sent now. The plan
        must allow all recipients.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/{id}/start",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def pause(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Pause a broadcast.

        No further recipient is sent to until it is resumed. Messages in flight are not stopped.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/{id}/pause",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def resume(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Resume a broadcast.

        Continues a paused broadcast. If it waits for the channel, the next attempt starts now.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/{id}/resume",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def cancel(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Broadcast:
        """Cancel a broadcast.

        Recipients that were not sent to are skipped. Messages that were sent are not recalled.
        """
        return self._caller.call(
            "POST",
            "/broadcasts/{id}/cancel",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> DeleteBroadcastResult:
        """Delete a draft.

        Deletes a draft with its recipients. A broadcast that was started stays; it can be canceled.
        """
        return self._caller.call(
            "DELETE",
            "/broadcasts/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Connections:
    """The methods of `parley.connections`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Connection]:
        """List connections.

        All numbers, social accounts and sites of the workspace, oldest first. A disconnected one is listed while it
        has conversations or an unfinished broadcast.
        """
        return self._caller.list(
            "GET",
            "/connections",
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Connection:
        """Read a connection.

        One number, social account or site of the workspace.
        """
        return self._caller.call(
            "GET",
            "/connections/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Contacts:
    """The methods of `parley.contacts`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self,
        body: NewContact,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Contact:
        """Find or create a contact.

        Returns 201 for a new number. Returns 200 for a known number: the contact unchanged, or with the fields
        present applied (`if_exists: "update"`).
        """
        return self._caller.call(
            "POST",
            "/contacts",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def create_batch(
        self,
        body: ContactBatch,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CreateContactsResult:
        """Find or create many contacts.

        Up to 1,000 bodies of `POST /contacts`, with the effect of single requests in this order. An invalid item is
        refused alone: its result has an `error`. Counts as one request. The eleventh batch at the same time gets 429.
        An item that changes nothing leaves `updated_at` as it is.
        """
        return self._caller.call(
            "POST",
            "/contacts/batch",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        search: Optional[str] = None,
        tag: Optional[str] = None,
        channel: Optional[Literal["msgapp", "social", "web"]] = None,
        phone: Optional[str] = None,
        email: Optional[str] = None,
        updated_after: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Contact]:
        """List contacts.

        Newest first. With `updated_after`, oldest change first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param search: Part of a name, phone number, e-mail address or company, without regard to case. One or two
            characters match beginnings only.
        :param tag: A tag, by id or name.
        :param channel: Reachable on this channel.
        :param phone: Exactly this phone number, in any spelling; the default country applies without a country code.
        :param email: Exactly this e-mail address, without regard to case.
        :param updated_after: Only contacts changed after this date-time, oldest change first, for synchronisation.
            Read all pages, then continue with the `updated_at` of the last row: no change is skipped.
        """
        return self._caller.list(
            "GET",
            "/contacts",
            query={"limit": limit, "cursor": cursor, "search": search, "tag": tag, "channel": channel, "phone": phone, "email": email, "updated_after": updated_after},
            timeout=timeout,
            max_retries=max_retries,
        )

    def changes(
        self,
        position: ChangePosition,
        *,
        limit: Optional[int] = None,
        search: Optional[str] = None,
        tag: Optional[str] = None,
        channel: Optional[Literal["msgapp", "social", "web"]] = None,
        phone: Optional[str] = None,
        email: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Iterator[ChangePage[Contact]]:
        """Iterate over pages of changes after a position, oldest change first.

        Store the `position` of each page after you have processed it. No change is skipped.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param search: Part of a name, phone number, e-mail address or company, without regard to case. One or two
            characters match beginnings only.
        :param tag: A tag, by id or name.
        :param channel: Reachable on this channel.
        :param phone: Exactly this phone number, in any spelling; the default country applies without a country code.
        :param email: Exactly this e-mail address, without regard to case.
        """
        return change_pages(
            position,
            lambda start: self.list(
                updated_after=start["updated_after"],
                cursor=start.get("cursor"),
                limit=limit,
                search=search,
                tag=tag,
                channel=channel,
                phone=phone,
                email=email,
                timeout=timeout,
                max_retries=max_retries,
            ),
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Contact:
        """Read a contact.

        One contact, with its tags, the channels on which it can be reached, and the numbers and user ids by which
        they know it.
        """
        return self._caller.call(
            "GET",
            "/contacts/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        id: str,
        body: ContactChanges,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Contact:
        """Change a contact.

        Only the fields present change. `tags` replaces the tags with exactly this list; `add_tags` and `remove_tags`
        keep the others, also when several callers change them at the same time.
        """
        return self._caller.call(
            "PATCH",
            "/contacts/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def merge(
        self,
        id: str,
        body: ContactMerge,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Contact:
        """Merge two contacts.

        Moves conversations, messages, tags, identities and attributes of the other contact here and deletes it. The
        values of this contact win. This cannot be undone.
        """
        return self._caller.call(
            "POST",
            "/contacts/{id}/merge",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> DeleteContactResult:
        """Erase a contact.

        Erases the person with everything about them: identities, tags, notes, conversations, messages and files. This
        cannot be undone.
        """
        return self._caller.call(
            "DELETE",
            "/contacts/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Conversations:
    """The methods of `parley.conversations`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        sort: Optional[Literal["activity"]] = None,
        status: Optional[Literal["open", "pending", "closed"]] = None,
        contact_id: Optional[str] = None,
        channel: Optional[Literal["msgapp", "social", "web"]] = None,
        connection_id: Optional[str] = None,
        assigned_agent_id: Optional[Union[str, Literal["none"]]] = None,
        assigned_team_id: Optional[Union[str, Literal["none"]]] = None,
        label: Optional[str] = None,
        handled_by: Optional[Literal["team", "bot"]] = None,
        updated_after: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Conversation]:
        """List conversations.

        Newest first, of all channels unless filtered, each with its contact. With `updated_after`, oldest change
        first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param sort: `activity`: by the last message, newest first. By creation when absent. Not together with
            `updated_after`.
        :param status: All when absent.
        :param contact_id: Only conversations of this contact.
        :param channel: All when absent.
        :param connection_id: Only conversations of this connection (`GET /connections`).
        :param assigned_agent_id: A uuid: only conversations of this member. `none`: only unassigned ones.
        :param assigned_team_id: A uuid: only conversations of this team. `none`: only those of no team.
        :param label: The id or the name of a label.
        :param handled_by: `bot`: only conversations that an automation handles. `team`: only the others.
        :param updated_after: Only conversations changed after this date-time, oldest change first, for
            synchronisation. Read all pages, then continue with the `updated_at` of the last row: no change is skipped.
        """
        return self._caller.list(
            "GET",
            "/conversations",
            query={"limit": limit, "cursor": cursor, "sort": sort, "status": status, "contact_id": contact_id, "channel": channel, "connection_id": connection_id, "assigned_agent_id": assigned_agent_id, "assigned_team_id": assigned_team_id, "label": label, "handled_by": handled_by, "updated_after": updated_after},
            timeout=timeout,
            max_retries=max_retries,
        )

    def changes(
        self,
        position: ChangePosition,
        *,
        limit: Optional[int] = None,
        status: Optional[Literal["open", "pending", "closed"]] = None,
        contact_id: Optional[str] = None,
        channel: Optional[Literal["msgapp", "social", "web"]] = None,
        connection_id: Optional[str] = None,
        assigned_agent_id: Optional[Union[str, Literal["none"]]] = None,
        assigned_team_id: Optional[Union[str, Literal["none"]]] = None,
        label: Optional[str] = None,
        handled_by: Optional[Literal["team", "bot"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Iterator[ChangePage[Conversation]]:
        """Iterate over pages of changes after a position, oldest change first.

        Store the `position` of each page after you have processed it. No change is skipped.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param status: All when absent.
        :param contact_id: Only conversations of this contact.
        :param channel: All when absent.
        :param connection_id: Only conversations of this connection (`GET /connections`).
        :param assigned_agent_id: A uuid: only conversations of this member. `none`: only unassigned ones.
        :param assigned_team_id: A uuid: only conversations of this team. `none`: only those of no team.
        :param label: The id or the name of a label.
        :param handled_by: `bot`: only conversations that an automation handles. `team`: only the others.
        """
        return change_pages(
            position,
            lambda start: self.list(
                updated_after=start["updated_after"],
                cursor=start.get("cursor"),
                limit=limit,
                status=status,
                contact_id=contact_id,
                channel=channel,
                connection_id=connection_id,
                assigned_agent_id=assigned_agent_id,
                assigned_team_id=assigned_team_id,
                label=label,
                handled_by=handled_by,
                timeout=timeout,
                max_retries=max_retries,
            ),
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Conversation:
        """Read a conversation.

        One conversation, with its contact.
        """
        return self._caller.call(
            "GET",
            "/conversations/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_messages(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Message]:
        """List the messages of a conversation.

        Newest first. 404 for a conversation of another workspace. A page of very large messages may have fewer than
        `limit`: only `next_cursor` says whether there are more.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        """
        return self._caller.list(
            "GET",
            "/conversations/{id}/messages",
            params={"id": id},
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        id: str,
        body: ConversationChanges,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Conversation:
        """Change a conversation.

        Changes the status, the assigned member or team, the snooze or the labels. Updates only the fields present. A
        line in the thread names the key.
        """
        return self._caller.call(
            "PATCH",
            "/conversations/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def read(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Conversation:
        """Mark a conversation as read.

        Sets `unread_count` to 0. A visitor of the web chat sees that their messages were read.
        """
        return self._caller.call(
            "POST",
            "/conversations/{id}/read",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_notes(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Note]:
        """List the notes of a conversation.

        Internal notes of members and of API keys, newest first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        """
        return self._caller.list(
            "GET",
            "/conversations/{id}/notes",
            params={"id": id},
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
            max_retries=max_retries,
        )

    def create_note(
        self,
        id: str,
        body: NewNote,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Note:
        """Add a note to a conversation.

        Members see it in the thread with the name of the key. The customer never does.
        """
        return self._caller.call(
            "POST",
            "/conversations/{id}/notes",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def reply(
        self,
        id: str,
        body: Optional[NewReply] = None,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Message:
        """Send a message in a conversation.

        Takes the body of `POST /messages` without `to` and `name`, and sends on the channel of the conversation.
        `msgapp` and `social` accept free-form messages only within 24 hours of the last message of the customer. A
        type that the channel does not support is a 400. 201 means that the channel accepted the message.
        """
        return self._caller.call(
            "POST",
            "/conversations/{id}/messages",
            params={"id": id},
            body={} if body is None else body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def take_over(
        self,
        id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> TakenOver:
        """Take a conversation over from the bot.

        Ends the open runs of automations in the conversation. A reply of a member does the same.
        """
        return self._caller.call(
            "POST",
            "/conversations/{id}/take-over",
            params={"id": id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def schedule(
        self,
        id: str,
        body: NewScheduledMessage,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> ScheduledMessage:
        """Schedule a message in a conversation.

        Takes the body of `POST /conversations/{id}/messages`, without reactions, and `send_at`. The content is
        checked now, and the 24-hour window when it is sent: a message that cannot be sent then has the state `failed`
        and the reason. At most 100 messages wait in a conversation and 10,000 in a workspace.
        """
        return self._caller.call(
            "POST",
            "/conversations/{id}/scheduled-messages",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_scheduled(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        state: Optional[Literal["scheduled", "held", "sending", "sent", "failed", "canceled", "open"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[ScheduledMessage]:
        """List the scheduled messages of a conversation.

        Newest first. Messages that were sent, failed or canceled are listed for 90 days.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param state: `open`: those that wait, are held or being sent, and those that failed before the channel had
            them.
        """
        return self._caller.list(
            "GET",
            "/conversations/{id}/scheduled-messages",
            params={"id": id},
            query={"limit": limit, "cursor": cursor, "state": state},
            timeout=timeout,
            max_retries=max_retries,
        )


class Episodes:
    """The methods of `parley.episodes`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        conversation_id: Optional[str] = None,
        updated_after: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Episode]:
        """List episodes.

        The stretches of work in conversations, each from the message that opened it to its closing. Newest first.
        With `updated_after`, oldest change first: for a data warehouse.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param conversation_id: Only episodes of this conversation.
        :param updated_after: Only episodes changed after this date-time, oldest change first, for synchronisation.
            Read all pages, then continue with the `updated_at` of the last row: no change is skipped.
        """
        return self._caller.list(
            "GET",
            "/episodes",
            query={"limit": limit, "cursor": cursor, "conversation_id": conversation_id, "updated_after": updated_after},
            timeout=timeout,
            max_retries=max_retries,
        )

    def changes(
        self,
        position: ChangePosition,
        *,
        limit: Optional[int] = None,
        conversation_id: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Iterator[ChangePage[Episode]]:
        """Iterate over pages of changes after a position, oldest change first.

        Store the `position` of each page after you have processed it. No change is skipped.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param conversation_id: Only episodes of this conversation.
        """
        return change_pages(
            position,
            lambda start: self.list(
                updated_after=start["updated_after"],
                cursor=start.get("cursor"),
                limit=limit,
                conversation_id=conversation_id,
                timeout=timeout,
                max_retries=max_retries,
            ),
        )


class Members:
    """The methods of `parley.members`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Member]:
        """List members.

        The people of the workspace, newest first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        """
        return self._caller.list(
            "GET",
            "/members",
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
            max_retries=max_retries,
        )


class Messages:
    """The methods of `parley.messages`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def send(
        self,
        body: NewMessage,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> SendResult:
        """Send a message.

        Finds or creates the contact and the conversation, then sends. Everything but a template can be sent only
        within 24 hours of the last message of the customer. 201 means that the channel accepted the message.
        """
        return self._caller.call(
            "POST",
            "/messages",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Message:
        """Read a message.

        One message of any conversation, with its delivery status.
        """
        return self._caller.call(
            "GET",
            "/messages/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def check(
        self,
        body: NewMessage,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CheckedMessage:
        """Check a message without sending it.

        Takes the body of `POST /messages` and applies the same checks: the number, the 24-hour window, the template
        with its values, the plan. Sends and changes nothing, so the channel may still reject the message.
        """
        return self._caller.call(
            "POST",
            "/messages/check",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get_scheduled(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> ScheduledMessage:
        """Read a scheduled message.

        Its state, and the id of the message once it is sent.
        """
        return self._caller.call(
            "GET",
            "/scheduled-messages/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update_scheduled(
        self,
        id: str,
        body: ScheduledMessageChanges,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> ScheduledMessage:
        """Change a scheduled message.

        Content fields replace the whole content. A held or failed message waits again only with a new `send_at`. A
        message that is being sent or has ended cannot be changed: 400.
        """
        return self._caller.call(
            "PATCH",
            "/scheduled-messages/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def cancel_scheduled(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> ScheduledMessage:
        """Cancel a scheduled message.

        It is not sent, and its state is `canceled`. 400 when it is being sent or was sent.
        """
        return self._caller.call(
            "DELETE",
            "/scheduled-messages/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Reports:
    """The methods of `parley.reports`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def get(
        self,
        name: str,
        *,
        from_day: Optional[str] = None,
        to_day: Optional[str] = None,
        interval: Optional[Literal["day", "week", "month"]] = None,
        office_hours: Optional[Literal["true", "false"]] = None,
        team_id: Optional[Union[str, Literal["none"]]] = None,
        connection_id: Optional[Union[str, Literal["none"]]] = None,
        member_id: Optional[Union[str, Literal["none"]]] = None,
        label_id: Optional[Union[str, Literal["none"]]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Report:
        """Get a report.

        The figures of a period, compared with as many days before. Reports with rows can be filtered by team or
        connection; `overview` and `busy_hours` by any one field, `overview` also by team or connection together with
        one more.

        :param from_day: The first day, in the time zone of the workspace; 29 days before `to_day` when absent.
        :param to_day: The last day, included; today when absent. At most 366 days.
        :param interval: Of `intervals`: `day` when absent.
        :param office_hours: `true`: times count office hours only.
        :param team_id: Only the episodes of this team; `none`: those without one.
        :param connection_id: Only the episodes of this connection; `none`: those without one.
        :param member_id: Only the episodes of this member; `none`: those without one.
        :param label_id: Only the episodes of this label; `none`: those without one.
        """
        return self._caller.call(
            "GET",
            "/reports/{name}",
            params={"name": name},
            query={"from_day": from_day, "to_day": to_day, "interval": interval, "office_hours": office_hours, "team_id": team_id, "connection_id": connection_id, "member_id": member_id, "label_id": label_id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def satisfaction(
        self,
        *,
        from_day: Optional[str] = None,
        to_day: Optional[str] = None,
        interval: Optional[Literal["day", "week", "month"]] = None,
        team_id: Optional[Union[str, Literal["none"]]] = None,
        connection_id: Optional[Union[str, Literal["none"]]] = None,
        member_id: Optional[Union[str, Literal["none"]]] = None,
        label_id: Optional[Union[str, Literal["none"]]] = None,
        by: Optional[Literal["member", "team", "connection", "label"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> SatisfactionReport:
        """Get the report of satisfaction.

        Questions about satisfaction and their ratings, with rows by member, team, connection or label. The rows can
        be filtered by team or by connection, and those of a dimension by one of their own.

        :param from_day: The first day, in the time zone of the workspace; 29 days before `to_day` when absent.
        :param to_day: The last day, included; today when absent. At most 366 days.
        :param interval: Of `intervals`: `day` when absent.
        :param team_id: Only the episodes of this team; `none`: those without one.
        :param connection_id: Only the episodes of this connection; `none`: those without one.
        :param member_id: Only the episodes of this member; `none`: those without one.
        :param label_id: Only the episodes of this label; `none`: those without one.
        :param by: What the rows are: `member` when absent.
        """
        return self._caller.call(
            "GET",
            "/reports/satisfaction",
            query={"from_day": from_day, "to_day": to_day, "interval": interval, "team_id": team_id, "connection_id": connection_id, "member_id": member_id, "label_id": label_id, "by": by},
            timeout=timeout,
            max_retries=max_retries,
        )

    def targets(
        self,
        *,
        from_day: Optional[str] = None,
        to_day: Optional[str] = None,
        interval: Optional[Literal["day", "week", "month"]] = None,
        team_id: Optional[Union[str, Literal["none"]]] = None,
        connection_id: Optional[Union[str, Literal["none"]]] = None,
        member_id: Optional[Union[str, Literal["none"]]] = None,
        label_id: Optional[Union[str, Literal["none"]]] = None,
        target_id: Optional[Union[str, Literal["none"]]] = None,
        by: Optional[Literal["target", "member", "team", "connection", "label"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> TargetsReport:
        """Get the report of targets.

        The outcomes of service level targets, with rows by target, member, team, connection or label. Rows by target
        can be filtered by target and by one more field, the others by target and by one of their own.

        :param from_day: The first day, in the time zone of the workspace; 29 days before `to_day` when absent.
        :param to_day: The last day, included; today when absent. At most 366 days.
        :param interval: Of `intervals`: `day` when absent.
        :param team_id: Only the episodes of this team; `none`: those without one.
        :param connection_id: Only the episodes of this connection; `none`: those without one.
        :param member_id: Only the episodes of this member; `none`: those without one.
        :param label_id: Only the episodes of this label; `none`: those without one.
        :param target_id: Only the outcomes of this target.
        :param by: What the rows are: `target` when absent.
        """
        return self._caller.call(
            "GET",
            "/reports/targets",
            query={"from_day": from_day, "to_day": to_day, "interval": interval, "team_id": team_id, "connection_id": connection_id, "member_id": member_id, "label_id": label_id, "target_id": target_id, "by": by},
            timeout=timeout,
            max_retries=max_retries,
        )

    def availability(
        self,
        *,
        from_day: Optional[str] = None,
        to_day: Optional[str] = None,
        interval: Optional[Literal["day", "week", "month"]] = None,
        team_id: Optional[Union[str, Literal["none"]]] = None,
        member_id: Optional[Union[str, Literal["none"]]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AvailabilityReport:
        """Get the report of availability.

        How long members were available, away and offline, up to now.

        :param from_day: The first day, in the time zone of the workspace; 29 days before `to_day` when absent.
        :param to_day: The last day, included; today when absent. At most 366 days.
        :param interval: Of `intervals`: `day` when absent.
        :param team_id: Only the members who are in this team now; `none`: in no team.
        :param member_id: Only this member.
        """
        return self._caller.call(
            "GET",
            "/reports/availability",
            query={"from_day": from_day, "to_day": to_day, "interval": interval, "team_id": team_id, "member_id": member_id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Segments:
    """The methods of `parley.segments`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self,
        body: NewSegment,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CountedSegment:
        """Create a segment.

        A dynamic segment requires a `filter`. A static segment ignores it.
        """
        return self._caller.call(
            "POST",
            "/segments",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        kind: Optional[Literal["static", "dynamic"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Segment]:
        """List segments.

        Newest first.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param kind: Only segments of this kind.
        """
        return self._caller.list(
            "GET",
            "/segments",
            query={"limit": limit, "cursor": cursor, "kind": kind},
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CountedSegment:
        """Read a segment.

        One segment, with the exact number of its members.
        """
        return self._caller.call(
            "GET",
            "/segments/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        id: str,
        body: SegmentChanges,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CountedSegment:
        """Change a segment.

        Only the fields present change. The kind cannot change.
        """
        return self._caller.call(
            "PATCH",
            "/segments/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> DeleteSegmentResult:
        """Delete a segment.

        Deletes the segment. Its contacts stay.
        """
        return self._caller.call(
            "DELETE",
            "/segments/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_contacts(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Contact]:
        """List the contacts of a segment.

        Newest contact first. A dynamic segment is computed on this read.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        """
        return self._caller.list(
            "GET",
            "/segments/{id}/contacts",
            params={"id": id},
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
            max_retries=max_retries,
        )

    def add_contacts(
        self,
        id: str,
        body: ContactIds,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> AddSegmentContactsResult:
        """Add contacts to a static segment.

        Ids of existing members and unknown ids are ignored: compare `added` with `requested`. Returns 400 for a
        dynamic segment.
        """
        return self._caller.call(
            "POST",
            "/segments/{id}/contacts",
            params={"id": id},
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def remove_contacts(
        self,
        id: str,
        body: ContactIds,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> RemoveSegmentContactsResult:
        """Remove contacts from a static segment.

        Ids that are not members are ignored. Returns 400 for a dynamic segment.
        """
        return self._caller.call(
            "DELETE",
            "/segments/{id}/contacts",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )


class Tags:
    """The methods of `parley.tags`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[CountedTag]:
        """List tags.

        All tags by name, with the number of contacts. A page has up to 1,000.

        :param cursor: The `meta.next_cursor` of the page before.
        """
        return self._caller.list(
            "GET",
            "/tags",
            query={"cursor": cursor},
            timeout=timeout,
            max_retries=max_retries,
        )


class Teams:
    """The methods of `parley.teams`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Team]:
        """List teams.

        All teams by name, at most 100, with their members and the connections that they serve.
        """
        return self._caller.list(
            "GET",
            "/teams",
            timeout=timeout,
            max_retries=max_retries,
        )


class Templates:
    """The methods of `parley.templates`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        status: Optional[str] = None,
        language: Optional[str] = None,
        search: Optional[str] = None,
        account: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Template]:
        """List templates.

        The templates of the primary channel in all languages, sorted by name and language. The service keeps a copy:
        the channel reports changes, and a send with an unknown template reads the list again.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param status: Only templates of this status, in any case: `approved`.
        :param language: Only templates in this language: `en_US`.
        :param search: A part of the name, in any case.
        :param account: Only templates of this provider account.
        """
        return self._caller.list(
            "GET",
            "/templates",
            query={"limit": limit, "cursor": cursor, "status": status, "language": language, "search": search, "account": account},
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        name: str,
        *,
        language: Optional[str] = None,
        account: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Template:
        """Read a template.

        One template in one language. If the copy does not have it, the list of the channel is read again.

        :param language: `en_US` when absent.
        :param account: The provider account. When absent, that of the default number is preferred.
        """
        return self._caller.call(
            "GET",
            "/templates/{name}",
            params={"name": name},
            query={"language": language, "account": account},
            timeout=timeout,
            max_retries=max_retries,
        )


class Webhooks:
    """The methods of `parley.webhooks`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def create(
        self,
        body: NewWebhook,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CreatedWebhook:
        """Create a webhook.

        Only this response contains the `secret`. A workspace has at most 100 webhooks.
        """
        return self._caller.call(
            "POST",
            "/webhooks",
            body=body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[Webhook]:
        """List webhooks.

        All webhooks, newest first, including those of dashboard integrations.
        """
        return self._caller.list(
            "GET",
            "/webhooks",
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Webhook:
        """Read a webhook.

        One webhook, without its secret.
        """
        return self._caller.call(
            "GET",
            "/webhooks/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        id: str,
        body: WebhookChanges,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Webhook:
        """Change a webhook.

        Only the fields present change.
        """
        return self._caller.call(
            "PATCH",
            "/webhooks/{id}",
            params={"id": id},
            body=body,
            timeout=timeout,
            max_retries=max_retries,
        )

    def rotate_secret(
        self,
        id: str,
        body: Optional[SecretRotation] = None,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> CreatedWebhook:
        """Rotate the secret.

        Creates a new secret, which only this response contains. During the overlap, the signature header has one `v1`
        per valid secret, oldest first: `t=…,v1=<old>,v1=<new>`. At most four earlier secrets overlap.
        """
        return self._caller.call(
            "POST",
            "/webhooks/{id}/rotate-secret",
            params={"id": id},
            body={} if body is None else body,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_deliveries(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        status: Optional[Literal["pending", "delivered", "failed", "canceled"]] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Listing[WebhookDelivery]:
        """List deliveries.

        The deliveries to a webhook with their attempts, newest first, for 30 days. The first page includes queued
        deliveries that have not been attempted.

        :param limit: Page size, 1 to 100; 50 when absent or unusable.
        :param cursor: The `meta.next_cursor` of the page before.
        :param status: Only deliveries of this status.
        """
        return self._caller.list(
            "GET",
            "/webhooks/{id}/deliveries",
            params={"id": id},
            query={"limit": limit, "cursor": cursor, "status": status},
            timeout=timeout,
            max_retries=max_retries,
        )

    def redeliver(
        self,
        id: str,
        delivery_id: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> WebhookDelivery:
        """Send an event again.

        Queues a new delivery of the same event, with the same event `id`, and returns it. The webhook must be active,
        and the event at most 30 days old.
        """
        return self._caller.call(
            "POST",
            "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
            params={"id": id, "delivery_id": delivery_id},
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self,
        id: str,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> DeleteWebhookResult:
        """Delete a webhook.

        Nothing more is sent to it. Deleting one of a dashboard integration disconnects the integration.
        """
        return self._caller.call(
            "DELETE",
            "/webhooks/{id}",
            params={"id": id},
            timeout=timeout,
            max_retries=max_retries,
        )


class Api:
    """The resources of the API, and the calls that belong to none."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.automations = Automations(caller)
        self.broadcasts = Broadcasts(caller)
        self.connections = Connections(caller)
        self.contacts = Contacts(caller)
        self.conversations = Conversations(caller)
        self.episodes = Episodes(caller)
        self.members = Members(caller)
        self.messages = Messages(caller)
        self.reports = Reports(caller)
        self.segments = Segments(caller)
        self.tags = Tags(caller)
        self.teams = Teams(caller)
        self.templates = Templates(caller)
        self.webhooks = Webhooks(caller)

    def me(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Me:
        """Who am I.

        The workspace a key acts on and the scopes it has. Every valid key may call it.
        """
        return self._caller.call(
            "GET",
            "/me",
            timeout=timeout,
            max_retries=max_retries,
        )

    def usage(
        self,
        *,
        timeout: Optional[float] = None,
        max_retries: Optional[int] = None,
    ) -> Usage:
        """Usage of this month.

        How many messages the workspace has sent this month and how many its plan allows. Any valid key may call it.
        """
        return self._caller.call(
            "GET",
            "/usage",
            timeout=timeout,
            max_retries=max_retries,
        )
