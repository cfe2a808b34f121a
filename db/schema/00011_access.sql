-- +goose Up
-- Who was let in, or turned away, from within the chat. What the configuration says counts first.

CREATE TABLE grants (
  subject    TEXT   NOT NULL PRIMARY KEY,                -- the platform's id of a user or of a chat
  state      TEXT   NOT NULL CHECK (state IN ('asked', 'allowed', 'ignored')),
  name       TEXT   NOT NULL DEFAULT '',                 -- as shown to people
  chat_key   TEXT   NOT NULL DEFAULT '',                 -- where it was asked for
  message_id TEXT   NOT NULL DEFAULT '',                 -- with which message
  card_id    TEXT   NOT NULL DEFAULT '',                 -- the card on which it is decided; empty = none is there yet
  decided_by TEXT   NOT NULL DEFAULT '',                 -- user id
  asked_at   BIGINT NOT NULL DEFAULT 0,
  decided_at BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE grants;
