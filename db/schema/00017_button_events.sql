-- +goose Up
-- A pressed button asks for things, too, and is no message that could be answered. Who stops a turn has stopped it for good.

ALTER TABLE chats ADD COLUMN compact_reply TEXT NOT NULL DEFAULT ''; -- the message that the outcome of compact_for answers; empty = none
UPDATE chats SET compact_reply = compact_for WHERE compact_for NOT LIKE 'press:%';
ALTER TABLE turns ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0; -- 1 = somebody stopped it: it is not begun again

-- +goose Down
ALTER TABLE turns DROP COLUMN stopped;
ALTER TABLE chats DROP COLUMN compact_reply;
