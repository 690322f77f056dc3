-- The money engine: attempts, what rails tell, receipts, returns, events, fees of a business's own, variance.

CREATE TABLE deployment (
    only_row boolean CONSTRAINT deployment_pk PRIMARY KEY DEFAULT true,
    mode     text    NOT NULL,
    -- 256 bits of the database's own randomness, the same for every process.
    secret   bytea   NOT NULL DEFAULT sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea),
    CONSTRAINT deployment_has_one_row CHECK (only_row),
    CONSTRAINT deployment_mode_is_known CHECK (mode IN ('sandbox', 'live'))
);
COMMENT ON TABLE deployment IS 'The mode this database belongs to, set once: test money never meets real money.';

CREATE TABLE sandbox_clock (
    only_row  boolean  CONSTRAINT sandbox_clock_pk PRIMARY KEY DEFAULT true,
    ahead     interval NOT NULL DEFAULT '0',
    CONSTRAINT sandbox_clock_has_one_row CHECK (only_row),
    CONSTRAINT sandbox_clock_never_goes_back CHECK (ahead >= '0')
);
COMMENT ON TABLE sandbox_clock IS 'How far the sandbox''s clock is ahead of the real one.';
INSERT INTO sandbox_clock DEFAULT VALUES;

ALTER TABLE business
    ADD COLUMN variance_policy text NOT NULL DEFAULT 'accept',
    ADD COLUMN variance_tolerance_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT business_variance_policy_is_known CHECK (variance_policy IN ('accept', 'top_up', 'return')),
    ADD CONSTRAINT business_tolerance_is_not_negative CHECK (variance_tolerance_minor >= 0);

CREATE TABLE fee_rule (
    business_id      text        NOT NULL CONSTRAINT fee_rule_business_fk REFERENCES business (id),
    id               bigint      GENERATED ALWAYS AS IDENTITY,
    currency         text        NOT NULL,
    method           text        NOT NULL,
    basis_points     integer     NOT NULL,
    vat_basis_points integer     NOT NULL,
    fixed_minor      bigint      NOT NULL,
    cap_minor        bigint,
    created_at       timestamptz NOT NULL,
    ended_at         timestamptz,
    CONSTRAINT fee_rule_pk PRIMARY KEY (business_id, id),
    CONSTRAINT fee_rule_takes_no_more_than_all CHECK (basis_points BETWEEN 0 AND 10000),
    CONSTRAINT fee_rule_vat_is_a_share CHECK (vat_basis_points BETWEEN 0 AND 10000),
    CONSTRAINT fee_rule_gives_nothing CHECK (fixed_minor >= 0 AND cap_minor >= 0)
);
COMMENT ON TABLE fee_rule IS 'Prices of a business''s own. Never changed, only ended: payments remember the rule that priced them.';
CREATE UNIQUE INDEX fee_rule_one_at_a_time ON fee_rule (business_id, currency, method) WHERE ended_at IS NULL;
CREATE TRIGGER fee_rule_moves_the_epoch AFTER INSERT OR UPDATE OR DELETE ON fee_rule
    FOR EACH STATEMENT EXECUTE FUNCTION credential_epoch_moves();

ALTER TABLE payment
    ADD COLUMN version        bigint NOT NULL DEFAULT 0,
    ADD COLUMN attempts       integer NOT NULL DEFAULT 0,
    ADD COLUMN held_minor     bigint NOT NULL DEFAULT 0,
    ADD COLUMN returned_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN fee_minor      bigint,
    ADD COLUMN vat_minor      bigint,
    ADD COLUMN settled_minor  bigint,
    ADD COLUMN method         text,
    ADD COLUMN paid_at        timestamptz,
    ADD COLUMN ending         text,
    ADD CONSTRAINT payment_holds_no_less_than_nothing CHECK (held_minor >= 0 AND returned_minor >= 0),
    ADD CONSTRAINT payment_success_is_complete CHECK (
        (status = 'success')
        = (fee_minor IS NOT NULL AND vat_minor IS NOT NULL AND settled_minor IS NOT NULL AND paid_at IS NOT NULL
           AND method IS NOT NULL)),
    ADD CONSTRAINT payment_settles_what_it_received CHECK (received_minor = settled_minor + fee_minor + vat_minor);
COMMENT ON COLUMN payment.version IS 'Counts changes: a change is written only over the state it was decided on.';
COMMENT ON COLUMN payment.held_minor IS 'Part payments that wait for the rest.';
CREATE INDEX payment_to_expire ON payment (expires_at) WHERE status IN ('initiated', 'pending');

CREATE INDEX payment_ended_with_money_held ON payment (expires_at)
    WHERE held_minor > 0 AND status IN ('failed', 'expired');

CREATE TABLE attempt (
    business_id    text        NOT NULL,
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    payment_id     bigint      NOT NULL,
    number         integer     NOT NULL,
    reference      text        NOT NULL,
    rail           text        NOT NULL,
    method         text        NOT NULL,
    status         text        NOT NULL,
    expected_minor bigint      NOT NULL,
    fee_rule_id    text        NOT NULL,
    action         jsonb,
    details        jsonb       NOT NULL DEFAULT '{}',
    account_id     text,
    account_number text,
    failure        text,
    expires_at     timestamptz,
    asks           integer     NOT NULL DEFAULT 0,
    next_ask_at    timestamptz,
    lease_until    timestamptz,
    lease_token    text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT attempt_pk PRIMARY KEY (business_id, id),
    CONSTRAINT attempt_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT attempt_one_reference UNIQUE (business_id, reference),
    CONSTRAINT attempt_one_number UNIQUE (business_id, payment_id, number),
    CONSTRAINT attempt_status_is_known
        CHECK (status IN ('starting', 'waiting', 'running', 'succeeded', 'failed', 'replaced', 'expired'))
);
COMMENT ON TABLE attempt IS 'One try to pay, on one rail. Nothing of a card is kept but brand, first six and last four.';
CREATE UNIQUE INDEX attempt_one_open_per_payment ON attempt (business_id, payment_id)
    WHERE status IN ('starting', 'waiting', 'running');
CREATE UNIQUE INDEX attempt_one_success_per_payment ON attempt (business_id, payment_id) WHERE status = 'succeeded';
-- The bank names an account, not a business.
CREATE UNIQUE INDEX attempt_one_account_number ON attempt (account_number) WHERE account_number IS NOT NULL;
CREATE INDEX attempt_to_close ON attempt (expires_at) WHERE status = 'waiting' AND account_number IS NOT NULL;
CREATE INDEX attempt_to_ask ON attempt (next_ask_at) WHERE next_ask_at IS NOT NULL;

CREATE TABLE notification (
    rail        text        NOT NULL,
    id          text        NOT NULL,
    state       text        NOT NULL,
    body        bytea       NOT NULL,
    note        text,
    received_at timestamptz NOT NULL,
    CONSTRAINT notification_pk PRIMARY KEY (rail, id),
    CONSTRAINT notification_state_is_known CHECK (state IN ('done', 'suspense', 'quarantined'))
);
COMMENT ON TABLE notification IS 'What rails told us, byte for byte, each acted on once. Quarantined ones contradict what was told before.';
CREATE INDEX notification_to_look_at ON notification (received_at) WHERE state <> 'done';

CREATE TABLE receipt (
    business_id    text        NOT NULL CONSTRAINT receipt_business_fk REFERENCES business (id),
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    payment_id     bigint,
    attempt_id     bigint,
    account_number text,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    taken          text        NOT NULL,
    reason         text,
    payer          jsonb       NOT NULL DEFAULT '{}',
    created_at     timestamptz NOT NULL,
    CONSTRAINT receipt_pk PRIMARY KEY (business_id, id),
    CONSTRAINT receipt_one_per_transaction UNIQUE (business_id, rail, transaction_id),
    CONSTRAINT receipt_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT receipt_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT receipt_taken_is_known CHECK (taken IN ('settled', 'held', 'returned', 'suspense'))
);
COMMENT ON TABLE receipt IS 'Money that arrived, and what was done with it. Nothing received is ever unrecorded.';
CREATE INDEX receipt_of_payment ON receipt (business_id, payment_id);

CREATE TABLE money_return (
    business_id    text        NOT NULL,
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    reference      text        NOT NULL,
    payment_id     bigint,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    reason         text        NOT NULL,
    status         text        NOT NULL DEFAULT 'asked',
    next_try_at    timestamptz,
    lease_until    timestamptz,
    lease_token    text,
    asked_at       timestamptz NOT NULL,
    confirmed_at   timestamptz,
    CONSTRAINT money_return_pk PRIMARY KEY (business_id, id),
    CONSTRAINT money_return_one_reference UNIQUE (business_id, reference),
    CONSTRAINT money_return_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT money_return_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT money_return_status_is_known CHECK (status IN ('asked', 'sent', 'confirmed'))
);
COMMENT ON TABLE money_return IS 'Money on its way back to the payer: asked for, sent to the rail, confirmed by it.';
CREATE INDEX money_return_to_send ON money_return (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX money_return_of_payment ON money_return (business_id, payment_id);

CREATE TABLE event (
    business_id text        NOT NULL CONSTRAINT event_business_fk REFERENCES business (id),
    id          text        NOT NULL,
    type        text        NOT NULL,
    cause       text        NOT NULL,
    payload     bytea       NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT event_pk PRIMARY KEY (business_id, id),
    CONSTRAINT event_one_per_cause UNIQUE (business_id, type, cause)
);
COMMENT ON TABLE event IS 'What merchants are told, written in the transaction of the change and sent unchanged.';

-- A change decided on an older state of its payment must undo everything it has written with it.
CREATE FUNCTION refuse_stale_change() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the payment has changed meanwhile' USING ERRCODE = 'TG001';
END
$$;

GRANT SELECT ON deployment TO tidegate_app;
GRANT SELECT, UPDATE ON sandbox_clock TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON fee_rule, attempt, money_return TO tidegate_app;
GRANT SELECT, INSERT ON notification, receipt, event TO tidegate_app;

-- The sandbox may be emptied; a live ledger never. Which of the two this is was settled when it was made.
CREATE OR REPLACE FUNCTION ledger_refuses_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('tidegate.is_resetting', true) = 'yes'
       AND EXISTS (SELECT FROM deployment WHERE mode = 'sandbox') THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only; a mistake is mended by another journal', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'ledger_is_append_only', TABLE = TG_TABLE_NAME;
END
$$;

CREATE FUNCTION reset_sandbox(p_business_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM deployment WHERE mode = 'sandbox') THEN
        RAISE EXCEPTION 'only a sandbox is emptied' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('tidegate.is_resetting', 'yes', true);
    -- The sandbox's rail puts the business into the identifiers of what it tells.
    DELETE FROM notification WHERE rail = 'sandbox' AND position(p_business_id IN id) > 0;
    DELETE FROM event WHERE business_id = p_business_id;
    DELETE FROM money_return WHERE business_id = p_business_id;
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
