-- A visitor of the web chat reads what they wrote and what was sent to them, also after their contact was merged with another one.
-- Rows of earlier releases have no visitor: they belong to the only visitor of their conversation, and merging writes it.
alter table messages add column visitor_id text;
comment on column messages.visitor_id is
  'Web chat: the visitor who wrote the message or to whom it was sent. Null in rows of earlier releases: the only visitor of the contact.';
