-- +goose Up
-- What was decided about agents' tools stands in the History, with the role system.

CREATE INDEX messages_decided ON messages (chat_key, sent_at) WHERE role = 'system';

-- +goose Down
DROP INDEX messages_decided;
