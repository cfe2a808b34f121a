-- +goose Up
-- To whom an app belongs, unless its configuration says so, and who has been welcomed as such.

CREATE TABLE owners (
	app_id      TEXT    NOT NULL,
	user_id     TEXT    NOT NULL,
	source      TEXT    NOT NULL CHECK (source IN ('creator', 'code', 'config')),
	message_id  TEXT    NOT NULL DEFAULT '', -- that brought the code
	since       INTEGER NOT NULL,            -- UTC ms
	welcomed_at INTEGER NOT NULL DEFAULT 0,  -- 0 = not yet
	PRIMARY KEY (app_id, user_id)
) WITHOUT ROWID;

-- One is found at most, whoever tries at the same time.
CREATE UNIQUE INDEX owners_found ON owners (app_id) WHERE source <> 'config';

-- +goose Down
DROP TABLE owners;
