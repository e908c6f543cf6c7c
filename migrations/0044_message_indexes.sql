-- Runs without a transaction.
-- Indexes of messages, so that a send writes less. Each statement may run again.

-- Reports find a message by its id, and `messages_by_id` serves that. Every send wrote this index twice.
drop index concurrently if exists messages_without_external_id;

-- The word index collects new words in a list, which the digest merges after every batch.
alter index message_words_by_word set (fastupdate = on, gin_pending_list_limit = 16384);
