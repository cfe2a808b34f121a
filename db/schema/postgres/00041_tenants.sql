-- +goose Up
-- The organization that a chat belongs to, as the platform tells it with events: what comes from another one is not of this
-- chat. A chat of before this version has that of its next event.
ALTER TABLE chats ADD COLUMN tenant TEXT COLLATE "C" NOT NULL DEFAULT ''; -- empty = not known
