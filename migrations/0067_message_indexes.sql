-- Reports find a message by its id, and `messages_by_id` serves that. Every send wrote this index twice.
drop index messages_without_external_id;
