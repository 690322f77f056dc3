-- Rails that move real money.


-- Return

ALTER TABLE money_return
    ADD COLUMN failure text,
    DROP CONSTRAINT money_return_status_is_known,
    ADD CONSTRAINT money_return_status_is_known CHECK (status IN ('asked', 'sent', 'confirmed', 'failed')),
    ADD CONSTRAINT money_return_fails_for_a_reason CHECK (status <> 'failed' OR failure IS NOT NULL);
COMMENT ON COLUMN money_return.failure IS 'Why the rail did not return it: an operator decides what to do with the money.';
CREATE INDEX money_return_failed ON money_return (asked_at) WHERE status = 'failed';

COMMENT ON COLUMN credit_reversal.account_number IS 'Empty where the money came without an account, as by card.';


-- Dispute

CREATE TABLE dispute (
    business_id    text        NOT NULL,
    rail           text        NOT NULL,
    id             text        NOT NULL,
    transaction_id text        NOT NULL,
    payment_id     bigint,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    status         text        NOT NULL,
    reason         text        NOT NULL,
    due_at         timestamptz,
    opened_at      timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT dispute_pk PRIMARY KEY (business_id, rail, id),
    CONSTRAINT dispute_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT dispute_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT dispute_status_is_known CHECK (status IN ('open', 'won', 'lost'))
);
COMMENT ON TABLE dispute IS 'Payments that a payer disputes with the bank, as the rail reports them. The money of a lost one is a credit_reversal.';
COMMENT ON COLUMN dispute.due_at IS 'When our answer is due at the rail.';
CREATE INDEX dispute_open ON dispute (due_at) WHERE status = 'open';

GRANT SELECT, INSERT, UPDATE ON dispute TO tidegate_app;


-- Paystack

CREATE TABLE paystack_attempt (
    business_id  text        NOT NULL CONSTRAINT paystack_attempt_business_fk REFERENCES business (id),
    reference    text        NOT NULL,
    currency     text        NOT NULL,
    amount_minor bigint      NOT NULL,
    action       jsonb,
    started_at   timestamptz NOT NULL,
    CONSTRAINT paystack_attempt_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT paystack_attempt_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE paystack_attempt IS 'Attempts given to Paystack; a row is written before the call.';
COMMENT ON COLUMN paystack_attempt.action IS 'What the payer has to do. Paystack does not repeat a page or an account.';

CREATE TABLE paystack_payout (
    business_id           text        NOT NULL CONSTRAINT paystack_payout_business_fk REFERENCES business (id),
    reference             text        NOT NULL,
    kind                  text        NOT NULL,
    transaction_id        text        NOT NULL,
    transaction_reference text,
    refund_id             text,
    tried_at              timestamptz NOT NULL,
    CONSTRAINT paystack_payout_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT paystack_payout_kind_is_known CHECK (kind IN ('return', 'refund'))
);
COMMENT ON TABLE paystack_payout IS 'Refunds and returns requested from Paystack; a row is written before the call. Paystack has no idempotency key: without an id the refund is looked for before it is requested again.';
COMMENT ON COLUMN paystack_payout.transaction_reference IS 'Of the transaction, as Paystack''s notifications name it.';
COMMENT ON COLUMN paystack_payout.refund_id IS 'Paystack''s; none while its answer is not known.';

GRANT SELECT, INSERT, UPDATE ON paystack_attempt TO tidegate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON paystack_payout TO tidegate_app;
