-- +goose Up
-- The table and its id have the name that the code has for them.

DROP INDEX parcels_turn;
ALTER TABLE parcels RENAME TO file_deliveries;
CREATE INDEX file_deliveries_turn ON file_deliveries (turn_id);
ALTER TABLE outbox RENAME COLUMN parcel_id TO file_delivery_id;

-- +goose Down
ALTER TABLE outbox RENAME COLUMN file_delivery_id TO parcel_id;
DROP INDEX file_deliveries_turn;
ALTER TABLE file_deliveries RENAME TO parcels;
CREATE INDEX parcels_turn ON parcels (turn_id);
