-- +goose Up
-- What people have set for a chat is one value, to which settings can be added without a new column.

ALTER TABLE chats ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'; -- JSON object; what is not in it is as configured
UPDATE chats SET settings = json_set(settings, '$.project', project_path) WHERE project_path <> '';
UPDATE chats SET settings = json_set(settings, '$.mode', permission_mode) WHERE permission_mode <> '';
ALTER TABLE chats DROP COLUMN permission_mode;
ALTER TABLE chats DROP COLUMN project_path;

-- +goose Down
ALTER TABLE chats ADD COLUMN project_path    TEXT NOT NULL DEFAULT ''; -- working folder of the agent; empty = the configured one
ALTER TABLE chats ADD COLUMN permission_mode TEXT NOT NULL DEFAULT ''; -- empty = the configured one
UPDATE chats SET project_path = COALESCE(settings ->> '$.project', ''), permission_mode = COALESCE(settings ->> '$.mode', '');
ALTER TABLE chats DROP COLUMN settings;
