-- An outage of the channel concerns a number, with all its broadcasts and in every process: the circuit breaker is part of the
-- number's row. See server/broadcasts/circuit-breaker.ts for the states.
alter table broadcast_paces
  add column breaker_state text not null default 'closed' check (breaker_state in ('closed', 'open', 'half_open')),
  -- While it is closed: failures of the channel in a row.
  add column failure_count integer not null default 0,
  -- While it is not: probes that failed, the time of the next change, and the last failure.
  add column probe_count integer not null default 0,
  add column breaker_until timestamptz,
  add column breaker_reason text;

-- The members of a segment at the moment its broadcast starts, as ids of 16 bytes in order: rows are made of them in chunks,
-- and a process that goes on after a crash goes on with the same members. Empty when every member has a row.
alter table broadcasts add column member_ids bytea;
-- Not compressed, so that a part is read without the whole.
alter table broadcasts alter column member_ids set storage external;
