-- A batch of 1,000 new contacts merged the pending entries several times in the caller's transaction: 275 to 284 ms with 256 kB, 239 ms with
-- 1 MB, 211 ms with 4 MB. A search reads all pending entries; with 4 MB of them it took up to 24 ms instead of 3.
alter index contacts_search set (gin_pending_list_limit = 1024);
