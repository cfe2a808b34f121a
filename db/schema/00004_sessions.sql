-- +goose Up
-- What a session is compared with before it is resumed, and what each turn was told.

-- The sessions of machines that did not answer a chat's last turn. That of the one that did is in chats.
CREATE TABLE sessions (
  chat_key   TEXT   NOT NULL REFERENCES chats (key),
  node       TEXT   NOT NULL,                            -- the machine that holds its transcript
  epoch      BIGINT NOT NULL,
  session_id TEXT   NOT NULL,
  cwd        TEXT   NOT NULL,                            -- the folder that it belongs to, symbolic links resolved
  turn_id    BIGINT NOT NULL,                            -- the last turn that it holds
  PRIMARY KEY (chat_key, node)
);

ALTER TABLE turns ADD COLUMN asked_before TEXT NOT NULL DEFAULT ''; -- prompt_id of earlier attempts, a space after each
ALTER TABLE turns ADD COLUMN told         TEXT NOT NULL DEFAULT ''; -- what the agent was told beside the question, as JSON
CREATE INDEX turns_chat ON turns (chat_key, id);

-- +goose Down
DROP INDEX turns_chat;
ALTER TABLE turns DROP COLUMN told;
ALTER TABLE turns DROP COLUMN asked_before;
DROP TABLE sessions;
