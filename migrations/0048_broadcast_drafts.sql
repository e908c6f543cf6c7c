-- Drafts that members write in the dashboard, and audiences of several segments.

alter table broadcasts
  add column author_id uuid,
  add column saved_at timestamptz,
  add column audience jsonb;
comment on column broadcasts.author_id is 'The member who created the broadcast. Null: a caller of the API, or an earlier release.';
comment on column broadcasts.saved_at is 'When a member last saved the draft.';
comment on column broadcasts.audience is 'All contacts or the members of any of segment_ids, without those of excluded_segment_ids. Null: the segment of segment_id, or a list.';
