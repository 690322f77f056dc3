-- Virtual accounts in USD and EUR, what arrives on them, and the rates at which it is converted.

CREATE TABLE virtual_account (
    business_id              text        NOT NULL CONSTRAINT virtual_account_business_fk REFERENCES business (id),
    id                       text        NOT NULL,
    version                  bigint      NOT NULL DEFAULT 0,
    status                   text        NOT NULL DEFAULT 'pending',
    is_suspended             boolean     NOT NULL DEFAULT false,
    currency                 text        NOT NULL,
    settlement_currency      text        NOT NULL,
    account_type             text        NOT NULL,
    holder                   text        NOT NULL,
    merchant_reference       text,
    kyc                      json        NOT NULL,
    documents                jsonb       NOT NULL DEFAULT '[]',
    monthly_volume           text,
    entity_name              text,
    payment_flow_description text,
    metadata                 json,
    note                     text,
    reason                   text,
    rail                     text,
    account_number           text,
    details                  jsonb,
    expires_at               timestamptz,
    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL,
    CONSTRAINT virtual_account_pk PRIMARY KEY (business_id, id),
    CONSTRAINT virtual_account_id_is_24_hex CHECK (id ~ '^[0-9a-f]{24}$'),
    CONSTRAINT virtual_account_one_merchant_reference UNIQUE (business_id, merchant_reference),
    CONSTRAINT virtual_account_status_is_known
        CHECK (status IN ('pending', 'approved', 'declined', 'expired', 'closed')),
    CONSTRAINT virtual_account_type_is_known CHECK (account_type IN ('individual', 'corporate')),
    -- A number that was once given out is never anybody else's, so it stays with an account that has ended.
    CONSTRAINT virtual_account_has_details_once_approved
        CHECK (status NOT IN ('approved', 'expired')
               OR (rail IS NOT NULL AND account_number IS NOT NULL AND details IS NOT NULL)),
    CONSTRAINT virtual_account_is_suspended_while_approved CHECK (NOT is_suspended OR status = 'approved')
);
COMMENT ON TABLE virtual_account IS 'Accounts that a business asked for, to receive USD or EUR by bank transfer. They hold nothing: what arrives is the wallet''s at once.';
COMMENT ON COLUMN virtual_account.holder IS 'The name that payers must type.';
COMMENT ON COLUMN virtual_account.account_number IS 'As the rail names it when money arrives.';
-- The bank names an account, not a business.
CREATE UNIQUE INDEX virtual_account_one_number ON virtual_account (account_number) WHERE account_number IS NOT NULL;
-- Operators know accounts by their ids.
CREATE INDEX virtual_account_by_id ON virtual_account (id);
CREATE INDEX virtual_account_by_time ON virtual_account (business_id, created_at, id);
CREATE INDEX virtual_account_to_decide ON virtual_account (created_at) WHERE status = 'pending';
CREATE INDEX virtual_account_to_expire ON virtual_account (expires_at)
    WHERE status = 'approved' AND expires_at IS NOT NULL;

CREATE TABLE exchange_rate (
    id                  bigint      CONSTRAINT exchange_rate_pk PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    base                text        NOT NULL,
    quote               text        NOT NULL,
    rate                numeric     NOT NULL,
    spread_basis_points integer     NOT NULL,
    source              text        NOT NULL,
    quoted_at           timestamptz NOT NULL,
    created_at          timestamptz NOT NULL,
    CONSTRAINT exchange_rate_is_of_two_currencies CHECK (base <> quote),
    CONSTRAINT exchange_rate_is_positive CHECK (rate > 0 AND rate < 'Infinity'),
    CONSTRAINT exchange_rate_spread_is_a_share CHECK (spread_basis_points BETWEEN 0 AND 9999)
);
COMMENT ON TABLE exchange_rate IS 'What one unit of `base` was worth in `quote`, since when, and who said so. Never changed: inflows remember the rate they had.';
CREATE INDEX exchange_rate_newest ON exchange_rate (base, quote, quoted_at DESC, id DESC);

-- Milliseconds since 2020 and a serial number: the key is also the order of time, and no larger than a JavaScript
-- number holds exactly, until 2089.
CREATE SEQUENCE collection_serial MINVALUE 0 MAXVALUE 4095 CYCLE;

CREATE FUNCTION first_collection_id(p_moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(ceil(extract(epoch FROM p_moment) * 1000)::bigint - 1577836800000, 0) << 12
$$;
COMMENT ON FUNCTION first_collection_id IS 'Where the inflows recorded at that moment, or after it, begin.';

CREATE FUNCTION new_collection_id(p_now timestamptz) RETURNS bigint LANGUAGE sql AS $$
    SELECT ((floor(extract(epoch FROM p_now) * 1000)::bigint - 1577836800000) << 12) | nextval('collection_serial')
$$;

CREATE TABLE collection (
    business_id          text        NOT NULL,
    id                   bigint      NOT NULL,
    reference            text        NOT NULL,
    version              bigint      NOT NULL DEFAULT 0,
    account_id           text        NOT NULL,
    merchant_reference   text,
    status               text        NOT NULL,
    reason               text,
    note                 text,
    source_currency      text        NOT NULL,
    source_minor         bigint      NOT NULL,
    destination_currency text        NOT NULL,
    destination_minor    bigint,
    fee_minor            bigint,
    vat_minor            bigint,
    credited_minor       bigint,
    fee_rule_id          text,
    rate                 numeric,
    rate_source          text,
    rate_quoted_at       timestamptz,
    spread_minor         bigint,
    rail                 text        NOT NULL,
    transaction_id       text        NOT NULL,
    payer                jsonb       NOT NULL DEFAULT '{}',
    payee_name           text,
    scheme               text        NOT NULL,
    remittance           text,
    valued_at            timestamptz NOT NULL,
    name_check           jsonb       NOT NULL,
    owed_minor           bigint      NOT NULL DEFAULT 0,
    return_reference     text,
    return_asked_at      timestamptz,
    return_confirmed_at  timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    CONSTRAINT collection_pk PRIMARY KEY (business_id, id),
    CONSTRAINT collection_account_fk FOREIGN KEY (business_id, account_id) REFERENCES virtual_account (business_id, id),
    CONSTRAINT collection_one_reference UNIQUE (business_id, reference),
    CONSTRAINT collection_one_per_transaction UNIQUE (business_id, rail, transaction_id),
    CONSTRAINT collection_is_of_money CHECK (source_minor > 0),
    CONSTRAINT collection_owes_no_less_than_nothing CHECK (owed_minor >= 0),
    CONSTRAINT collection_status_is_known CHECK (status IN ('pending', 'successful', 'reversed', 'failed')),
    CONSTRAINT collection_success_is_complete CHECK (
        status <> 'successful'
        OR (destination_minor IS NOT NULL AND fee_minor IS NOT NULL AND vat_minor IS NOT NULL
            AND credited_minor IS NOT NULL AND fee_rule_id IS NOT NULL)),
    CONSTRAINT collection_credits_what_it_received
        CHECK (destination_minor = credited_minor + fee_minor + vat_minor),
    CONSTRAINT collection_has_a_reason_unless_it_succeeds CHECK (status = 'successful' OR reason IS NOT NULL),
    CONSTRAINT collection_is_converted_at_a_rate CHECK (
        destination_minor IS NULL OR (source_currency <> destination_currency) = (rate IS NOT NULL))
) WITH (fillfactor = 90);
COMMENT ON TABLE collection IS 'What arrived on virtual accounts, and what was done with it: credited, held, or sent back.';
COMMENT ON COLUMN collection.name_check IS 'Step by step how the name the payer typed was compared with the holder''s.';
COMMENT ON COLUMN collection.owed_minor IS 'Taken back by the bank when the wallet no longer held it, and not yet collected from the merchant; in the wallet''s currency.';
COMMENT ON COLUMN collection.destination_minor IS 'What arrived, in the wallet''s currency, before the fee.';
CREATE INDEX collection_of_account ON collection (business_id, account_id, id);
CREATE INDEX collection_by_currency ON collection (business_id, destination_currency, id);
CREATE INDEX collection_not_successful ON collection (business_id, status, id) WHERE status <> 'successful';
CREATE INDEX collection_of_currency_not_successful ON collection (business_id, destination_currency, status, id)
    WHERE status <> 'successful';
CREATE INDEX collection_of_account_not_successful ON collection (business_id, account_id, status, id)
    WHERE status <> 'successful';
CREATE INDEX collection_that_owes ON collection (id) WHERE owed_minor > 0;
CREATE INDEX collection_to_review ON collection (id) WHERE status = 'pending';

CREATE TABLE collection_tally (
    business_id          text   NOT NULL,
    account_id           text   NOT NULL,
    day                  date   NOT NULL,
    destination_currency text   NOT NULL,
    status               text   NOT NULL,
    count                bigint NOT NULL,
    CONSTRAINT collection_tally_pk PRIMARY KEY (business_id, account_id, day, destination_currency, status),
    CONSTRAINT collection_tally_counts_from_zero CHECK (count >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE collection_tally IS 'How many inflows there are, so that a total costs the same however many. Account '''' is all accounts, day -infinity is all days; days are UTC.';

CREATE FUNCTION collection_is_counted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    -- In the order of the key, and after the wallet: nobody waits for one another in a circle.
    INSERT INTO collection_tally AS tally (business_id, account_id, day, destination_currency, status, count)
    SELECT NEW.business_id, place.account_id, place.day, NEW.destination_currency, change.status, change.count
      FROM (VALUES ('', date '-infinity'), ('', (NEW.created_at AT TIME ZONE 'UTC')::date),
                   (NEW.account_id, date '-infinity'), (NEW.account_id, (NEW.created_at AT TIME ZONE 'UTC')::date))
           AS place (account_id, day)
     CROSS JOIN (SELECT NEW.status AS status, 1 AS count
                  UNION ALL
                 -- One less; there is a row for it, and a row of -1 would be refused before it is found.
                 SELECT OLD.status, 0 WHERE TG_OP = 'UPDATE') AS change
     ORDER BY place.account_id, place.day, change.status
        ON CONFLICT ON CONSTRAINT collection_tally_pk DO UPDATE
       SET count = tally.count + CASE excluded.count WHEN 0 THEN -1 ELSE 1 END;
    RETURN NULL;
END
$$;
CREATE TRIGGER collection_is_counted_when_it_comes AFTER INSERT ON collection
    FOR EACH ROW EXECUTE FUNCTION collection_is_counted();
CREATE TRIGGER collection_is_counted_when_it_changes AFTER UPDATE OF status ON collection
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION collection_is_counted();

CREATE TABLE credit_reversal (
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    reversal_id    text        NOT NULL,
    account_number text        NOT NULL,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    reason         text        NOT NULL,
    created_at     timestamptz NOT NULL,
    applied_at     timestamptz,
    CONSTRAINT credit_reversal_pk PRIMARY KEY (rail, account_number, transaction_id),
    CONSTRAINT credit_reversal_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE credit_reversal IS 'Credits that a bank took back. One that comes before its credit waits here.';
CREATE INDEX credit_reversal_to_apply ON credit_reversal (created_at) WHERE applied_at IS NULL;

-- The temporary accounts of checkouts are asked for by their ids too.
CREATE INDEX attempt_by_account ON attempt (business_id, account_id) WHERE account_id IS NOT NULL;

ALTER TABLE money_return
    ADD COLUMN collection_id bigint,
    ADD CONSTRAINT money_return_collection_fk
        FOREIGN KEY (business_id, collection_id) REFERENCES collection (business_id, id);

ALTER TABLE journal DROP CONSTRAINT journal_kind_is_known;
ALTER TABLE journal ADD CONSTRAINT journal_kind_is_known CHECK (kind IN (
    'checkout_settled', 'inflow_credited', 'inflow_converted', 'receipt_held', 'receipt_unclaimed',
    'held_settled', 'held_converted', 'held_returning', 'receipt_returning', 'return_done',
    'refund_started', 'refund_done', 'refund_failed', 'credit_reversed', 'held_reversed', 'debt_collected')) NOT VALID;
ALTER TABLE journal VALIDATE CONSTRAINT journal_kind_is_known;

CREATE TABLE sandbox_account (
    business_id text        NOT NULL CONSTRAINT sandbox_account_business_fk REFERENCES business (id),
    reference   text        NOT NULL,
    currency    text        NOT NULL,
    holder      text        NOT NULL,
    details     jsonb       NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT sandbox_account_pk PRIMARY KEY (business_id, reference)
);
COMMENT ON TABLE sandbox_account IS 'Permanent accounts that the sandbox''s rail has opened.';

GRANT SELECT, INSERT, UPDATE ON virtual_account, collection, credit_reversal TO tidegate_app;
GRANT SELECT ON collection_tally TO tidegate_app;
GRANT SELECT, INSERT ON exchange_rate TO tidegate_app;
GRANT USAGE ON SEQUENCE collection_serial TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON sandbox_account TO tidegate_app;

-- As before, and the inflows. Accounts are settings, and stay.
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
