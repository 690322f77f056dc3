-- The sandbox's rail: an outside world of our own. Nothing but the rail itself looks in here.

-- Account numbers and dial codes are made of it. A sequence never goes back, so that no account number is given
-- twice, not even after a business was emptied.
CREATE SEQUENCE sandbox_rail_serial MAXVALUE 999999999 NO CYCLE;

CREATE TABLE sandbox_attempt (
    business_id    text        NOT NULL CONSTRAINT sandbox_attempt_business_fk REFERENCES business (id),
    reference      text        NOT NULL,
    method         text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    currency       text        NOT NULL,
    behaviour      text        NOT NULL,
    transaction_id text        NOT NULL,
    account_number text,
    action         jsonb,
    tries          integer     NOT NULL DEFAULT 0,
    failure        text,
    ends_at        timestamptz,
    started_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT sandbox_attempt_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT sandbox_attempt_one_account_number UNIQUE (business_id, account_number),
    CONSTRAINT sandbox_attempt_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT sandbox_attempt_waits_or_ends CHECK (action IS NOT NULL OR ends_at IS NOT NULL),
    CONSTRAINT sandbox_attempt_fails_at_some_time CHECK (failure IS NULL OR ends_at IS NOT NULL)
);
COMMENT ON TABLE sandbox_attempt IS 'Attempts as the sandbox''s rail sees them. Nothing of a card is kept, only how a test card behaves.';
COMMENT ON COLUMN sandbox_attempt.action IS 'What the payer has to do now.';
COMMENT ON COLUMN sandbox_attempt.ends_at IS 'When it ends by itself or ended: with `failure`, or without one in success.';

CREATE TABLE sandbox_payout (
    business_id         text        NOT NULL CONSTRAINT sandbox_payout_business_fk REFERENCES business (id),
    kind                text        NOT NULL,
    reference           text        NOT NULL,
    paid_transaction_id text        NOT NULL,
    transaction_id      text        NOT NULL,
    amount_minor        bigint      NOT NULL,
    currency            text        NOT NULL,
    reason              text,
    failure             text,
    ends_at             timestamptz NOT NULL,
    created_at          timestamptz NOT NULL,
    CONSTRAINT sandbox_payout_pk PRIMARY KEY (business_id, kind, reference),
    CONSTRAINT sandbox_payout_kind_is_known CHECK (kind IN ('return', 'refund')),
    CONSTRAINT sandbox_payout_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE sandbox_payout IS 'Money the sandbox''s rail was asked to send back: returns and refunds. `paid_transaction_id` is what had come in.';

CREATE TABLE sandbox_notice (
    business_id text        NOT NULL CONSTRAINT sandbox_notice_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    told_id     text        NOT NULL,
    body        bytea       NOT NULL,
    created_at  timestamptz NOT NULL,
    due_at      timestamptz NOT NULL,
    sent_at     timestamptz,
    CONSTRAINT sandbox_notice_pk PRIMARY KEY (business_id, id)
);
COMMENT ON TABLE sandbox_notice IS 'Notifications that the sandbox''s rail sends. Two rows with one `told_id` are the same news told twice.';
COMMENT ON COLUMN sandbox_notice.due_at IS 'Taking a notice moves it on, so that one whose sender died is due again.';
CREATE INDEX sandbox_notice_told ON sandbox_notice (business_id, told_id);
CREATE INDEX sandbox_notice_due_and_not_sent ON sandbox_notice (business_id, due_at) WHERE sent_at IS NULL;

GRANT USAGE ON SEQUENCE sandbox_rail_serial TO tidegate_app;
-- A simulation may be emptied.
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbox_attempt, sandbox_payout, sandbox_notice TO tidegate_app;
