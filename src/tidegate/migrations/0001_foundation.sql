-- Businesses, their keys, checkout payments, and the answers kept for repeated requests.
--
-- business_id leads every primary key and every unique index of a tenant's table, so that the same schema
-- can be sharded by business. The exceptions are `business` itself and the two look-ups that must find a
-- business first: by the hash of a secret key and by the short code inside a pay code.

DO $$
BEGIN
    CREATE ROLE tidegate_app NOLOGIN;
EXCEPTION
    -- Roles belong to the whole server; another database, or another process, was here first.
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
-- The service logs in as whoever owns the schema and drops to this role on every connection.
DO $$
BEGIN
    EXECUTE format('GRANT tidegate_app TO %I', current_user);
EXCEPTION
    WHEN OTHERS THEN
        -- A superuser needs no membership, and two databases migrated at once may collide here.
        IF NOT pg_has_role(current_user, 'tidegate_app', 'MEMBER') THEN RAISE; END IF;
END
$$;

CREATE TABLE migration (
    version     integer     CONSTRAINT migration_pk PRIMARY KEY,
    name        text        NOT NULL,
    checksum    text        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE migration IS 'Which migrations were applied, when, and the hash of the file that was run.';

CREATE TABLE business (
    id              text        CONSTRAINT business_pk PRIMARY KEY,
    number          bigint      GENERATED ALWAYS AS IDENTITY,
    code            text        NOT NULL CONSTRAINT business_one_code UNIQUE,
    name            text        NOT NULL,
    email           text        NOT NULL,
    status          text        NOT NULL DEFAULT 'active',
    rate_per_second integer     NOT NULL DEFAULT 50,
    rate_burst      integer     NOT NULL DEFAULT 100,
    session_minutes integer     NOT NULL DEFAULT 120,
    redirect_hosts  text[]      NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CONSTRAINT business_id_is_24_hex CHECK (id ~ '^[0-9a-f]{24}$'),
    CONSTRAINT business_status_is_known CHECK (status IN ('active', 'suspended')),
    CONSTRAINT business_rate_is_positive CHECK (rate_per_second BETWEEN 1 AND 100000 AND rate_burst BETWEEN 1 AND 100000),
    CONSTRAINT business_session_is_15_minutes_to_a_day CHECK (session_minutes BETWEEN 15 AND 1440)
);
COMMENT ON TABLE business IS 'A merchant and its settings. `number` is internal: it picks the slot of the rate limit.';

CREATE TABLE credential (
    business_id text        NOT NULL CONSTRAINT credential_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    kind        text        NOT NULL,
    key_hash    bytea       NOT NULL CONSTRAINT credential_one_hash UNIQUE,
    public_key  text,
    last_four   text        NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    CONSTRAINT credential_pk PRIMARY KEY (business_id, id),
    CONSTRAINT credential_kind_is_known CHECK (kind IN ('secret', 'public')),
    CONSTRAINT credential_shows_only_public_keys CHECK ((kind = 'public') = (public_key IS NOT NULL)),
    CONSTRAINT credential_hash_is_sha256 CHECK (octet_length(key_hash) = 32)
);
COMMENT ON TABLE credential IS 'API keys. Secret keys are kept as SHA-256 only; expires_at is set on the old one during a roll.';

CREATE TABLE credential_epoch (
    only_row boolean CONSTRAINT credential_epoch_pk PRIMARY KEY DEFAULT true,
    epoch    bigint  NOT NULL DEFAULT 0,
    CONSTRAINT credential_epoch_has_one_row CHECK (only_row)
);
COMMENT ON TABLE credential_epoch IS 'Counts changes of businesses and keys; every process watches it to drop what it remembers.';
INSERT INTO credential_epoch DEFAULT VALUES;

CREATE FUNCTION credential_epoch_moves() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE credential_epoch SET epoch = epoch + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER business_moves_the_epoch AFTER INSERT OR UPDATE OR DELETE ON business
    FOR EACH STATEMENT EXECUTE FUNCTION credential_epoch_moves();
CREATE TRIGGER credential_moves_the_epoch AFTER INSERT OR UPDATE OR DELETE ON credential
    FOR EACH STATEMENT EXECUTE FUNCTION credential_epoch_moves();

CREATE TABLE payment (
    business_id        text        NOT NULL CONSTRAINT payment_business_fk REFERENCES business (id),
    id                 bigint      GENERATED ALWAYS AS IDENTITY,
    pay_code           text        NOT NULL,
    reference          text        NOT NULL,
    status             text        NOT NULL DEFAULT 'initiated',
    variance           text,
    currency           text        NOT NULL,
    asked_minor        bigint      NOT NULL,
    expected_minor     bigint      NOT NULL,
    received_minor     bigint      NOT NULL DEFAULT 0,
    fee_bearer         text        NOT NULL,
    fee_rule_id        text        NOT NULL,
    methods            text[]      NOT NULL,
    default_method     text        NOT NULL,
    customer_name      text        NOT NULL,
    customer_email     text        NOT NULL,
    customer_phone     text,
    redirect_url       text,
    success_message    text,
    metadata           json,
    is_disabled        boolean     NOT NULL DEFAULT false,
    request_hash       bytea       NOT NULL,
    expires_at         timestamptz NOT NULL,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT payment_pk PRIMARY KEY (business_id, id),
    CONSTRAINT payment_one_reference_per_business UNIQUE (business_id, reference),
    CONSTRAINT payment_one_pay_code UNIQUE (business_id, pay_code),
    CONSTRAINT payment_status_is_known
        CHECK (status IN ('initiated', 'pending', 'processing', 'success', 'failed', 'expired')),
    CONSTRAINT payment_variance_is_known CHECK (variance IN ('underpayment', 'overpayment')),
    CONSTRAINT payment_fee_bearer_is_known CHECK (fee_bearer IN ('business', 'customer')),
    CONSTRAINT payment_asks_for_money CHECK (asked_minor > 0 AND expected_minor >= asked_minor),
    CONSTRAINT payment_receives_no_less_than_nothing CHECK (received_minor >= 0)
);
COMMENT ON TABLE payment IS 'A checkout payment. `reference` is the merchant''s, or the pay code when it gave none.';
COMMENT ON COLUMN payment.metadata IS 'json, not jsonb: numbers and order stay as the merchant sent them.';

CREATE TABLE idempotency_key (
    business_id  text        NOT NULL CONSTRAINT idempotency_key_business_fk REFERENCES business (id),
    key          text        NOT NULL,
    request_hash bytea       NOT NULL,
    status       integer     NOT NULL,
    body         bytea       NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (business_id, key),
    CONSTRAINT idempotency_key_keeps_successes CHECK (status BETWEEN 200 AND 299)
);
COMMENT ON TABLE idempotency_key IS 'Answers given under an Idempotency-Key, kept 30 days to be given again.';
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);

GRANT SELECT ON migration TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON business, credential TO tidegate_app;
GRANT SELECT ON credential_epoch TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON payment TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON idempotency_key TO tidegate_app;
