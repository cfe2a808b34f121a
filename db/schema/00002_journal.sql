-- +goose Up
-- What a crash in the middle of a turn must leave behind.

ALTER TABLE turns ADD COLUMN reply_to  TEXT   NOT NULL DEFAULT ''; -- the platform's id of the message that the answer answers
ALTER TABLE turns ADD COLUMN continues BIGINT NOT NULL DEFAULT 0;  -- the interrupted turn that this one goes on with; 0 = none
ALTER TABLE turns ADD COLUMN prompt_id TEXT   NOT NULL DEFAULT ''; -- names the question in the agent's transcript
ALTER TABLE turns ADD COLUMN attempts  BIGINT NOT NULL DEFAULT 0;  -- how often it was claimed
ALTER TABLE turns ADD COLUMN acted     BIGINT NOT NULL DEFAULT 0;  -- 1 = a tool may have been used: never run it again unasked
ALTER TABLE turns ADD COLUMN draft     TEXT   NOT NULL DEFAULT ''; -- what people may have seen of the answer so far
UPDATE turns SET reply_to = COALESCE((SELECT message_id FROM messages m WHERE m.chat_key = turns.chat_key
  AND m.turn_id = turns.id AND m.turn_id > 0 AND m.role = 'user' ORDER BY m.sent_at DESC, m.seq DESC LIMIT 1), '');

CREATE INDEX turns_running ON turns (id) WHERE state = 'running';
CREATE INDEX turns_interrupted ON turns (chat_key, id) WHERE state = 'interrupted';

-- What must still be shown to people. A row goes when the platform has confirmed it.
CREATE TABLE outbox (
  id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  chat_key   TEXT    NOT NULL REFERENCES chats (key),
  turn_id    BIGINT  NOT NULL DEFAULT 0,                 -- the turn whose card is drawn; 0 = a text
  idem       TEXT    NOT NULL UNIQUE,                    -- makes a repeated send harmless
  reply_to   TEXT    NOT NULL,                           -- the platform's id of the message that it answers
  content    TEXT    NOT NULL,                           -- the text, or the card as JSON
  attempts   BIGINT  NOT NULL DEFAULT 0,
  next_at    BIGINT  NOT NULL,                           -- not before
  created_at BIGINT  NOT NULL
);
CREATE INDEX outbox_chat ON outbox (chat_key, id);
CREATE INDEX outbox_due ON outbox (next_at);

-- Events that are no messages, by the platform's id: each counts once.
CREATE TABLE events (
  id      TEXT   NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
CREATE INDEX events_seen ON events (seen_at);

-- +goose Down
DROP TABLE events;
DROP TABLE outbox;
DROP INDEX turns_interrupted;
DROP INDEX turns_running;
ALTER TABLE turns DROP COLUMN draft;
ALTER TABLE turns DROP COLUMN acted;
ALTER TABLE turns DROP COLUMN attempts;
ALTER TABLE turns DROP COLUMN prompt_id;
ALTER TABLE turns DROP COLUMN continues;
ALTER TABLE turns DROP COLUMN reply_to;
