-- Refunds of checkout payments and of inflows, and the way to a statement's first entry.

ALTER TABLE payment
    ADD COLUMN refunded_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT payment_refunds_no_more_than_it_received
        CHECK (refunded_minor BETWEEN 0 AND received_minor) NOT VALID;
ALTER TABLE payment VALIDATE CONSTRAINT payment_refunds_no_more_than_it_received;
COMMENT ON COLUMN payment.refunded_minor IS 'Refunds that are under way or have arrived.';

ALTER TABLE collection
    ADD COLUMN refunded_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT collection_refunds_no_more_than_it_received
        CHECK (refunded_minor BETWEEN 0 AND source_minor) NOT VALID;
ALTER TABLE collection VALIDATE CONSTRAINT collection_refunds_no_more_than_it_received;
COMMENT ON COLUMN collection.refunded_minor IS 'Refunds that are under way or have arrived.';

ALTER TABLE fee_rule
    ADD COLUMN on_refund text NOT NULL DEFAULT 'kept',
    ADD CONSTRAINT fee_rule_on_refund_is_known CHECK (on_refund IN ('kept', 'returned'));
COMMENT ON COLUMN fee_rule.on_refund IS 'Whether a refund gives the merchant its share of the fee back.';

CREATE TABLE refund (
    business_id        text        NOT NULL CONSTRAINT refund_business_fk REFERENCES business (id),
    id                 bigint      GENERATED ALWAYS AS IDENTITY,
    reference          text        NOT NULL,
    payment_id         bigint,
    collection_id      bigint,
    currency           text        NOT NULL,
    amount_minor       bigint      NOT NULL,
    fee_returned_minor bigint      NOT NULL DEFAULT 0,
    vat_returned_minor bigint      NOT NULL DEFAULT 0,
    refunded_minor     bigint      NOT NULL DEFAULT 0,
    status             text        NOT NULL DEFAULT 'processing',
    failure            text,
    reason             text,
    note               text,
    version            bigint      NOT NULL DEFAULT 0,
    initiated_at       timestamptz NOT NULL,
    completed_at       timestamptz,
    CONSTRAINT refund_pk PRIMARY KEY (business_id, id),
    CONSTRAINT refund_one_reference UNIQUE (business_id, reference),
    CONSTRAINT refund_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT refund_collection_fk FOREIGN KEY (business_id, collection_id) REFERENCES collection (business_id, id),
    CONSTRAINT refund_is_of_one_thing CHECK ((payment_id IS NULL) <> (collection_id IS NULL)),
    CONSTRAINT refund_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT refund_returns_a_fee_within_it
        CHECK (fee_returned_minor >= 0 AND vat_returned_minor >= 0
               AND fee_returned_minor + vat_returned_minor <= amount_minor),
    CONSTRAINT refund_status_is_known CHECK (status IN ('processing', 'successful', 'failed')),
    CONSTRAINT refund_ends_once CHECK ((status = 'processing') = (completed_at IS NULL))
);
COMMENT ON TABLE refund IS 'Money that a merchant gives back. Its wallet was debited when it began, and is credited with what did not go through.';
COMMENT ON COLUMN refund.reason IS 'For the customer.';
COMMENT ON COLUMN refund.note IS 'For the merchant.';
COMMENT ON COLUMN refund.refunded_minor IS 'What has arrived.';
CREATE INDEX refund_of_payment ON refund (business_id, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX refund_of_collection ON refund (business_id, collection_id, id) WHERE collection_id IS NOT NULL;
CREATE INDEX refund_not_successful ON refund (business_id, status, id) WHERE status <> 'successful';

CREATE TABLE refund_leg (
    business_id    text        NOT NULL,
    reference      text        NOT NULL,
    refund_id      bigint      NOT NULL,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    fee_minor      bigint      NOT NULL DEFAULT 0,
    vat_minor      bigint      NOT NULL DEFAULT 0,
    status         text        NOT NULL DEFAULT 'processing',
    failure        text,
    sent_as        text,
    asks           integer     NOT NULL DEFAULT 0,
    next_ask_at    timestamptz,
    lease_until    timestamptz,
    lease_token    text,
    completed_at   timestamptz,
    CONSTRAINT refund_leg_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT refund_leg_refund_fk FOREIGN KEY (business_id, refund_id) REFERENCES refund (business_id, id),
    CONSTRAINT refund_leg_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT refund_leg_status_is_known CHECK (status IN ('processing', 'successful', 'failed')),
    CONSTRAINT refund_leg_is_asked_while_it_runs CHECK ((status = 'processing') = (next_ask_at IS NOT NULL))
);
COMMENT ON TABLE refund_leg IS 'The part of a refund that goes back by the way one transfer came; a payment may have come in several.';
COMMENT ON COLUMN refund_leg.fee_minor IS 'Its share of the fee that the merchant gets back.';
COMMENT ON COLUMN refund_leg.transaction_id IS 'Of the money that had come in; `sent_as` is that of the money that went out.';
CREATE INDEX refund_leg_of_refund ON refund_leg (business_id, refund_id);
CREATE INDEX refund_leg_of_transaction ON refund_leg (business_id, rail, transaction_id);
CREATE INDEX refund_leg_to_ask ON refund_leg (next_ask_at) WHERE next_ask_at IS NOT NULL;

ALTER TABLE money_return ADD COLUMN sent_as text;
COMMENT ON COLUMN money_return.sent_as IS 'The rail''s own identifier of the money that went back; `transaction_id` is of what had come in.';

-- Numbers of a wallet's journals rise with time, so its first entry of a day is found by halving, without an index that
-- every payment would pay for.
CREATE FUNCTION first_wallet_journal(p_business_id text, p_currency text, p_moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_low    bigint;
    v_high   bigint;
    v_middle bigint;
    v_found  bigint;
    v_at     timestamptz;
BEGIN
    SELECT min(journal_id), max(journal_id) + 1 INTO v_low, v_high FROM entry
     WHERE business_id = p_business_id AND account = 'wallet' AND currency = p_currency;
    WHILE v_low < v_high LOOP
        v_middle := v_low + (v_high - v_low) / 2;
        SELECT journal_id INTO v_found FROM entry
         WHERE business_id = p_business_id AND account = 'wallet' AND currency = p_currency AND journal_id >= v_middle
         ORDER BY journal_id LIMIT 1;
        -- A question of its own: joined, the planner may read every journal from there on.
        SELECT created_at INTO v_at FROM journal WHERE business_id = p_business_id AND id = v_found;
        IF v_found IS NULL OR v_at >= p_moment THEN
            v_high := v_middle;
        ELSE
            v_low := v_found + 1;
        END IF;
    END LOOP;
    RETURN v_low;
END
$$;
COMMENT ON FUNCTION first_wallet_journal IS 'Where the entries of a wallet at that moment, or after it, begin; NULL when it has none.';

GRANT SELECT, INSERT, UPDATE ON refund, refund_leg TO tidegate_app;

-- As before, and the refunds.
CREATE OR REPLACE FUNCTION reset_sandbox(p_business_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM deployment WHERE mode = 'sandbox') THEN
        RAISE EXCEPTION 'only a sandbox is emptied' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('tidegate.is_resetting', 'yes', true);
    UPDATE webhook_turn
       SET look_at = NULL, failures = 0, failing_since = NULL, openings = 0, open_until = NULL
     WHERE business_id = p_business_id;
    DELETE FROM webhook_attempt WHERE business_id = p_business_id;
    DELETE FROM webhook_delivery WHERE business_id = p_business_id;
    -- The sandbox's rail puts the business into the identifiers of what it tells.
    DELETE FROM notification WHERE rail = 'sandbox' AND position(p_business_id IN id) > 0;
    DELETE FROM event WHERE business_id = p_business_id;
    DELETE FROM money_return WHERE business_id = p_business_id;
    DELETE FROM refund_leg WHERE business_id = p_business_id;
    DELETE FROM refund WHERE business_id = p_business_id;
    DELETE FROM credit_reversal
     WHERE account_number IN (SELECT account_number FROM virtual_account WHERE business_id = p_business_id);
    DELETE FROM collection WHERE business_id = p_business_id;
    DELETE FROM collection_tally WHERE business_id = p_business_id;
    DELETE FROM receipt WHERE business_id = p_business_id;
    DELETE FROM attempt WHERE business_id = p_business_id;
    DELETE FROM idempotency_key WHERE business_id = p_business_id;
    DELETE FROM payment WHERE business_id = p_business_id;
    DELETE FROM journal_to_link WHERE business_id = p_business_id;
    DELETE FROM journal_link WHERE business_id = p_business_id;
    DELETE FROM entry WHERE business_id = p_business_id;
    DELETE FROM journal WHERE business_id = p_business_id;
    DELETE FROM wallet WHERE business_id = p_business_id;
    PERFORM set_config('tidegate.is_resetting', 'no', true);
END
$$;
