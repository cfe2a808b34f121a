-- +goose Up
-- What an agent says after people have decided something stands on a message of its own, below their decision.

ALTER TABLE turns ADD COLUMN part_ends TEXT NOT NULL DEFAULT ''; -- JSON: the bytes of the answer at which its messages end, but for the last; '' = it has one

-- +goose Down
ALTER TABLE turns DROP COLUMN part_ends;
