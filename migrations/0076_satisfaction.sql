-- Runs without a transaction.
-- Satisfaction: one question after an episode, its rating and its comment. Each statement may run again.

create table if not exists satisfaction_settings (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  is_on boolean not null,
  question text not null,
  choices text[] not null,
  list_button text not null,
  thanks text not null,
  comment_request text not null,
  min_days integer not null,
  delay_seconds integer not null,
  template jsonb,
  skip_labels text[] not null,
  connection_ids uuid[],
  team_ids uuid[],
  checked_until timestamptz,
  updated_at timestamptz not null default now(),
  primary key (workspace_id),
  constraint satisfaction_settings_choices_check check (cardinality(choices) = 5)
);

comment on table satisfaction_settings is 'How a workspace asks customers for a rating after an episode. A workspace without a row never changed the defaults and does not ask.';
comment on column satisfaction_settings.choices is 'The titles of the ratings 1 to 5.';
comment on column satisfaction_settings.list_button is 'The label of the button that opens the list, on the channel with lists.';
comment on column satisfaction_settings.thanks is 'Sent after a rating. Empty: nothing is sent.';
comment on column satisfaction_settings.comment_request is 'Sent with the thanks. The next text is then the comment. Empty: no comment is requested.';
comment on column satisfaction_settings.min_days is 'At least so many days between two questions to a contact.';
comment on column satisfaction_settings.template is 'The template that asks outside the reply window: name, language, params. Null: the workspace does not ask there.';
comment on column satisfaction_settings.skip_labels is 'Case-folded names of labels. An episode that closed with one of them is not asked about.';
comment on column satisfaction_settings.connection_ids is 'Only episodes of these connections. Null: of all. So are team_ids.';
comment on column satisfaction_settings.checked_until is 'Episodes that closed before are decided. A worker locks the row to decide the next ones.';

create table if not exists ratings (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  message_id uuid not null,
  episode_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  member_id uuid,
  team_id uuid,
  connection_id uuid,
  state text not null,
  due_at timestamptz,
  attempt_count integer not null default 0,
  error text,
  asked_at timestamptz,
  rating smallint,
  rated_at timestamptz,
  is_announced boolean not null default false,
  thanks_id uuid,
  comment_until timestamptz,
  comment text,
  created_at timestamptz not null,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, message_id),
  constraint ratings_episode_unique unique (workspace_id, episode_id),
  constraint ratings_conversation_fkey
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
  constraint ratings_state_check check (state in ('due', 'asked', 'rated', 'failed')),
  constraint ratings_rating_check check ((state = 'rated') = (rating is not null) and rating between 1 and 5)
) with (fillfactor = 80);

create index if not exists ratings_due on ratings (workspace_id, due_at, message_id) where due_at is not null;

create index if not exists ratings_by_contact on ratings (workspace_id, contact_id, message_id);

create index if not exists ratings_by_conversation on ratings (workspace_id, conversation_id, message_id);

create index if not exists ratings_by_rating on ratings (workspace_id, rated_at, message_id) where rated_at is not null;

comment on table ratings is 'Questions about satisfaction, with their answers. A row is also the job of the worker that sends: state, attempts and lease.';
comment on column ratings.message_id is 'The id of the message that asks, stored before it is sent, so that a repeat finds it.';
comment on column ratings.member_id is 'The member who replied last in the episode: the rating belongs to them. Kept when the member is removed.';
comment on column ratings.team_id is 'Of the episode when it closed. So is connection_id.';
comment on column ratings.state is 'due: to be asked. asked: the message is stored. failed: the message did not reach the customer.';
comment on column ratings.due_at is 'When a worker may claim the row, to send the question or the thanks: at once, or at the end of a lease. Null: nothing is left to send.';
comment on column ratings.is_announced is 'The line in the thread is written, and the change that may start automations is queued.';
comment on column ratings.thanks_id is 'The id of the message that thanks.';
comment on column ratings.comment_until is 'A text of the customer until then is the comment, while the conversation is closed.';

alter table conversations add column if not exists rating_message_id uuid;

comment on column conversations.rating_message_id is 'The last message that asked for a rating. Its id has the time, so a message that comes much later costs no look-up.';

alter table timeline_entries drop constraint if exists timeline_entries_kind_check;

alter table timeline_entries add constraint timeline_entries_kind_check
check (kind in ('note', 'status', 'assigned', 'labeled', 'snoozed', 'blocked', 'unblocked', 'rated')) not valid;

alter table timeline_entries validate constraint timeline_entries_kind_check;
