-- +goose Up
-- Messages that were handed to a turn while it ran, until its agent has read them or the turn has ended.

CREATE TABLE steers (
	turn_id   BIGINT NOT NULL,
	chat_key  TEXT   NOT NULL,
	seq       BIGINT NOT NULL, -- of the message in the History of the chat
	prompt_id TEXT   NOT NULL, -- names the message in the transcript of the session
	PRIMARY KEY (turn_id, seq)
);

-- +goose Down
DROP TABLE steers;
