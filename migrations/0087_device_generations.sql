-- A member who signs out everywhere is known in no browser any more.
alter table members add column device_generation integer not null default 0;
comment on column members.device_generation is
  'Raised when the member signs out of other browsers: their device cookies are not accepted any more.';
