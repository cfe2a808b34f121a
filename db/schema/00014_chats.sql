-- +goose Up
-- What is said in a chat without a turn may be a card, too.

ALTER TABLE outbox ADD COLUMN card BIGINT NOT NULL DEFAULT 0; -- 1 = content is a card; that of a turn is one in any case

-- +goose Down
ALTER TABLE outbox DROP COLUMN card;
