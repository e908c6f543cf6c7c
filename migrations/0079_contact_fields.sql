-- Template values are literal unless the caller allows contact fields. The values of earlier broadcasts, and of those that the previous
-- release creates while both run, were checked with fields. So the default keeps them, and new code always writes the column.
alter table broadcasts add column contact_fields boolean not null default true;
comment on column broadcasts.contact_fields is 'Contact fields in template values, such as {{contact.name|there}}, are filled. Otherwise values are literal.';
