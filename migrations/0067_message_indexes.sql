-- Runs without a transaction.
-- Reports find a message by its id, and `messages_by_id` serves that. Every send wrote this index twice.
drop index concurrently if exists messages_without_external_id;
