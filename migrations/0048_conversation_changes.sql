-- Runs without a transaction.
-- For the lists by last activity and by change (`server/conversations/recent.ts`). Every message changes both times. An update that
-- changes only columns of a BRIN index stays in its page and writes no other index.
create index concurrently if not exists conversations_by_change on conversations
  using brin (updated_at, (coalesce(last_message_at, created_at))) with (pages_per_range = 8, autosummarize = on);
