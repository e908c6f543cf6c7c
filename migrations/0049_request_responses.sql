-- The responses of failed requests, for the request log. A response is small: it is the error.
alter table api_requests
  add column response_headers text,
  add column response_body text;

comment on column api_requests.response_headers is
  'The headers of the response to a failed request, one per line, without secrets. Null if nothing was sent.';

comment on column api_requests.response_body is 'The body of that response, without secrets.';
