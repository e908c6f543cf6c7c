-- The last use of a key was rounded down to its minute, and so could lie before the key was created.
update api_keys set last_used_at = created_at where last_used_at < created_at;
