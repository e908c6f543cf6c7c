-- A worker merges the pending entries once a second (server/contacts/search-index.ts), so that callers do not. The limit is for times without a
-- worker. Inserting a contact with all fields took 150 us of the database, 45 of them for merging; in one large batch merging takes 25.
alter index contacts_search set (gin_pending_list_limit = 8192);
