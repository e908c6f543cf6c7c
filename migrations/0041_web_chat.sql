-- Runs without a transaction.
-- The web chat: the page of a visitor, files of visitors, whose messages are whose, and email addresses that visitors typed. It changes
-- four large tables, and holds the lock of one at a time. Each statement may run again.
alter table contact_identities add column if not exists visit jsonb;

comment on column contact_identities.visit is 'The last page and the browser of a web visitor.';

-- Visitors do not use up the members' allowance of unsent files.
alter table uploads add column if not exists is_visitor boolean not null default false;

comment on column uploads.is_visitor is 'A visitor of the web chat uploaded it; created_by is the visitor.';

comment on table uploads is
  'Files that members and visitors uploaded. Unused ones are deleted after a day, those of visitors after an hour.';

-- A visitor of the web chat reads what they wrote and what was sent to them, also after their contact was merged with another one.
-- Rows of earlier releases have no visitor: they belong to the only visitor of their conversation, and merging writes it.
alter table messages add column if not exists visitor_id text;

comment on column messages.visitor_id is
  'Web chat: the visitor who wrote the message or to whom it was sent. Null in rows of earlier releases: the only visitor of the contact.';

-- Email addresses that nothing but the web chat knows.
alter table contacts add column if not exists typed_email_key text;

comment on column contacts.typed_email_key is
  'The case-folded email address that a visitor of the web chat typed. While it equals email_key, no other source has given the address.';

-- The contacts of earlier releases that came from the web chat. 500 visitors per transaction. A batch that waits for a locked contact
-- gives up after lock_timeout and runs again.
do $$
declare
  last_workspace uuid := '00000000-0000-0000-0000-000000000000';
  last_visitor text := '';
  next_workspace uuid;
  next_visitor text;
begin
  loop
    commit;
    begin
      with
      -- The next visitors.
      visitors as (
        select workspace_id, external_id, contact_id from contact_identities
        where channel = 'web' and (workspace_id, external_id) > (last_workspace, last_visitor)
        order by workspace_id, external_id
        limit 500
      ),
      -- Their contacts without a phone number, locked in the order of their ids as everywhere.
      locked_contacts as (
        select c.workspace_id, c.id from contacts c
        where (c.workspace_id, c.id) in (select workspace_id, contact_id from visitors)
          and c.phone is null and c.email_key is not null and c.typed_email_key is null
        order by c.workspace_id, c.id
        for no key update
      ),
      updated_contacts as (
        update contacts c set typed_email_key = c.email_key
        from locked_contacts l
        where c.workspace_id = l.workspace_id and c.id = l.id
      )
      select v.workspace_id, v.external_id into next_workspace, next_visitor
      from visitors v
      order by v.workspace_id desc, v.external_id desc
      limit 1;
      exit when next_workspace is null;
      last_workspace := next_workspace;
      last_visitor := next_visitor;
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end loop;
end $$;
