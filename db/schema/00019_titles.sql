-- +goose Up
-- A title belongs to a conversation, not to its chat: chats.topic is that of the one that goes on, these are those of the ones before.

CREATE TABLE titles (
	chat_key TEXT   NOT NULL,
	epoch    BIGINT NOT NULL,
	title    TEXT   NOT NULL,
	PRIMARY KEY (chat_key, epoch)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE titles;
