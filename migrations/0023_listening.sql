-- Events can also be received on an open line: the step is taken when the first one was handed over there.

alter table checklists add column event_heard_at timestamptz;
