-- +goose Up
-- What finds messages by their words.

ALTER TABLE chats ADD COLUMN no BIGINT NOT NULL DEFAULT 0; -- numbers the chats, for ever: the index knows them by it
UPDATE chats SET no = rowid;
CREATE UNIQUE INDEX chats_no ON chats (no);

-- A row per message: its id is no * 2^32 + 2^31 + seq, so that the messages of a chat lie together. It holds no text, only
-- which messages have which term; the terms are those of package lexicon.
CREATE VIRTUAL TABLE terms USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TABLE indexed (
  upto    INTEGER NOT NULL,                              -- the messages up to this id are in the index
  version INTEGER NOT NULL                               -- of the lexicon that made it
);
INSERT INTO indexed VALUES (0, 1);

-- With which turn a session began.
CREATE INDEX turns_session ON turns (session_id, id) WHERE session_id <> '';

-- +goose Down
DROP INDEX turns_session;
DROP TABLE indexed;
DROP TABLE terms;
DROP INDEX chats_no;
ALTER TABLE chats DROP COLUMN no;
