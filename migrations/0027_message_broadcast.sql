-- The broadcast that sent the message. Null for messages from before this column. No foreign key: rooms refer to the left only.
alter table messages add column broadcast_id uuid;
