-- Account numbers that a rail uses again, statements with exact bounds, and indexes for what is asked all the time.

-- A rail may give a number again once its account has ended; of open accounts each has a number of its own.
DROP INDEX attempt_one_account_number;
CREATE UNIQUE INDEX attempt_one_open_account ON attempt (rail, account_number)
    WHERE account_number IS NOT NULL AND status IN ('starting', 'waiting', 'running');
-- The bank names an account, not a business.
CREATE INDEX attempt_by_account_number ON attempt (rail, account_number, id) WHERE account_number IS NOT NULL;

DROP INDEX virtual_account_one_number;
CREATE UNIQUE INDEX virtual_account_one_open_number ON virtual_account (rail, account_number)
    WHERE account_number IS NOT NULL AND status = 'approved';
CREATE INDEX virtual_account_by_number ON virtual_account (rail, account_number) WHERE account_number IS NOT NULL;

-- The bank names a transaction, not a business.
CREATE INDEX receipt_by_transaction ON receipt (rail, transaction_id);

-- The log of one endpoint, of one event, or of both.
CREATE INDEX webhook_delivery_by_endpoint_and_type ON webhook_delivery (business_id, endpoint_id, event_type, id);

ALTER TABLE wallet ADD COLUMN booked_until timestamptz NOT NULL DEFAULT '-infinity';
COMMENT ON COLUMN wallet.booked_until IS 'No journal of this wallet is booked before this moment any more: that of its newest journal, or the end of a period whose statement was read.';
-- Those of the last moments may have been booked out of order; older ones stay as they are.
UPDATE wallet SET booked_until = greatest(updated_at, (
    SELECT max(journal.created_at)
      FROM (SELECT journal_id FROM entry
             WHERE entry.business_id = wallet.business_id AND entry.account = 'wallet'
               AND entry.currency = wallet.currency
             ORDER BY journal_id DESC LIMIT 1000) AS newest
      JOIN journal ON journal.business_id = wallet.business_id AND journal.id = newest.journal_id));
GRANT UPDATE (booked_until) ON wallet TO tidegate_app;

-- Posts journals of one business in the order given, and moves its wallets. Answers with their numbers in the same
-- order: NULL for one whose cause was posted before, of which nothing is done.
CREATE OR REPLACE FUNCTION post_journals(p_business_id text, p_postings posting[], p_now timestamptz)
RETURNS bigint[] LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $$
DECLARE
    v_touched text[];
    v_found   bigint;
    v_ids     bigint[];
    v_at      timestamptz := p_now;
BEGIN
    -- A wallet is checked once, as it is after all of them: whoever takes from it must not count on who comes after.
    IF cardinality(p_postings) > 1 AND EXISTS (
        SELECT FROM unnest(p_postings) AS posting, unnest(posting.accounts, posting.amounts) AS line (account, amount_minor)
         WHERE line.account = 'wallet' AND line.amount_minor < 0) THEN
        RAISE EXCEPTION 'a journal that takes from a wallet is posted alone' USING ERRCODE = 'feature_not_supported';
    END IF;

    -- The wallets are locked before the journals get their numbers: numbers and times then rise in the order
    -- in which the balances changed, and a statement in order of number shows balances that follow from one another.
    v_touched := ARRAY(
        SELECT DISTINCT line.currency
          FROM unnest(p_postings) AS posting, unnest(posting.accounts, posting.currencies) AS line (account, currency)
         WHERE line.account IN ('wallet', 'refunds'));
    IF v_touched <> '{}' THEN
        -- The caller read its clock before it had the lock: whoever had it meanwhile may have booked at a later time.
        SELECT count(*), greatest(p_now, max(locked.booked_until)) INTO v_found, v_at
          FROM (SELECT booked_until FROM wallet WHERE business_id = p_business_id AND currency = ANY (v_touched)
                 ORDER BY currency FOR NO KEY UPDATE) AS locked;
        IF v_found < cardinality(v_touched) THEN
            INSERT INTO wallet (business_id, currency, created_at, updated_at)
            SELECT p_business_id, touched.currency, p_now, p_now FROM unnest(v_touched) AS touched (currency)
             ORDER BY touched.currency
                ON CONFLICT ON CONSTRAINT wallet_pk DO NOTHING;
            SELECT greatest(p_now, max(locked.booked_until)) INTO v_at
              FROM (SELECT booked_until FROM wallet WHERE business_id = p_business_id AND currency = ANY (v_touched)
                     ORDER BY currency FOR NO KEY UPDATE) AS locked;
        END IF;
    END IF;

    WITH given AS (
        SELECT kind, cause, event_at, position
          FROM unnest(p_postings) WITH ORDINALITY
            AS posting (kind, cause, accounts, currencies, amounts, event_at, position)),
    new AS (
        INSERT INTO journal (business_id, kind, cause, event_at, created_at)
        SELECT p_business_id, kind, cause, event_at, v_at FROM given ORDER BY position
        ON CONFLICT ON CONSTRAINT journal_one_per_cause DO NOTHING
        RETURNING id, kind, cause),
    queued AS (
        INSERT INTO journal_to_link (business_id, journal_id) SELECT p_business_id, id FROM new)
    SELECT array_agg(new.id ORDER BY given.position) INTO v_ids
      FROM given LEFT JOIN new ON new.kind = given.kind AND new.cause = given.cause;
    IF array_remove(v_ids, NULL) = '{}' THEN
        RETURN v_ids;
    END IF;

    WITH line AS (
        SELECT v_ids[posting.position] AS journal_id, given.*
          FROM unnest(p_postings) WITH ORDINALITY
            AS posting (kind, cause, accounts, currencies, amounts, event_at, position),
               unnest(posting.accounts, posting.currencies, posting.amounts) WITH ORDINALITY
            AS given (account, currency, amount_minor, line)
         WHERE v_ids[posting.position] IS NOT NULL),
    moved AS (
        UPDATE wallet
           SET balance_minor = wallet.balance_minor + change.balance_minor,
               locked_minor = wallet.locked_minor + change.locked_minor,
               updated_at = v_at,
               booked_until = v_at
          FROM (SELECT line.currency,
                       coalesce(sum(line.amount_minor) FILTER (WHERE line.account = 'wallet'), 0)::bigint AS balance_minor,
                       coalesce(sum(line.amount_minor) FILTER (WHERE line.account = 'refunds'), 0)::bigint AS locked_minor
                  FROM line WHERE line.account IN ('wallet', 'refunds') GROUP BY line.currency) AS change
         WHERE wallet.business_id = p_business_id AND wallet.currency = change.currency
        RETURNING wallet.currency, wallet.balance_minor - change.balance_minor AS before_minor)
    INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)
    SELECT p_business_id, line.journal_id, line.line, line.account, line.currency, line.amount_minor,
           CASE WHEN line.account = 'wallet' THEN
               moved.before_minor + sum(line.amount_minor)
                   OVER (PARTITION BY line.account, line.currency ORDER BY line.journal_id) END
      FROM line LEFT JOIN moved USING (currency);
    RETURN v_ids;
END
$$;
