-- The word index collects new words in a list, which the digest merges after every batch.
alter index message_words_by_word set (fastupdate = on, gin_pending_list_limit = 16384);
