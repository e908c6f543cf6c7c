-- Those who want no broadcasts, listed newest first: few among very many.
create index contacts_opted_out on contacts (workspace_id, id) where opted_out_at is not null;

-- Somebody who is erased is looked for among recipients: those with a message are found by it, the others by these.
-- Being handed over takes a row out of both, so sending pays nothing for them.
create index broadcast_recipients_unsent_by_contact on broadcast_recipients (workspace_id, contact_id)
  where message_id is null and contact_id is not null;
create index broadcast_recipients_unsent_by_identity on broadcast_recipients (workspace_id, identity)
  where message_id is null and identity is not null;
