-- The web chat: a site's server signs who its visitor is.
alter table channel_connections add column identity_secret text;
alter table channel_connections add column identity_secret_at timestamptz;
comment on column channel_connections.identity_secret is
  'Web chat: the sealed secret with which the site''s server signs identity tokens of its customers.';
comment on column channel_connections.identity_secret_at is 'When the identity secret was created.';

alter table contact_identities add column customer_id text;
comment on column contact_identities.customer_id is
  'Web chat: the customer''s id on the site, from a token that the site''s server signed. Null: nothing proves who the visitor is.';
