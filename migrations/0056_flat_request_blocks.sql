-- Blocks now hold the fields of all requests in one flat array, which costs less to write. Earlier ones cannot be read.
truncate request_blocks;
comment on column request_blocks.entries is 'JSON of requests, in the form that server/accounts/request-log.ts defines.';
