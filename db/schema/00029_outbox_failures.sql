-- +goose Up
-- Why a delivery waits, so that admins can be told after a restart as well.

ALTER TABLE outbox ADD COLUMN obstacle TEXT NOT NULL DEFAULT ''; -- a word for what is in the way; '' = unknown, or it has not failed
ALTER TABLE outbox ADD COLUMN why      TEXT NOT NULL DEFAULT ''; -- what the last attempt was told, for operators

-- +goose Down
ALTER TABLE outbox DROP COLUMN why;
ALTER TABLE outbox DROP COLUMN obstacle;
