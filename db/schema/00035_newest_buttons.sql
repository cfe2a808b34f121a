-- +goose Up
-- Some buttons count below the newest card of a chat only. When another card follows, they are removed.

ALTER TABLE turns ADD COLUMN newest_buttons TEXT NOT NULL DEFAULT ''; -- the card that shows them, or its last page; '' = none
CREATE INDEX turns_newest_buttons ON turns (chat_key) WHERE newest_buttons <> '';

-- +goose Down
DROP INDEX turns_newest_buttons;
ALTER TABLE turns DROP COLUMN newest_buttons;
