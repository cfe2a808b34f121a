-- +goose Up
-- In which folder the agents of a chat keep their state. Its name tells nothing about the chat.

CREATE TABLE agent_folders (
	chat_key TEXT    PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,            -- UUID; the name of the folder
	moved    INTEGER NOT NULL DEFAULT 1          -- 0 = sessions that the chat had before may lie elsewhere
) WITHOUT ROWID;

INSERT INTO agent_folders (chat_key, id, moved)
	SELECT chat_key, lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' ||
		substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))), 0
	FROM (SELECT key AS chat_key FROM chats WHERE session_id <> '' UNION SELECT chat_key FROM sessions
		UNION SELECT chat_key FROM turns WHERE session_id <> '');

-- +goose Down
DROP TABLE agent_folders;
