-- Visitors of the web chat upload files too. They do not use up the members' allowance of unsent files.
alter table uploads add column is_visitor boolean not null default false;
comment on column uploads.is_visitor is 'A visitor of the web chat uploaded it; created_by is the visitor.';
comment on table uploads is 'Files that members and visitors uploaded. Unused ones are deleted after a day.';
