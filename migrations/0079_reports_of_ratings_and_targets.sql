-- Reports of satisfaction and of targets. A rating and the outcomes of targets are counted with their episode.

alter table counted_episodes
  add column asked_at timestamptz,
  add column rated_at timestamptz,
  add column rating smallint,
  add column rating_member_id uuid,
  add column outcomes jsonb;
comment on column counted_episodes.asked_at is 'When the question about satisfaction was sent. Null if it was not, or did not reach the customer.';
comment on column counted_episodes.rating_member_id is 'The member who replied last before the question.';
comment on column counted_episodes.outcomes is 'The decided outcomes of targets: a list of target_id, kind, at, is_met.';

alter table report_histograms
  drop constraint report_histograms_measure_check,
  add constraint report_histograms_measure_check check (measure in (
    'first_reply', 'closing', 'office_first_reply', 'office_closing', 'opened_hour', 'first_reply_hour', 'closed_hour',
    'question', 'rating', 'target_first_reply', 'target_next_reply', 'target_closing'
  ));
comment on table report_histograms is 'How many episodes have which time, in logarithmic buckets; how many events are in which hour of the day; how many questions have a rating, and which; how many outcomes of targets are met.';
comment on column report_histograms.buckets is 'The buckets with episodes: 0 is zero seconds, n is from 1.035^(n-1) up to 1.035^n seconds. Of an hour: 0 to 23. Of a rating: 1 to 5. Of a question: 1 with a rating, otherwise 0. Of a target: 1 met, 0 missed.';
comment on column report_counts.family is 'What the figures are counted by: all, team, member, connection, label, or two of them, such as team_member. In report_histograms also target.';

-- Also when a rating or a clock is deleted.
create function note_outcome_of_episode() returns trigger language plpgsql as $$
begin
  insert into report_changes (workspace_id, episode_id)
  values (coalesce(new.workspace_id, old.workspace_id), coalesce(new.episode_id, old.episode_id));
  return null;
end
$$;

create trigger report_inserted after insert on ratings for each row when (new.asked_at is not null)
execute function note_outcome_of_episode();
create trigger report_deleted after delete on ratings for each row when (old.asked_at is not null)
execute function note_outcome_of_episode();
create trigger report_updated after update on ratings for each row when (
  (old.state, old.asked_at, old.rated_at, old.rating, old.member_id)
  is distinct from (new.state, new.asked_at, new.rated_at, new.rating, new.member_id)
)
execute function note_outcome_of_episode();

create trigger report_inserted after insert on target_clocks for each row when (new.outcome is not null)
execute function note_outcome_of_episode();
create trigger report_deleted after delete on target_clocks for each row when (old.outcome is not null)
execute function note_outcome_of_episode();
create trigger report_updated after update on target_clocks for each row when (
  (old.outcome, old.breached_at, old.ended_at) is distinct from (new.outcome, new.breached_at, new.ended_at)
)
execute function note_outcome_of_episode();

-- Rows that were written before the triggers.
insert into report_changes (workspace_id, episode_id)
select r.workspace_id, r.episode_id from ratings r where r.asked_at is not null
union
select k.workspace_id, k.episode_id from target_clocks k where k.outcome is not null;

create index ratings_by_asked on ratings (workspace_id, asked_at, message_id) where asked_at is not null;
