-- +goose Up
-- Who has written a message may be learnt only later.

CREATE INDEX messages_nameless ON messages (actor_id) WHERE actor_name = '' AND actor_id <> '';

-- +goose Down
DROP INDEX messages_nameless;
