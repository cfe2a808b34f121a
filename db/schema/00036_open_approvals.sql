-- +goose Up
-- What people are asked in a chat, and decisions that no agent was told, are loaded with its turns.

CREATE INDEX approvals_open ON approvals (chat_key) WHERE delivered = 0;

-- +goose Down
DROP INDEX approvals_open;
