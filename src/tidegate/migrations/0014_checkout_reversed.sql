-- A checkout's transfer that its bank takes back after it was settled.

ALTER TABLE payment
    ADD COLUMN reversed_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN owed_minor     bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT payment_reverses_no_more_than_it_received
        CHECK (reversed_minor BETWEEN 0 AND received_minor) NOT VALID,
    ADD CONSTRAINT payment_owes_no_more_than_was_reversed CHECK (owed_minor BETWEEN 0 AND reversed_minor) NOT VALID;
ALTER TABLE payment VALIDATE CONSTRAINT payment_reverses_no_more_than_it_received;
ALTER TABLE payment VALIDATE CONSTRAINT payment_owes_no_more_than_was_reversed;
COMMENT ON COLUMN payment.reversed_minor IS 'Of what was received, taken back by the bank.';
COMMENT ON COLUMN payment.owed_minor IS 'Taken back by the bank when the wallet no longer held it, and not yet collected from the merchant.';
CREATE INDEX payment_that_owes ON payment (id) WHERE owed_minor > 0;
