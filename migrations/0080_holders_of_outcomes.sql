-- Whose the outcome of a target is: a conversation that is passed on after a miss does not take the miss along.

alter table target_clocks
  add column member_id uuid,
  add column team_id uuid;
comment on column target_clocks.member_id is 'Who had the conversation when the outcome was decided. Null: it was assigned to no one. So is team_id.';
comment on column counted_episodes.outcomes is 'The decided outcomes of targets: a list of target_id, kind, at, is_met, member_id, team_id.';
