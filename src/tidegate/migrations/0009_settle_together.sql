-- Journals that are posted together: one lock of the wallets, one look at them, one commit.

CREATE TYPE posting AS (
    kind       text,
    cause      text,
    accounts   text[],
    currencies text[],
    amounts    bigint[],
    event_at   timestamptz
);
COMMENT ON TYPE posting IS 'A journal on its way into the ledger.';

-- Posts journals of one business in the order given, and moves its wallets. Answers with their numbers in the same
-- order: NULL for one whose cause was posted before, of which nothing is done.
CREATE FUNCTION post_journals(p_business_id text, p_postings posting[], p_now timestamptz)
RETURNS bigint[] LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $$
DECLARE
    v_touched text[];
    v_found   bigint;
    v_ids     bigint[];
BEGIN
    -- A wallet is checked once, as it is after all of them: whoever takes from it must not count on who comes after.
    IF cardinality(p_postings) > 1 AND EXISTS (
        SELECT FROM unnest(p_postings) AS posting, unnest(posting.accounts, posting.amounts) AS line (account, amount_minor)
         WHERE line.account = 'wallet' AND line.amount_minor < 0) THEN
        RAISE EXCEPTION 'a journal that takes from a wallet is posted alone' USING ERRCODE = 'feature_not_supported';
    END IF;

    -- The wallets are locked before the journals get their numbers: numbers then rise in the order in which the
    -- balances changed, and a statement in order of number shows balances that follow from one another.
    v_touched := ARRAY(
        SELECT DISTINCT line.currency
          FROM unnest(p_postings) AS posting, unnest(posting.accounts, posting.currencies) AS line (account, currency)
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

    WITH given AS (
        SELECT kind, cause, event_at, position
          FROM unnest(p_postings) WITH ORDINALITY
            AS posting (kind, cause, accounts, currencies, amounts, event_at, position)),
    new AS (
        INSERT INTO journal (business_id, kind, cause, event_at, created_at)
        SELECT p_business_id, kind, cause, event_at, p_now FROM given ORDER BY position
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
               updated_at = p_now
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

-- One journal is a group of one. One statement that posts several must take them in order of currency, or two of them
-- may deadlock.
CREATE OR REPLACE FUNCTION post_journal(
    p_business_id text, p_kind text, p_cause text,
    p_accounts text[], p_currencies text[], p_amounts bigint[],
    p_event_at timestamptz, p_now timestamptz
) RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $$
BEGIN
    RETURN (post_journals(
        p_business_id,
        ARRAY[ROW(p_kind, p_cause, p_accounts, p_currencies, p_amounts, p_event_at)::posting],
        p_now))[1];
END
$$;
