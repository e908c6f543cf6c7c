-- How often a file was sent: with the last person who has it, it goes. Of those sent before nobody counted, so they stay.
alter table uploads add column use_count integer not null default 0;
update uploads set use_count = 1000000 where used_at is not null;
