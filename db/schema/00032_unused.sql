-- +goose Up
-- Nothing has read the figures of each turn: what it cost stands in the ledger. No agent's folder lacks its sessions any more.

DROP TABLE IF EXISTS usage;
ALTER TABLE agent_folders DROP COLUMN moved;

-- +goose Down
ALTER TABLE agent_folders ADD COLUMN moved INTEGER NOT NULL DEFAULT 1;
