-- The ledger: wallets, journals and their entries, and the chain that makes tampering show.
--
-- An entry is positive when we owe or have earned more (a wallet grows) and negative when somebody owes us more
-- (a rail holds money for us). The entries of a journal sum to zero in each currency.
--
-- Only wallets have a balance row. All other accounts are sums of entries, so that no row is shared by all payments.

-- Money that nobody can be found for still has to be in somebody's books.
INSERT INTO business (id, code, name, email, status, created_at, updated_at)
VALUES ('000000000000000000000000', '00000', 'House', 'house@tidegate.invalid', 'suspended', now(), now());
ALTER TABLE business ADD CONSTRAINT business_house_stays_suspended
    CHECK (id <> '000000000000000000000000' OR status = 'suspended');
ALTER TABLE credential ADD CONSTRAINT credential_is_never_of_the_house
    CHECK (business_id <> '000000000000000000000000');

CREATE TABLE wallet (
    business_id   text        NOT NULL CONSTRAINT wallet_business_fk REFERENCES business (id),
    currency      text        NOT NULL,
    number        bigint      GENERATED ALWAYS AS IDENTITY (START WITH 1000000001),
    balance_minor bigint      NOT NULL DEFAULT 0,
    locked_minor  bigint      NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT wallet_pk PRIMARY KEY (business_id, currency),
    CONSTRAINT wallet_is_never_below_zero CHECK (balance_minor >= 0),
    CONSTRAINT wallet_locks_no_less_than_nothing CHECK (locked_minor >= 0)
);
COMMENT ON TABLE wallet IS 'What we owe a merchant, a row per currency; changed only by post_journal.';
COMMENT ON COLUMN wallet.balance_minor IS 'What can be refunded or paid out now: the sum of the entries on account wallet.';
COMMENT ON COLUMN wallet.locked_minor IS 'What is on its way out: the sum of the entries on account refunds.';

CREATE TABLE journal (
    business_id text        NOT NULL CONSTRAINT journal_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    kind        text        NOT NULL,
    cause       text        NOT NULL,
    event_at    timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT journal_pk PRIMARY KEY (business_id, id),
    CONSTRAINT journal_one_per_cause UNIQUE (business_id, kind, cause),
    CONSTRAINT journal_kind_is_known CHECK (kind IN (
        'checkout_settled', 'inflow_credited', 'inflow_converted', 'receipt_held', 'receipt_unclaimed',
        'held_settled', 'held_converted', 'held_returning', 'receipt_returning', 'return_done',
        'refund_started', 'refund_done', 'refund_failed')),
    CONSTRAINT journal_cause_is_named CHECK (length(cause) BETWEEN 1 AND 200)
);
COMMENT ON TABLE journal IS 'One movement of money, for one cause, for ever. event_at: when it happened outside; created_at: when we booked it.';

CREATE TABLE entry (
    business_id         text    NOT NULL,
    journal_id          bigint  NOT NULL,
    line                integer NOT NULL,
    account             text    NOT NULL,
    currency            text    NOT NULL,
    amount_minor        bigint  NOT NULL,
    balance_after_minor bigint,
    CONSTRAINT entry_pk PRIMARY KEY (business_id, journal_id, line),
    CONSTRAINT entry_journal_fk FOREIGN KEY (business_id, journal_id) REFERENCES journal (business_id, id),
    -- Also the way to a wallet's statement, newest first.
    CONSTRAINT entry_one_line_per_account UNIQUE (business_id, account, currency, journal_id),
    CONSTRAINT entry_account_is_known CHECK (account IN (
        'wallet', 'rail', 'fee', 'vat', 'suspense', 'returns', 'refunds', 'conversion', 'spread', 'rounding')),
    CONSTRAINT entry_moves_something CHECK (amount_minor <> 0),
    CONSTRAINT entry_lines_count_from_one CHECK (line >= 1),
    CONSTRAINT entry_keeps_the_balance_of_wallets CHECK ((account = 'wallet') = (balance_after_minor IS NOT NULL))
);
COMMENT ON TABLE entry IS 'A line of a journal: so much, in or out of one account.';

CREATE TABLE journal_to_link (
    business_id text   NOT NULL,
    journal_id  bigint NOT NULL,
    CONSTRAINT journal_to_link_pk PRIMARY KEY (business_id, journal_id)
);
COMMENT ON TABLE journal_to_link IS 'Journals that the chain has yet to take up, so that finding them costs the same however long the ledger is.';

CREATE TABLE journal_link (
    business_id text   NOT NULL,
    position    bigint NOT NULL,
    journal_id  bigint NOT NULL,
    marks       bytea  NOT NULL,
    hash        bytea  NOT NULL,
    CONSTRAINT journal_link_pk PRIMARY KEY (business_id, position),
    CONSTRAINT journal_link_one_per_journal UNIQUE (business_id, journal_id),
    CONSTRAINT journal_link_journal_fk FOREIGN KEY (business_id, journal_id) REFERENCES journal (business_id, id),
    CONSTRAINT journal_link_positions_count_from_one CHECK (position >= 1),
    CONSTRAINT journal_link_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
COMMENT ON TABLE journal_link IS 'The hash chain of a business: each hash covers the one before it and a whole journal.';
COMMENT ON COLUMN journal_link.marks IS 'Eight bytes for the journal and for each line, to name the one that differs; the proof is the hash.';

CREATE FUNCTION ledger_refuses_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only; a mistake is mended by another journal', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'ledger_is_append_only', TABLE = TG_TABLE_NAME;
END
$$;
CREATE TRIGGER journal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change();
CREATE TRIGGER entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change();
CREATE TRIGGER journal_link_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal_link
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change();

CREATE FUNCTION journal_refuses_imbalance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_is_balanced boolean;
    v_lines       bigint;
BEGIN
    -- Only a journal's last line does the sum. Lines have no gaps, so one that is added later is always the last.
    IF EXISTS (SELECT FROM entry
                WHERE business_id = NEW.business_id AND journal_id = NEW.journal_id AND line > NEW.line) THEN
        RETURN NULL;
    END IF;
    SELECT bool_and(per_currency.total = 0), sum(per_currency.lines) INTO v_is_balanced, v_lines
      FROM (SELECT sum(amount_minor) AS total, count(*) AS lines FROM entry
             WHERE business_id = NEW.business_id AND journal_id = NEW.journal_id GROUP BY currency) AS per_currency;
    IF NOT v_is_balanced OR v_lines <> NEW.line THEN
        RAISE EXCEPTION 'journal %/% does not sum to zero in each currency, or skips a line', NEW.business_id, NEW.journal_id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'journal_sums_to_zero', TABLE = 'entry';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER journal_sums_to_zero AFTER INSERT ON entry DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION journal_refuses_imbalance();

CREATE FUNCTION journal_refuses_emptiness() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM entry WHERE business_id = NEW.business_id AND journal_id = NEW.id) THEN
        RAISE EXCEPTION 'journal %/% has no entries', NEW.business_id, NEW.id
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'journal_has_entries', TABLE = 'journal';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER journal_has_entries AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION journal_refuses_emptiness();

-- Posts a journal and moves the wallets; NULL, and nothing done, when this cause was posted before.
-- One statement that posts several journals must take them in order of currency, or two of them may deadlock.
CREATE FUNCTION post_journal(
    p_business_id text, p_kind text, p_cause text,
    p_accounts text[], p_currencies text[], p_amounts bigint[],
    p_event_at timestamptz, p_now timestamptz
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $$
DECLARE
    v_touched    text[];
    v_found      bigint;
    v_journal_id bigint;
BEGIN
    -- The wallets are locked before the journal gets its number: numbers then rise in the order in which the
    -- balances changed, and a statement in order of number shows balances that follow from one another.
    v_touched := ARRAY(
        SELECT DISTINCT line.currency FROM unnest(p_accounts, p_currencies) AS line (account, currency)
         WHERE line.account IN ('wallet', 'refunds'));
    IF v_touched <> '{}' THEN
        PERFORM FROM wallet WHERE business_id = p_business_id AND currency = ANY (v_touched)
          ORDER BY currency FOR NO KEY UPDATE;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        IF v_found < cardinality(v_touched) THEN
            INSERT INTO wallet (business_id, currency, created_at, updated_at)
            SELECT p_business_id, touched.currency, p_now, p_now FROM unnest(v_touched) AS touched (currency)
             ORDER BY touched.currency
                ON CONFLICT ON CONSTRAINT wallet_pk DO NOTHING;
            PERFORM FROM wallet WHERE business_id = p_business_id AND currency = ANY (v_touched)
              ORDER BY currency FOR NO KEY UPDATE;
        END IF;
    END IF;

    WITH new AS (
        INSERT INTO journal (business_id, kind, cause, event_at, created_at)
        VALUES (p_business_id, p_kind, p_cause, p_event_at, p_now)
        ON CONFLICT ON CONSTRAINT journal_one_per_cause DO NOTHING
        RETURNING id)
    INSERT INTO journal_to_link (business_id, journal_id) SELECT p_business_id, id FROM new
    RETURNING journal_id INTO v_journal_id;
    IF v_journal_id IS NULL THEN
        RETURN NULL;
    END IF;

    WITH line AS (
        SELECT * FROM unnest(p_accounts, p_currencies, p_amounts)
          WITH ORDINALITY AS given (account, currency, amount_minor, line)),
    moved AS (
        UPDATE wallet
           SET balance_minor = wallet.balance_minor + change.balance_minor,
               locked_minor = wallet.locked_minor + change.locked_minor,
               updated_at = p_now
          FROM (SELECT line.currency,
                       coalesce(sum(line.amount_minor) FILTER (WHERE line.account = 'wallet'), 0)::bigint AS balance_minor,
                       coalesce(sum(line.amount_minor) FILTER (WHERE line.account = 'refunds'), 0)::bigint AS locked_minor
                  FROM line WHERE line.account IN ('wallet', 'refunds') GROUP BY line.currency) AS change
         WHERE wallet.business_id = p_business_id AND wallet.currency = change.currency
        RETURNING wallet.currency, wallet.balance_minor)
    INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)
    SELECT p_business_id, v_journal_id, line.line, line.account, line.currency, line.amount_minor,
           CASE WHEN line.account = 'wallet' THEN moved.balance_minor END
      FROM line LEFT JOIN moved USING (currency);
    RETURN v_journal_id;
END
$$;

GRANT SELECT, INSERT ON journal, entry, journal_link TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON journal_to_link TO tidegate_app;
GRANT SELECT, INSERT, UPDATE (balance_minor, locked_minor, updated_at) ON wallet TO tidegate_app;
