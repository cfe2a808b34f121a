-- +goose Up
-- Messages that were handed to a turn while it ran, until the turn has ended. An interrupted turn keeps those that its agent
-- has not read: whoever makes it go on has them asked.

CREATE TABLE steers (
	turn_id   BIGINT NOT NULL,
	chat_key  TEXT   NOT NULL,
	seq       BIGINT NOT NULL, -- of the message in the History of the chat
	prompt_id TEXT   NOT NULL, -- names the message in the transcript of the session
	is_read   BIGINT NOT NULL DEFAULT 0, -- 1 = the agent has read it
	PRIMARY KEY (turn_id, seq)
);

-- +goose Down
DROP TABLE steers;
