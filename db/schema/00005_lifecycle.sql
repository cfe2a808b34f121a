-- +goose Up
-- What the context of a chat consists of in the long run, and what the chat is called.

ALTER TABLE chats ADD COLUMN topic          TEXT   NOT NULL DEFAULT ''; -- our own title for it, given once; empty = none yet
ALTER TABLE chats ADD COLUMN summary        TEXT   NOT NULL DEFAULT ''; -- stands for the History up to summary_seq; empty = none
ALTER TABLE chats ADD COLUMN summary_seq    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chats ADD COLUMN summary_at     BIGINT NOT NULL DEFAULT 0;  -- when the last message was written that it covers
ALTER TABLE chats ADD COLUMN anew_seq       BIGINT NOT NULL DEFAULT 0;  -- the context began anew after it, for the chat had been silent for long; 0 = never
ALTER TABLE chats ADD COLUMN turned_at      BIGINT NOT NULL DEFAULT 0;  -- when the last turn ended; 0 = there was none
ALTER TABLE chats ADD COLUMN compact_for    TEXT   NOT NULL DEFAULT ''; -- the message that asked for a summary and is not answered yet
ALTER TABLE chats ADD COLUMN session_tokens BIGINT NOT NULL DEFAULT 0;  -- that the session held after its last turn; 0 = not known
ALTER TABLE chats ADD COLUMN session_window BIGINT NOT NULL DEFAULT 0;  -- that it can hold; 0 = not known
UPDATE chats SET turned_at = COALESCE((SELECT MAX(ended_at) FROM turns t WHERE t.chat_key = chats.key), 0);

CREATE INDEX chats_compact ON chats (key) WHERE compact_for <> '';

-- +goose Down
DROP INDEX chats_compact;
ALTER TABLE chats DROP COLUMN session_window;
ALTER TABLE chats DROP COLUMN session_tokens;
ALTER TABLE chats DROP COLUMN compact_for;
ALTER TABLE chats DROP COLUMN turned_at;
ALTER TABLE chats DROP COLUMN anew_seq;
ALTER TABLE chats DROP COLUMN summary_at;
ALTER TABLE chats DROP COLUMN summary_seq;
ALTER TABLE chats DROP COLUMN summary;
ALTER TABLE chats DROP COLUMN topic;
