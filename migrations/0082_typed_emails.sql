-- Runs without a transaction.
-- Email addresses that nothing but the web chat knows. Each statement may run again.
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
