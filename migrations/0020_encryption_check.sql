-- A text sealed with the key of this installation: whoever comes with another key is told so at the start.
create table encryption_checks (
  is_only boolean primary key default true check (is_only),
  sealed text not null
);
