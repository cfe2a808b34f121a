-- +goose Up
-- What calls people: the end of a turn that took long, an approval for which somebody waits, and the owner's daily digest.

ALTER TABLE outbox ADD COLUMN mentions TEXT NOT NULL DEFAULT '[]';      -- JSON list of the users who are called
ALTER TABLE approvals ADD COLUMN repeated_at BIGINT NOT NULL DEFAULT 0; -- when people were called to decide; 0 = not yet

CREATE TABLE digests (
	chat_key TEXT   NOT NULL PRIMARY KEY REFERENCES chats (key), -- where it is sent
	minute   BIGINT NOT NULL, -- of the day
	day      TEXT   NOT NULL  -- the last one that is done, such as 2026-05-04
);
CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at > 0;

-- +goose Down
DROP INDEX turns_ended;
DROP TABLE digests;
ALTER TABLE approvals DROP COLUMN repeated_at;
ALTER TABLE outbox DROP COLUMN mentions;
