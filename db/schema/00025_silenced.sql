-- +goose Up
-- Chats in which the platform lets the bot say nothing: a muted group, or somebody who does not want its messages.

CREATE TABLE silenced (
	chat_key TEXT   NOT NULL PRIMARY KEY,
	since    BIGINT NOT NULL, -- ms
	why      TEXT   NOT NULL  -- what the platform says, for operators
);

-- +goose Down
DROP TABLE silenced;
