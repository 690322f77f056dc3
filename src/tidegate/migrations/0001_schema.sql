-- The whole schema, by concept, each table with its indexes and functions:
--
--     deployment   which migrations ran, which mode this database belongs to
--     merchant     businesses, their logos, clocks, keys and prices
--     audit        who did what
--     idempotency  answers kept for repeated requests
--     mail         messages to people, sent by the worker
--     member       people who sign in: memberships, invitations, sessions
--     figures      takings by hour, rolled up
--     approval     what one person asks for and another one allows
--     ledger       wallets, journals, entries, the hash chain
--     payment      checkout payments and their attempts
--     intake       notifications of rails, money that arrived
--     account      virtual accounts for bank transfers from abroad, and whose an account number is
--     collection   inflows, exchange rates, reversals by banks
--     return       money on its way back to the payer
--     refund       money a merchant gives back
--     dispute      payments that a payer disputes with the bank
--     webhook      events, endpoints, deliveries
--     work         leases of background work
--     writes       the functions that write what was decided about money
--     paystack     what its rail has to remember
--     pawapay      what its rail has to remember
--     sandbox      the sandbox's own rail, and how a sandbox is emptied
--     retention    the functions that remove what is old
--     erasure      the functions that remove a payer's personal data
--
-- business_id leads every primary key and every unique index of a tenant's table, so that the same schema can be sharded
-- by business. The exceptions are `business` itself, tables that belong to no business (yet), people and their sessions,
-- who may belong to several, and the look-ups that must find a business first: by the hash of a secret key or of an
-- invitation, by the short code inside a pay code, by a rail's account number. docs/cluster.md says where each table is
-- when the database is a cluster.

DO $$
BEGIN
    CREATE ROLE tidegate_app NOLOGIN;
EXCEPTION
    -- Roles belong to the whole server: another database, or another process, may have made it first.
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
-- The service logs in as the owner of the schema and drops to this role on every connection.
DO $$
BEGIN
    EXECUTE format('GRANT tidegate_app TO %I', current_user);
EXCEPTION
    WHEN OTHERS THEN
        -- A superuser needs no membership, and two databases migrated at once may collide here.
        IF NOT pg_has_role(current_user, 'tidegate_app', 'MEMBER') THEN RAISE; END IF;
END
$$;


-- Deployment

CREATE TABLE migration (
    version     integer     CONSTRAINT migration_pk PRIMARY KEY,
    name        text        NOT NULL,
    checksum    text        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE migration IS 'Which migrations were applied, when, and the hash of the file that was run.';

CREATE TABLE deployment (
    only_row boolean CONSTRAINT deployment_pk PRIMARY KEY DEFAULT true,
    mode     text    NOT NULL,
    -- 256 bits of the database's own randomness, the same for every process.
    secret   bytea   NOT NULL DEFAULT sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea),
    CONSTRAINT deployment_has_one_row CHECK (only_row),
    CONSTRAINT deployment_mode_is_known CHECK (mode IN ('sandbox', 'live'))
);
COMMENT ON TABLE deployment IS 'The mode this database belongs to, set once: test money never meets real money.';

-- A commit whose wait for the standby was cancelled, or that a primary replayed after a crash, is visible, though no standby
-- has it. A read alone commits nothing and would not wait.
CREATE FUNCTION await_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_standby_names') <> '' THEN
        PERFORM pg_logical_emit_message(true, 'tidegate', '');
    END IF;
END
$$;
COMMENT ON FUNCTION await_standby IS 'Makes this transaction''s commit wait for the synchronous standby, and so for all that it has read. Where there is none, nothing.';

-- Each millisecond has an offset of its own. Within it serial numbers rise, and wrap around at the end of their range; two
-- numbers of different milliseconds do not tell how many lie between them.
CREATE FUNCTION serial_offset(p_ms bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_secret bytea := (SELECT secret FROM deployment);
BEGIN
    RETURN ('x' || encode(substring(sha256(p_ms::text::bytea || v_secret) FROM 1 FOR 4), 'hex'))::bit(32)::bigint;
END
$$;
COMMENT ON FUNCTION serial_offset IS 'What is added to the serial numbers of a millisecond, so that a merchant cannot count those of all businesses.';

GRANT SELECT ON migration, deployment TO tidegate_app;


-- Merchant

CREATE TABLE business (
    id                       text        CONSTRAINT business_pk PRIMARY KEY,
    number                   bigint      GENERATED ALWAYS AS IDENTITY,
    code                     text        NOT NULL CONSTRAINT business_one_code UNIQUE,
    name                     text        NOT NULL,
    email                    text        NOT NULL,
    status                   text        NOT NULL DEFAULT 'active',
    suspended_for            text,
    rate_per_second          integer     NOT NULL DEFAULT 50,
    rate_burst               integer     NOT NULL DEFAULT 100,
    session_minutes          integer     NOT NULL DEFAULT 120,
    redirect_hosts           text[]      NOT NULL DEFAULT '{}',
    checkout_origins         text[]      NOT NULL DEFAULT '{}',
    variance_policy          text        NOT NULL DEFAULT 'accept',
    variance_tolerance_minor bigint      NOT NULL DEFAULT 0,
    inflow_name_policy       text        NOT NULL DEFAULT 'hold',
    accent                   text,
    support_email            text,
    support_phone            text,
    support_url              text,
    logo_hash                text,
    time_zone                text        NOT NULL DEFAULT 'UTC',
    receipts_by_mail         boolean     NOT NULL DEFAULT false,
    fee_bearer               text        NOT NULL DEFAULT 'business',
    two_step_for_all         boolean     NOT NULL DEFAULT false,
    takes_cards              boolean     NOT NULL DEFAULT true,
    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL,
    CONSTRAINT business_id_is_24_hex CHECK (id ~ '^[0-9a-f]{24}$'),
    CONSTRAINT business_status_is_known CHECK (status IN ('active', 'suspended')),
    CONSTRAINT business_platform_stays_suspended CHECK (id <> '000000000000000000000000' OR status = 'suspended'),
    CONSTRAINT business_rate_is_positive CHECK (rate_per_second BETWEEN 1 AND 100000 AND rate_burst BETWEEN 1 AND 100000),
    CONSTRAINT business_session_is_15_minutes_to_a_day CHECK (session_minutes BETWEEN 15 AND 1440),
    CONSTRAINT business_variance_policy_is_known CHECK (variance_policy IN ('accept', 'top_up', 'return')),
    CONSTRAINT business_tolerance_is_not_negative CHECK (variance_tolerance_minor >= 0),
    CONSTRAINT business_fee_bearer_is_known CHECK (fee_bearer IN ('business', 'customer')),
    CONSTRAINT business_inflow_name_policy_is_known CHECK (inflow_name_policy IN ('hold', 'strict')),
    CONSTRAINT business_has_at_most_20_checkout_origins CHECK (cardinality(checkout_origins) <= 20),
    CONSTRAINT business_accent_is_a_colour CHECK (accent ~ '^#[0-9a-f]{6}$'),
    CONSTRAINT business_support_email_is_an_address
        CHECK (support_email LIKE '%@%' AND length(support_email) BETWEEN 3 AND 254),
    CONSTRAINT business_support_phone_is_international CHECK (support_phone ~ '^\+[1-9][0-9]{4,14}$'),
    CONSTRAINT business_support_url_is_a_web_address
        CHECK (support_url ~* '^https?://' AND length(support_url) <= 2048),
    CONSTRAINT business_logo_hash_is_sha256 CHECK (logo_hash ~ '^[0-9a-f]{64}$'),
    CONSTRAINT business_time_zone_is_a_name CHECK (time_zone ~ '^[A-Za-z0-9/_+-]{1,64}$')
);
COMMENT ON TABLE business IS 'A merchant and its settings. `number` is internal: it picks the slot of the rate limit.';
COMMENT ON COLUMN business.inflow_name_policy IS 'What is done with an inflow whose recipient is not the same name: hold waits for a decision where the name is close or missing, strict returns it at once.';
COMMENT ON COLUMN business.suspended_for IS 'Why the operator suspended it; NULL while it is active.';
COMMENT ON COLUMN business.checkout_origins IS 'Origins whose pages may show its checkout in a frame.';
COMMENT ON COLUMN business.two_step_for_all IS 'Whether every member needs a second factor to sign in to the dashboard, whatever the role.';
COMMENT ON COLUMN business.takes_cards IS 'False while card_pause has an open row of it.';
COMMENT ON COLUMN business.accent IS 'The accent colour of its pages; NULL for the default.';
COMMENT ON COLUMN business.time_zone IS 'Of the times and days that its dashboard shows, such as Africa/Lagos.';
COMMENT ON COLUMN business.fee_bearer IS 'Who pays the fee of a payment or a link that does not say it.';
COMMENT ON COLUMN business.receipts_by_mail IS 'Whether a payer is sent the receipt once the payment has succeeded, and once a refund of it has.';
COMMENT ON COLUMN business.logo_hash IS 'The hash of its row in business_logo; NULL when it has none.';

-- A table of its own, so that nothing reads the picture along with the rest.
CREATE TABLE business_logo (
    business_id text        CONSTRAINT business_logo_pk PRIMARY KEY
                            CONSTRAINT business_logo_business_fk REFERENCES business (id),
    media_type  text        NOT NULL,
    width       integer     NOT NULL,
    height      integer     NOT NULL,
    hash        text        NOT NULL,
    body        bytea       NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT business_logo_media_type_is_known CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp')),
    CONSTRAINT business_logo_is_32_to_1024_px CHECK (width BETWEEN 32 AND 1024 AND height BETWEEN 32 AND 1024),
    CONSTRAINT business_logo_is_at_most_100_kb CHECK (octet_length(body) <= 102400),
    CONSTRAINT business_logo_hash_is_of_its_body CHECK (hash = encode(sha256(body), 'hex'))
);
COMMENT ON TABLE business_logo IS 'The logo of a business, re-encoded when it was uploaded, and served by its hash.';

CREATE TABLE business_clock (
    business_id text     NOT NULL CONSTRAINT business_clock_pk PRIMARY KEY
                         CONSTRAINT business_clock_business_fk REFERENCES business (id),
    ahead       interval NOT NULL,
    moved_at    timestamptz[] NOT NULL DEFAULT '{}',
    moved_to    interval[]    NOT NULL DEFAULT '{}',
    CONSTRAINT business_clock_never_goes_back CHECK (ahead >= '0')
);
COMMENT ON TABLE business_clock IS 'How far the time of a business is ahead of the real one, where a sandbox has moved it. Empty in live mode.';
COMMENT ON COLUMN business_clock.moved_at IS 'When it was moved, by the real time; the last hundred, the oldest first.';
COMMENT ON COLUMN business_clock.moved_to IS 'How far ahead each of these made it.';

CREATE FUNCTION time_of(p_business_id text, p_now timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN p_now + coalesce((SELECT ahead FROM business_clock WHERE business_id = p_business_id), '0');
END
$$;
COMMENT ON FUNCTION time_of IS 'What time it is for a business, when it is really `p_now`.';

CREATE FUNCTION latest_time(p_now timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN p_now + coalesce((SELECT max(ahead) FROM business_clock), '0');
END
$$;
COMMENT ON FUNCTION latest_time IS 'What time it is for the business that is furthest ahead. A bound that an index can use: nothing later is due for any business.';

CREATE FUNCTION is_due(p_business_id text, p_at timestamptz, p_now timestamptz) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p_at <= latest_time(p_now) AND (p_at <= p_now OR p_at <= time_of(p_business_id, p_now))
$$;
COMMENT ON FUNCTION is_due IS 'Whether a moment has come for a business. The planner inlines it: its first bound is what an index is read by.';

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
    name        text,
    scopes      text[],
    addresses   text[]      NOT NULL DEFAULT '{}',
    refund_max  jsonb,
    used_at     timestamptz,
    used_from   text,
    CONSTRAINT credential_pk PRIMARY KEY (business_id, id),
    CONSTRAINT credential_is_never_of_the_platform CHECK (business_id <> '000000000000000000000000'),
    CONSTRAINT credential_kind_is_known CHECK (kind IN ('secret', 'public')),
    CONSTRAINT credential_shows_only_public_keys CHECK ((kind = 'public') = (public_key IS NOT NULL)),
    CONSTRAINT credential_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
    CONSTRAINT credential_scopes_are_known CHECK (scopes <@ '{read,create,refund,webhooks}' AND cardinality(scopes) > 0),
    CONSTRAINT credential_limits_only_what_it_may CHECK (refund_max IS NULL OR 'refund' = ANY (scopes))
);
COMMENT ON TABLE credential IS 'API keys. Secret keys are kept as SHA-256 only; expires_at is set on the old one during a roll.';
COMMENT ON COLUMN credential.scopes IS 'What a restricted key may do; NULL for everything.';
COMMENT ON COLUMN credential.addresses IS 'Networks that it may be used from; empty for any.';
COMMENT ON COLUMN credential.refund_max IS 'By currency, the most that one refund may be, in minor units; other currencies need approval. NULL for no limit.';
COMMENT ON COLUMN credential.used_at IS 'The last use, written at most once a minute.';

CREATE TABLE fee_rule (
    business_id      text        NOT NULL CONSTRAINT fee_rule_business_fk REFERENCES business (id),
    id               bigint      GENERATED ALWAYS AS IDENTITY,
    currency         text        NOT NULL,
    method           text        NOT NULL,
    basis_points     integer     NOT NULL,
    vat_basis_points integer     NOT NULL,
    fixed_minor      bigint      NOT NULL,
    cap_minor        bigint,
    on_refund        text        NOT NULL DEFAULT 'kept',
    created_at       timestamptz NOT NULL,
    ended_at         timestamptz,
    CONSTRAINT fee_rule_pk PRIMARY KEY (business_id, id),
    CONSTRAINT fee_rule_takes_no_more_than_all CHECK (basis_points BETWEEN 0 AND 10000),
    CONSTRAINT fee_rule_vat_is_a_share CHECK (vat_basis_points BETWEEN 0 AND 10000),
    CONSTRAINT fee_rule_gives_nothing CHECK (fixed_minor >= 0 AND cap_minor >= 0),
    CONSTRAINT fee_rule_on_refund_is_known CHECK (on_refund IN ('kept', 'returned'))
);
COMMENT ON TABLE fee_rule IS 'Prices of a business''s own. Never changed, only ended: payments remember the rule that priced them.';
COMMENT ON COLUMN fee_rule.on_refund IS 'Whether a refund gives the merchant its share of the fee back.';
CREATE UNIQUE INDEX fee_rule_one_at_a_time ON fee_rule (business_id, currency, method) WHERE ended_at IS NULL;

CREATE TABLE credential_epoch (
    only_row boolean CONSTRAINT credential_epoch_pk PRIMARY KEY DEFAULT true,
    epoch    bigint  NOT NULL DEFAULT 0,
    CONSTRAINT credential_epoch_has_one_row CHECK (only_row)
);
COMMENT ON TABLE credential_epoch IS 'Counts changes of businesses, keys and prices, with each of them; every process watches it to drop what it remembers.';
INSERT INTO credential_epoch DEFAULT VALUES;

-- Money whose owner is unknown is still in the books: those of the platform.
INSERT INTO business (id, code, name, email, status, created_at, updated_at)
VALUES ('000000000000000000000000', '00000', 'Platform', 'platform@tidegate.invalid', 'suspended', now(), now());

GRANT SELECT, INSERT, UPDATE ON business, credential, fee_rule, business_clock TO tidegate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON business_logo TO tidegate_app;
GRANT SELECT, UPDATE ON credential_epoch TO tidegate_app;


-- Request log

CREATE TABLE request_log (
    business_id text        NOT NULL,
    number      bigint      GENERATED ALWAYS AS IDENTITY,
    request_id  text        NOT NULL,
    key_id      bigint      NOT NULL,
    method      text        NOT NULL,
    path        text        NOT NULL,
    operation   text        NOT NULL,
    status      smallint    NOT NULL,
    duration_ms integer     NOT NULL,
    address     text        NOT NULL,
    error_type  text,
    message     text,
    body        text,
    created_at  timestamptz NOT NULL,
    CONSTRAINT request_log_pk PRIMARY KEY (business_id, number),
    CONSTRAINT request_log_has_bodies_of_errors_only CHECK (body IS NULL OR status >= 400)
);
COMMENT ON TABLE request_log IS 'Requests of merchants'' programs, written in batches. Those that failed stay longer.';
COMMENT ON COLUMN request_log.body IS 'Masked: names and shape, no text that a person may be known by.';
COMMENT ON COLUMN request_log.created_at IS 'Real time, also in a sandbox.';
CREATE INDEX request_log_of_errors ON request_log (business_id, number) WHERE status >= 400;
CREATE INDEX request_log_by_request ON request_log (business_id, request_id);
CREATE INDEX request_log_by_age ON request_log (created_at) WHERE status < 400;
CREATE INDEX request_log_of_errors_by_age ON request_log (created_at) WHERE status >= 400;

GRANT SELECT, INSERT ON request_log TO tidegate_app;


-- Audit

CREATE TABLE audit (
    business_id text        NOT NULL CONSTRAINT audit_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    actor       text        NOT NULL,
    origin      text,
    action      text        NOT NULL,
    subject     text        NOT NULL,
    details     jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    written_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT audit_pk PRIMARY KEY (business_id, id)
);
COMMENT ON TABLE audit IS 'Who did what to which thing, and when. Append-only: the service may add to it and nothing else.';
COMMENT ON COLUMN audit.actor IS 'key/ID for a caller of the API, person/ID for a signed-in person, staff/ID for one of the operator''s staff, operator for the command line, tidegate for ourselves.';
COMMENT ON COLUMN audit.origin IS 'The address it came from, where there is one.';
COMMENT ON COLUMN audit.created_at IS 'By the clock of the business, which may be ahead in a sandbox; what the staff propose and approve, by the real one.';
COMMENT ON COLUMN audit.written_at IS 'By the clock of the database: the order of rows whose own clocks differ.';

CREATE INDEX audit_by_subject ON audit (business_id, subject, id);
-- The trail of all businesses, page by page: the console and its export.
CREATE INDEX audit_by_time ON audit (written_at, id);
CREATE INDEX audit_by_actor ON audit (business_id, actor, id);
-- The expression is the same number: only this index gives its order, so that no statistics lead the log of an action
-- to the primary key, and through all others.
CREATE INDEX audit_by_action ON audit (business_id, action, (id + 0));

-- Written with each row, and worked off by the worker: rows commit in another order than their numbers.
CREATE TABLE audit_to_link (
    business_id text   NOT NULL,
    audit_id    bigint NOT NULL,
    CONSTRAINT audit_to_link_pk PRIMARY KEY (business_id, audit_id)
);
COMMENT ON TABLE audit_to_link IS 'Rows of audit that the chain has yet to take up.';

CREATE TABLE audit_link (
    business_id text   NOT NULL CONSTRAINT audit_link_business_fk REFERENCES business (id),
    position    bigint NOT NULL,
    audit_id    bigint NOT NULL,
    hash        bytea  NOT NULL,
    CONSTRAINT audit_link_pk PRIMARY KEY (business_id, position),
    CONSTRAINT audit_link_one_per_row UNIQUE (business_id, audit_id),
    CONSTRAINT audit_link_positions_count_from_one CHECK (position >= 1),
    CONSTRAINT audit_link_hash_is_sha256 CHECK (octet_length(hash) = 32)
);
COMMENT ON TABLE audit_link IS 'The hash chain of the audit trail: each hash covers the one before it and a whole row with the time of its writing, but for the personal data that may be erased.';

CREATE FUNCTION head_of_audits(p_business_id text, OUT length bigint, OUT hash bytea) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT position, hash INTO length, hash FROM audit_link
     WHERE business_id = p_business_id ORDER BY position DESC LIMIT 1;
END
$$;
COMMENT ON FUNCTION head_of_audits IS 'The newest link of the audit trail of a business; NULL when it has none.';

GRANT SELECT, INSERT ON audit, audit_link TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON audit_to_link TO tidegate_app;


-- Cards

CREATE TABLE card_pause (
    business_id text        NOT NULL CONSTRAINT card_pause_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    reason      text        NOT NULL,
    paused_by   text        NOT NULL,
    paused_at   timestamptz NOT NULL,
    lifted_by   text,
    lifted_at   timestamptz,
    CONSTRAINT card_pause_pk PRIMARY KEY (business_id, id),
    CONSTRAINT card_pause_is_lifted_by_an_actor CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
COMMENT ON TABLE card_pause IS 'Since when a business takes no cards, because strangers try them out there; and who lifted it.';
CREATE UNIQUE INDEX card_pause_one_open ON card_pause (business_id) WHERE lifted_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON card_pause TO tidegate_app;

CREATE TABLE rail_pause (
    business_id text        NOT NULL CONSTRAINT rail_pause_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    rail        text        NOT NULL,
    reason      text        NOT NULL,
    paused_by   text        NOT NULL,
    paused_at   timestamptz NOT NULL,
    lifted_by   text,
    lifted_at   timestamptz,
    CONSTRAINT rail_pause_pk PRIMARY KEY (business_id, id),
    CONSTRAINT rail_pause_is_of_the_platform CHECK (business_id = '000000000000000000000000'),
    CONSTRAINT rail_pause_is_lifted_by_an_actor CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
COMMENT ON TABLE rail_pause IS 'Since when no new payment goes by a rail and its refunds and returns wait, because an operator paused it; and who lifted it.';
CREATE UNIQUE INDEX rail_pause_one_open ON rail_pause (business_id, rail) WHERE lifted_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON rail_pause TO tidegate_app;


-- Reconcile

CREATE TABLE break_note (
    business_id    text        NOT NULL CONSTRAINT break_note_business_fk REFERENCES business (id),
    rail           text        NOT NULL,
    kind           text        NOT NULL,
    transaction_id text        NOT NULL,
    sides          text        NOT NULL,
    note           text        NOT NULL,
    noted_by       text        NOT NULL,
    noted_at       timestamptz NOT NULL,
    CONSTRAINT break_note_pk PRIMARY KEY (business_id, rail, transaction_id, kind, sides),
    CONSTRAINT break_note_is_of_the_platform CHECK (business_id = '000000000000000000000000')
);
COMMENT ON TABLE break_note IS 'Why a rail''s statement and the books differ in one transaction, in the words of the operator. Under the platform''s own business.';
COMMENT ON COLUMN break_note.sides IS 'What the rail and the books had when it was explained. With other amounts it is not explained any more.';

GRANT SELECT, INSERT, UPDATE ON break_note TO tidegate_app;


-- Proof

CREATE TABLE proof (
    business_id text        NOT NULL CONSTRAINT proof_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    began_at    timestamptz NOT NULL,
    ended_at    timestamptz NOT NULL,
    checks      integer     NOT NULL,
    findings    text[]      NOT NULL,
    journals    bigint      NOT NULL,
    head        bytea       NOT NULL,
    CONSTRAINT proof_pk PRIMARY KEY (business_id, id),
    CONSTRAINT proof_is_of_the_platform CHECK (business_id = '000000000000000000000000')
);
COMMENT ON TABLE proof IS 'When the books were proven, by how many checks, and what was found wrong. Under the platform''s own business.';
COMMENT ON COLUMN proof.head IS 'SHA-256 of the heads of the chains of journals of all businesses, by their ids: one number for all books of that moment.';

GRANT SELECT, INSERT ON proof TO tidegate_app;


-- Alarm

CREATE TABLE alarm (
    business_id   text        NOT NULL CONSTRAINT alarm_business_fk REFERENCES business (id),
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    rule          text        NOT NULL,
    subject       text        NOT NULL,
    sentence      text        NOT NULL,
    page          text        NOT NULL,
    raised_at     timestamptz NOT NULL,
    ended_at      timestamptz,
    posted_at     timestamptz,
    is_end_posted boolean     NOT NULL DEFAULT false,
    CONSTRAINT alarm_pk PRIMARY KEY (business_id, id),
    CONSTRAINT alarm_is_of_the_platform CHECK (business_id = '000000000000000000000000')
);
COMMENT ON TABLE alarm IS 'What must be looked at: raised once while its cause lasts, ended by itself. Under the platform''s own business.';
COMMENT ON COLUMN alarm.posted_at IS 'When the operator''s webhook took it.';
CREATE UNIQUE INDEX alarm_one_open ON alarm (business_id, rule, subject) WHERE ended_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON alarm TO tidegate_app;


-- Idempotency

CREATE TABLE idempotency_key (
    business_id  text        NOT NULL CONSTRAINT idempotency_key_business_fk REFERENCES business (id),
    key          text        NOT NULL,
    request_hash bytea       NOT NULL,
    status       integer     NOT NULL,
    body         bytea,
    created_at   timestamptz NOT NULL,
    CONSTRAINT idempotency_key_pk PRIMARY KEY (business_id, key),
    CONSTRAINT idempotency_key_keeps_successes CHECK (status BETWEEN 200 AND 299)
);
COMMENT ON TABLE idempotency_key IS 'Answers given under an Idempotency-Key, kept at least 30 days to be given again.';
COMMENT ON COLUMN idempotency_key.body IS 'NULL when it was erased at a payer''s request.';
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);

GRANT SELECT, INSERT ON idempotency_key TO tidegate_app;


-- Mail

CREATE TABLE mail (
    business_id text        NOT NULL CONSTRAINT mail_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    recipient   text        NOT NULL,
    subject     text        NOT NULL,
    text_body   text,
    html_body   text,
    status      text        NOT NULL DEFAULT 'waiting',
    failure     text,
    created_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    CONSTRAINT mail_pk PRIMARY KEY (business_id, id),
    CONSTRAINT mail_recipient_is_an_address CHECK (recipient LIKE '%@%' AND length(recipient) BETWEEN 3 AND 254),
    CONSTRAINT mail_subject_is_1_to_200_characters CHECK (length(subject) BETWEEN 1 AND 200),
    CONSTRAINT mail_text_is_at_most_50_kb CHECK (octet_length(text_body) <= 51200 AND octet_length(html_body) <= 204800),
    CONSTRAINT mail_status_is_known CHECK (status IN ('waiting', 'sent', 'failed')),
    CONSTRAINT mail_has_its_text_while_waiting
        CHECK (status <> 'waiting' OR (text_body IS NOT NULL AND html_body IS NOT NULL)),
    CONSTRAINT mail_ends_once CHECK ((status = 'waiting') = (ended_at IS NULL)),
    CONSTRAINT mail_failure_has_a_reason CHECK ((status = 'failed') = (failure IS NOT NULL))
);
COMMENT ON TABLE mail IS 'Messages to people: written in the transaction of what they tell of, sent by the worker.';
COMMENT ON COLUMN mail.business_id IS 'The platform''s for messages about a person''s own sign-in.';
COMMENT ON COLUMN mail.text_body IS 'NULL in live mode once it was sent: it may hold a link that signs a person in.';
COMMENT ON COLUMN mail.failure IS 'Why the mail server refused it for good.';
CREATE INDEX mail_waiting ON mail (business_id, id) WHERE status = 'waiting';
CREATE INDEX mail_by_age ON mail (created_at);
CREATE INDEX mail_refused ON mail (business_id, recipient) WHERE status = 'failed';

CREATE TABLE mail_attachment (
    business_id text    NOT NULL,
    mail_id     bigint  NOT NULL,
    number      integer NOT NULL,
    name        text    NOT NULL,
    media_type  text    NOT NULL,
    body        bytea   NOT NULL,
    CONSTRAINT mail_attachment_pk PRIMARY KEY (business_id, mail_id, number),
    CONSTRAINT mail_attachment_mail_fk FOREIGN KEY (business_id, mail_id) REFERENCES mail (business_id, id)
        ON DELETE CASCADE,
    CONSTRAINT mail_attachment_number_is_1_to_5 CHECK (number BETWEEN 1 AND 5),
    CONSTRAINT mail_attachment_is_at_most_1_mb CHECK (octet_length(body) <= 1048576)
);
COMMENT ON TABLE mail_attachment IS 'Files sent with a message, such as a receipt. Removed in live mode once it was sent.';

GRANT SELECT, INSERT, UPDATE ON mail TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON mail_attachment TO tidegate_app;


-- Member
--
-- All times here are real ones: moving the clock of a sandbox ends no session.

CREATE TABLE person (
    id             text        CONSTRAINT person_pk PRIMARY KEY,
    email          text        NOT NULL CONSTRAINT person_one_email UNIQUE,
    name           text        NOT NULL,
    password_hash  text,
    totp_secret    text,
    totp_step      bigint      NOT NULL DEFAULT 0,
    has_passkey    boolean     NOT NULL DEFAULT false,
    factors_end_at timestamptz,
    created_at     timestamptz NOT NULL,
    CONSTRAINT person_id_is_24_hex CHECK (id ~ '^[0-9a-f]{24}$'),
    CONSTRAINT person_email_is_a_lower_case_address
        CHECK (email = lower(email) AND email LIKE '%@%' AND length(email) BETWEEN 3 AND 254),
    CONSTRAINT person_name_is_1_to_100_characters CHECK (length(name) BETWEEN 1 AND 100)
);
COMMENT ON TABLE person IS 'A person who signs in to the dashboard. Belongs to no business: memberships do.';
COMMENT ON COLUMN person.password_hash IS 'argon2id; NULL for the people of a sandbox, who enter by a link.';
COMMENT ON COLUMN person.totp_secret IS 'Encrypted; NULL until it is enrolled.';
COMMENT ON COLUMN person.totp_step IS 'The newest time step whose code was used: a code works once.';
COMMENT ON COLUMN person.factors_end_at IS 'When the second factors are removed, as the staff decided a day before; NULL once one was used.';
COMMENT ON COLUMN person.has_passkey IS 'Whether passkey has a row of this person: read on every request.';

CREATE TABLE passkey (
    person_id     text        NOT NULL CONSTRAINT passkey_person_fk REFERENCES person (id),
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    credential_id bytea       NOT NULL CONSTRAINT passkey_one_credential UNIQUE,
    public_key    bytea       NOT NULL,
    sign_count    bigint      NOT NULL,
    name          text        NOT NULL,
    created_at    timestamptz NOT NULL,
    used_at       timestamptz,
    CONSTRAINT passkey_pk PRIMARY KEY (person_id, id),
    CONSTRAINT passkey_credential_is_at_most_1023_bytes CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
    CONSTRAINT passkey_public_key_is_at_most_2048_bytes CHECK (octet_length(public_key) BETWEEN 1 AND 2048),
    CONSTRAINT passkey_name_is_1_to_60_characters CHECK (length(name) BETWEEN 1 AND 60)
);
COMMENT ON TABLE passkey IS 'Public keys of a person''s passkeys (WebAuthn). One counts as password and second factor together.';
COMMENT ON COLUMN passkey.sign_count IS 'As the authenticator last counted; 0 where it does not count. A lower one means a copy.';

CREATE TABLE used_challenge (
    challenge_hash bytea       CONSTRAINT used_challenge_pk PRIMARY KEY,
    expires_at     timestamptz NOT NULL,
    CONSTRAINT used_challenge_hash_is_sha256 CHECK (octet_length(challenge_hash) = 32)
);
COMMENT ON TABLE used_challenge IS 'Challenges that a passkey has answered, until they would have expired: an answer works once.';
CREATE INDEX used_challenge_by_expiry ON used_challenge (expires_at);

CREATE TABLE recovery_code (
    person_id text        NOT NULL CONSTRAINT recovery_code_person_fk REFERENCES person (id),
    code_hash bytea       NOT NULL,
    used_at   timestamptz,
    CONSTRAINT recovery_code_pk PRIMARY KEY (person_id, code_hash)
);
COMMENT ON TABLE recovery_code IS 'Codes of 80 bits in place of a second factor that was lost; each works once.';

CREATE TABLE known_device (
    person_id   text        NOT NULL CONSTRAINT known_device_person_fk REFERENCES person (id),
    device_hash bytea       NOT NULL,
    seen_at     timestamptz NOT NULL,
    CONSTRAINT known_device_pk PRIMARY KEY (person_id, device_hash)
);
COMMENT ON TABLE known_device IS 'Browsers in which a person has signed in: they have an allowance of their own, so that a stranger who guesses passwords cannot lock the owner out.';

CREATE TABLE sign_in_try (
    subject_hash bytea       CONSTRAINT sign_in_try_pk PRIMARY KEY,
    tries        integer     NOT NULL,
    started_at   timestamptz NOT NULL,
    last_at      timestamptz NOT NULL,
    CONSTRAINT sign_in_try_hash_is_sha256 CHECK (octet_length(subject_hash) = 32),
    CONSTRAINT sign_in_try_counts_from_1 CHECK (tries >= 1)
);
COMMENT ON TABLE sign_in_try IS 'Tries to sign in by account, browser and address since the window began, so that limits hold over all machines. A right one removes the account''s row; a day later any.';
CREATE INDEX sign_in_try_by_time ON sign_in_try (last_at);

CREATE TABLE member_session (
    token_hash        bytea       CONSTRAINT member_session_pk PRIMARY KEY,
    person_id         text        NOT NULL CONSTRAINT member_session_person_fk REFERENCES person (id),
    id                bigint      GENERATED ALWAYS AS IDENTITY,
    has_second_factor boolean     NOT NULL DEFAULT false,
    factor_failures   integer     NOT NULL DEFAULT 0,
    pending_secret    text,
    stepped_up_at     timestamptz,
    browser           text        NOT NULL,
    address           text        NOT NULL,
    created_at        timestamptz NOT NULL,
    seen_at           timestamptz NOT NULL,
    realm             text        NOT NULL DEFAULT 'dashboard',
    viewed_business   text        CONSTRAINT member_session_viewed_business_fk REFERENCES business (id),
    CONSTRAINT member_session_realm_is_known CHECK (realm IN ('dashboard', 'console')),
    CONSTRAINT member_session_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT member_session_browser_is_at_most_200 CHECK (length(browser) <= 200)
);
COMMENT ON TABLE member_session IS 'Who is signed in, by the hash of the cookie. Read with the membership on every request.';
COMMENT ON COLUMN member_session.realm IS 'The pages it opens: the cookie of one realm is worth nothing in the other.';
COMMENT ON COLUMN member_session.viewed_business IS 'Of one of the staff who looks at this business alone, and changes nothing.';
COMMENT ON COLUMN member_session.pending_secret IS 'Encrypted: a TOTP secret that is shown for enrolment and not confirmed yet.';
COMMENT ON COLUMN member_session.stepped_up_at IS 'When a factor was last shown; some actions need one of the last ten minutes.';
CREATE INDEX member_session_by_person ON member_session (person_id);

CREATE TABLE one_time_link (
    token_hash bytea       CONSTRAINT one_time_link_pk PRIMARY KEY,
    person_id  text        NOT NULL CONSTRAINT one_time_link_person_fk REFERENCES person (id),
    purpose    text        NOT NULL,
    expires_at timestamptz NOT NULL,
    business   text        CONSTRAINT one_time_link_business_fk REFERENCES business (id),
    CONSTRAINT one_time_link_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT one_time_link_purpose_is_known CHECK (purpose IN ('reset', 'enter', 'enter_console', 'view')),
    CONSTRAINT one_time_link_names_the_business_to_view CHECK ((purpose = 'view') = (business IS NOT NULL))
);
COMMENT ON TABLE one_time_link IS 'Links that set a new password, or enter a sandbox. Deleted when they are used.';
CREATE INDEX one_time_link_by_person ON one_time_link (person_id);

CREATE TABLE membership (
    business_id text        NOT NULL CONSTRAINT membership_business_fk REFERENCES business (id),
    person_id   text        NOT NULL CONSTRAINT membership_person_fk REFERENCES person (id),
    role        text        NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT membership_pk PRIMARY KEY (business_id, person_id),
    CONSTRAINT membership_role_is_known
        CHECK (role IN ('owner', 'admin', 'developer', 'finance', 'support', 'viewer')),
    CONSTRAINT membership_is_never_of_the_platform CHECK (business_id <> '000000000000000000000000')
);
COMMENT ON TABLE membership IS 'Who may act for a business, and as what.';
CREATE INDEX membership_by_person ON membership (person_id);

CREATE TABLE invitation (
    business_id text        NOT NULL CONSTRAINT invitation_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    email       text        NOT NULL,
    role        text        NOT NULL,
    token_hash  bytea       NOT NULL CONSTRAINT invitation_one_token UNIQUE,
    invited_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    ending      text,
    CONSTRAINT invitation_pk PRIMARY KEY (business_id, id),
    CONSTRAINT invitation_email_is_a_lower_case_address
        CHECK (email = lower(email) AND email LIKE '%@%' AND length(email) BETWEEN 3 AND 254),
    CONSTRAINT invitation_role_is_known
        CHECK (role IN ('owner', 'admin', 'developer', 'finance', 'support', 'viewer')),
    CONSTRAINT invitation_ending_is_known CHECK (ending IN ('accepted', 'withdrawn'))
);
COMMENT ON TABLE invitation IS 'An address that may become a member of a business, once and within three days.';
CREATE UNIQUE INDEX invitation_one_open_per_address ON invitation (business_id, email) WHERE ending IS NULL;

GRANT SELECT, INSERT, UPDATE ON person, invitation TO tidegate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON recovery_code, known_device, member_session, membership, passkey, sign_in_try TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON one_time_link, used_challenge TO tidegate_app;


-- Staff

CREATE TABLE staff (
    person_id  text        CONSTRAINT staff_pk PRIMARY KEY CONSTRAINT staff_person_fk REFERENCES person (id),
    role       text        NOT NULL,
    added_by   text        NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at   timestamptz,
    CONSTRAINT staff_role_is_known CHECK (role IN ('operator', 'approver', 'auditor'))
);
COMMENT ON TABLE staff IS 'Who runs this deployment, and as what. Belongs to no business; no page of the dashboard writes it.';
COMMENT ON COLUMN staff.added_by IS 'As in the audit trail.';
COMMENT ON COLUMN staff.ended_at IS 'Since when they have no access. The row stays: the audit trail names them.';

GRANT SELECT, INSERT, UPDATE ON staff TO tidegate_app;

CREATE TABLE comparison (
    business_id text        NOT NULL CONSTRAINT comparison_business_fk REFERENCES business (id),
    made_by     text        NOT NULL,
    id          bigint      GENERATED BY DEFAULT AS IDENTITY,
    made_at     timestamptz NOT NULL,
    report      bytea       NOT NULL,
    CONSTRAINT comparison_pk PRIMARY KEY (business_id, made_by),
    CONSTRAINT comparison_is_of_the_platform CHECK (business_id = '000000000000000000000000')
);
COMMENT ON TABLE comparison IS 'The last comparison of a statement that each of the staff made in the console, and the last of the command line, for a day: only their differences can be explained in the console. Under the platform''s own business.';
COMMENT ON COLUMN comparison.made_by IS 'As the audit trail names who acts.';
COMMENT ON COLUMN comparison.id IS 'A new one with each comparison.';
COMMENT ON COLUMN comparison.report IS 'As JSON, with the first of its differences.';

GRANT SELECT, INSERT, UPDATE, DELETE ON comparison TO tidegate_app;


-- Figures
--
-- Takings by hour, rolled up by the worker behind a watermark of journals: a page adds the journals after it.

CREATE TABLE takings (
    business_id    text        NOT NULL CONSTRAINT takings_business_fk REFERENCES business (id),
    hour           timestamptz NOT NULL,
    currency       text        NOT NULL,
    method         text        NOT NULL,
    payments       bigint      NOT NULL,
    received_minor bigint      NOT NULL,
    fee_minor      bigint      NOT NULL,
    settled_minor  bigint      NOT NULL,
    CONSTRAINT takings_pk PRIMARY KEY (business_id, hour, currency, method)
);
COMMENT ON TABLE takings IS 'Settled checkout payments by the hour of their booking. Up to the journal of takings_watermark, and no further.';
COMMENT ON COLUMN takings.fee_minor IS 'With its VAT.';

CREATE TABLE takings_watermark (
    business_id text   CONSTRAINT takings_watermark_pk PRIMARY KEY
                       CONSTRAINT takings_watermark_business_fk REFERENCES business (id),
    journal_id  bigint NOT NULL
);
COMMENT ON TABLE takings_watermark IS 'The last journal of a business that takings include.';

CREATE FUNCTION journal_number(p_at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM p_at) * 1000000)::bigint - 1577836800000000
$$;
COMMENT ON FUNCTION journal_number IS 'The number of a journal that is booked at that moment, in real time: microseconds since 2020.';

CREATE FUNCTION are_takings_behind(p_business_id text, p_before timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Its number is the real time of the booking, also where a sandbox has moved the clock of a business.
    RETURN coalesce((SELECT id < journal_number(p_before) FROM journal
                      WHERE business_id = p_business_id
                        AND id > coalesce((SELECT journal_id FROM takings_watermark WHERE business_id = p_business_id), 0)
                      ORDER BY id LIMIT 1), false);
END
$$;
COMMENT ON FUNCTION are_takings_behind IS 'Whether the first journal of a business that takings do not include yet is of before that moment.';

GRANT SELECT, INSERT, UPDATE ON takings, takings_watermark TO tidegate_app;


-- Views

CREATE TABLE saved_view (
    business_id text        NOT NULL CONSTRAINT saved_view_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    person_id   text        NOT NULL CONSTRAINT saved_view_person_fk REFERENCES person (id),
    name        text        NOT NULL,
    filters     jsonb       NOT NULL,
    is_shared   boolean     NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT saved_view_pk PRIMARY KEY (business_id, id),
    CONSTRAINT saved_view_has_a_name CHECK (length(name) BETWEEN 1 AND 60)
);
COMMENT ON TABLE saved_view IS 'Filters of the list of payments that a person keeps under a name, for itself or for the team.';
COMMENT ON COLUMN saved_view.filters IS 'As they stand in the address of the list.';

GRANT SELECT, INSERT, DELETE, UPDATE (name) ON saved_view TO tidegate_app;


-- Approval

CREATE TABLE approval (
    business_id     text        NOT NULL CONSTRAINT approval_business_fk REFERENCES business (id),
    id              bigint      GENERATED ALWAYS AS IDENTITY,
    realm           text        NOT NULL DEFAULT 'dashboard',
    command         text        NOT NULL,
    topic           text        NOT NULL,
    subject         text        NOT NULL,
    subject_version bigint      NOT NULL,
    arguments       jsonb       NOT NULL,
    facts           jsonb       NOT NULL DEFAULT '[]',
    reason          text        NOT NULL,
    asked_by        text        NOT NULL CONSTRAINT approval_asked_by_fk REFERENCES person (id),
    asked_at        timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    status          text        NOT NULL DEFAULT 'open',
    decided_by      text        CONSTRAINT approval_decided_by_fk REFERENCES person (id),
    decided_at      timestamptz,
    outcome         text,
    CONSTRAINT approval_pk PRIMARY KEY (business_id, id),
    CONSTRAINT approval_realm_is_known CHECK (realm IN ('dashboard', 'console')),
    CONSTRAINT approval_of_a_merchant_is_a_refund CHECK (realm = 'console' OR command = 'refund'),
    CONSTRAINT approval_status_is_known CHECK (status IN ('open', 'approved', 'declined', 'void')),
    CONSTRAINT approval_needs_another_person
        CHECK (status <> 'approved' OR (decided_by IS NOT NULL AND decided_by <> asked_by)),
    CONSTRAINT approval_is_decided_once CHECK ((status = 'open') = (decided_at IS NULL))
);
COMMENT ON TABLE approval IS 'What one person asks for and another one allows: a command with its arguments, for the version of the thing that was seen.';
COMMENT ON COLUMN approval.topic IS 'What it decides: to credit and to return an inflow are one topic, of which the staff have one proposal open at a time.';
COMMENT ON COLUMN approval.realm IS 'Who decides: the people of the business, or the operator''s staff.';
COMMENT ON COLUMN approval.facts IS 'What the staff read about it when it was proposed, for those who read it when it is decided. Without names of payers, which can be erased where they are kept.';
COMMENT ON COLUMN approval.outcome IS 'What running it made, such as the reference of a refund; or why it is void.';
CREATE INDEX approval_open ON approval (business_id, id) WHERE status = 'open';
CREATE UNIQUE INDEX approval_one_open_proposal ON approval (business_id, topic, subject)
    WHERE status = 'open' AND realm = 'console';
CREATE INDEX approval_by_subject ON approval (business_id, subject);
CREATE INDEX approval_of_staff ON approval (decided_at) WHERE realm = 'console';

CREATE TABLE refund_limit (
    business_id text   NOT NULL CONSTRAINT refund_limit_business_fk REFERENCES business (id),
    currency    text   NOT NULL,
    limit_minor bigint NOT NULL,
    CONSTRAINT refund_limit_pk PRIMARY KEY (business_id, currency),
    CONSTRAINT refund_limit_is_not_negative CHECK (limit_minor >= 0)
);
COMMENT ON TABLE refund_limit IS 'From which amount a refund of the dashboard needs a second person, where the business has chosen one.';

GRANT SELECT, INSERT, UPDATE ON approval, refund_limit TO tidegate_app;

CREATE TABLE erasure (
    id           text        NOT NULL,
    emails       text[],
    phones       text[],
    only_of      text        CONSTRAINT erasure_business_fk REFERENCES business (id),
    asked_at     timestamptz NOT NULL,
    found        jsonb,
    approved_by  text,
    erased       jsonb       NOT NULL DEFAULT '{}',
    worked_until timestamptz,
    ended_at     timestamptz,
    CONSTRAINT erasure_pk PRIMARY KEY (id),
    CONSTRAINT erasure_forgets_whom_it_was_about
        CHECK (ended_at IS NULL OR (emails IS NULL AND phones IS NULL)),
    CONSTRAINT erasure_is_counted_before_it_is_approved CHECK (approved_by IS NULL OR found IS NOT NULL)
);
COMMENT ON TABLE erasure IS 'A payer''s personal data that the staff want erased: counted, then erased by the worker once two have agreed.';
COMMENT ON COLUMN erasure.emails IS 'Of the payer; NULL, as the phones, once it has ended.';
COMMENT ON COLUMN erasure.only_of IS 'The one merchant whose rows it is about; NULL for all.';
COMMENT ON COLUMN erasure.found IS 'How many rows there are, by their kind, and how many of them cannot be erased yet, by why.';
COMMENT ON COLUMN erasure.erased IS 'How many rows were erased, by their kind.';
COMMENT ON COLUMN erasure.worked_until IS 'Until then one worker is at it.';
CREATE INDEX erasure_open ON erasure (asked_at) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON erasure TO tidegate_app;


-- Ledger
--
-- An entry is positive when we owe or have earned more (a wallet grows) and negative when we are owed more
-- (a rail holds money for us). The entries of a journal sum to zero in each currency.
--
-- Only wallets have a balance row. All other accounts are sums of entries, so that no row is shared by all payments.

CREATE TABLE wallet (
    business_id   text        NOT NULL CONSTRAINT wallet_business_fk REFERENCES business (id),
    currency      text        NOT NULL,
    number        bigint      GENERATED ALWAYS AS IDENTITY (START WITH 1000000001),
    balance_minor bigint      NOT NULL DEFAULT 0,
    locked_minor  bigint      NOT NULL DEFAULT 0,
    booked_until  timestamptz NOT NULL DEFAULT '-infinity',
    last_journal  bigint      NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT wallet_pk PRIMARY KEY (business_id, currency),
    CONSTRAINT wallet_is_never_below_zero CHECK (balance_minor >= 0),
    CONSTRAINT wallet_locks_no_less_than_nothing CHECK (locked_minor >= 0)
);
COMMENT ON TABLE wallet IS 'What we owe a merchant, a row per currency; written only by the functions below.';
COMMENT ON COLUMN wallet.balance_minor IS 'What can be refunded now: the sum of the entries on account wallet.';
COMMENT ON COLUMN wallet.locked_minor IS 'What is on its way out, or held: the sum of the entries on the accounts refunds and disputes.';
COMMENT ON COLUMN wallet.booked_until IS 'The earliest time of the next journal: the time of the newest one, or the end of a period whose statement was read.';
COMMENT ON COLUMN wallet.last_journal IS 'The number of the newest journal that moved it; the next one has a larger number.';

-- PostgreSQL reads and plans a CHECK of a table anew in each statement that writes to it, and that of a domain once in a
-- session: what a settlement or an inflow writes has its lists of words as domains.
CREATE DOMAIN journal_kind AS text
    CONSTRAINT journal_kind_is_known CHECK (VALUE IN (
        'checkout_settled', 'inflow_credited', 'inflow_converted', 'receipt_held', 'receipt_unclaimed',
        'held_settled', 'held_converted', 'held_returning', 'receipt_returning', 'return_done', 'return_offset',
        'refund_started', 'refund_done', 'refund_converted', 'refund_failed', 'credit_reversed', 'held_reversed',
        'debt_collected', 'dispute_held', 'dispute_released', 'unclaimed_released'));
CREATE DOMAIN ledger_account AS text
    CONSTRAINT entry_account_is_known CHECK (VALUE IN (
        'wallet', 'rail', 'fee', 'vat', 'suspense', 'returns', 'refunds', 'disputes', 'conversion', 'spread',
        'rounding', 'exchange'));

CREATE TABLE journal (
    business_id text        NOT NULL,
    -- post_journals gives the number; the sequence is for rows that are loaded without one.
    id          bigint      GENERATED BY DEFAULT AS IDENTITY,
    kind        journal_kind NOT NULL,
    cause       text        NOT NULL,
    event_at    timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT journal_pk PRIMARY KEY (business_id, id),
    CONSTRAINT journal_one_per_cause UNIQUE (business_id, kind, cause),
    CONSTRAINT journal_cause_is_named CHECK (length(cause) BETWEEN 1 AND 200)
);
-- The lines of a statement by kind. Most are of checkouts, and are found among all lines.
CREATE INDEX journal_by_kind ON journal (business_id, kind, id) WHERE kind <> 'checkout_settled';
COMMENT ON TABLE journal IS 'One movement of money, for one cause, for ever. event_at: when it happened outside; created_at: when we booked it.';
COMMENT ON COLUMN journal.id IS 'Microseconds since 2020: no sequence is shared by all businesses, nor by the nodes of a cluster. Of one wallet, they rise.';

CREATE TABLE entry (
    business_id         text    NOT NULL,
    journal_id          bigint  NOT NULL,
    line                integer NOT NULL,
    account             ledger_account NOT NULL,
    currency            text    NOT NULL,
    amount_minor        bigint  NOT NULL,
    balance_after_minor bigint,
    CONSTRAINT entry_pk PRIMARY KEY (business_id, journal_id, line),
    -- Also the way to a wallet's statement, newest first.
    CONSTRAINT entry_one_line_per_account UNIQUE (business_id, account, currency, journal_id),
    CONSTRAINT entry_moves_something CHECK (amount_minor <> 0),
    CONSTRAINT entry_lines_count_from_one CHECK (line >= 1),
    CONSTRAINT entry_keeps_the_balance_of_wallets CHECK ((account = 'wallet') = (balance_after_minor IS NOT NULL))
);
COMMENT ON TABLE entry IS 'A line of a journal: so much, in or out of one account. Written with its journal by post_journals_of_several alone.';

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

CREATE FUNCTION head_of_journals(p_business_id text, OUT length bigint, OUT hash bytea) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT position, hash INTO length, hash FROM journal_link
     WHERE business_id = p_business_id ORDER BY position DESC LIMIT 1;
END
$$;
COMMENT ON FUNCTION head_of_journals IS 'The newest link of the chain of a business; NULL when it has none.';

CREATE FUNCTION first_journal_at(p_business_id text) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT created_at FROM journal WHERE business_id = p_business_id ORDER BY id LIMIT 1);
END
$$;
COMMENT ON FUNCTION first_journal_at IS 'When the books of a business begin; NULL while they are empty.';

CREATE TYPE posting AS (
    kind          text,
    cause         text,
    accounts      text[],
    currencies    text[],
    amounts_minor bigint[],
    event_at      timestamptz
);
COMMENT ON TYPE posting IS 'A journal on its way into the ledger: an account, a currency and an amount for each line.';

CREATE TYPE wallet_states AS (
    keys           text[],
    business_ids   text[],
    currencies     text[],
    balances_minor bigint[],
    locked_minor   bigint[],
    booked_until   timestamptz[],
    last_journals  bigint[]
);
COMMENT ON TYPE wallet_states IS 'Wallets that are locked, in the order of business and currency; a key is both with a space.';

-- The only way into journal, entry and wallet, which the service itself may only read. So no trigger is needed to hold
-- that journals balance and stay as they are.
CREATE FUNCTION post_journals_of_several(p_business_ids text[], p_postings posting[], p_nows timestamptz[])
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
    v_posting         posting;
    v_business_id     text;
    v_moved           text[];
    v_owners          text[] := '{}';
    v_currencies      text[] := '{}';
    v_wallets         wallet_states;
    v_wallet          integer;
    v_booked_at       timestamptz;
    v_last            bigint;
    v_id              bigint;
    v_ids             bigint[] := '{}';
    v_new_owners      text[] := '{}';
    v_new_ids         bigint[] := '{}';
    v_line_owners     text[] := '{}';
    v_line_journals   bigint[] := '{}';
    v_lines           integer[] := '{}';
    v_line_accounts   text[] := '{}';
    v_line_currencies text[] := '{}';
    v_line_amounts    bigint[] := '{}';
    v_line_balances   bigint[] := '{}';
BEGIN
    PERFORM refuse_incomplete(p_business_ids, cardinality(p_postings), p_nows);
    FOR v_at IN 1 .. cardinality(p_postings) LOOP
        v_moved := wallets_of(p_postings[v_at]);
        -- A wallet has a key to its business, which a journal without one would cost a lock of that row.
        IF v_moved = '{}' AND NOT EXISTS (SELECT FROM business WHERE id = p_business_ids[v_at]) THEN
            RAISE EXCEPTION 'there is no business %', p_business_ids[v_at] USING ERRCODE = 'foreign_key_violation';
        END IF;
        v_currencies := v_currencies || v_moved;
        v_owners := v_owners || array_fill(p_business_ids[v_at], ARRAY[cardinality(v_moved)]);
    END LOOP;
    v_wallets := lock_wallets(v_owners, v_currencies, p_nows[1]);

    FOR v_at IN 1 .. cardinality(p_postings) LOOP
        v_posting := p_postings[v_at];
        IF v_at = 1 OR p_business_ids[v_at] <> v_business_id THEN
            v_business_id := p_business_ids[v_at];
            v_booked_at := p_nows[v_at];
            v_last := 0;
            v_wallet := array_position(v_wallets.business_ids, v_business_id);
            WHILE v_wallets.business_ids[v_wallet] = v_business_id LOOP
                v_booked_at := greatest(v_booked_at, v_wallets.booked_until[v_wallet]);
                v_last := greatest(v_last, v_wallets.last_journals[v_wallet]);
                v_wallet := v_wallet + 1;
            END LOOP;
        END IF;
        v_last := greatest(v_last + 1, journal_number(clock_timestamp()));
        LOOP
            INSERT INTO journal (business_id, id, kind, cause, event_at, created_at)
            VALUES (v_business_id, v_last, v_posting.kind, v_posting.cause, v_posting.event_at, v_booked_at)
                ON CONFLICT DO NOTHING RETURNING id INTO v_id;
            EXIT WHEN v_id IS NOT NULL OR EXISTS (
                SELECT FROM journal
                 WHERE business_id = v_business_id AND kind = v_posting.kind AND cause = v_posting.cause);
            -- In the same microsecond, another wallet of the business.
            v_last := v_last + 1;
        END LOOP;
        v_ids := v_ids || v_id;
        CONTINUE WHEN v_id IS NULL;
        v_new_owners := v_new_owners || v_business_id;
        v_new_ids := v_new_ids || v_id;
        FOR line IN 1 .. cardinality(v_posting.accounts) LOOP
            v_lines := v_lines || line;
            v_line_balances := v_line_balances || NULL::bigint;
            CONTINUE WHEN v_posting.accounts[line] NOT IN ('wallet', 'refunds', 'disputes');
            v_wallet := array_position(v_wallets.keys, v_business_id || ' ' || v_posting.currencies[line]);
            v_wallets.booked_until[v_wallet] := v_booked_at;
            v_wallets.last_journals[v_wallet] := v_id;
            IF v_posting.accounts[line] = 'wallet' THEN
                v_wallets.balances_minor[v_wallet] := v_wallets.balances_minor[v_wallet] + v_posting.amounts_minor[line];
                v_line_balances[cardinality(v_line_balances)] := v_wallets.balances_minor[v_wallet];
            ELSE
                v_wallets.locked_minor[v_wallet] := v_wallets.locked_minor[v_wallet] + v_posting.amounts_minor[line];
            END IF;
            -- A journal relies on no money that comes after it.
            IF v_wallets.balances_minor[v_wallet] < 0 THEN
                PERFORM refuse_wallet('wallet_is_never_below_zero');
            ELSIF v_wallets.locked_minor[v_wallet] < 0 THEN
                PERFORM refuse_wallet('wallet_locks_no_less_than_nothing');
            END IF;
        END LOOP;
        v_line_owners := v_line_owners || array_fill(v_business_id, ARRAY[cardinality(v_posting.accounts)]);
        v_line_journals := v_line_journals || array_fill(v_id, ARRAY[cardinality(v_posting.accounts)]);
        v_line_accounts := v_line_accounts || v_posting.accounts;
        v_line_currencies := v_line_currencies || v_posting.currencies;
        v_line_amounts := v_line_amounts || v_posting.amounts_minor;
    END LOOP;
    IF v_new_ids = '{}' THEN
        RETURN v_ids;
    END IF;

    INSERT INTO journal_to_link (business_id, journal_id) SELECT * FROM unnest(v_new_owners, v_new_ids);
    IF v_wallets.keys <> '{}' THEN
        UPDATE wallet
           SET balance_minor = moved.balance_minor, locked_minor = moved.locked_minor, booked_until = moved.booked_until,
               last_journal = moved.last_journal, updated_at = moved.booked_until
          FROM unnest(v_wallets.business_ids, v_wallets.currencies, v_wallets.balances_minor, v_wallets.locked_minor,
                      v_wallets.booked_until, v_wallets.last_journals)
               AS moved (business_id, currency, balance_minor, locked_minor, booked_until, last_journal)
         WHERE wallet.business_id = ANY (v_wallets.business_ids) AND wallet.business_id = moved.business_id
           AND wallet.currency = moved.currency AND wallet.last_journal < moved.last_journal;
    END IF;
    INSERT INTO entry (business_id, journal_id, line, account, currency, amount_minor, balance_after_minor)
    SELECT * FROM unnest(v_line_owners, v_line_journals, v_lines, v_line_accounts, v_line_currencies, v_line_amounts,
                         v_line_balances);
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION post_journals_of_several IS 'Posts journals in the order given, those of a business together, and moves its wallets; p_business_ids and p_nows have one for each. Returns their numbers in the same order: NULL for one whose cause was posted before, of which nothing is done.';

CREATE FUNCTION post_journals(p_business_id text, p_postings posting[], p_now timestamptz)
RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN post_journals_of_several(array_fill(p_business_id, ARRAY[cardinality(p_postings)]), p_postings,
                                    array_fill(p_now, ARRAY[cardinality(p_postings)]));
END
$$;
COMMENT ON FUNCTION post_journals IS 'post_journals_of_several for one business.';

CREATE FUNCTION refuse_wallet(p_rule text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the wallet does not have as much'
        USING ERRCODE = 'check_violation', CONSTRAINT = p_rule, TABLE = 'wallet',
              DETAIL = format('It violates the constraint "%s".', p_rule);
END
$$;
COMMENT ON FUNCTION refuse_wallet IS 'Raises as a CHECK of the wallet does.';

CREATE FUNCTION wallets_of(p_posting posting) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_lines      integer := coalesce(cardinality(p_posting.accounts), 0);
    v_dims       text := '[1:' || v_lines || ']';
    v_wallets    text[] := '{}';
    v_currencies text[] := '{}';
    v_sums       bigint[] := '{}';
    v_at         integer;
BEGIN
    IF v_lines = 0 OR v_lines IS DISTINCT FROM cardinality(p_posting.currencies)
       OR v_lines IS DISTINCT FROM cardinality(p_posting.amounts_minor) OR array_position(p_posting.accounts, NULL) > 0
       -- Of a list in a list, a line's currency would be NULL here and another one when it is written.
       OR (array_dims(p_posting.accounts), array_dims(p_posting.currencies), array_dims(p_posting.amounts_minor))
          <> (v_dims, v_dims, v_dims) THEN
        RAISE EXCEPTION 'the journal % of % has no entries, or parts of some', p_posting.kind, p_posting.cause
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'journal_has_entries', TABLE = 'journal',
                  DETAIL = 'It violates the constraint "journal_has_entries".';
    END IF;
    IF NOT (p_posting.event_at >= '1970-01-01 00:00+00' AND p_posting.event_at < '2200-01-01 00:00+00') THEN
        RAISE EXCEPTION 'the journal % of % happened at no time', p_posting.kind, p_posting.cause
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR line IN 1 .. v_lines LOOP
        v_at := coalesce(array_position(v_currencies, p_posting.currencies[line]), cardinality(v_currencies) + 1);
        v_currencies[v_at] := p_posting.currencies[line];
        v_sums[v_at] := coalesce(v_sums[v_at], 0) + p_posting.amounts_minor[line];
        IF p_posting.accounts[line] IN ('wallet', 'refunds', 'disputes') THEN
            v_wallets := v_wallets || p_posting.currencies[line];
        END IF;
    END LOOP;
    IF v_sums <> array_fill(0::bigint, ARRAY[cardinality(v_sums)]) THEN
        RAISE EXCEPTION 'the journal % of % does not sum to zero in each currency', p_posting.kind, p_posting.cause
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'journal_sums_to_zero', TABLE = 'entry',
                  DETAIL = 'It violates the constraint "journal_sums_to_zero".';
    END IF;
    RETURN v_wallets;
END
$$;
COMMENT ON FUNCTION wallets_of IS 'The currencies of the wallets that a journal moves. Raises unless its entries sum to zero in each currency.';

-- Wallets are locked before the journals get their numbers and their time: both then rise in the order in which the
-- balances changed, and a period whose statement was read stays as it was.
CREATE FUNCTION lock_wallets(p_business_ids text[], p_currencies text[], p_now timestamptz) RETURNS wallet_states
    LANGUAGE plpgsql AS $$
DECLARE
    v_wallet  record;
    v_wallets wallet_states;
BEGIN
    LOOP
        v_wallets := ROW('{}', '{}', '{}', '{}', '{}', '{}', '{}');
        EXIT WHEN p_currencies = '{}';
        FOR v_wallet IN
            SELECT wallet.business_id, wallet.currency, balance_minor, locked_minor, booked_until, last_journal
              FROM (SELECT DISTINCT business_id, currency
                      FROM unnest(p_business_ids, p_currencies) AS given (business_id, currency)) AS wanted
              JOIN wallet ON wallet.business_id = wanted.business_id AND wallet.currency = wanted.currency
             WHERE wallet.business_id = ANY (p_business_ids)
             ORDER BY wallet.business_id, wallet.currency FOR NO KEY UPDATE OF wallet
        LOOP
            v_wallets.keys := v_wallets.keys || (v_wallet.business_id || ' ' || v_wallet.currency);
            v_wallets.business_ids := v_wallets.business_ids || v_wallet.business_id;
            v_wallets.currencies := v_wallets.currencies || v_wallet.currency;
            v_wallets.balances_minor := v_wallets.balances_minor || v_wallet.balance_minor;
            v_wallets.locked_minor := v_wallets.locked_minor || v_wallet.locked_minor;
            v_wallets.booked_until := v_wallets.booked_until || v_wallet.booked_until;
            v_wallets.last_journals := v_wallets.last_journals || v_wallet.last_journal;
        END LOOP;
        EXIT WHEN NOT make_wallets(p_business_ids, p_currencies, v_wallets.keys, p_now);
    END LOOP;
    RETURN v_wallets;
END
$$;
COMMENT ON FUNCTION lock_wallets IS 'Locks wallets in the order of business and currency, and makes those that do not exist.';

CREATE FUNCTION make_wallets(p_business_ids text[], p_currencies text[], p_known text[], p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_business_id text;
    v_are_new     boolean := false;
BEGIN
    FOR v_at IN 1 .. cardinality(p_business_ids) LOOP
        v_business_id := p_business_ids[v_at];
        CONTINUE WHEN v_business_id || ' ' || p_currencies[v_at] = ANY (p_known);
        INSERT INTO wallet (business_id, currency, created_at, updated_at)
        VALUES (v_business_id, p_currencies[v_at], p_now, p_now) ON CONFLICT ON CONSTRAINT wallet_pk DO NOTHING;
        v_are_new := true;
    END LOOP;
    RETURN v_are_new;
END
$$;
COMMENT ON FUNCTION make_wallets IS 'Makes wallets that are not known; whether there were any.';

CREATE FUNCTION post_journal(
    p_business_id text, p_kind text, p_cause text,
    p_accounts text[], p_currencies text[], p_amounts_minor bigint[],
    p_event_at timestamptz, p_now timestamptz
) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (post_journals(
        p_business_id,
        ARRAY[ROW(p_kind, p_cause, p_accounts, p_currencies, p_amounts_minor, p_event_at)::posting],
        p_now))[1];
END
$$;
COMMENT ON FUNCTION post_journal IS 'Posts one journal.';

CREATE FUNCTION lock_balance(p_business_id text, p_currency text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_balance_minor bigint;
BEGIN
    SELECT balance_minor INTO v_balance_minor FROM wallet
     WHERE business_id = p_business_id AND currency = p_currency FOR NO KEY UPDATE;
    RETURN coalesce(v_balance_minor, 0);
END
$$;
COMMENT ON FUNCTION lock_balance IS 'What a wallet has, and keeps until the transaction ends.';

CREATE FUNCTION close_wallet_period(p_business_id text, p_currency text, p_until timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT (p_until > '-infinity' AND p_until < '2200-01-01 00:00+00') THEN
        RAISE EXCEPTION 'a period ends at a time' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE wallet SET booked_until = p_until
     WHERE business_id = p_business_id AND currency = p_currency AND booked_until < p_until;
END
$$;
COMMENT ON FUNCTION close_wallet_period IS 'Waits for journals that are being posted; later ones have that time or a later one.';

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

GRANT SELECT ON wallet, journal, entry TO tidegate_app;
GRANT SELECT, INSERT ON journal_link TO tidegate_app;
GRANT SELECT, DELETE ON journal_to_link TO tidegate_app;


-- Payment

CREATE TABLE payment_link (
    business_id     text        NOT NULL CONSTRAINT payment_link_business_fk REFERENCES business (id),
    id              text        NOT NULL,
    number          bigint      GENERATED ALWAYS AS IDENTITY,
    name            text        NOT NULL,
    kind            text        NOT NULL,
    currency        text        NOT NULL,
    asked_minor     bigint,
    least_minor     bigint      NOT NULL,
    most_minor      bigint      NOT NULL,
    fee_bearer      text        NOT NULL,
    methods         text[]      NOT NULL,
    phone_rule      text,
    note_rule       text,
    note_label      text,
    success_message text,
    redirect_url    text,
    payments_max    integer,
    ends_at         timestamptz,
    created_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    opened          bigint      NOT NULL DEFAULT 0,
    CONSTRAINT payment_link_pk PRIMARY KEY (business_id, id),
    CONSTRAINT payment_link_kind_is_known CHECK (kind IN ('one_off', 'reusable')),
    CONSTRAINT payment_link_fee_bearer_is_known CHECK (fee_bearer IN ('business', 'customer')),
    CONSTRAINT payment_link_asks_for_money CHECK (asked_minor > 0 AND least_minor > 0 AND most_minor >= least_minor),
    CONSTRAINT payment_link_one_off_is_paid_once CHECK (kind = 'reusable' OR payments_max = 1),
    CONSTRAINT payment_link_is_paid_at_least_once CHECK (payments_max > 0),
    CONSTRAINT payment_link_field_rules_are_known
        CHECK (phone_rule IN ('optional', 'required') AND note_rule IN ('optional', 'required')),
    CONSTRAINT payment_link_labels_a_note_that_it_asks_for CHECK (note_label IS NULL OR note_rule IS NOT NULL)
);
COMMENT ON TABLE payment_link IS 'A link that any payer may pay by; each opening that is submitted makes a payment.';
COMMENT ON COLUMN payment_link.number IS 'The order of lists.';
COMMENT ON COLUMN payment_link.asked_minor IS 'The fixed amount; NULL where the payer chooses one from least_minor to most_minor.';
COMMENT ON COLUMN payment_link.methods IS 'Empty for all that can be paid by at the time.';
COMMENT ON COLUMN payment_link.phone_rule IS 'Whether the payer gives a phone number; NULL where none is asked for. The same for note_rule.';
COMMENT ON COLUMN payment_link.note_label IS 'What the page calls the note; NULL for the word of the payer''s language.';
COMMENT ON COLUMN payment_link.opened IS 'How often browsers opened its page. Written in batches, so that no payer waits for it.';
COMMENT ON COLUMN payment_link.payments_max IS 'How often it may be paid.';
COMMENT ON COLUMN payment_link.ended_at IS 'When the merchant ended it.';
CREATE INDEX payment_link_by_number ON payment_link (business_id, number);

CREATE DOMAIN payment_status AS text
    CONSTRAINT payment_status_is_known CHECK (VALUE IN (
        'initiated', 'pending', 'processing', 'success', 'failed', 'expired'));
CREATE DOMAIN payment_variance AS text
    CONSTRAINT payment_variance_is_known CHECK (VALUE IN ('underpayment', 'overpayment'));
CREATE DOMAIN payment_dispute_status AS text
    CONSTRAINT payment_dispute_status_is_known CHECK (VALUE IN ('open', 'won', 'lost'));
CREATE DOMAIN payment_fee_bearer AS text
    CONSTRAINT payment_fee_bearer_is_known CHECK (VALUE IN ('business', 'customer'));

CREATE TABLE payment (
    business_id        text        NOT NULL CONSTRAINT payment_business_fk REFERENCES business (id),
    id                 bigint      GENERATED ALWAYS AS IDENTITY,
    pay_code           text        NOT NULL,
    -- "C": references that begin alike lie together, whatever the database's own order is.
    reference          text        COLLATE "C" NOT NULL,
    version            bigint      NOT NULL DEFAULT 0,
    status             payment_status NOT NULL DEFAULT 'initiated',
    variance           payment_variance,
    ending             text,
    is_disabled        boolean     NOT NULL DEFAULT false,
    currency           text        NOT NULL,
    asked_minor        bigint      NOT NULL,
    expected_minor     bigint      NOT NULL,
    received_minor     bigint      NOT NULL DEFAULT 0,
    held_minor         bigint      NOT NULL DEFAULT 0,
    returned_minor     bigint      NOT NULL DEFAULT 0,
    refunded_minor     bigint      NOT NULL DEFAULT 0,
    reversed_minor     bigint      NOT NULL DEFAULT 0,
    owed_minor         bigint      NOT NULL DEFAULT 0,
    fee_bearer         payment_fee_bearer NOT NULL,
    fee_rule_id        text        NOT NULL,
    fee_minor          bigint,
    vat_minor          bigint,
    settled_minor      bigint,
    methods            text[]      NOT NULL,
    default_method     text        NOT NULL,
    method             text,
    attempts           integer     NOT NULL DEFAULT 0,
    attempts_by_method jsonb       NOT NULL DEFAULT '{}',
    customer_name      text        NOT NULL,
    customer_email     text        NOT NULL,
    customer_phone     text,
    redirect_url       text,
    success_message    text,
    metadata           json,
    dispute_status     payment_dispute_status,
    request_hash       bytea       NOT NULL,
    payment_link_id    text,
    paid_at            timestamptz,
    expires_at         timestamptz NOT NULL,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT payment_pk PRIMARY KEY (business_id, id),
    CONSTRAINT payment_link_fk FOREIGN KEY (business_id, payment_link_id) REFERENCES payment_link (business_id, id),
    CONSTRAINT payment_one_reference_per_business UNIQUE (business_id, reference),
    CONSTRAINT payment_one_pay_code UNIQUE (business_id, pay_code),
    CONSTRAINT payment_asks_for_money CHECK (asked_minor > 0 AND expected_minor >= asked_minor),
    CONSTRAINT payment_receives_no_less_than_nothing CHECK (received_minor >= 0),
    CONSTRAINT payment_holds_no_less_than_nothing CHECK (held_minor >= 0 AND returned_minor >= 0),
    CONSTRAINT payment_refunds_no_more_than_it_received CHECK (refunded_minor BETWEEN 0 AND received_minor),
    CONSTRAINT payment_reverses_no_more_than_it_received CHECK (reversed_minor BETWEEN 0 AND received_minor),
    CONSTRAINT payment_owes_no_more_than_was_reversed CHECK (owed_minor BETWEEN 0 AND reversed_minor),
    CONSTRAINT payment_success_is_complete CHECK (
        (status = 'success')
        = (fee_minor IS NOT NULL AND vat_minor IS NOT NULL AND settled_minor IS NOT NULL AND paid_at IS NOT NULL
           AND method IS NOT NULL)),
    CONSTRAINT payment_settles_what_it_received CHECK (received_minor = settled_minor + fee_minor + vat_minor)
);
COMMENT ON TABLE payment IS 'A checkout payment. `reference` is the merchant''s, or the pay code when it gave none.';
COMMENT ON COLUMN payment.version IS 'Counts changes: a change is written only over the state it was decided on.';
COMMENT ON COLUMN payment.ending IS 'Why it failed for good.';
COMMENT ON COLUMN payment.asked_minor IS 'What the merchant asks for.';
COMMENT ON COLUMN payment.expected_minor IS 'What the payer pays: with the fee, where the customer bears it.';
COMMENT ON COLUMN payment.received_minor IS 'What was settled, fee and VAT included.';
COMMENT ON COLUMN payment.held_minor IS 'Part payments that wait for the rest.';
COMMENT ON COLUMN payment.returned_minor IS 'Received and sent back to the payer, such as an excess.';
COMMENT ON COLUMN payment.refunded_minor IS 'Refunds that are under way or have arrived.';
COMMENT ON COLUMN payment.reversed_minor IS 'Of what was received, taken back by the bank.';
COMMENT ON COLUMN payment.owed_minor IS 'Taken back by the bank when the wallet no longer held it, and not yet collected from the merchant.';
COMMENT ON COLUMN payment.settled_minor IS 'What the wallet was credited with.';
COMMENT ON COLUMN payment.method IS 'The one it was paid by.';
COMMENT ON COLUMN payment.attempts_by_method IS 'How many attempts were begun by each method; `attempts` is the number of the newest attempt.';
COMMENT ON COLUMN payment.metadata IS 'json, not jsonb: numbers and order stay as the merchant sent them.';
COMMENT ON COLUMN payment.payment_link_id IS 'The payment link that it was made by.';
COMMENT ON COLUMN payment.dispute_status IS 'Of the newest dispute of it.';
COMMENT ON COLUMN payment.request_hash IS 'Of the order: tells a repeated request from another one under the same reference.';
CREATE INDEX payment_to_expire ON payment (expires_at) WHERE status IN ('initiated', 'pending');
CREATE INDEX payment_ended_with_money_held ON payment (expires_at)
    WHERE held_minor > 0 AND status IN ('failed', 'expired');
CREATE INDEX payment_that_owes ON payment (id) WHERE owed_minor > 0;
-- Lists, in the order of (created_at, id). The expression is the same time: only the index that has it gives its order,
-- so that no statistics lead list_payments to another index.
CREATE INDEX payment_by_time ON payment (business_id, created_at, id);
-- The columns of its expressions besides: only with them it is read alone, without the rows.
CREATE INDEX payment_by_state ON payment (business_id, status, currency, coalesce(method, ''), coalesce(variance, ''), (created_at AT TIME ZONE 'UTC'), id)
    INCLUDE (method, variance, created_at);
CREATE INDEX payment_by_email ON payment (business_id, lower(customer_email), (created_at AT TIME ZONE 'UTC'), id);
CREATE INDEX payment_by_name ON payment (business_id, (lower(customer_name) COLLATE "C")) INCLUDE (customer_name);
CREATE INDEX payment_by_amount ON payment (business_id, currency, expected_minor);
-- Counted on the dashboard; written only when a payment ends without money.
CREATE INDEX payment_ended_unpaid ON payment (business_id, created_at, currency, default_method) WHERE status IN ('failed', 'expired');
-- Few payments have a variance: those with something left to refund are counted on the dashboard's Home by kind.
CREATE INDEX payment_with_variance ON payment (business_id, variance, created_at) WHERE variance IS NOT NULL AND status = 'success' AND refunded_minor < greatest(received_minor - expected_minor, 1);
CREATE INDEX payment_by_link ON payment (business_id, payment_link_id, (created_at AT TIME ZONE 'UTC'), id) WHERE payment_link_id IS NOT NULL;

-- The only projection of a payment. One text is read in 5 µs, so many columns in 8. Of anyelement, since a payment has the
-- row type of its shard on a cluster.
CREATE FUNCTION payment_row(anyelement) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT json_build_array(
    $1.business_id, $1.id, $1.pay_code, $1.reference, $1.version, $1.status, $1.variance, $1.ending, $1.is_disabled,
    $1.currency, $1.asked_minor, $1.expected_minor, $1.received_minor, $1.held_minor, $1.returned_minor,
    $1.refunded_minor, $1.reversed_minor, $1.fee_bearer, $1.fee_rule_id, $1.fee_minor, $1.vat_minor, $1.settled_minor,
    $1.methods, $1.default_method, $1.method, $1.attempts, $1.attempts_by_method,
    $1.customer_name, $1.customer_email, $1.customer_phone, $1.redirect_url, $1.success_message, $1.metadata,
    $1.paid_at, $1.expires_at, $1.created_at, $1.updated_at, $1.payment_link_id,
    $1.dispute_status) $$;
COMMENT ON FUNCTION payment_row IS 'A payment as the program reads it: the fields of PaymentRow in payment/row.py, in their order.';

-- Guarded itself: a plan may test the conditions in any order.
CREATE FUNCTION payment_of(p_cause text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_cause ~ '^payment/[0-9]{1,18}$' THEN substr(p_cause, 9)::bigint END $$;
COMMENT ON FUNCTION payment_of IS 'The id of the payment that a journal is about, by its cause; NULL for another cause.';

CREATE FUNCTION takings_between(p_business_id text, p_bounds timestamptz[])
RETURNS TABLE (span integer, currency text, method text, payments bigint, received_minor bigint, fee_minor bigint,
               settled_minor bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH booked AS (
        SELECT hour AS at, currency, method, payments, received_minor, fee_minor, settled_minor FROM takings
         WHERE business_id = p_business_id AND hour >= p_bounds[1]
         UNION ALL
        SELECT journal.created_at, payment.currency, payment.method, 1, payment.received_minor,
               payment.fee_minor + payment.vat_minor, payment.settled_minor
          FROM journal
          JOIN payment ON payment.business_id = p_business_id AND payment.id = payment_of(journal.cause)
         WHERE journal.business_id = p_business_id AND journal.kind = 'checkout_settled'
           AND journal.id > coalesce((SELECT journal_id FROM takings_watermark WHERE business_id = p_business_id), 0)
           AND journal.created_at >= p_bounds[1])
    SELECT width_bucket(at, p_bounds), currency, method, sum(payments)::bigint, sum(received_minor)::bigint,
           sum(fee_minor)::bigint, sum(settled_minor)::bigint
      FROM booked GROUP BY 1, 2, 3;
END
$$;
COMMENT ON FUNCTION takings_between IS 'Between consecutive moments: the roll-up, and what was booked after it. The first span is 1.';

-- IS TRUE: with another status, the planner would see that nothing fits, and Citus fails over a row of no shard.
CREATE FUNCTION payment_fits(
    anyelement, p_status text, p_variance text, p_method text, p_currency text, p_email text, p_reference_from text,
    p_reference_to text, p_name_from text, p_name_to text, p_is_either boolean, p_amounts jsonb, p_link_id text,
    p_is_unrefunded boolean)
    RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT (p_status IS NULL OR $1.status = p_status) AND (p_variance IS NULL OR $1.variance = p_variance OR p_variance = 'any' AND $1.variance IS NOT NULL)
       AND (p_method IS NULL OR $1.method = p_method) AND (p_currency IS NULL OR $1.currency = p_currency)
       AND (p_email IS NULL OR lower($1.customer_email) = lower(p_email))
       AND (p_amounts IS NULL OR ($1.expected_minor >= (p_amounts #>> ARRAY[$1.currency, '0'])::bigint
                              AND $1.expected_minor <= (p_amounts #>> ARRAY[$1.currency, '1'])::bigint))
       AND (p_link_id IS NULL OR $1.payment_link_id = p_link_id)
       AND (NOT p_is_unrefunded
            OR ($1.status = 'success' AND $1.refunded_minor < greatest($1.received_minor - $1.expected_minor, 1)) IS TRUE)
       AND CASE WHEN p_is_either
                THEN ($1.reference >= p_reference_from AND $1.reference < p_reference_to)
                  OR (p_name_from <> '' AND lower($1.customer_name) COLLATE "C" >= p_name_from
                      AND lower($1.customer_name) COLLATE "C" < p_name_to)
                ELSE $1.reference >= p_reference_from AND $1.reference < p_reference_to
                 AND (p_name_from = '' OR (lower($1.customer_name) COLLATE "C" >= p_name_from
                                           AND lower($1.customer_name) COLLATE "C" < p_name_to)) END $$;
COMMENT ON FUNCTION payment_fits IS 'Whether a payment is one that a list asks for. NULL, or no name, does not filter; p_variance ''any'' is each of them; p_is_either: the reference or the name begins so; p_amounts: the least and the most by currency; p_is_unrefunded: paid, and nothing of it refunded, or less than came too much. The list''s dates are bounds of its index.';

-- Bitmaps and sorts are refused: they would fetch all that fits before the first row, and the planner cannot know how much
-- that is. An index read in its order stops at the limit.
CREATE FUNCTION list_payments(
    p_way text, p_business_id text, p_start timestamptz, p_at timestamptz, p_id bigint, p_limit integer, p_status text,
    p_variance text, p_method text, p_currency text, p_email text, p_reference_from text, p_reference_to text,
    p_name text, p_is_either boolean, p_amounts jsonb, p_link_id text, p_combinations json, p_is_unrefunded boolean)
RETURNS SETOF bigint LANGUAGE plpgsql STABLE ROWS 50 SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    v_start timestamp := p_start AT TIME ZONE 'UTC';
    v_at    timestamp := p_at AT TIME ZONE 'UTC';
    v_name  text := lower(p_name);
    -- Above every name that begins so.
    v_past_name text := lower(p_name) || chr(1114111);
    -- Where nothing is asked for that the index does not say already, no row is looked at more closely.
    v_is_combination boolean := p_email IS NULL AND p_reference_from = '' AND p_name = '' AND p_amounts IS NULL
                                AND p_link_id IS NULL AND NOT p_is_unrefunded;
BEGIN
    CASE p_way
    WHEN 'time' THEN RETURN QUERY
        SELECT payment.id FROM payment
         WHERE business_id = p_business_id AND created_at >= p_start AND (created_at, id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY created_at DESC, id DESC LIMIT p_limit;
    WHEN 'combination' THEN RETURN QUERY
        SELECT found.id
          FROM json_to_recordset(p_combinations) AS given (status text, currency text, method text, variance text)
         CROSS JOIN LATERAL (
              SELECT payment.id, payment.created_at FROM payment
               WHERE business_id = p_business_id AND payment.status = given.status
                 AND payment.currency = given.currency AND coalesce(payment.method, '') = given.method
                 AND coalesce(payment.variance, '') = given.variance AND (created_at AT TIME ZONE 'UTC') >= v_start
                 AND (created_at AT TIME ZONE 'UTC', id) < (v_at, p_id)
                 AND (v_is_combination
                      OR payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from,
                                      p_reference_to, v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded))
               ORDER BY created_at AT TIME ZONE 'UTC' DESC, id DESC LIMIT p_limit) AS found
         ORDER BY found.created_at DESC, found.id DESC LIMIT p_limit;
    WHEN 'combination, in any order' THEN RETURN QUERY
        SELECT found.id
          FROM json_to_recordset(p_combinations) AS given (status text, currency text, method text, variance text)
         CROSS JOIN LATERAL (
              SELECT payment.id, payment.created_at FROM payment
               WHERE business_id = p_business_id AND payment.status = given.status
                 AND payment.currency = given.currency AND coalesce(payment.method, '') = given.method
                 AND coalesce(payment.variance, '') = given.variance AND (created_at AT TIME ZONE 'UTC') >= v_start
                 AND (created_at AT TIME ZONE 'UTC', id) < (v_at, p_id)
                 AND (v_is_combination
                      OR payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from,
                                      p_reference_to, v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded))
               ORDER BY created_at AT TIME ZONE 'UTC' DESC, id DESC LIMIT p_limit) AS found
         LIMIT p_limit;
    WHEN 'email' THEN RETURN QUERY
        SELECT payment.id FROM payment
         WHERE business_id = p_business_id AND lower(customer_email) = lower(p_email)
           AND (created_at AT TIME ZONE 'UTC') >= v_start AND (created_at AT TIME ZONE 'UTC', id) < (v_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY created_at AT TIME ZONE 'UTC' DESC, id DESC LIMIT p_limit;
    WHEN 'link' THEN RETURN QUERY
        SELECT payment.id FROM payment
         WHERE business_id = p_business_id AND payment_link_id = p_link_id
           AND (created_at AT TIME ZONE 'UTC') >= v_start AND (created_at AT TIME ZONE 'UTC', id) < (v_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY created_at AT TIME ZONE 'UTC' DESC, id DESC LIMIT p_limit;
    WHEN 'reference' THEN RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT payment FROM payment
             WHERE business_id = p_business_id AND reference >= p_reference_from AND reference < p_reference_to)
        SELECT (payment).id FROM near
         WHERE (payment).created_at >= p_start AND ((payment).created_at, (payment).id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY (payment).created_at DESC, (payment).id DESC LIMIT p_limit;
    WHEN 'name' THEN RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT payment FROM payment
             WHERE business_id = p_business_id AND lower(customer_name) COLLATE "C" >= v_name
               AND lower(customer_name) COLLATE "C" < v_past_name)
        SELECT (payment).id FROM near
         WHERE (payment).created_at >= p_start AND ((payment).created_at, (payment).id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY (payment).created_at DESC, (payment).id DESC LIMIT p_limit;
    WHEN 'name, in any order' THEN RETURN QUERY
        SELECT payment.id FROM payment
         WHERE business_id = p_business_id AND lower(customer_name) COLLATE "C" >= v_name
           AND lower(customer_name) COLLATE "C" < v_past_name AND created_at >= p_start AND (created_at, id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         LIMIT p_limit;
    WHEN 'reference or name' THEN RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT payment FROM payment
             WHERE business_id = p_business_id AND reference >= p_reference_from AND reference < p_reference_to
             UNION ALL
            SELECT payment FROM payment
             WHERE business_id = p_business_id AND lower(customer_name) COLLATE "C" >= v_name
               AND lower(customer_name) COLLATE "C" < v_past_name
               AND NOT (reference >= p_reference_from AND reference < p_reference_to))
        SELECT (payment).id FROM near
         WHERE (payment).created_at >= p_start AND ((payment).created_at, (payment).id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY (payment).created_at DESC, (payment).id DESC LIMIT p_limit;
    WHEN 'amount' THEN RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT found.payment FROM jsonb_each(p_amounts) AS given (code, bounds)
             -- The limit keeps it a look into the index for each currency.
             CROSS JOIN LATERAL (
                  SELECT payment FROM payment
                   WHERE business_id = p_business_id AND currency = given.code
                     AND expected_minor >= (given.bounds ->> 0)::bigint AND expected_minor <= (given.bounds ->> 1)::bigint
                   LIMIT 1000000) AS found)
        SELECT (payment).id FROM near
         WHERE (payment).created_at >= p_start AND ((payment).created_at, (payment).id) < (p_at, p_id)
           AND payment_fits(payment, p_status, p_variance, p_method, p_currency, p_email, p_reference_from, p_reference_to,
                              v_name, v_past_name, p_is_either, p_amounts, p_link_id, p_is_unrefunded)
         ORDER BY (payment).created_at DESC, (payment).id DESC LIMIT p_limit;
    END CASE;
END
$$;
COMMENT ON FUNCTION list_payments IS 'Numbers of payments that fit, the newest first, from before (p_at, p_id) back to p_start; p_way names the index that finds few rows without reading all.';

-- Where dates with status, currency, method and variance, or a prefix, or an amount is all that is asked for. The oldest
-- payments of a range of dates come first: nothing has changed them since the last vacuum, so that no row is looked at
-- besides its index. Each is counted in the order of its index: without one, a limit leads the planner through the whole
-- table where it believes that many fit.
CREATE FUNCTION count_payments(
    p_way text, p_business_id text, p_most integer, p_start timestamptz DEFAULT NULL, p_end timestamptz DEFAULT NULL,
    p_reference_from text DEFAULT NULL, p_reference_to text DEFAULT NULL, p_name text DEFAULT NULL,
    p_amounts jsonb DEFAULT NULL, p_combinations json DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql STABLE SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    v_references bigint;
    v_names      bigint;
BEGIN
    CASE p_way
    WHEN 'time' THEN RETURN (SELECT count(*) FROM (
        SELECT FROM payment WHERE business_id = p_business_id AND created_at >= p_start AND created_at < p_end
         ORDER BY created_at, id LIMIT p_most) AS near);
    WHEN 'combination' THEN RETURN (SELECT count(*) FROM (
        SELECT FROM json_to_recordset(p_combinations) AS given (status text, currency text, method text, variance text)
         CROSS JOIN LATERAL (
              SELECT FROM payment
               WHERE business_id = p_business_id AND payment.status = given.status
                 AND payment.currency = given.currency AND coalesce(payment.method, '') = given.method
                 AND coalesce(payment.variance, '') = given.variance
                 AND (created_at AT TIME ZONE 'UTC') >= p_start AT TIME ZONE 'UTC'
                 AND (created_at AT TIME ZONE 'UTC') < p_end AT TIME ZONE 'UTC'
               ORDER BY created_at AT TIME ZONE 'UTC', id LIMIT p_most) AS found
         LIMIT p_most) AS near);
    WHEN 'reference' THEN RETURN (SELECT count(*) FROM (
        SELECT FROM payment
         WHERE business_id = p_business_id AND reference >= p_reference_from AND reference < p_reference_to
         ORDER BY reference LIMIT p_most) AS near);
    WHEN 'name' THEN RETURN (SELECT count(*) FROM (
        SELECT FROM payment
         WHERE business_id = p_business_id AND lower(customer_name) COLLATE "C" >= lower(p_name)
           AND lower(customer_name) COLLATE "C" < lower(p_name) || chr(1114111)
         ORDER BY lower(customer_name) COLLATE "C" LIMIT p_most) AS near);
    WHEN 'reference or name' THEN
        v_references := count_payments('reference', p_business_id, p_most, p_reference_from => p_reference_from,
                                       p_reference_to => p_reference_to);
        v_names := CASE WHEN v_references < p_most
                        THEN count_payments('name', p_business_id, p_most, p_name => p_name) ELSE 0 END;
        -- Those that have both are looked for only where there is something of each.
        RETURN least(p_most, v_references + v_names - CASE
            WHEN v_references = 0 OR v_names = 0 OR v_names = p_most THEN 0
            ELSE (SELECT count(*) FROM payment
                   WHERE business_id = p_business_id AND reference >= p_reference_from AND reference < p_reference_to
                     AND lower(customer_name) COLLATE "C" >= lower(p_name)
                     AND lower(customer_name) COLLATE "C" < lower(p_name) || chr(1114111)) END);
    WHEN 'amount' THEN RETURN (SELECT count(*) FROM (
        SELECT FROM jsonb_each(p_amounts) AS given (code, bounds)
         CROSS JOIN LATERAL (
              SELECT FROM payment
               WHERE business_id = p_business_id AND currency = given.code
                 AND expected_minor >= (given.bounds ->> 0)::bigint AND expected_minor <= (given.bounds ->> 1)::bigint
               ORDER BY expected_minor LIMIT p_most) AS found
         LIMIT p_most) AS near);
    END CASE;
END
$$;
COMMENT ON FUNCTION count_payments IS 'How many payments fit, up to p_most, where one thing alone is asked for: p_way names the index that has it.';

CREATE FUNCTION few_payments_way(
    p_business_id text, p_reference_from text, p_reference_to text, p_name text, p_is_either boolean, p_amounts jsonb,
    p_most integer)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_few_references boolean := p_reference_from <> '' AND p_most >= count_payments(
        'reference', p_business_id, p_most + 1, p_reference_from => p_reference_from, p_reference_to => p_reference_to);
    v_few_names boolean := p_name <> '' AND p_most >= count_payments(
        'name', p_business_id, p_most + 1, p_name => p_name);
BEGIN
    IF p_is_either THEN
        IF v_few_references AND v_few_names THEN
            RETURN 'reference or name';
        END IF;
    ELSIF v_few_references THEN
        RETURN 'reference';
    ELSIF v_few_names THEN
        RETURN 'name';
    END IF;
    IF p_amounts IS NOT NULL
       AND p_most >= count_payments('amount', p_business_id, p_most + 1, p_amounts => p_amounts) THEN
        RETURN 'amount';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION few_payments_way IS 'The way of list_payments for a prefix or an amount of which there are at most p_most, so that they can be sorted; NULL where there is none.';

CREATE FUNCTION create_payments(p_business_id text, p_drafts json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    v_draft    record;
    v_pay_code text;
    v_hash     bytea;
    v_known    json[] := '{}';
BEGIN
    -- Always in the same order: otherwise two batches with the same references could deadlock.
    FOR v_draft IN
        SELECT * FROM json_to_recordset(p_drafts) AS given (
            business_id text, pay_code text, reference text, currency text, asked_minor bigint, expected_minor bigint,
            fee_bearer text, fee_rule_id text, methods text[], default_method text, customer_name text,
            customer_email text, customer_phone text, redirect_url text, success_message text, metadata text,
            request_hash text, expires_at timestamptz, created_at timestamptz, payment_link_id text)
         ORDER BY business_id, reference
    LOOP
        INSERT INTO payment (
            business_id, pay_code, reference, currency, asked_minor, expected_minor, fee_bearer, fee_rule_id,
            methods, default_method, customer_name, customer_email, customer_phone, redirect_url,
            success_message, metadata, request_hash, expires_at, created_at, updated_at, payment_link_id)
        VALUES (
            v_draft.business_id, v_draft.pay_code, v_draft.reference, v_draft.currency, v_draft.asked_minor,
            v_draft.expected_minor, v_draft.fee_bearer, v_draft.fee_rule_id, v_draft.methods, v_draft.default_method,
            v_draft.customer_name, v_draft.customer_email, v_draft.customer_phone, v_draft.redirect_url,
            v_draft.success_message, v_draft.metadata::json, decode(v_draft.request_hash, 'base64'),
            v_draft.expires_at, v_draft.created_at, v_draft.created_at, v_draft.payment_link_id)
        ON CONFLICT ON CONSTRAINT payment_one_reference_per_business DO NOTHING;
        CONTINUE WHEN FOUND;
        SELECT pay_code, request_hash INTO v_pay_code, v_hash FROM payment
         WHERE business_id = v_draft.business_id AND reference = v_draft.reference;
        v_known := v_known || json_build_array(v_draft.business_id, v_draft.reference, v_pay_code,
                                               encode(v_hash, 'base64'));
    END LOOP;
    RETURN array_to_json(v_known);
END
$$;
COMMENT ON FUNCTION create_payments IS 'Writes new payments, in one commit. Returns those whose reference had a payment already: business, reference, pay code and hash. On a cluster all are of the one business; on one PostgreSQL they may be of several.';

CREATE FUNCTION use_of_link(p_business_id text, p_link_id text, p_now timestamptz, p_most integer)
RETURNS TABLE (made integer, under_way integer, paid integer, received_minor bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT (SELECT count(*) FROM (
                    SELECT FROM payment WHERE business_id = p_business_id AND payment_link_id = p_link_id
                     LIMIT p_most) AS begun)::integer,
               (SELECT count(*) FROM payment
                 WHERE business_id = p_business_id AND payment_link_id = p_link_id AND expires_at > p_now
                   AND status IN ('initiated', 'pending', 'processing'))::integer,
               count(*)::integer, coalesce(sum(received_minor), 0)::bigint
          FROM (SELECT received_minor FROM payment
                 WHERE business_id = p_business_id AND payment_link_id = p_link_id AND status = 'success'
                 LIMIT p_most) AS paid;
END
$$;
COMMENT ON FUNCTION use_of_link IS 'What became of a payment link: payments made, under way, and paid with their sum. No more than p_most are counted.';

CREATE TABLE case_link (
    business_id    text        NOT NULL,
    token_hash     bytea       NOT NULL,
    payment_id     bigint      NOT NULL,
    shows          text[]      NOT NULL,
    created_by     text        NOT NULL CONSTRAINT case_link_created_by_fk REFERENCES person (id),
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    revoked_at     timestamptz,
    openings       integer     NOT NULL DEFAULT 0,
    last_opened_at timestamptz,
    CONSTRAINT case_link_pk PRIMARY KEY (business_id, token_hash),
    CONSTRAINT case_link_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT case_link_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT case_link_lasts_at_most_30_days
        CHECK (expires_at > created_at AND expires_at <= created_at + interval '30 days'),
    CONSTRAINT case_link_shows_known_parts CHECK (shows <@ ARRAY['payer', 'attempts', 'webhooks'])
);
COMMENT ON TABLE case_link IS 'A link that shows one payment without a sign-in: to the payer, or to support elsewhere. By the real clock, also in a sandbox.';
COMMENT ON COLUMN case_link.shows IS 'What is shown besides amounts, times and refunds.';
CREATE INDEX case_link_by_payment ON case_link (business_id, payment_id);
GRANT SELECT, INSERT, UPDATE (revoked_at, openings, last_opened_at) ON case_link TO tidegate_app;

CREATE DOMAIN attempt_status AS text
    CONSTRAINT attempt_status_is_known CHECK (VALUE IN (
        'starting', 'waiting', 'running', 'succeeded', 'failed', 'replaced', 'expired'));

CREATE TABLE attempt (
    business_id    text        NOT NULL,
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    payment_id     bigint      NOT NULL,
    number         integer     NOT NULL,
    reference      text        NOT NULL,
    rail           text        NOT NULL,
    method         text        NOT NULL,
    status         attempt_status NOT NULL,
    failure        text,
    expected_minor bigint      NOT NULL,
    fee_rule_id    text        NOT NULL,
    action         jsonb,
    details        jsonb       NOT NULL DEFAULT '{}',
    account_id     text,
    account_number text,
    polls           integer     NOT NULL DEFAULT 0,
    next_poll_at    timestamptz,
    answers        integer     NOT NULL DEFAULT 0,
    resends        integer     NOT NULL DEFAULT 0,
    resend_from    timestamptz,
    said_sent_at   timestamptz,
    expires_at     timestamptz,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT attempt_pk PRIMARY KEY (business_id, id),
    CONSTRAINT attempt_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT attempt_one_reference UNIQUE (business_id, reference),
    CONSTRAINT attempt_one_number UNIQUE (business_id, payment_id, number)
);
COMMENT ON TABLE attempt IS 'One try to pay, on one rail. Nothing of a card is kept but brand, first six and last four.';
COMMENT ON COLUMN attempt.answers IS 'How many answers the payer gave to what is asked now, such as a PIN.';
COMMENT ON COLUMN attempt.resends IS 'How often the prompt or code that the payer waits for was sent again.';
COMMENT ON COLUMN attempt.resend_from IS 'Before then it is not sent again.';
COMMENT ON COLUMN attempt.said_sent_at IS 'When the payer said that the money of a transfer is on its way.';
CREATE UNIQUE INDEX attempt_one_open_per_payment ON attempt (business_id, payment_id)
    WHERE status IN ('starting', 'waiting', 'running');
CREATE UNIQUE INDEX attempt_one_success_per_payment ON attempt (business_id, payment_id) WHERE status = 'succeeded';
CREATE INDEX attempt_by_account_number ON attempt (rail, account_number, id) WHERE account_number IS NOT NULL;
CREATE INDEX attempt_by_account ON attempt (business_id, account_id) WHERE account_id IS NOT NULL;
CREATE INDEX attempt_by_transfer ON attempt (rail, expected_minor, created_at)
    WHERE account_number IS NOT NULL AND status <> 'succeeded';
CREATE INDEX attempt_to_close ON attempt (expires_at) WHERE status = 'waiting' AND account_number IS NOT NULL;
CREATE INDEX attempt_to_poll ON attempt (next_poll_at) WHERE next_poll_at IS NOT NULL;

CREATE FUNCTION recent_attempts(p_business_id text, p_since timestamptz, p_most integer)
RETURNS TABLE (rail text, method text, currency text, status attempt_status, took interval, payment_id bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT attempt.rail, attempt.method, recent.currency, attempt.status, attempt.updated_at - attempt.created_at,
               recent.id
          FROM (SELECT payment.id, payment.currency FROM payment
                 WHERE business_id = p_business_id AND created_at >= p_since
                 ORDER BY created_at DESC, id DESC LIMIT p_most) AS recent
          JOIN attempt ON attempt.business_id = p_business_id AND attempt.payment_id = recent.id;
END
$$;
COMMENT ON FUNCTION recent_attempts IS 'Attempts of the payments of a business that were made since then, of the newest p_most payments.';

CREATE TABLE receipt_mail (
    business_id text        NOT NULL,
    payment_id  bigint      NOT NULL,
    language    text        NOT NULL,
    created_at  timestamptz NOT NULL,
    payment_ended_at timestamptz,
    ended_at    timestamptz,
    CONSTRAINT receipt_mail_pk PRIMARY KEY (business_id, payment_id),
    CONSTRAINT receipt_mail_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT receipt_mail_language_is_a_code CHECK (language ~ '^[a-z]{2,3}$')
);
COMMENT ON TABLE receipt_mail IS 'Payments whose payer is to be sent the receipt: noted before an attempt begins, ended in the transaction that writes the mail. The key is what makes it one mail.';
COMMENT ON COLUMN receipt_mail.language IS 'What the payer read last.';
COMMENT ON COLUMN receipt_mail.payment_ended_at IS 'Set with the payment''s last status; from then on the worker has something to do.';
COMMENT ON COLUMN receipt_mail.ended_at IS 'When the mail was written, or the payment ended unpaid.';
-- Only what is due: payments that are still open cost the worker nothing.
CREATE INDEX receipt_mail_to_write ON receipt_mail (payment_ended_at) WHERE payment_ended_at IS NOT NULL AND ended_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON payment_link, payment, attempt, receipt_mail TO tidegate_app;


-- Intake

CREATE DOMAIN notification_state AS text
    CONSTRAINT notification_state_is_known CHECK (VALUE IN ('done', 'suspense', 'quarantined'));

CREATE TABLE notification (
    rail        text        NOT NULL,
    id          text        NOT NULL,
    state       notification_state NOT NULL,
    body        bytea,
    note        text,
    received_at timestamptz NOT NULL,
    CONSTRAINT notification_pk PRIMARY KEY (rail, id)
);
COMMENT ON TABLE notification IS 'What rails sent us, byte for byte, each acted on once. Quarantined ones contradict an earlier one.';
COMMENT ON COLUMN notification.body IS 'NULL when it was erased at a payer''s request.';
CREATE INDEX notification_not_done ON notification (received_at) WHERE state <> 'done';
CREATE INDEX notification_by_age ON notification (received_at) WHERE state = 'done';

CREATE DOMAIN receipt_outcome AS text
    CONSTRAINT receipt_outcome_is_known CHECK (VALUE IN ('settled', 'held', 'returned', 'suspense', 'decided'));

CREATE TABLE receipt (
    business_id    text        NOT NULL,
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    payment_id     bigint,
    attempt_id     bigint,
    account_number text,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    outcome        receipt_outcome NOT NULL,
    reason         text,
    payer          jsonb       NOT NULL DEFAULT '{}',
    notified       jsonb,
    notification_id text,
    created_at     timestamptz NOT NULL,
    CONSTRAINT receipt_pk PRIMARY KEY (business_id, id),
    -- The bank names a transaction, not a business: it is found by the head of this key, too.
    CONSTRAINT receipt_one_per_transaction UNIQUE (rail, transaction_id, business_id),
    CONSTRAINT receipt_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT receipt_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT receipt_keeps_the_transfer_of_suspense CHECK (notified IS NULL OR outcome IN ('suspense', 'decided'))
);
COMMENT ON TABLE receipt IS 'Money that arrived, and what was done with it. Nothing received is ever unrecorded.';
COMMENT ON COLUMN receipt.outcome IS 'decided: it was in suspense and an operator returned or closed it, see suspense_decision. Assigned money is a receipt or an inflow of its owner instead.';
COMMENT ON COLUMN receipt.notified IS 'Of a transfer that is or was in suspense: all that the rail notified, for the checks of an assignment.';
COMMENT ON COLUMN receipt.notification_id IS 'Of money in suspense: the rail''s notification that brought it.';
CREATE INDEX receipt_of_payment ON receipt (business_id, payment_id);
CREATE INDEX receipt_in_suspense ON receipt (created_at) WHERE outcome = 'suspense';
-- Of transfers alone: a card's money names no sender.
CREATE INDEX receipt_by_payer_name ON receipt ((lower(payer ->> 'name') COLLATE "C"))
    WHERE payment_id IS NOT NULL AND payer ->> 'name' IS NOT NULL;

CREATE TABLE suspense_decision (
    business_id    text        NOT NULL CONSTRAINT suspense_decision_business_fk REFERENCES business (id),
    receipt_id     bigint      NOT NULL,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    account_number text,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    decision       text        NOT NULL,
    given_to       text        CONSTRAINT suspense_decision_owner_fk REFERENCES business (id),
    subject        text,
    note           text        NOT NULL,
    notification_id text,
    decided_by     text        NOT NULL,
    decided_at     timestamptz NOT NULL,
    CONSTRAINT suspense_decision_pk PRIMARY KEY (business_id, receipt_id),
    CONSTRAINT suspense_decision_one_per_transaction UNIQUE (business_id, rail, transaction_id),
    CONSTRAINT suspense_decision_is_known CHECK (decision IN ('assigned', 'returned', 'closed')),
    CONSTRAINT suspense_decision_has_an_owner CHECK ((decision = 'assigned') = (given_to IS NOT NULL)),
    CONSTRAINT suspense_decision_has_a_subject CHECK ((decision = 'closed') = (subject IS NULL)),
    CONSTRAINT suspense_decision_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE suspense_decision IS 'What operators decided about money in suspense, once for each receipt.';
COMMENT ON COLUMN suspense_decision.business_id IS 'Under which it was in suspense; given_to: whose it is now.';
COMMENT ON COLUMN suspense_decision.subject IS 'The pay code of the payment, the id of the virtual account, or the reference of the return.';
-- Operators know money in suspense by the number of its receipt; the bank names a transaction. Neither names a business.
CREATE INDEX suspense_decision_by_receipt ON suspense_decision (receipt_id);
CREATE INDEX suspense_decision_by_transaction ON suspense_decision (rail, transaction_id);

GRANT SELECT, INSERT ON notification, receipt TO tidegate_app;
-- An operator closes what was quarantined.
GRANT UPDATE (state, note) ON notification TO tidegate_app;
-- The note is erased with its payer.
GRANT SELECT, INSERT, UPDATE (note) ON suspense_decision TO tidegate_app;


-- Account

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
    -- An account that has ended keeps its number: money may still be sent to it.
    CONSTRAINT virtual_account_has_details_once_approved
        CHECK (status NOT IN ('approved', 'expired')
               OR (rail IS NOT NULL AND account_number IS NOT NULL AND details IS NOT NULL)),
    CONSTRAINT virtual_account_is_suspended_while_approved CHECK (NOT is_suspended OR status = 'approved')
);
COMMENT ON TABLE virtual_account IS 'Accounts that a business asked for, to receive bank transfers from abroad. They hold nothing: what arrives is the wallet''s at once.';
COMMENT ON COLUMN virtual_account.holder IS 'The name that payers must type.';
COMMENT ON COLUMN virtual_account.account_number IS 'As the rail names it when money arrives.';
CREATE INDEX virtual_account_by_number ON virtual_account (rail, account_number) WHERE account_number IS NOT NULL;
-- Operators know accounts by their ids.
CREATE INDEX virtual_account_by_id ON virtual_account (id);
CREATE INDEX virtual_account_by_time ON virtual_account (business_id, created_at, id);
CREATE INDEX virtual_account_to_decide ON virtual_account (created_at) WHERE status = 'pending';
CREATE INDEX virtual_account_to_expire ON virtual_account (expires_at)
    WHERE status = 'approved' AND expires_at IS NOT NULL;

CREATE TABLE account_document (
    business_id text        NOT NULL,
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    account_id  text        NOT NULL,
    name        text        NOT NULL,
    media_type  text        NOT NULL,
    sealed      text        NOT NULL,
    added_by    text        NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT account_document_pk PRIMARY KEY (business_id, id),
    CONSTRAINT account_document_account_fk FOREIGN KEY (business_id, account_id) REFERENCES virtual_account (business_id, id),
    CONSTRAINT account_document_is_at_most_10_mb CHECK (length(sealed) <= 10485760)
);
COMMENT ON TABLE account_document IS 'Documents about an account''s holder, encrypted. Opening one takes a reason, which is audited.';
CREATE INDEX account_document_of_account ON account_document (business_id, account_id);

CREATE TABLE account_question (
    business_id   text        NOT NULL,
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    account_id    text        NOT NULL,
    question      text        NOT NULL,
    asked_by      text        NOT NULL,
    asked_at      timestamptz NOT NULL,
    answer        text,
    answered_by   text,
    answered_at   timestamptz,
    taken_back_by text,
    taken_back_at timestamptz,
    CONSTRAINT account_question_pk PRIMARY KEY (business_id, id),
    CONSTRAINT account_question_account_fk FOREIGN KEY (business_id, account_id) REFERENCES virtual_account (business_id, id),
    CONSTRAINT account_question_is_answered_by_an_actor CHECK ((answer IS NULL) = (answered_by IS NULL) AND (answer IS NULL) = (answered_at IS NULL)),
    CONSTRAINT account_question_is_taken_back_by_an_actor CHECK ((taken_back_by IS NULL) = (taken_back_at IS NULL)),
    CONSTRAINT account_question_is_answered_or_taken_back CHECK (answer IS NULL OR taken_back_at IS NULL)
);
COMMENT ON TABLE account_question IS 'What the operator asks the merchant before deciding on an account, and the answer.';
CREATE UNIQUE INDEX account_question_one_open ON account_question (business_id, account_id) WHERE answer IS NULL AND taken_back_at IS NULL;
CREATE INDEX account_question_of_account ON account_question (business_id, account_id, id);

GRANT SELECT, INSERT, UPDATE ON virtual_account TO tidegate_app;
GRANT SELECT, INSERT, UPDATE (sealed) ON account_document TO tidegate_app;
GRANT SELECT, INSERT, UPDATE (answer, answered_by, answered_at, taken_back_by, taken_back_at) ON account_question TO tidegate_app;


-- Directory
--
-- A bank names an account, not a business. A rail may give a number again once its account has ended; of open accounts
-- each has a number of its own.

CREATE TABLE account_number (
    rail        text   NOT NULL,
    number      text   NOT NULL,
    kind        text   NOT NULL,
    business_id text   NOT NULL,
    holder      text   NOT NULL,
    earlier     text[] NOT NULL DEFAULT '{}',
    CONSTRAINT account_number_pk PRIMARY KEY (rail, number, kind),
    CONSTRAINT account_number_kind_is_known CHECK (kind IN ('attempt', 'virtual_account'))
);
COMMENT ON TABLE account_number IS 'Whose an account number is: the business and its attempt or virtual account that had it last. Written when a rail gives the number.';
COMMENT ON COLUMN account_number.holder IS 'The reference of the attempt, or the id of the virtual account.';
COMMENT ON COLUMN account_number.earlier IS 'Other businesses that had the number before: money that was recorded stays theirs.';

CREATE FUNCTION is_account_open(p_kind text, p_business_id text, p_holder text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_kind = 'attempt' THEN
        -- The attempt first and then its status: not by reading all open attempts of the business.
        RETURN coalesce((SELECT status IN ('starting', 'waiting', 'running') FROM attempt
                          WHERE business_id = p_business_id AND reference = p_holder), false);
    END IF;
    RETURN EXISTS (SELECT FROM virtual_account WHERE business_id = p_business_id AND id = p_holder
                      AND status = 'approved');
END
$$;
COMMENT ON FUNCTION is_account_open IS 'Whether the holder of a number takes money by it.';

CREATE FUNCTION take_account_number(p_business_id text, p_kind text, p_rail text, p_number text, p_holder text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_known account_number;
BEGIN
    INSERT INTO account_number (rail, number, kind, business_id, holder)
    VALUES (p_rail, p_number, p_kind, p_business_id, p_holder) ON CONFLICT ON CONSTRAINT account_number_pk DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    -- Who takes the same number at the same moment waits here, and then sees whether this one is open.
    SELECT * INTO v_known FROM account_number
     WHERE rail = p_rail AND number = p_number AND kind = p_kind FOR NO KEY UPDATE;
    IF (v_known.business_id, v_known.holder) = (p_business_id, p_holder) THEN
        RETURN;
    END IF;
    IF is_account_open(p_kind, v_known.business_id, v_known.holder) THEN
        RAISE EXCEPTION 'another open account of % has the number %', p_rail, p_number
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'account_number_one_open', TABLE = 'account_number',
                  DETAIL = 'It violates the constraint "account_number_one_open".';
    END IF;
    UPDATE account_number
       SET business_id = p_business_id, holder = p_holder,
           earlier = array_remove(array_append(earlier, v_known.business_id), p_business_id)
     WHERE rail = p_rail AND number = p_number AND kind = p_kind;
END
$$;
COMMENT ON FUNCTION take_account_number IS 'Enters a number that a rail has given to an open account. Raises while another open account has it.';

-- The directory first, and then the businesses; of LIMIT, OFFSET 0 and v_only, see write_payment_changes.
CREATE FUNCTION find_paid_attempts(p_rails text[], p_numbers text[], p_transaction_ids text[])
RETURNS TABLE ("position" integer, payment json, attempt attempt, business business, rules fee_rule[])
LANGUAGE plpgsql STABLE ROWS 1 SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_known           account_number;
    v_positions       integer[] := '{}';
    v_places          account_number[] := '{}';
    v_transaction_ids text[] := '{}';
    v_only            text;
BEGIN
    FOR v_at IN 1 .. cardinality(p_rails) LOOP
        SELECT * INTO v_known FROM account_number AS known
         WHERE known.rail = p_rails[v_at] AND known.number = p_numbers[v_at] AND known.kind = 'attempt';
        CONTINUE WHEN NOT FOUND;
        FOR v_earlier IN 1 .. cardinality(v_known.earlier) LOOP
            IF EXISTS (SELECT FROM receipt
                        WHERE receipt.business_id = v_known.earlier[v_earlier] AND receipt.rail = v_known.rail
                          AND receipt.transaction_id = p_transaction_ids[v_at]
                          AND receipt.account_number = v_known.number) THEN
                v_known.business_id := v_known.earlier[v_earlier];
            END IF;
        END LOOP;
        v_positions := v_positions || v_at;
        v_places := v_places || v_known;
        v_transaction_ids := v_transaction_ids || p_transaction_ids[v_at];
    END LOOP;
    IF v_positions = '{}' THEN
        RETURN;
    ELSIF v_places[1].business_id = ALL (ARRAY(SELECT business_id FROM unnest(v_places))) THEN
        v_only := v_places[1].business_id;
    END IF;
    -- Money recorded before stays with its payment; other money belongs to the open account with the number or,
    -- without one, to the newest, which returns it.
    RETURN QUERY
    SELECT given."position", payment_row(owing), paid, owner,
           ARRAY(SELECT fee_rule FROM fee_rule
                  WHERE fee_rule.business_id = coalesce(v_only, given.business_id) AND ended_at IS NULL)
      FROM (SELECT * FROM unnest(v_positions, v_transaction_ids, v_places) AS given ("position", transaction_id)
             LIMIT cardinality(v_positions)) AS given
     CROSS JOIN LATERAL (
               (SELECT known.id FROM receipt
                  JOIN attempt AS known ON known.business_id = receipt.business_id
                       AND known.payment_id = receipt.payment_id AND known.account_number = receipt.account_number
                 WHERE receipt.business_id = coalesce(v_only, given.business_id) AND receipt.rail = given.rail
                   AND receipt.transaction_id = given.transaction_id
                   AND receipt.account_number = given.number LIMIT 1)
                UNION ALL
               (SELECT held.id FROM (SELECT id, status FROM attempt AS held
                                      WHERE held.business_id = coalesce(v_only, given.business_id)
                                        AND held.reference = given.holder OFFSET 0) AS held
                 WHERE held.status IN ('starting', 'waiting', 'running'))
                UNION ALL
               (SELECT newest.id FROM attempt AS newest
                 WHERE newest.business_id = coalesce(v_only, given.business_id) AND newest.rail = given.rail
                   AND newest.account_number = given.number ORDER BY newest.id DESC LIMIT 1)
                LIMIT 1) AS found
      JOIN attempt AS paid ON paid.business_id = coalesce(v_only, given.business_id) AND paid.id = found.id
      JOIN payment AS owing ON owing.business_id = coalesce(v_only, given.business_id) AND owing.id = paid.payment_id
      JOIN business AS owner ON owner.id = given.business_id;
END
$$;
COMMENT ON FUNCTION find_paid_attempts IS 'The payment, attempt and business for money at an account number, for each position that has one.';

GRANT SELECT, INSERT, UPDATE ON account_number TO tidegate_app;


-- Collection

CREATE TABLE exchange_rate (
    id                  bigint      CONSTRAINT exchange_rate_pk PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    business_id         text        NOT NULL CONSTRAINT exchange_rate_business_fk REFERENCES business (id),
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
COMMENT ON COLUMN exchange_rate.business_id IS 'Whose inflows it converts; of the platform, those of every business.';
CREATE INDEX exchange_rate_newest ON exchange_rate (base, quote, quoted_at DESC, id DESC);

CREATE DOMAIN inflow_status AS text
    CONSTRAINT collection_status_is_known CHECK (VALUE IN ('pending', 'successful', 'reversed', 'failed'));

CREATE TABLE collection (
    business_id          text        NOT NULL,
    id                   bigint      NOT NULL,
    reference            text        NOT NULL,
    version              bigint      NOT NULL DEFAULT 0,
    account_id           text        NOT NULL,
    merchant_reference   text,
    status               inflow_status NOT NULL,
    reason               text,
    note                 text,
    source_currency      text        NOT NULL,
    source_minor         bigint      NOT NULL,
    destination_currency text        NOT NULL,
    destination_minor    bigint,
    fee_minor            bigint,
    vat_minor            bigint,
    credited_minor       bigint,
    refunded_minor       bigint      NOT NULL DEFAULT 0,
    owed_minor           bigint      NOT NULL DEFAULT 0,
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
    name_check           jsonb       NOT NULL,
    return_reference     text,
    return_asked_at      timestamptz,
    return_confirmed_at  timestamptz,
    held_for             text[]      NOT NULL DEFAULT '{}',
    held_until           timestamptz,
    valued_at            timestamptz NOT NULL,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    CONSTRAINT collection_pk PRIMARY KEY (business_id, id),
    CONSTRAINT collection_account_fk FOREIGN KEY (business_id, account_id) REFERENCES virtual_account (business_id, id),
    CONSTRAINT collection_one_reference UNIQUE (business_id, reference),
    -- Found by its head, too, as a receipt is.
    CONSTRAINT collection_one_per_transaction UNIQUE (rail, transaction_id, business_id),
    CONSTRAINT collection_is_of_money CHECK (source_minor > 0),
    CONSTRAINT collection_refunds_no_more_than_it_received CHECK (refunded_minor BETWEEN 0 AND source_minor),
    CONSTRAINT collection_owes_no_less_than_nothing CHECK (owed_minor >= 0),
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
COMMENT ON COLUMN collection.destination_minor IS 'What arrived, in the wallet''s currency, before the fee.';
COMMENT ON COLUMN collection.refunded_minor IS 'Refunds that are under way or have arrived.';
COMMENT ON COLUMN collection.owed_minor IS 'Taken back by the bank when the wallet no longer held it, and not yet collected from the merchant; in the wallet''s currency.';
COMMENT ON COLUMN collection.name_check IS 'Step by step how the name the payer typed was compared with the holder''s.';
COMMENT ON COLUMN collection.held_for IS 'Why it was held, the first reason first; stays when it has been decided on. Empty when it was never held.';
COMMENT ON COLUMN collection.held_until IS 'When a held inflow goes back unless it was decided on; NULL when it waits for the bank alone.';
CREATE INDEX collection_of_account ON collection (business_id, account_id, id);
CREATE INDEX collection_by_currency ON collection (business_id, destination_currency, id);
CREATE INDEX collection_not_successful ON collection (business_id, status, id) WHERE status <> 'successful';
CREATE INDEX collection_of_currency_not_successful ON collection (business_id, destination_currency, status, id)
    WHERE status <> 'successful';
CREATE INDEX collection_of_account_not_successful ON collection (business_id, account_id, status, id)
    WHERE status <> 'successful';
-- Names that are not the same: few beside the others.
CREATE INDEX collection_by_verdict ON collection (business_id, (name_check ->> 'verdict'), id)
    WHERE name_check ->> 'verdict' <> 'exact';
CREATE INDEX collection_of_account_by_verdict ON collection (business_id, account_id, (name_check ->> 'verdict'), id)
    WHERE name_check ->> 'verdict' <> 'exact';
CREATE INDEX collection_that_owes ON collection (id) WHERE owed_minor > 0;
CREATE INDEX collection_returned ON collection (return_asked_at, id) WHERE return_asked_at IS NOT NULL;
CREATE INDEX collection_of_business_returned ON collection (business_id, return_asked_at, id)
    WHERE return_asked_at IS NOT NULL;
CREATE INDEX collection_to_review ON collection (id) WHERE status = 'pending';
CREATE INDEX collection_hold_to_end ON collection (held_until) WHERE status = 'pending' AND held_until IS NOT NULL;
-- Who asks where an inflow is names its sender, and no merchant. Inflows are few beside payments, and only an erasure
-- changes their payers.
CREATE INDEX collection_by_amount ON collection (source_currency, source_minor, id);
CREATE INDEX collection_by_payer_account ON collection ((payer ->> 'account_number'));
CREATE INDEX collection_by_payer_name ON collection ((lower(payer ->> 'name') COLLATE "C"));

CREATE FUNCTION figures_of(p_business_id text, p_since timestamptz, p_most integer, p_newest integer,
                           OUT held bigint, OUT owing bigint, OUT ended bigint, OUT paid bigint, OUT taken text[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_since timestamptz := time_of(p_business_id, p_since);
BEGIN
    SELECT count(*) INTO held
      FROM (SELECT FROM collection WHERE business_id = p_business_id AND status = 'pending' LIMIT p_most) AS waiting;
    SELECT count(*) INTO owing
      FROM (SELECT FROM payment WHERE business_id = p_business_id AND owed_minor > 0 LIMIT p_most) AS reversed;
    SELECT count(*), count(*) FILTER (WHERE newest.status = 'success') INTO ended, paid
      FROM (SELECT status FROM payment
             WHERE business_id = p_business_id AND created_at >= v_since AND status IN ('success', 'failed', 'expired')
             ORDER BY created_at DESC, id DESC LIMIT p_newest) AS newest;
    SELECT array_agg(sums.words ORDER BY sums.words) INTO taken
      FROM (SELECT currency || ' ' || sum(received_minor) AS words FROM takings
             WHERE business_id = p_business_id AND hour >= v_since GROUP BY currency) AS sums;
END
$$;
COMMENT ON FUNCTION figures_of IS 'A merchant as the list of the console shows it: inflows held and payments that owe, up to p_most; of the newest p_newest payments since then that ended, how many were paid; what was taken, as currency and minor units.';

-- Milliseconds since 2020 and a serial number: the key is also the order of time, and no larger than a JavaScript
-- number holds exactly, until 2089.
CREATE SEQUENCE collection_serial MINVALUE 0 MAXVALUE 4095 CYCLE;

CREATE FUNCTION new_collection_id(p_now timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_ms bigint := floor(extract(epoch FROM p_now) * 1000);
BEGIN
    RETURN ((v_ms - 1577836800000) << 12) | ((nextval('collection_serial') + serial_offset(v_ms)) & 4095);
END
$$;
COMMENT ON FUNCTION new_collection_id IS 'Milliseconds since 2020 and a padded serial number.';

CREATE FUNCTION first_collection_id(p_moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(ceil(extract(epoch FROM p_moment) * 1000)::bigint - 1577836800000, 0) << 12
$$;
COMMENT ON FUNCTION first_collection_id IS 'Where the inflows recorded at that moment, or after it, begin.';

CREATE TABLE collection_tally (
    business_id          text        NOT NULL,
    account_id           text        NOT NULL,
    span                 text        NOT NULL,
    starts_at            timestamptz NOT NULL,
    destination_currency text        NOT NULL,
    pending              bigint      NOT NULL,
    successful           bigint      NOT NULL,
    failed               bigint      NOT NULL,
    reversed             bigint      NOT NULL,
    CONSTRAINT collection_tally_pk PRIMARY KEY (business_id, account_id, span, starts_at, destination_currency),
    CONSTRAINT collection_tally_counts_from_zero
        CHECK (pending >= 0 AND successful >= 0 AND failed >= 0 AND reversed >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE collection_tally IS 'How many inflows there are of each status, so that a total costs the same however many. Account '''' is all accounts; tally_places has the spans.';

CREATE FUNCTION tally_places(p_account_id text, p_created_at timestamptz)
RETURNS TABLE (account_id text, span text, starts_at timestamptz) LANGUAGE sql IMMUTABLE ROWS 4 AS $$
    SELECT place.account_id, place.span, place.starts_at
      FROM (VALUES ('', '2 weeks', date_bin('2 weeks', p_created_at, '2020-01-01 00:00+00')),
                   ('', '6 hours', date_bin('6 hours', p_created_at, '2020-01-01 00:00+00')),
                   (p_account_id, '2 weeks', date_bin('2 weeks', p_created_at, '2020-01-01 00:00+00')),
                   (p_account_id, '6 hours', date_bin('6 hours', p_created_at, '2020-01-01 00:00+00')))
           AS place (account_id, span, starts_at)
$$;
COMMENT ON FUNCTION tally_places IS 'Where collection_tally counts an inflow: with its account and with all, in a span of each length. Spans follow one another from the beginning of 2020.';

-- Here and in count_inflow_rows an end before the start makes the number negative, so that the parts of a total can be
-- added whichever way they lie.
CREATE FUNCTION count_tallied(p_business_id text, p_account_id text, p_currency text, p_status text, p_span text,
                              p_start timestamptz, p_end timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_start = p_end THEN
        RETURN 0;
    END IF;
    RETURN (SELECT coalesce(sum(CASE WHEN p_status IS NULL THEN pending + successful + failed + reversed
                                     WHEN p_status = 'pending' THEN pending WHEN p_status = 'successful' THEN successful
                                     WHEN p_status = 'failed' THEN failed WHEN p_status = 'reversed' THEN reversed END), 0)
              FROM collection_tally
             WHERE business_id = p_business_id AND account_id = coalesce(p_account_id, '') AND span = p_span
               AND starts_at >= least(p_start, p_end) AND starts_at < greatest(p_start, p_end)
               AND (p_currency IS NULL OR destination_currency = p_currency))
           * CASE WHEN p_start < p_end THEN 1 ELSE -1 END;
END
$$;
COMMENT ON FUNCTION count_tallied IS 'Inflows of the spans that begin from the start to before the end.';

CREATE FUNCTION count_unsuccessful(p_business_id text, p_account_id text, p_currency text, p_statuses text[],
                                   p_first bigint, p_after bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_account_id IS NOT NULL THEN
        RETURN (SELECT count(*) FROM collection
                 WHERE business_id = p_business_id AND account_id = p_account_id AND status = ANY (p_statuses)
                   AND status <> 'successful' AND id >= p_first AND id < p_after
                   AND (p_currency IS NULL OR destination_currency = p_currency));
    ELSIF p_currency IS NOT NULL THEN
        RETURN (SELECT count(*) FROM collection
                 WHERE business_id = p_business_id AND destination_currency = p_currency
                   AND status = ANY (p_statuses) AND status <> 'successful' AND id >= p_first AND id < p_after);
    END IF;
    RETURN (SELECT count(*) FROM collection
             WHERE business_id = p_business_id AND status = ANY (p_statuses) AND status <> 'successful'
               AND id >= p_first AND id < p_after);
END
$$;
COMMENT ON FUNCTION count_unsuccessful IS 'Inflows of those statuses, which are few, from one id to before another: one by one, along the index that has them.';

CREATE FUNCTION count_inflow_rows(p_business_id text, p_account_id text, p_currency text, p_status text,
                                  p_start timestamptz, p_end timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_first bigint;
    v_after bigint;
    v_count bigint;
BEGIN
    IF p_start = p_end THEN
        RETURN 0;
    END IF;
    v_first := first_collection_id(least(p_start, p_end));
    v_after := first_collection_id(greatest(p_start, p_end));
    IF p_status <> 'successful' THEN
        v_count := count_unsuccessful(p_business_id, p_account_id, p_currency, ARRAY[p_status], v_first, v_after);
    ELSIF p_account_id IS NOT NULL AND p_currency IS NOT NULL THEN
        v_count := (SELECT count(*) FROM collection
                     WHERE business_id = p_business_id AND account_id = p_account_id
                       AND destination_currency = p_currency AND id >= v_first AND id < v_after);
    ELSIF p_account_id IS NOT NULL THEN
        v_count := (SELECT count(*) FROM collection
                     WHERE business_id = p_business_id AND account_id = p_account_id
                       AND id >= v_first AND id < v_after);
    ELSIF p_currency IS NOT NULL THEN
        v_count := (SELECT count(*) FROM collection
                     WHERE business_id = p_business_id AND destination_currency = p_currency
                       AND id >= v_first AND id < v_after);
    ELSE
        v_count := (SELECT count(*) FROM collection
                     WHERE business_id = p_business_id AND id >= v_first AND id < v_after);
    END IF;
    -- No index has the successful ones alone: they are all but the others.
    IF p_status = 'successful' THEN
        v_count := v_count - count_unsuccessful(p_business_id, p_account_id, p_currency,
                                                '{pending,failed,reversed}', v_first, v_after);
    END IF;
    RETURN v_count * CASE WHEN p_start < p_end THEN 1 ELSE -1 END;
END
$$;
COMMENT ON FUNCTION count_inflow_rows IS 'Inflows recorded from the start to before the end, counted one by one, along indexes that cover them.';

-- One plan for all calls, which would take longer to plan than to run. It knows no ends of ranges, and would take them
-- to be far apart.
CREATE FUNCTION count_inflows(p_business_id text, p_account_id text, p_currency text, p_status text,
                              p_start timestamptz, p_end timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    SET enable_bitmapscan = off AS $$
DECLARE
    v_origin CONSTANT timestamptz := '2020-01-01 00:00+00';
    v_start  CONSTANT timestamptz := coalesce(p_start, '-infinity');
    v_end    CONSTANT timestamptz := coalesce(p_end, 'infinity');
    -- The nearest beginnings of spans.
    v_first  CONSTANT timestamptz := date_bin('6 hours', v_start + interval '3 hours', v_origin);
    v_after  CONSTANT timestamptz := date_bin('6 hours', v_end + interval '3 hours', v_origin);
    v_first_long CONSTANT timestamptz := date_bin('2 weeks', v_first + interval '1 week', v_origin);
    v_after_long CONSTANT timestamptz := date_bin('2 weeks', v_after + interval '1 week', v_origin);
BEGIN
    IF v_start >= v_end THEN
        RETURN 0;
    ELSIF v_first = v_after THEN
        RETURN count_inflow_rows(p_business_id, p_account_id, p_currency, p_status, v_start, v_end);
    END IF;
    RETURN count_inflow_rows(p_business_id, p_account_id, p_currency, p_status, v_start, v_first)
         + count_tallied(p_business_id, p_account_id, p_currency, p_status, '6 hours', v_first, v_first_long)
         + count_tallied(p_business_id, p_account_id, p_currency, p_status, '2 weeks', v_first_long, v_after_long)
         + count_tallied(p_business_id, p_account_id, p_currency, p_status, '6 hours', v_after_long, v_after)
         + count_inflow_rows(p_business_id, p_account_id, p_currency, p_status, v_after, v_end);
END
$$;
COMMENT ON FUNCTION count_inflows IS 'How many inflows were recorded from p_start to before p_end, each NULL where it is open, and the other filters too: long spans from the tally, the rest at both ends from short ones, and up to three hours counted one by one.';

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
COMMENT ON COLUMN credit_reversal.account_number IS 'Empty where the money came without an account, as by card.';
CREATE INDEX credit_reversal_to_apply ON credit_reversal (created_at) WHERE applied_at IS NULL;

CREATE FUNCTION reversed_money(p_rail text, p_account_number text, p_transaction_id text,
                               OUT business_id text, OUT subject text) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT collection.business_id, collection.reference INTO business_id, subject
      FROM virtual_account AS account
      JOIN collection ON collection.business_id = account.business_id AND collection.rail = p_rail
           AND collection.transaction_id = p_transaction_id AND collection.account_id = account.id
     WHERE account.rail = p_rail AND account.account_number = p_account_number LIMIT 1;
    IF NOT FOUND THEN
        SELECT receipt.business_id, payment.pay_code INTO business_id, subject
          FROM receipt
          LEFT JOIN payment ON payment.business_id = receipt.business_id AND payment.id = receipt.payment_id
         WHERE receipt.rail = p_rail AND receipt.transaction_id = p_transaction_id
           AND coalesce(receipt.account_number, '') = p_account_number LIMIT 1;
    END IF;
END
$$;
COMMENT ON FUNCTION reversed_money IS 'Whose money a bank took back: the business, and the reference of the inflow or the pay code of the payment. NULL while the credit is unknown.';

CREATE FUNCTION rate_for(p_business_id text, p_base text, p_quote text) RETURNS exchange_rate
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_platform CONSTANT text := '000000000000000000000000';
    v_clock    business_clock;
    v_rate     exchange_rate;
    v_general  exchange_rate;
BEGIN
    SELECT * INTO v_rate FROM exchange_rate
     WHERE base = p_base AND quote = p_quote AND business_id IN (p_business_id, v_platform)
     ORDER BY quoted_at DESC, id DESC LIMIT 1;
    SELECT * INTO v_clock FROM business_clock WHERE business_id = p_business_id;
    IF NOT FOUND THEN
        RETURN v_rate;
    END IF;
    -- The business's own, quoted by a clock that is ahead, must not hide what the operator has set since.
    SELECT * INTO v_general FROM exchange_rate
     WHERE base = p_base AND quote = p_quote AND business_id = v_platform ORDER BY quoted_at DESC, id DESC LIMIT 1;
    IF v_general.id > v_rate.id THEN
        v_rate := v_general;
    END IF;
    IF v_rate.business_id = v_platform THEN
        -- As far ahead as the business was when it was set: what has passed for the business since makes it old.
        v_rate.quoted_at := v_rate.quoted_at + coalesce(
            (SELECT move.ahead FROM unnest(v_clock.moved_at, v_clock.moved_to) AS move (at, ahead)
              WHERE move.at <= v_rate.created_at ORDER BY move.at DESC LIMIT 1), '0');
    END IF;
    RETURN v_rate;
END
$$;
COMMENT ON FUNCTION rate_for IS 'The rate that a business converts at: its own or the operator''s, the newest. Its quote is by the time of the business.';

CREATE FUNCTION find_inflow_account(p_rail text, p_number text, p_transaction_id text)
RETURNS TABLE (account virtual_account, business business, rate exchange_rate, rules fee_rule[], is_taken_back boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    v_known account_number;
BEGIN
    SELECT * INTO v_known FROM account_number AS known
     WHERE known.rail = p_rail AND known.number = p_number AND known.kind = 'virtual_account';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR v_earlier IN 1 .. cardinality(v_known.earlier) LOOP
        IF EXISTS (SELECT FROM collection JOIN virtual_account AS held ON held.business_id = collection.business_id
                               AND held.id = collection.account_id AND held.account_number = p_number
                    WHERE collection.business_id = v_known.earlier[v_earlier] AND collection.rail = p_rail
                      AND collection.transaction_id = p_transaction_id) THEN
            v_known.business_id := v_known.earlier[v_earlier];
        END IF;
    END LOOP;
    -- A known transaction stays with its account; a new one belongs to the open account, or to the newest if none is
    -- open.
    RETURN QUERY
    SELECT held, owner, newest.rate,
           ARRAY(SELECT fee_rule FROM fee_rule
                  WHERE fee_rule.business_id = v_known.business_id AND ended_at IS NULL),
           EXISTS (SELECT FROM credit_reversal
                    WHERE rail = p_rail AND credit_reversal.account_number = p_number
                      AND transaction_id = p_transaction_id AND applied_at IS NULL)
      FROM virtual_account AS held
      JOIN business AS owner ON owner.id = held.business_id
      LEFT JOIN LATERAL (
          SELECT used AS rate FROM rate_for(v_known.business_id, held.currency, held.settlement_currency) AS used
           WHERE used.id IS NOT NULL) AS newest ON true
     WHERE held.business_id = v_known.business_id AND held.rail = p_rail AND held.account_number = p_number
     ORDER BY held.id IS NOT DISTINCT FROM (
                  -- By its unique key: the index of an account's inflows would be read from end to end.
                  SELECT account_id FROM collection
                   WHERE collection.business_id = v_known.business_id AND collection.rail = p_rail
                     AND collection.transaction_id = p_transaction_id) DESC,
              held.status = 'approved' DESC, held.created_at DESC LIMIT 1;
END
$$;
COMMENT ON FUNCTION find_inflow_account IS 'The virtual account that has or had a number, with all that a decision about money on it needs.';

GRANT SELECT, INSERT, UPDATE ON collection, credit_reversal TO tidegate_app;
GRANT SELECT ON collection_tally TO tidegate_app;
GRANT SELECT, INSERT ON exchange_rate TO tidegate_app;

CREATE FUNCTION worth_version(p_business_id text, p_base text, p_quote text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN 1000 * coalesce((rate_for(p_business_id, p_base, p_quote)).id, 0)
           + (SELECT count(*) % 1000 FROM fee_rule
               WHERE business_id = p_business_id AND currency = p_base AND method = 'virtual_account');
END
$$;
COMMENT ON FUNCTION worth_version IS 'Another number whenever another rate between two currencies comes into use, or the business has another price of inflows in the first: what an inflow would be worth in its wallet may then be another amount.';
GRANT USAGE ON SEQUENCE collection_serial TO tidegate_app;


-- Return

CREATE TABLE money_return (
    business_id    text        NOT NULL,
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    reference      text        NOT NULL,
    payment_id     bigint,
    collection_id  bigint,
    rail           text        NOT NULL,
    transaction_id text        NOT NULL,
    sent_as        text,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    reason         text        NOT NULL,
    status         text        NOT NULL DEFAULT 'asked',
    failure        text,
    next_try_at    timestamptz,
    asked_at       timestamptz NOT NULL,
    confirmed_at   timestamptz,
    CONSTRAINT money_return_pk PRIMARY KEY (business_id, id),
    CONSTRAINT money_return_one_reference UNIQUE (business_id, reference),
    CONSTRAINT money_return_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT money_return_collection_fk
        FOREIGN KEY (business_id, collection_id) REFERENCES collection (business_id, id),
    CONSTRAINT money_return_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT money_return_status_is_known CHECK (status IN ('asked', 'sent', 'confirmed', 'failed')),
    CONSTRAINT money_return_fails_for_a_reason CHECK (status <> 'failed' OR failure IS NOT NULL)
);
COMMENT ON TABLE money_return IS 'Money on its way back to the payer: asked for, sent to the rail, confirmed by it.';
COMMENT ON COLUMN money_return.sent_as IS 'The rail''s own identifier of the money that went back; `transaction_id` is of what had come in.';
COMMENT ON COLUMN money_return.failure IS 'Why the rail did not return it: an operator decides what to do with the money.';
CREATE INDEX money_return_failed ON money_return (asked_at) WHERE status = 'failed';
CREATE INDEX money_return_to_send ON money_return (next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX money_return_of_payment ON money_return (business_id, payment_id);

GRANT SELECT, INSERT, UPDATE ON money_return TO tidegate_app;


-- Refund

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
    rate_chosen        text,
    wallet_currency    text,
    debited_minor      bigint,
    worth_minor        bigint,
    version            bigint      NOT NULL DEFAULT 0,
    initiated_at       timestamptz NOT NULL,
    completed_at       timestamptz,
    mail_due_at        timestamptz,
    CONSTRAINT refund_pk PRIMARY KEY (business_id, id),
    CONSTRAINT refund_one_reference UNIQUE (business_id, reference),
    CONSTRAINT refund_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT refund_collection_fk FOREIGN KEY (business_id, collection_id) REFERENCES collection (business_id, id),
    CONSTRAINT refund_is_of_one_thing CHECK ((payment_id IS NULL) <> (collection_id IS NULL)),
    CONSTRAINT refund_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT refund_returns_a_fee_within_it
        CHECK (fee_returned_minor >= 0 AND vat_returned_minor >= 0
               AND fee_returned_minor + vat_returned_minor <= amount_minor),
    CONSTRAINT refund_is_converted_as_a_whole CHECK (
        num_nonnulls(rate_chosen, wallet_currency, debited_minor, worth_minor) IN (0, 4)
        AND wallet_currency <> currency AND debited_minor > 0 AND worth_minor > 0),
    CONSTRAINT refund_rate_is_known CHECK (rate_chosen IN ('credit', 'today')),
    CONSTRAINT refund_status_is_known CHECK (status IN ('processing', 'successful', 'failed')),
    CONSTRAINT refund_ends_once CHECK ((status = 'processing') = (completed_at IS NULL))
);
COMMENT ON TABLE refund IS 'Money that a merchant gives back. Its wallet was debited when it began, and is credited with what did not go through.';
COMMENT ON COLUMN refund.reason IS 'For the customer.';
COMMENT ON COLUMN refund.note IS 'For the merchant.';
COMMENT ON COLUMN refund.refunded_minor IS 'What has arrived.';
COMMENT ON COLUMN refund.rate_chosen IS 'Of an inflow that was converted: the rate at its credit, or that of the day of the refund. NULL where nothing is converted.';
COMMENT ON COLUMN refund.debited_minor IS 'What the wallet was debited, in its currency.';
COMMENT ON COLUMN refund.worth_minor IS 'What the refund cost at the rate of its day, in the wallet''s currency.';
COMMENT ON COLUMN refund.mail_due_at IS 'When the mail to the payer fell due; emptied in the transaction that writes the mail, so that it is written once.';
CREATE INDEX refund_of_payment ON refund (business_id, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX refund_of_collection ON refund (business_id, collection_id, id) WHERE collection_id IS NOT NULL;
CREATE INDEX refund_by_time ON refund (business_id, initiated_at, id);
CREATE INDEX refund_not_successful ON refund (business_id, status, id) WHERE status <> 'successful';
CREATE INDEX refund_failed ON refund (business_id, completed_at, id) WHERE status = 'failed';
CREATE INDEX refund_mail_to_write ON refund (mail_due_at) WHERE mail_due_at IS NOT NULL;

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
    polls           integer     NOT NULL DEFAULT 0,
    next_poll_at    timestamptz,
    completed_at   timestamptz,
    CONSTRAINT refund_leg_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT refund_leg_refund_fk FOREIGN KEY (business_id, refund_id) REFERENCES refund (business_id, id),
    CONSTRAINT refund_leg_one_per_transfer UNIQUE (business_id, refund_id, rail, transaction_id),
    CONSTRAINT refund_leg_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT refund_leg_returns_a_fee_within_it
        CHECK (fee_minor >= 0 AND vat_minor >= 0 AND fee_minor + vat_minor <= amount_minor),
    CONSTRAINT refund_leg_status_is_known CHECK (status IN ('processing', 'successful', 'failed')),
    CONSTRAINT refund_leg_is_asked_while_it_runs CHECK ((status = 'processing') = (next_poll_at IS NOT NULL))
);
COMMENT ON TABLE refund_leg IS 'The part of a refund that goes back by the way one transfer came; a payment may have come in several.';
COMMENT ON COLUMN refund_leg.fee_minor IS 'Its share of the fee that the merchant gets back.';
COMMENT ON COLUMN refund_leg.transaction_id IS 'Of the money that had come in; `sent_as` is that of the money that went out.';
CREATE INDEX refund_leg_of_transaction ON refund_leg (business_id, rail, transaction_id);
-- Banks name it when asked where the money is.
CREATE INDEX refund_leg_by_sent_as ON refund_leg (sent_as) WHERE sent_as IS NOT NULL;
CREATE INDEX refund_leg_to_poll ON refund_leg (next_poll_at) WHERE next_poll_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON refund, refund_leg TO tidegate_app;


-- Dispute

CREATE TABLE dispute (
    business_id    text        NOT NULL,
    rail           text        NOT NULL,
    id             text        NOT NULL,
    transaction_id text        NOT NULL,
    payment_id     bigint,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    held_minor     bigint      NOT NULL,
    status         text        NOT NULL,
    reason         text        NOT NULL,
    due_at         timestamptz,
    opened_at      timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    CONSTRAINT dispute_pk PRIMARY KEY (business_id, rail, id),
    CONSTRAINT dispute_payment_fk FOREIGN KEY (business_id, payment_id) REFERENCES payment (business_id, id),
    CONSTRAINT dispute_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT dispute_holds_no_more_than_is_disputed CHECK (held_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT dispute_status_is_known CHECK (status IN ('open', 'won', 'lost'))
);
COMMENT ON TABLE dispute IS 'Payments that a payer disputes with the bank, as the rail reports them. The money of a lost one is a credit_reversal.';
COMMENT ON COLUMN dispute.held_minor IS 'Of the wallet, on account disputes: the merchant''s share, as far as the wallet had it.';
COMMENT ON COLUMN dispute.due_at IS 'When our answer is due at the rail.';
CREATE INDEX dispute_of_transaction ON dispute (business_id, rail, transaction_id);
CREATE INDEX dispute_of_payment ON dispute (business_id, payment_id);
CREATE INDEX dispute_by_id ON dispute (id);
CREATE INDEX dispute_open ON dispute (due_at) WHERE status = 'open';

GRANT SELECT, INSERT, UPDATE ON dispute TO tidegate_app;

CREATE FUNCTION refundable_minor(
    p_business_id text, p_payment_id bigint, p_rail text, p_transaction_id text, p_account_number text,
    p_received_minor bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_disputed bigint;
    v_taken bigint;
BEGIN
    SELECT coalesce(sum(amount_minor), 0) INTO v_disputed FROM dispute
     WHERE business_id = p_business_id AND rail = p_rail AND transaction_id = p_transaction_id
       AND status IN ('open', 'lost');
    -- Without a dispute a bank takes back a whole transfer; a part contradicts it, and waits for an operator.
    SELECT coalesce(max(CASE WHEN v_disputed > 0 THEN amount_minor ELSE p_received_minor END), 0) INTO v_taken
      FROM credit_reversal
     WHERE rail = p_rail AND account_number = coalesce(p_account_number, '') AND transaction_id = p_transaction_id;
    RETURN greatest(0, p_received_minor - greatest(v_taken, v_disputed)
        - (SELECT coalesce(sum(amount_minor), 0) FROM money_return
            WHERE business_id = p_business_id AND payment_id = p_payment_id AND rail = p_rail
              AND transaction_id = p_transaction_id)
        - (SELECT coalesce(sum(amount_minor), 0) FROM refund_leg
            WHERE business_id = p_business_id AND rail = p_rail AND transaction_id = p_transaction_id
              AND status <> 'failed'));
END
$$;
COMMENT ON FUNCTION refundable_minor IS 'What is left of a transfer to refund: less what the bank has taken back or may take because of a dispute that is open or lost, what was returned, and what was refunded.';

CREATE FUNCTION fee_returned(p_business_id text, p_payment_id bigint, OUT fee_minor bigint, OUT vat_minor bigint)
    LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    SELECT refunds.fee_minor + reversals.fee_minor, refunds.vat_minor + reversals.vat_minor INTO fee_minor, vat_minor
      FROM (SELECT coalesce(sum(fee_returned_minor), 0)::bigint AS fee_minor,
                   coalesce(sum(vat_returned_minor), 0)::bigint AS vat_minor
              FROM refund
             WHERE business_id = p_business_id AND payment_id = p_payment_id AND status <> 'failed') AS refunds
     CROSS JOIN (SELECT coalesce(-sum(entry.amount_minor) FILTER (WHERE entry.account = 'fee'), 0)::bigint AS fee_minor,
                        coalesce(-sum(entry.amount_minor) FILTER (WHERE entry.account = 'vat'), 0)::bigint AS vat_minor
                   FROM receipt
                   JOIN journal ON journal.business_id = p_business_id AND journal.kind = 'credit_reversed'
                        AND journal.cause = receipt.rail || '/' || receipt.transaction_id
                   JOIN entry ON entry.business_id = p_business_id AND entry.journal_id = journal.id
                  WHERE receipt.business_id = p_business_id AND receipt.payment_id = p_payment_id) AS reversals;
END
$$;
COMMENT ON FUNCTION fee_returned IS 'What was returned of the fee of a payment: by refunds under way or done, and by reversals.';

CREATE FUNCTION inflow_fee_returned(
    p_business_id text, p_collection_id bigint, OUT fee_minor bigint, OUT vat_minor bigint)
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT coalesce(sum(fee_returned_minor), 0), coalesce(sum(vat_returned_minor), 0) INTO fee_minor, vat_minor
      FROM refund WHERE business_id = p_business_id AND collection_id = p_collection_id AND status <> 'failed';
END
$$;
COMMENT ON FUNCTION inflow_fee_returned IS 'What was returned of the fee of an inflow, by refunds under way or done.';

CREATE FUNCTION payment_to_refund(p_business_id text, p_payment_id bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'business_id', business_id, 'id', id, 'version', version, 'pay_code', pay_code, 'reference', reference,
            'status', status, 'currency', currency, 'expected_minor', expected_minor, 'received_minor', received_minor,
            'settled_minor', settled_minor, 'fee_minor', fee_minor, 'vat_minor', vat_minor,
            'refunded_minor', refunded_minor, 'fee_rule_id', fee_rule_id, 'variance', variance,
            'on_refund', (SELECT on_refund FROM fee_rule
                           WHERE fee_rule.business_id = p_business_id AND 'own-' || fee_rule.id = payment.fee_rule_id),
            'is_taken_back', (SELECT bool_and(credit_reversal.applied_at IS NOT NULL)
                                FROM receipt JOIN credit_reversal USING (rail, transaction_id)
                               WHERE receipt.business_id = p_business_id AND receipt.payment_id = p_payment_id
                                 AND credit_reversal.account_number = coalesce(receipt.account_number, '')),
            'fee_given', (SELECT json_build_array(given.fee_minor, given.vat_minor)
                            FROM fee_returned(p_business_id, p_payment_id) AS given),
            'transfers', (SELECT coalesce(json_agg(json_build_array(rail, transaction_id,
                                 refundable_minor(p_business_id, p_payment_id, rail, transaction_id, account_number,
                                                  amount_minor)) ORDER BY receipt.id DESC), '[]')
                            FROM receipt WHERE receipt.business_id = p_business_id
                             AND receipt.payment_id = p_payment_id AND outcome IN ('settled', 'held')),
            'disputes', (SELECT coalesce(json_agg(json_build_array(rail, dispute.id, dispute.status, amount_minor)
                                ORDER BY opened_at, dispute.id), '[]')
                           FROM dispute WHERE dispute.business_id = p_business_id
                            AND dispute.payment_id = p_payment_id AND dispute.status IN ('open', 'lost')))
          FROM payment WHERE business_id = p_business_id AND id = p_payment_id);
END
$$;
COMMENT ON FUNCTION payment_to_refund IS 'A payment as a refund sees it: what is left of each transfer, the newest first, and the disputes that keep money from being refunded.';


-- Search of the console
--
-- What a list of things found says about each. No join is on anything but the business, so that the indexes that a
-- business leads are read for each business in turn, in one statement, and a cluster does it on all nodes.

CREATE VIEW found_payment AS
SELECT 'payment' AS kind, payment.business_id, business.name AS business, pay_code AS key, reference AS name,
       payment.status AS state, currency, expected_minor AS minor, customer_name AS payer, payment.created_at,
       payment.id, customer_email AS email
  FROM payment JOIN business ON business.id = payment.business_id;
COMMENT ON VIEW found_payment IS 'Payments of all businesses, as the search of the console lists them.';

CREATE VIEW found_inflow AS
SELECT 'inflow' AS kind, collection.business_id, business.name AS business, reference AS key, reference AS name,
       collection.status AS state, source_currency AS currency, source_minor AS minor, payer ->> 'name' AS payer,
       collection.created_at, collection.id, payer ->> 'account_number' AS payer_account, rail, transaction_id
  FROM collection JOIN business ON business.id = collection.business_id;
COMMENT ON VIEW found_inflow IS 'Inflows of all businesses, as the search of the console lists them.';

CREATE VIEW found_refund AS
SELECT 'refund' AS kind, refund.business_id, business.name AS business, refund.reference AS key,
       refund.reference AS name, refund.status AS state, refund.currency, refund.amount_minor AS minor,
       coalesce(payment.customer_name, collection.payer ->> 'name') AS payer, refund.initiated_at AS created_at,
       refund.id
  FROM refund
  JOIN business ON business.id = refund.business_id
  LEFT JOIN payment ON payment.business_id = refund.business_id AND payment.id = refund.payment_id
  LEFT JOIN collection ON collection.business_id = refund.business_id AND collection.id = refund.collection_id;
COMMENT ON VIEW found_refund IS 'Refunds of all businesses, as the search of the console lists them.';

GRANT SELECT ON found_payment, found_inflow, found_refund TO tidegate_app;


-- Webhook
--
-- An event is written in the transaction of the change that it tells of, and nothing else is written there: the worker
-- makes deliveries of it afterwards, one for each endpoint that wants it. The delivery is both the queue and the log that
-- the merchant sees.

CREATE TABLE event (
    business_id   text        NOT NULL,
    id            text        NOT NULL,
    type          text        NOT NULL,
    cause         text        NOT NULL,
    reference     text,
    payload       bytea,
    request_id    text,
    is_fanned_out boolean     NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL,
    CONSTRAINT event_pk PRIMARY KEY (business_id, id),
    CONSTRAINT event_one_per_cause UNIQUE (business_id, type, cause)
);
COMMENT ON TABLE event IS 'What is sent to merchants, written in the transaction of the change and sent unchanged.';
COMMENT ON COLUMN event.reference IS 'By what the merchant knows the thing that this is about.';
COMMENT ON COLUMN event.payload IS 'NULL when it was erased at a payer''s request; it is not sent any more.';
COMMENT ON COLUMN event.request_id IS 'Of the request that caused it, for logs and traces; NULL for background work.';
COMMENT ON COLUMN event.is_fanned_out IS 'Whether its deliveries have been made.';
CREATE INDEX event_to_fan_out ON event (created_at) WHERE NOT is_fanned_out;
-- Filled only when the worker marks an event, so that the transaction of a change does not pay for it.
CREATE INDEX event_by_time ON event (business_id, created_at) WHERE is_fanned_out;
CREATE INDEX event_by_age ON event (created_at) WHERE is_fanned_out;

CREATE TABLE webhook_endpoint (
    business_id     text        NOT NULL CONSTRAINT webhook_endpoint_business_fk REFERENCES business (id),
    id              text        NOT NULL,
    url             text        NOT NULL,
    events          text[]      NOT NULL,
    description     text,
    status          text        NOT NULL DEFAULT 'enabled',
    disabled_reason text,
    rate_per_second integer     NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    deleted_at      timestamptz,
    CONSTRAINT webhook_endpoint_pk PRIMARY KEY (business_id, id),
    CONSTRAINT webhook_endpoint_status_is_known CHECK (status IN ('enabled', 'disabled')),
    CONSTRAINT webhook_endpoint_reason_is_known CHECK (disabled_reason IN ('merchant', 'gone', 'failing')),
    CONSTRAINT webhook_endpoint_is_disabled_for_a_reason CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL)),
    CONSTRAINT webhook_endpoint_rate_is_positive CHECK (rate_per_second BETWEEN 1 AND 100000)
);
COMMENT ON TABLE webhook_endpoint IS 'Where a business receives events, and which. A deleted one stays, for the log.';

CREATE TABLE webhook_secret (
    business_id text        NOT NULL CONSTRAINT webhook_secret_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    endpoint_id text,
    sealed      text        NOT NULL,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz,
    CONSTRAINT webhook_secret_pk PRIMARY KEY (business_id, id),
    CONSTRAINT webhook_secret_endpoint_fk
        FOREIGN KEY (business_id, endpoint_id) REFERENCES webhook_endpoint (business_id, id)
);
COMMENT ON TABLE webhook_secret IS 'What endpoints'' signatures are made with, encrypted. Old ones end a day after a rotation.';
COMMENT ON COLUMN webhook_secret.endpoint_id IS 'NULL for the one that waits for the first endpoint of a business.';
CREATE INDEX webhook_secret_of_endpoint ON webhook_secret (business_id, endpoint_id);

CREATE TABLE endpoint_state (
    business_id   text        NOT NULL,
    endpoint_id   text        NOT NULL,
    next_poll_at       timestamptz,
    full_at       timestamptz NOT NULL,
    failures      integer     NOT NULL DEFAULT 0,
    failing_since timestamptz,
    openings      integer     NOT NULL DEFAULT 0,
    open_until    timestamptz,
    CONSTRAINT endpoint_state_pk PRIMARY KEY (business_id, endpoint_id),
    CONSTRAINT endpoint_state_endpoint_fk
        FOREIGN KEY (business_id, endpoint_id) REFERENCES webhook_endpoint (business_id, id)
) WITH (fillfactor = 50);
COMMENT ON TABLE endpoint_state IS 'Health and rate of an endpoint, and when to look next whether something is due there. Endpoints are claimed one by one, so a long queue of one delays no other.';
COMMENT ON COLUMN endpoint_state.full_at IS 'When its allowance of requests is full again.';
COMMENT ON COLUMN endpoint_state.open_until IS 'Nothing is sent before; afterwards one delivery tries whether it is well again.';
CREATE INDEX endpoint_state_to_poll ON endpoint_state (next_poll_at) WHERE next_poll_at IS NOT NULL;

CREATE SEQUENCE webhook_delivery_serial MINVALUE 0 MAXVALUE 1048575 CYCLE;

CREATE TABLE webhook_delivery (
    business_id  text        NOT NULL,
    id           bigint      NOT NULL,
    endpoint_id  text        NOT NULL,
    event_id     text        NOT NULL,
    event_type   text        NOT NULL,
    reference    text,
    status       text        NOT NULL DEFAULT 'pending',
    priority     smallint    NOT NULL,
    due_at       timestamptz,
    attempts     integer     NOT NULL DEFAULT 0,
    failures     integer     NOT NULL DEFAULT 0,
    answer       smallint,
    lease_until  timestamptz,
    lease_token  text,
    created_at   timestamptz NOT NULL,
    delivered_at timestamptz,
    CONSTRAINT webhook_delivery_pk PRIMARY KEY (business_id, id),
    CONSTRAINT webhook_delivery_one_per_event_and_endpoint UNIQUE (business_id, event_id, endpoint_id),
    CONSTRAINT webhook_delivery_endpoint_fk
        FOREIGN KEY (business_id, endpoint_id) REFERENCES webhook_endpoint (business_id, id),
    CONSTRAINT webhook_delivery_event_fk FOREIGN KEY (business_id, event_id) REFERENCES event (business_id, id),
    CONSTRAINT webhook_delivery_status_is_known CHECK (status IN ('pending', 'delivered', 'exhausted', 'cancelled')),
    CONSTRAINT webhook_delivery_is_due_while_pending CHECK ((status = 'pending') = (due_at IS NOT NULL)),
    CONSTRAINT webhook_delivery_priority_is_known CHECK (priority IN (0, 1))
) WITH (fillfactor = 80);
COMMENT ON TABLE webhook_delivery IS 'One event for one endpoint: queue and log in one row.';
COMMENT ON COLUMN webhook_delivery.id IS 'Milliseconds and a serial number, so that the key is also the order of time. See new_webhook_delivery_id.';
COMMENT ON COLUMN webhook_delivery.priority IS '0 goes first: new events, and resends by hand. 1: retries and replays.';
COMMENT ON COLUMN webhook_delivery.failures IS 'How far the schedule has gone; begins anew when it is resent.';
COMMENT ON COLUMN webhook_delivery.answer IS 'Of the newest try: the first digit of its status, 0 without an answer. NULL before the first.';
CREATE INDEX webhook_delivery_due ON webhook_delivery (business_id, endpoint_id, priority, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_in_flight ON webhook_delivery (business_id, endpoint_id) WHERE lease_token IS NOT NULL;
CREATE INDEX webhook_delivery_by_reference ON webhook_delivery (business_id, reference, id);
CREATE INDEX webhook_delivery_not_delivered ON webhook_delivery (business_id, status, id) WHERE status <> 'delivered';
-- The log of one endpoint, of one event, or of both.
CREATE INDEX webhook_delivery_by_endpoint_and_type ON webhook_delivery (business_id, endpoint_id, event_type, id);
-- What was not taken at the first try, of which there is little.
CREATE INDEX webhook_delivery_by_answer ON webhook_delivery (business_id, endpoint_id, answer, id) WHERE answer <> 2;
CREATE INDEX webhook_delivery_by_attempts ON webhook_delivery (business_id, attempts, id) WHERE attempts > 1;

CREATE FUNCTION new_webhook_delivery_id(p_now timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_ms bigint := floor(extract(epoch FROM p_now) * 1000);
BEGIN
    RETURN (v_ms << 20) | ((nextval('webhook_delivery_serial') + serial_offset(v_ms)) & 1048575);
END
$$;
COMMENT ON FUNCTION new_webhook_delivery_id IS 'Milliseconds since 1970 and a padded serial number.';

CREATE TABLE webhook_attempt (
    business_id     text        NOT NULL,
    delivery_id     bigint      NOT NULL,
    number          integer     NOT NULL,
    url             text        NOT NULL,
    started_at      timestamptz NOT NULL,
    duration_ms     integer,
    status_code     integer,
    error           text,
    body            text,
    request_headers text,
    answer_headers  text,
    CONSTRAINT webhook_attempt_pk PRIMARY KEY (business_id, delivery_id, number),
    CONSTRAINT webhook_attempt_delivery_fk
        FOREIGN KEY (business_id, delivery_id) REFERENCES webhook_delivery (business_id, id),
    CONSTRAINT webhook_attempt_counts_from_one CHECK (number >= 1),
    CONSTRAINT webhook_attempt_has_an_end CHECK (status_code IS NOT NULL OR error IS NOT NULL)
);
COMMENT ON TABLE webhook_attempt IS 'What a receiver answered, each time: its status and the beginning of its body, or why there is none.';
COMMENT ON COLUMN webhook_attempt.request_headers IS 'As sent, one a line, with the signatures.';
COMMENT ON COLUMN webhook_attempt.answer_headers IS 'The beginning of what was answered, one a line, without cookies.';
CREATE INDEX webhook_attempt_by_age ON webhook_attempt (started_at);

-- On a cluster the queue is worked off business by business, each on its node. These functions do for one business what
-- webhook/queue_store.py does for all of them in one statement, which a cluster refuses.

CREATE FUNCTION fan_out_events(p_business_id text, p_now timestamptz, p_limit integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_now   timestamptz := time_of(p_business_id, p_now);
    v_event record;
    v_endpoint  record;
    v_count integer := 0;
BEGIN
    -- In the common lock order of endpoint states, and before any delivery is made.
    PERFORM FROM endpoint_state WHERE business_id = p_business_id ORDER BY endpoint_id FOR UPDATE;
    FOR v_event IN
        SELECT id, type, reference, created_at FROM event
         WHERE business_id = p_business_id AND NOT is_fanned_out ORDER BY created_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    LOOP
        FOR v_endpoint IN
            SELECT endpoint.id FROM webhook_endpoint AS endpoint
             WHERE endpoint.business_id = p_business_id AND v_event.type = ANY (endpoint.events)
               AND endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
               AND endpoint.created_at <= v_event.created_at
             ORDER BY endpoint.id FOR SHARE
        LOOP
            INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, reference, priority, due_at,
                                          created_at)
            VALUES (p_business_id, new_webhook_delivery_id(v_now), v_endpoint.id, v_event.id, v_event.type,
                    v_event.reference, 0, v_now, v_now)
                ON CONFLICT ON CONSTRAINT webhook_delivery_one_per_event_and_endpoint DO NOTHING;
            UPDATE endpoint_state SET next_poll_at = least(next_poll_at, v_now)
             WHERE business_id = p_business_id AND endpoint_id = v_endpoint.id;
        END LOOP;
        UPDATE event SET is_fanned_out = true WHERE business_id = p_business_id AND id = v_event.id;
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION fan_out_events IS 'Makes the deliveries of new events of a business. How many events.';

CREATE FUNCTION claim_deliveries(
    p_business_id text, p_now timestamptz, p_in_flight_max integer, p_lease interval, p_token text
) RETURNS json LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_now       timestamptz := time_of(p_business_id, p_now);
    v_endpoint      record;
    v_due       record;
    v_leased    record;
    v_secrets   text[];
    v_payload   bytea;
    v_request   text;
    v_in_flight bigint;
    v_most      integer;
    v_room      integer;
    v_taken     integer;
    v_is_more   boolean;
    v_full_at   timestamptz;
    v_claimed   json[] := '{}';
BEGIN
    FOR v_endpoint IN
        SELECT state.endpoint_id, greatest(state.full_at, v_now) AS full_at, state.open_until, endpoint.url,
               endpoint.rate_per_second, endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL AS is_wanted
          FROM endpoint_state AS state
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id AND endpoint.id = state.endpoint_id
         WHERE state.business_id = p_business_id AND state.next_poll_at <= v_now
         ORDER BY state.endpoint_id FOR UPDATE OF state SKIP LOCKED
    LOOP
        SELECT count(*) INTO v_in_flight FROM webhook_delivery
         WHERE business_id = p_business_id AND endpoint_id = v_endpoint.endpoint_id AND lease_token IS NOT NULL
           AND lease_until > v_now;
        v_secrets := ARRAY(SELECT sealed FROM webhook_secret
                            WHERE business_id = p_business_id AND endpoint_id = v_endpoint.endpoint_id
                              AND (expires_at IS NULL OR expires_at > v_now) ORDER BY id DESC);
        v_most := CASE WHEN v_endpoint.open_until IS NULL THEN p_in_flight_max ELSE 1 END;
        v_room := CASE WHEN NOT v_endpoint.is_wanted OR v_endpoint.open_until > v_now THEN 0 ELSE greatest(least(
            v_most - v_in_flight,
            floor(v_endpoint.rate_per_second * (1 - extract(epoch FROM v_endpoint.full_at - v_now)) + 0.000001)), 0) END;
        v_taken := 0;
        v_is_more := false;
        FOR v_due IN
            -- One more than the capacity, to know whether any is left.
            SELECT id, lease_token IS NOT NULL AS was_leased, lease_until - p_lease AS started_at FROM webhook_delivery
             WHERE business_id = p_business_id AND endpoint_id = v_endpoint.endpoint_id AND due_at <= v_now
               AND (lease_until IS NULL OR lease_until <= v_now) AND v_endpoint.is_wanted
             ORDER BY priority, due_at LIMIT v_room + 1
        LOOP
            v_is_more := v_taken = v_room;
            EXIT WHEN v_is_more;
            UPDATE webhook_delivery
               SET lease_until = v_now + p_lease, lease_token = p_token, attempts = attempts + v_due.was_leased::int,
                   answer = CASE WHEN v_due.was_leased THEN 0 ELSE answer END
             WHERE business_id = p_business_id AND id = v_due.id
            RETURNING event_id, failures, attempts INTO v_leased;
            IF v_due.was_leased THEN
                -- Its sender did not finish; whether it arrived is unknown.
                INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, error)
                VALUES (p_business_id, v_due.id, v_leased.attempts, v_endpoint.url, v_due.started_at, 'interrupted');
            END IF;
            SELECT payload, request_id INTO v_payload, v_request FROM event
             WHERE business_id = p_business_id AND id = v_leased.event_id;
            v_claimed := v_claimed || json_build_object(
                'endpoint_id', v_endpoint.endpoint_id, 'delivery_id', v_due.id, 'event_id', v_leased.event_id,
                'failures', v_leased.failures, 'url', v_endpoint.url, 'sealed_secrets', v_secrets,
                'request_id', v_request, 'body', translate(encode(v_payload, 'base64'), E'\n', ''));
            v_taken := v_taken + 1;
        END LOOP;
        v_full_at := v_endpoint.full_at + v_taken * interval '1 second' / v_endpoint.rate_per_second;
        UPDATE endpoint_state
           SET full_at = v_full_at,
               next_poll_at = CASE
                   WHEN NOT v_endpoint.is_wanted THEN NULL
                   WHEN v_endpoint.open_until > v_now THEN v_endpoint.open_until
                   -- A rate limit refills; a full in-flight limit is polled again when a request ends.
                   WHEN v_is_more AND v_in_flight + v_taken < v_most
                       THEN greatest(v_full_at - (1 - 1.0 / v_endpoint.rate_per_second) * interval '1 second', v_now)
                   ELSE least(CASE WHEN v_in_flight + v_taken > 0 THEN v_now + p_lease END,
                              (SELECT min(due_at) FROM webhook_delivery AS later
                                WHERE later.business_id = p_business_id AND later.endpoint_id = v_endpoint.endpoint_id
                                  AND later.due_at > v_now)) END
         WHERE business_id = p_business_id AND endpoint_id = v_endpoint.endpoint_id;
    END LOOP;
    RETURN array_to_json(v_claimed);
END
$$;
COMMENT ON FUNCTION claim_deliveries IS 'Leases due deliveries of a business, a few per endpoint, and sets when to look at each endpoint next.';

CREATE FUNCTION finish_deliveries(p_business_id text, p_results json, p_circuits json, p_now timestamptz)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_result  record;
    v_circuit record;
    v_number  integer;
    v_count   integer := 0;
BEGIN
    PERFORM FROM endpoint_state WHERE business_id = p_business_id ORDER BY endpoint_id FOR UPDATE;
    FOR v_result IN
        SELECT * FROM json_to_recordset(p_results) AS given (
            id bigint, lease_token text, is_success boolean, next_attempt_at timestamptz, url text,
            started_at timestamptz, duration_ms integer, status_code integer, error text, body text,
            request_headers text, answer_headers text)
    LOOP
        UPDATE webhook_delivery
           SET attempts = attempts + 1, failures = CASE WHEN v_result.is_success THEN 0 ELSE failures + 1 END,
               answer = coalesce(v_result.status_code / 100, 0),
               -- A delivery cancelled while in flight stays cancelled, unless it has arrived.
               status = CASE WHEN v_result.is_success THEN 'delivered' WHEN due_at IS NULL THEN status
                             WHEN v_result.next_attempt_at IS NULL THEN 'exhausted' ELSE 'pending' END,
               due_at = CASE WHEN v_result.is_success OR due_at IS NULL THEN NULL ELSE v_result.next_attempt_at END,
               priority = 1, lease_token = NULL, lease_until = NULL,
               delivered_at = CASE WHEN v_result.is_success THEN coalesce(delivered_at, p_now) ELSE delivered_at END
         WHERE business_id = p_business_id AND id = v_result.id AND lease_token = v_result.lease_token
        RETURNING attempts INTO v_number;
        CONTINUE WHEN NOT FOUND;
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, duration_ms, status_code, error,
                                     body, request_headers, answer_headers)
        VALUES (p_business_id, v_result.id, v_number, v_result.url, v_result.started_at, v_result.duration_ms,
                v_result.status_code, v_result.error, v_result.body, v_result.request_headers,
                v_result.answer_headers);
        v_count := v_count + 1;
    END LOOP;
    FOR v_circuit IN
        SELECT * FROM json_to_recordset(p_circuits) AS given (
            endpoint_id text, failures integer, failing_since timestamptz, openings integer, open_until timestamptz)
    LOOP
        UPDATE endpoint_state
           SET next_poll_at = p_now, failures = v_circuit.failures, failing_since = v_circuit.failing_since,
               openings = v_circuit.openings, open_until = v_circuit.open_until
         WHERE business_id = p_business_id AND endpoint_id = v_circuit.endpoint_id;
    END LOOP;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION finish_deliveries IS 'Writes results of a business whose lease is still ours, and the circuits of its endpoints. How many.';

GRANT SELECT, INSERT, UPDATE (is_fanned_out) ON event TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint, endpoint_state, webhook_delivery TO tidegate_app;
GRANT SELECT, INSERT, DELETE, UPDATE (expires_at, sealed) ON webhook_secret TO tidegate_app;
GRANT SELECT, INSERT ON webhook_attempt TO tidegate_app;
GRANT USAGE ON SEQUENCE webhook_delivery_serial TO tidegate_app;


-- Work

CREATE TABLE leased_work (
    business_id text        NOT NULL CONSTRAINT leased_work_business_fk REFERENCES business (id),
    kind        text        NOT NULL,
    id          text        NOT NULL,
    lease_token text,
    next_try_at timestamptz NOT NULL,
    failures    integer     NOT NULL DEFAULT 0,
    last_error  text,
    parked_at   timestamptz,
    CONSTRAINT leased_work_pk PRIMARY KEY (business_id, kind, id),
    CONSTRAINT leased_work_failures_have_an_error CHECK ((failures > 0) = (last_error IS NOT NULL)),
    CONSTRAINT leased_work_parked_has_no_next_try CHECK ((parked_at IS NOT NULL) = (next_try_at = 'infinity'))
);
COMMENT ON TABLE leased_work IS 'Rows that a worker has in work, and rows whose work failed. A row that was worked off has none.';
COMMENT ON COLUMN leased_work.id IS 'Of the row, in the words of its kind: a reference, or a number as text.';
COMMENT ON COLUMN leased_work.next_try_at IS 'When it may be claimed again: the end of its lease, or of its pause; infinity when parked.';
COMMENT ON COLUMN leased_work.parked_at IS 'When it had failed too often; it waits for an operator.';
CREATE INDEX leased_work_failed ON leased_work (kind, business_id, id) WHERE failures > 0;

CREATE FUNCTION is_held_back(p_business_id text, p_kind text, p_id text, p_now timestamptz) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM leased_work
                    WHERE business_id = p_business_id AND kind = p_kind AND id = p_id AND next_try_at > p_now);
END
$$;
COMMENT ON FUNCTION is_held_back IS 'Whether a row is in work, paused after a failure, or parked.';

GRANT SELECT, INSERT, UPDATE, DELETE ON leased_work TO tidegate_app;

CREATE TABLE job_round (
    business_id text             NOT NULL CONSTRAINT job_round_business_fk REFERENCES business (id),
    job         text             NOT NULL,
    every_s     double precision NOT NULL,
    ended_at    timestamptz      NOT NULL,
    lasted_ms   integer          NOT NULL,
    done        integer          NOT NULL,
    failed      integer          NOT NULL,
    error       text,
    failed_at   timestamptz,
    wanted_at   timestamptz,
    CONSTRAINT job_round_pk PRIMARY KEY (business_id, job),
    CONSTRAINT job_round_is_of_the_platform CHECK (business_id = '000000000000000000000000'),
    CONSTRAINT job_round_has_an_error_once_failed CHECK ((error IS NULL) = (failed_at IS NULL))
);
COMMENT ON TABLE job_round IS 'The last round of each job of the workers, written every few seconds. Under the platform''s own business.';
COMMENT ON COLUMN job_round.done IS 'Rows since the job was written before; `failed` likewise.';
COMMENT ON COLUMN job_round.error IS 'Of the last round that failed as a whole.';
COMMENT ON COLUMN job_round.wanted_at IS 'When an operator asked for a round at once; done when a round has ended after it.';

GRANT SELECT, INSERT, UPDATE ON job_round TO tidegate_app;


-- Writes
--
-- What is decided about money is written by these functions: each takes the business first, writes all of a change or
-- nothing, and says what became of it. They decide nothing, and refuse what no longer holds. pg_temp comes last in their
-- search_path: else it would come first, and a temporary table of the caller could stand in for the ledger.

CREATE FUNCTION refuse_stale_change() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what the change was decided on has changed meanwhile' USING ERRCODE = 'TG001';
END
$$;
COMMENT ON FUNCTION refuse_stale_change IS 'Raises: a change decided on an older state must undo everything that was written with it.';

CREATE FUNCTION refuse_incomplete(p_business_ids text[], p_count integer, p_nows timestamptz[]) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    -- NULL of an empty list.
    v_dims text := '[1:' || nullif(p_count, 0) || ']';
BEGIN
    IF array_dims(p_business_ids) IS DISTINCT FROM v_dims OR array_dims(p_nows) IS DISTINCT FROM v_dims
       OR array_position(p_business_ids, NULL) > 0 OR array_position(p_nows, NULL) > 0
       OR NOT ('2020-01-01 00:00+00' <= ALL (p_nows) AND '2200-01-01 00:00+00' > ALL (p_nows)) THEN
        RAISE EXCEPTION 'each change needs a business and a time' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;
COMMENT ON FUNCTION refuse_incomplete IS 'Raises unless there are as many businesses and times as changes, in plain lists, and every time is of this age: programs cannot read any other, and what is booked stays.';

-- No key forbids that one transaction is an inflow and also pays a payment or is in suspense: who writes one waits here for the
-- other.
CREATE FUNCTION lock_transactions(p_names text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- Otherwise what the other one has written is not seen after the wait.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'money is written in transactions that are read committed'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(key)
       FROM (SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest(p_names) AS name
              WHERE name IS NOT NULL ORDER BY key OFFSET 0) AS given;
END
$$;
COMMENT ON FUNCTION lock_transactions IS 'Holds transactions of banks, by business, rail and number, until the end of ours.';

CREATE FUNCTION begin_attempt(p_business_id text, p_change json, p_now timestamptz) RETURNS boolean
    LANGUAGE plpgsql AS $$
DECLARE
    v_payment payment := json_populate_record(NULL::payment, p_change -> 'payment');
    v_attempt attempt := json_populate_record(NULL::attempt, p_change -> 'attempt');
BEGIN
    UPDATE payment
       SET status = v_payment.status, expected_minor = v_payment.expected_minor, fee_rule_id = v_payment.fee_rule_id,
           attempts = v_payment.attempts, attempts_by_method = v_payment.attempts_by_method,
           expires_at = v_payment.expires_at, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = v_payment.id AND version = v_payment.version;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p_change ->> 'replaces' IS NOT NULL THEN
        UPDATE attempt SET status = 'replaced', failure = NULL, next_poll_at = NULL, updated_at = p_now
         WHERE business_id = p_business_id AND id = (p_change ->> 'replaces')::bigint AND status = 'waiting';
        IF NOT FOUND THEN
            PERFORM refuse_stale_change();
        END IF;
    END IF;
    INSERT INTO attempt (business_id, payment_id, number, reference, rail, method, status, expected_minor, fee_rule_id,
                         details, expires_at, next_poll_at, created_at, updated_at)
    VALUES (p_business_id, v_payment.id, v_payment.attempts, v_attempt.reference, v_attempt.rail, v_attempt.method,
            'starting', v_payment.expected_minor, v_payment.fee_rule_id, v_attempt.details, v_attempt.expires_at,
            v_attempt.next_poll_at, p_now, p_now);
    RETURN true;
END
$$;
COMMENT ON FUNCTION begin_attempt IS 'Writes a new attempt, over the version of the payment that was read, and ends the one that it replaces. False when the payment has changed; raises when the attempt has.';

CREATE TYPE payment_change AS (
    payment_id          bigint,
    version             bigint,
    now                 timestamptz,
    lease               text,
    lease_kind          text,
    lease_id            text,
    ref_rail            text,
    ref_id              text,
    ref_body            text,
    status              text,
    variance            text,
    received_minor      bigint,
    held_minor          bigint,
    returned_minor      bigint,
    fee_minor           bigint,
    vat_minor           bigint,
    settled_minor       bigint,
    method              text,
    paid_at             timestamptz,
    ending              text,
    expected_minor      bigint,
    fee_rule_id         text,
    attempt_id          bigint,
    attempt_status      text,
    action              jsonb,
    account_id          text,
    account_number      text,
    failure             text,
    expires_at          timestamptz,
    polls                integer,
    next_poll_at        timestamptz,
    answers             integer,
    resends             integer,
    resend_from         timestamptz,
    said_sent_at        timestamptz,
    rail                text,
    transaction_id      text,
    currency            text,
    amount_minor        bigint,
    outcome             text,
    reason              text,
    payer               jsonb,
    arrived_at          text,
    back_reference      text,
    back_rail           text,
    back_transaction_id text,
    back_currency       text,
    back_minor          bigint,
    back_reason         text,
    kind                text,
    cause               text,
    accounts            text[],
    currencies          text[],
    amounts_minor       bigint[],
    event_at            timestamptz,
    event_id            text,
    event_type          text,
    event_cause         text,
    event_payload       text,
    event_reference     text,
    event_request_id    text
);
COMMENT ON TYPE payment_change IS 'A payment, its attempt, and what came with them: a notification (ref), money received, money going back, a journal, an event. Bytes are base64. arrived_at: the account that the rail named, empty for none, where it is not the attempt''s own.';

-- Rows are written together: most of what one costs alone is the start of its statement. They are locked in the order given:
-- joins are loops, and indexes are the only way to a row. LIMIT makes PostgreSQL expect few changes, and OFFSET 0 keeps it from
-- joining: each row is looked up by its key, also by plans that were made when the tables were empty. v_only tells a cluster
-- which node has all rows; where there is none, business_id = coalesce(v_only, business_id) is always true.
CREATE FUNCTION write_payment_changes(p_business_ids text[], p_changes payment_change[], p_nows timestamptz[])
RETURNS text[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
    SET enable_seqscan = off AS $$
DECLARE
    -- NULL when there are several, which is never so on a cluster.
    v_only          text := CASE WHEN p_business_ids[1] = ALL (p_business_ids) THEN p_business_ids[1] END;
    v_known         text[];
    v_written       integer[];
    v_business_ids  text[] := p_business_ids;
    v_changes       payment_change[] := p_changes;
    v_change        payment_change;
    v_business_id   text;
    v_rail          text;
    v_reference     text;
    v_with_attempt  integer := 0;
    v_count         integer;
    v_posted_for    text[] := '{}';
    v_postings      posting[] := '{}';
    v_posted_at     timestamptz[] := '{}';
BEGIN
    PERFORM refuse_incomplete(p_business_ids, cardinality(p_changes), p_nows);
    IF cardinality(p_changes) = 0 THEN
        RETURN '{}';
    END IF;
    PERFORM lock_transactions(ARRAY(SELECT owner || ' ' || rail || ' ' || transaction_id
                                      FROM unnest(p_business_ids, p_changes) AS given (owner)));
    SELECT coalesce(array_agg(rail || '/' || id), '{}') INTO v_known FROM notification
     WHERE rail = ANY (ARRAY(SELECT ref_rail FROM unnest(p_changes))) AND id = ANY (ARRAY(SELECT ref_id FROM unnest(p_changes)));
    -- Who comes at the same moment waits here, and finds another version. A rail reports one success both in its answer
    -- and in a notification; that is not an error.
    WITH written AS (
        UPDATE payment
           SET status = given.status, variance = given.variance, received_minor = given.received_minor,
               held_minor = given.held_minor, returned_minor = given.returned_minor, fee_minor = given.fee_minor,
               vat_minor = given.vat_minor, settled_minor = given.settled_minor, method = given.method,
               paid_at = given.paid_at, ending = given.ending, expected_minor = given.expected_minor,
               fee_rule_id = given.fee_rule_id, version = payment.version + 1, updated_at = given.now
          FROM (SELECT * FROM unnest(p_business_ids, p_changes) WITH ORDINALITY AS given (business_id)
                 LIMIT cardinality(p_changes)) AS given
         WHERE payment.business_id = coalesce(v_only, given.business_id)
           AND payment.id = given.payment_id AND payment.version = given.version
           AND (given.ref_id IS NULL OR given.ref_rail || '/' || given.ref_id <> ALL (v_known))
           AND NOT EXISTS (
                SELECT FROM (SELECT business_id FROM receipt
                              WHERE business_id = coalesce(v_only, business_id) AND rail = given.rail
                                AND transaction_id = given.transaction_id OFFSET 0) AS known
                 WHERE known.business_id = given.business_id)
           AND NOT EXISTS (
                SELECT FROM (SELECT business_id FROM collection
                              WHERE business_id = coalesce(v_only, business_id) AND rail = given.rail
                                AND transaction_id = given.transaction_id OFFSET 0) AS known
                 WHERE known.business_id = given.business_id)
           AND (given.lease IS NULL OR EXISTS (
                SELECT FROM (SELECT lease_token FROM leased_work
                              WHERE business_id = coalesce(v_only, given.business_id)
                                AND kind = given.lease_kind AND id = given.lease_id OFFSET 0) AS held
                 WHERE held.lease_token = given.lease))
           -- No success without its journal.
           AND (given.status <> 'success' OR payment.status = 'success'
                OR coalesce(given.kind = 'checkout_settled' AND given.cause = 'payment/' || given.payment_id, false))
        RETURNING given.ordinality)
    SELECT coalesce(array_agg(ordinality ORDER BY ordinality), '{}') INTO v_written FROM written;
    IF cardinality(v_written) < cardinality(p_changes) THEN
        v_business_ids := ARRAY(SELECT p_business_ids[at] FROM unnest(v_written) AS at ORDER BY at);
        v_changes := ARRAY(SELECT p_changes[at] FROM unnest(v_written) AS at ORDER BY at);
    END IF;

    UPDATE receipt_mail SET payment_ended_at = given.now
      FROM (SELECT * FROM unnest(v_business_ids, v_changes) AS given (business_id) LIMIT cardinality(v_changes)) AS given
     WHERE receipt_mail.business_id = coalesce(v_only, given.business_id)
       AND receipt_mail.payment_id = given.payment_id AND payment_ended_at IS NULL
       AND given.status IN ('success', 'failed', 'expired');
    INSERT INTO notification (rail, id, state, body, received_at)
    SELECT ref_rail, ref_id, 'done', decode(ref_body, 'base64'), now FROM unnest(v_changes) WHERE ref_id IS NOT NULL;
    INSERT INTO receipt (business_id, rail, transaction_id, payment_id, attempt_id, account_number, currency, amount_minor,
                         outcome, reason, payer, created_at)
    SELECT business_id, rail, transaction_id, payment_id, attempt_id,
           CASE WHEN arrived_at IS NULL THEN account_number ELSE nullif(arrived_at, '') END, currency, amount_minor,
           outcome, reason, payer, now
      FROM unnest(v_business_ids, v_changes) AS given (business_id) WHERE transaction_id IS NOT NULL;
    FOR v_at IN 1 .. cardinality(v_changes) LOOP
        v_change := v_changes[v_at];
        v_business_id := v_business_ids[v_at];
        v_with_attempt := v_with_attempt + (v_change.attempt_id IS NOT NULL)::integer;
        IF v_change.account_number IS NOT NULL AND v_change.attempt_status IN ('starting', 'waiting', 'running') THEN
            SELECT rail, reference INTO v_rail, v_reference FROM attempt
             WHERE business_id = v_business_id AND id = v_change.attempt_id AND payment_id = v_change.payment_id
               AND (account_number IS DISTINCT FROM v_change.account_number
                    OR status NOT IN ('starting', 'waiting', 'running'));
            IF FOUND THEN
                PERFORM take_account_number(v_business_id, 'attempt', v_rail, v_change.account_number, v_reference);
            END IF;
        END IF;
        IF v_change.transaction_id IS NOT NULL AND v_change.kind IS NULL THEN
            RAISE EXCEPTION 'money that is not booked' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF v_change.back_reference IS NOT NULL THEN
            INSERT INTO money_return (business_id, reference, payment_id, rail, transaction_id, currency, amount_minor,
                                      reason, next_try_at, asked_at)
            VALUES (v_business_id, v_change.back_reference, v_change.payment_id, v_change.back_rail,
                    v_change.back_transaction_id, v_change.back_currency, v_change.back_minor, v_change.back_reason,
                    v_change.now, v_change.now);
        END IF;
        IF v_change.kind IS NOT NULL THEN
            v_posted_for := v_posted_for || v_business_id;
            v_posted_at := v_posted_at || p_nows[v_written[v_at]];
            v_postings := v_postings || ROW(v_change.kind, v_change.cause, v_change.accounts, v_change.currencies,
                                            v_change.amounts_minor, v_change.event_at)::posting;
        END IF;
    END LOOP;
    UPDATE attempt
       SET status = given.attempt_status, action = given.action, account_id = given.account_id,
           account_number = given.account_number, failure = given.failure, expires_at = given.expires_at,
           polls = given.polls, next_poll_at = given.next_poll_at, answers = given.answers, resends = given.resends,
           resend_from = given.resend_from, said_sent_at = given.said_sent_at, updated_at = given.now
      FROM (SELECT * FROM unnest(v_business_ids, v_changes) AS given (business_id) LIMIT cardinality(v_changes)) AS given
     WHERE attempt.business_id = coalesce(v_only, given.business_id)
       AND attempt.id = given.attempt_id AND attempt.payment_id = given.payment_id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> v_with_attempt THEN
        PERFORM refuse_stale_change();
    END IF;
    INSERT INTO event (business_id, id, type, cause, payload, created_at, reference, request_id)
    SELECT business_id, event_id, event_type, event_cause, decode(event_payload, 'base64'), now, event_reference,
           event_request_id
      FROM unnest(v_business_ids, v_changes) AS given (business_id) WHERE event_id IS NOT NULL;
    -- Wallets are locked last.
    IF v_postings <> '{}'
       AND array_position(post_journals_of_several(v_posted_for, v_postings, v_posted_at), NULL) IS NOT NULL THEN
        PERFORM refuse_stale_change();
    END IF;
    RETURN outcomes_of_payment_changes(p_business_ids, p_changes, v_written);
END
$$;
COMMENT ON FUNCTION write_payment_changes IS 'Writes changes, which must come in the order of business and payment; p_business_ids and p_nows have one for each. An outcome for each: written; stale, when the payment or the lease has changed; duplicate, when its notification was processed before; already_received, when its money was.';

CREATE FUNCTION outcomes_of_payment_changes(p_business_ids text[], p_changes payment_change[], p_written integer[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_outcomes    text[] := array_fill('written'::text, ARRAY[cardinality(p_changes)]);
    v_change      payment_change;
    v_business_id text;
BEGIN
    IF cardinality(p_written) = cardinality(p_changes) THEN
        RETURN v_outcomes;
    END IF;
    FOR v_at IN 1 .. cardinality(p_changes) LOOP
        CONTINUE WHEN v_at = ANY (p_written);
        v_change := p_changes[v_at];
        v_business_id := p_business_ids[v_at];
        IF EXISTS (SELECT FROM notification WHERE rail = v_change.ref_rail AND id = v_change.ref_id) THEN
            v_outcomes[v_at] := 'duplicate';
        ELSIF EXISTS (SELECT FROM receipt WHERE business_id = v_business_id AND rail = v_change.rail
                         AND transaction_id = v_change.transaction_id)
           OR EXISTS (SELECT FROM collection WHERE business_id = v_business_id AND rail = v_change.rail
                         AND transaction_id = v_change.transaction_id) THEN
            v_outcomes[v_at] := 'already_received';
        ELSE
            v_outcomes[v_at] := 'stale';
        END IF;
    END LOOP;
    RETURN v_outcomes;
END
$$;
COMMENT ON FUNCTION outcomes_of_payment_changes IS 'What became of changes; p_written are the places of those that were written.';

CREATE FUNCTION apply_payment_changes(p_business_id text, p_changes json, p_now timestamptz) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_changes payment_change[] := ARRAY(SELECT given FROM json_populate_recordset(NULL::payment_change, p_changes) AS given);
BEGIN
    RETURN write_payment_changes(array_fill(p_business_id, ARRAY[cardinality(v_changes)]), v_changes,
                                 array_fill(p_now, ARRAY[cardinality(v_changes)]));
END
$$;
COMMENT ON FUNCTION apply_payment_changes IS 'write_payment_changes for one business: the changes must come in order of payment.';

-- What waits at the same moment shares a transaction on one PostgreSQL, also of several businesses: most of what a change
-- costs alone is its commit, and the start of its statements. It does not wait for long, so that a business whose rows are
-- locked does not hold up the others: each is then tried by itself.
CREATE FUNCTION apply_payment_changes_of_several(p_business_ids text[], p_changes json, p_nows timestamptz[])
RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '200ms' AS $$
BEGIN
    RETURN write_payment_changes(
        p_business_ids,
        ARRAY(SELECT given FROM json_populate_recordset(NULL::payment_change, p_changes) AS given), p_nows);
END
$$;
COMMENT ON FUNCTION apply_payment_changes_of_several IS 'write_payment_changes for several businesses.';


CREATE FUNCTION write_event(p_business_id text, p_event json, p_now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (business_id, id, type, cause, payload, created_at, reference, request_id)
    VALUES (p_business_id, p_event ->> 'id', p_event ->> 'type', p_event ->> 'cause',
            decode(p_event ->> 'payload', 'base64'), p_now, p_event ->> 'reference', p_event ->> 'request_id');
END
$$;
COMMENT ON FUNCTION write_event IS 'Writes an event with its change. The payload is base64.';

CREATE FUNCTION count_inflow(p_inflow collection, p_before text, p_after text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_place record;
BEGIN
    -- In the order of the key: no deadlocks. One by one, since on a cluster ON CONFLICT has no parameters after a SELECT.
    FOR v_place IN SELECT * FROM tally_places(p_inflow.account_id, p_inflow.created_at) ORDER BY 1, 2, 3 LOOP
        -- Where there was one before, there is a row.
        INSERT INTO collection_tally AS tally (business_id, account_id, span, starts_at, destination_currency,
                                               pending, successful, failed, reversed)
        VALUES (p_inflow.business_id, v_place.account_id, v_place.span, v_place.starts_at,
                p_inflow.destination_currency, (p_after = 'pending')::integer, (p_after = 'successful')::integer,
                (p_after = 'failed')::integer, (p_after = 'reversed')::integer)
            ON CONFLICT ON CONSTRAINT collection_tally_pk DO UPDATE
           SET pending = tally.pending + excluded.pending - (p_before IS NOT DISTINCT FROM 'pending')::integer,
               successful = tally.successful + excluded.successful
                            - (p_before IS NOT DISTINCT FROM 'successful')::integer,
               failed = tally.failed + excluded.failed - (p_before IS NOT DISTINCT FROM 'failed')::integer,
               reversed = tally.reversed + excluded.reversed - (p_before IS NOT DISTINCT FROM 'reversed')::integer;
    END LOOP;
END
$$;
COMMENT ON FUNCTION count_inflow IS 'Keeps collection_tally: one inflow less in p_before, NULL when it is new, and one more in p_after.';

CREATE TYPE new_notification AS (
    rail text,
    id   text,
    body text
);
CREATE TYPE new_event AS (
    id         text,
    type       text,
    cause      text,
    payload    text,
    reference  text,
    request_id text
);
CREATE TYPE new_inflow AS (
    inflow          json,
    account_version bigint,
    return_reason   text,
    notification    new_notification,
    event           new_event,
    journal         posting
);
COMMENT ON TYPE new_inflow IS 'An inflow, as a collection, and what came with it. Bytes are base64.';

-- Rows are written together, as in write_payment_changes.
CREATE FUNCTION write_inflows(p_business_ids text[], p_new new_inflow[], p_nows timestamptz[])
RETURNS text[] LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
    SET enable_seqscan = off AS $$
DECLARE
    v_only         text := CASE WHEN p_business_ids[1] = ALL (p_business_ids) THEN p_business_ids[1] END;
    v_business_ids text[] := p_business_ids;
    v_new          new_inflow[] := p_new;
    v_nows         timestamptz[] := p_nows;
    v_ids          bigint[] := ARRAY(SELECT new_collection_id(now) FROM unnest(p_nows) AS now);
    v_inflows      collection[] := ARRAY(SELECT json_populate_record(NULL::collection, inflow) FROM unnest(p_new));
    v_sound        bigint[];
    v_written      bigint[];
BEGIN
    PERFORM refuse_incomplete(p_business_ids, cardinality(p_new), p_nows);
    PERFORM lock_transactions(ARRAY(SELECT owner || ' ' || rail || ' ' || transaction_id
                                      FROM unnest(p_business_ids, v_inflows) AS given (owner)));
    -- The account as it was read; and not held in suspense, where the bank has notified it before, in another currency.
    SELECT array_agg(given.ordinality) INTO v_sound
      FROM (SELECT owner, ordinality, account_id, account_version, rail, transaction_id
              FROM unnest(p_business_ids, p_new, v_inflows) WITH ORDINALITY AS given (owner)
             LIMIT cardinality(p_new)) AS given
      JOIN virtual_account AS account
           ON account.business_id = coalesce(v_only, given.owner) AND account.id = given.account_id
              AND account.version = given.account_version
     WHERE NOT EXISTS (
            SELECT FROM (SELECT business_id FROM receipt
                          WHERE business_id = coalesce(v_only, business_id) AND rail = given.rail
                            AND transaction_id = given.transaction_id OFFSET 0) AS known
             WHERE known.business_id = given.owner);
    INSERT INTO collection (business_id, id, reference, account_id, status, reason, source_currency, source_minor,
                            destination_currency, rail, transaction_id, payer, payee_name, scheme, remittance,
                            valued_at, name_check, destination_minor, fee_minor, vat_minor, credited_minor,
                            fee_rule_id, rate, rate_source, rate_quoted_at, spread_minor, return_reference,
                            return_asked_at, created_at, updated_at, merchant_reference, note, held_for, held_until)
    SELECT owner, new_id, reference, account_id, status, reason, source_currency, source_minor, destination_currency, rail,
           transaction_id, payer, payee_name, scheme, remittance, valued_at, name_check, destination_minor, fee_minor,
           vat_minor, credited_minor, fee_rule_id, rate, rate_source, rate_quoted_at, spread_minor, return_reference,
           return_asked_at, now, now, merchant_reference, note, held_for, held_until
      FROM unnest(p_business_ids, v_ids, p_nows, v_inflows) WITH ORDINALITY AS given (owner, new_id, now)
     WHERE ordinality = ANY (v_sound) ORDER BY ordinality
        ON CONFLICT ON CONSTRAINT collection_one_per_transaction DO NOTHING;
    SELECT coalesce(array_agg(at ORDER BY at), '{}') INTO v_written
      FROM (SELECT * FROM unnest(p_business_ids, v_ids) WITH ORDINALITY AS given (owner, new_id, at)
             LIMIT cardinality(p_new)) AS given
      JOIN collection ON collection.business_id = coalesce(v_only, given.owner) AND collection.id = given.new_id;
    IF cardinality(v_written) < cardinality(p_new) THEN
        IF v_written = '{}' THEN
            RETURN outcomes_of_inflows(p_business_ids, p_new, v_written);
        END IF;
        v_business_ids := ARRAY(SELECT p_business_ids[at] FROM unnest(v_written) AS at);
        v_new := ARRAY(SELECT p_new[at] FROM unnest(v_written) AS at);
        v_nows := ARRAY(SELECT p_nows[at] FROM unnest(v_written) AS at);
        v_ids := ARRAY(SELECT v_ids[at] FROM unnest(v_written) AS at);
        v_inflows := ARRAY(SELECT v_inflows[at] FROM unnest(v_written) AS at);
    END IF;

    -- Other money under an identifier that is known undoes everything.
    INSERT INTO notification (rail, id, state, body, received_at)
    SELECT (notification).rail, (notification).id, 'done', decode((notification).body, 'base64'), now
      FROM unnest(v_nows, v_new) AS given (now) WHERE (notification).id IS NOT NULL;
    INSERT INTO event (business_id, id, type, cause, payload, created_at, reference, request_id)
    SELECT business_id, (event).id, (event).type, (event).cause, decode((event).payload, 'base64'), now,
           (event).reference, (event).request_id
      FROM unnest(v_business_ids, v_nows, v_new) AS given (business_id, now) WHERE (event).id IS NOT NULL;
    FOR v_at IN 1 .. cardinality(v_new) LOOP
        IF v_new[v_at].return_reason IS NOT NULL THEN
            PERFORM return_inflow(v_business_ids[v_at], v_ids[v_at], v_inflows[v_at], v_new[v_at].return_reason, v_nows[v_at]);
        END IF;
    END LOOP;
    -- The wallet is locked last, before the totals.
    IF array_position(post_journals_of_several(v_business_ids, ARRAY(SELECT journal FROM unnest(v_new)), v_nows), NULL)
       IS NOT NULL THEN
        PERFORM refuse_stale_change();
    END IF;
    -- In the order of the key: no deadlocks.
    INSERT INTO collection_tally AS tally (business_id, account_id, span, starts_at, destination_currency,
                                           pending, successful, failed, reversed)
    SELECT new.owner, place.account_id, place.span, place.starts_at, new.destination_currency,
           count(*) FILTER (WHERE new.status = 'pending'), count(*) FILTER (WHERE new.status = 'successful'),
           count(*) FILTER (WHERE new.status = 'failed'), count(*) FILTER (WHERE new.status = 'reversed')
      FROM unnest(v_business_ids, v_nows, v_inflows) AS new (owner, now), tally_places(new.account_id, new.now) AS place
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT ON CONSTRAINT collection_tally_pk DO UPDATE
       SET pending = tally.pending + excluded.pending, successful = tally.successful + excluded.successful,
           failed = tally.failed + excluded.failed, reversed = tally.reversed + excluded.reversed;
    RETURN outcomes_of_inflows(p_business_ids, p_new, v_written);
END
$$;
COMMENT ON FUNCTION write_inflows IS 'Writes inflows with their notifications, journals and events, in the order of their wallets; p_business_ids and p_nows have one for each. An outcome for each: written; duplicate, when the notification was processed before; already_received, when the money was. Raises for all of them when an account has changed.';

CREATE FUNCTION outcomes_of_inflows(p_business_ids text[], p_new new_inflow[], p_written bigint[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_outcomes text[] := array_fill('written'::text, ARRAY[cardinality(p_new)]);
    v_inflow   collection;
BEGIN
    IF cardinality(p_written) = cardinality(p_new) THEN
        RETURN v_outcomes;
    END IF;
    FOR v_at IN 1 .. cardinality(p_new) LOOP
        CONTINUE WHEN v_at = ANY (p_written);
        v_inflow := json_populate_record(NULL::collection, p_new[v_at].inflow);
        IF NOT EXISTS (SELECT FROM collection
                        WHERE business_id = p_business_ids[v_at] AND rail = v_inflow.rail
                          AND transaction_id = v_inflow.transaction_id)
           AND NOT EXISTS (SELECT FROM receipt
                            WHERE business_id = p_business_ids[v_at] AND rail = v_inflow.rail
                              AND transaction_id = v_inflow.transaction_id) THEN
            PERFORM refuse_stale_change();
        END IF;
        -- The same money under another identifier, or the same notification again.
        v_outcomes[v_at] := 'already_received';
        IF EXISTS (SELECT FROM notification
                    WHERE rail = (p_new[v_at].notification).rail AND id = (p_new[v_at].notification).id) THEN
            v_outcomes[v_at] := 'duplicate';
        END IF;
    END LOOP;
    RETURN v_outcomes;
END
$$;
COMMENT ON FUNCTION outcomes_of_inflows IS 'What became of inflows; p_written are the places of those that were written. Raises when an account has changed.';

CREATE FUNCTION record_inflow(p_business_id text, p_new json, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN (write_inflows(ARRAY[p_business_id], ARRAY[json_populate_record(NULL::new_inflow, p_new)], ARRAY[p_now]))[1];
END
$$;
COMMENT ON FUNCTION record_inflow IS 'write_inflows for one.';

CREATE FUNCTION record_inflows_of_several(p_business_ids text[], p_new json[], p_nows timestamptz[])
RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '200ms' AS $$
BEGIN
    RETURN write_inflows(
        p_business_ids, ARRAY(SELECT json_populate_record(NULL::new_inflow, given) FROM unnest(p_new) AS given), p_nows);
END
$$;
COMMENT ON FUNCTION record_inflows_of_several IS 'write_inflows for several businesses, with little patience for locks.';

CREATE FUNCTION return_inflow(p_business_id text, p_id bigint, p_inflow collection, p_reason text, p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO money_return (business_id, reference, collection_id, rail, transaction_id, currency, amount_minor,
                              reason, next_try_at, asked_at)
    VALUES (p_business_id, p_inflow.return_reference, p_id, p_inflow.rail, p_inflow.transaction_id,
            p_inflow.source_currency, p_inflow.source_minor, p_reason, p_now, p_now);
END
$$;
COMMENT ON FUNCTION return_inflow IS 'Asks for the money of an inflow to go back.';

CREATE FUNCTION change_inflow(p_business_id text, p_change json, p_now timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_new    collection := json_populate_record(NULL::collection, p_change -> 'inflow');
    v_before text;
BEGIN
    SELECT status INTO v_before FROM collection
     WHERE business_id = p_business_id AND id = v_new.id AND version = v_new.version FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM refuse_stale_change();
    END IF;
    UPDATE collection
       SET status = v_new.status, reason = v_new.reason, note = v_new.note, destination_minor = v_new.destination_minor,
           fee_minor = v_new.fee_minor, vat_minor = v_new.vat_minor, credited_minor = v_new.credited_minor,
           fee_rule_id = v_new.fee_rule_id, rate = v_new.rate, rate_source = v_new.rate_source,
           rate_quoted_at = v_new.rate_quoted_at, spread_minor = v_new.spread_minor,
           return_reference = v_new.return_reference, return_asked_at = v_new.return_asked_at,
           owed_minor = v_new.owed_minor, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = v_new.id
    RETURNING * INTO v_new;
    IF p_change ->> 'return_reason' IS NOT NULL THEN
        PERFORM return_inflow(p_business_id, v_new.id, v_new, p_change ->> 'return_reason', p_now);
    END IF;
    IF p_change ->> 'event' IS NOT NULL THEN
        PERFORM write_event(p_business_id, p_change -> 'event', p_now);
    END IF;
    -- The wallet is locked last, before the totals.
    PERFORM post_once(p_business_id, p_change -> 'journal', p_now);
    IF v_before <> v_new.status THEN
        PERFORM count_inflow(v_new, v_before, v_new.status);
    END IF;
END
$$;
COMMENT ON FUNCTION change_inflow IS 'Writes what became of a recorded inflow, over the version that was read, with its journal and event. Raises when it has changed.';

CREATE FUNCTION post_once(p_business_id text, p_journal json, p_now timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint := (post_journals(p_business_id, ARRAY[json_populate_record(NULL::posting, p_journal)], p_now))[1];
BEGIN
    IF v_id IS NULL THEN
        PERFORM refuse_stale_change();
    END IF;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION post_once IS 'Posts one journal. Raises when its cause was posted before.';

CREATE FUNCTION record_unclaimed(p_business_id text, p_change json, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_new receipt := json_populate_record(NULL::receipt, p_change -> 'receipt');
    v_ref text := p_change -> 'notification' ->> 'id';
    v_is_known boolean;
BEGIN
    PERFORM lock_transactions(ARRAY[p_business_id || ' ' || v_new.rail || ' ' || v_new.transaction_id]);
    IF EXISTS (SELECT FROM collection
                WHERE business_id = p_business_id AND rail = v_new.rail AND transaction_id = v_new.transaction_id) THEN
        RETURN 'already_received';
    END IF;
    v_is_known := EXISTS (SELECT 1 FROM receipt WHERE business_id = p_business_id AND rail = v_new.rail
                             AND transaction_id = v_new.transaction_id)
               OR EXISTS (SELECT 1 FROM suspense_decision WHERE business_id = p_business_id AND rail = v_new.rail
                             AND transaction_id = v_new.transaction_id);
    -- By itself: on a cluster another node may have the notification.
    IF v_is_known AND NOT EXISTS (SELECT FROM notification WHERE rail = v_new.rail AND id = v_ref) THEN
        RETURN 'already_received';
    END IF;
    INSERT INTO notification (rail, id, state, body, note, received_at)
    VALUES (v_new.rail, v_ref, 'suspense', decode(p_change -> 'notification' ->> 'body', 'base64'), v_new.reason, p_now)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING;
    IF NOT FOUND THEN
        RETURN 'duplicate';
    END IF;
    INSERT INTO receipt (business_id, rail, transaction_id, payment_id, account_number, currency, amount_minor, outcome,
                         reason, payer, notified, notification_id, created_at)
    VALUES (p_business_id, v_new.rail, v_new.transaction_id, v_new.payment_id, v_new.account_number, v_new.currency,
            v_new.amount_minor, 'suspense', v_new.reason, v_new.payer, v_new.notified, v_ref, p_now);
    PERFORM post_once(p_business_id, p_change -> 'journal', p_now);
    RETURN 'written';
END
$$;
COMMENT ON FUNCTION record_unclaimed IS 'Writes money that no wallet can be credited with, with its notification and journal. Outcomes as of record_inflow.';

CREATE FUNCTION lock_unclaimed(p_business_id text, p_id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN (SELECT outcome FROM receipt WHERE business_id = p_business_id AND id = p_id FOR UPDATE);
END
$$;
COMMENT ON FUNCTION lock_unclaimed IS 'The outcome of a receipt, which stays until the transaction ends: two decisions on money in suspense, or a decision and a reversal, come one after the other.';

-- A function of its own: on a cluster every node has a copy of the decisions.
CREATE FUNCTION is_decided(p_business_id text, p_receipt_id bigint, p_decision text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM suspense_decision
                    WHERE business_id = p_business_id AND receipt_id = p_receipt_id AND decision = p_decision);
END
$$;
COMMENT ON FUNCTION is_decided IS 'Whether that decision on money in suspense is written, in this transaction or before.';

CREATE FUNCTION decide_unclaimed(p_business_id text, p_change json, p_now timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_new  suspense_decision := json_populate_record(NULL::suspense_decision, p_change -> 'decision');
    v_back money_return := json_populate_record(NULL::money_return, p_change -> 'return');
    v_was  receipt;
BEGIN
    SELECT * INTO v_was FROM receipt
     WHERE business_id = p_business_id AND id = v_new.receipt_id AND outcome = 'suspense' FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM refuse_stale_change();
    END IF;
    IF NOT is_decided(p_business_id, v_was.id, v_new.decision) THEN
        PERFORM refuse_stale_change();
    END IF;
    IF v_new.decision = 'assigned' THEN
        -- Its owner has it from now on, also when that is the same business.
        DELETE FROM receipt WHERE business_id = p_business_id AND id = v_was.id;
    ELSE
        UPDATE receipt SET outcome = 'decided' WHERE business_id = p_business_id AND id = v_was.id;
    END IF;
    IF v_new.decision = 'returned' THEN
        INSERT INTO money_return (business_id, reference, rail, transaction_id, currency, amount_minor, reason,
                                  next_try_at, asked_at)
        VALUES (p_business_id, v_new.subject, v_was.rail, v_was.transaction_id, v_was.currency, v_was.amount_minor,
                v_back.reason, p_now, p_now);
    END IF;
    PERFORM post_once(p_business_id, p_change -> 'journal', p_now);
END
$$;
COMMENT ON FUNCTION decide_unclaimed IS 'Writes what became of money in suspense, with its journal and, where it goes back, its return. The decision itself is written beside it: every node of a cluster has a copy. Raises when it is not in suspense any more.';

CREATE FUNCTION pay_from_suspense(p_business_id text, p_changes json, p_now timestamptz) RETURNS text[]
    LANGUAGE plpgsql AS $$
BEGIN
    RETURN apply_payment_changes(p_business_id, p_changes, p_now);
END
$$;
COMMENT ON FUNCTION pay_from_suspense IS 'apply_payment_changes with money from suspense, in the transaction of its decision. It brings no notification and no new account number, so it touches one business alone.';

CREATE FUNCTION credit_from_suspense(p_business_id text, p_change json, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql AS $$
BEGIN
    RETURN record_inflow(p_business_id, p_change, p_now);
END
$$;
COMMENT ON FUNCTION credit_from_suspense IS 'record_inflow with money from suspense, as pay_from_suspense.';

CREATE FUNCTION confirm_return(p_business_id text, p_reference text, p_change json, p_now timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_collection_id bigint;
BEGIN
    UPDATE money_return
       SET status = 'confirmed', confirmed_at = p_now, next_try_at = NULL, sent_as = p_change ->> 'sent_as'
     WHERE business_id = p_business_id AND reference = p_reference AND status <> 'confirmed'
    RETURNING collection_id INTO v_collection_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE collection SET return_confirmed_at = p_now, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = v_collection_id;
    IF p_change ->> 'event' IS NOT NULL THEN
        PERFORM write_event(p_business_id, p_change -> 'event', p_now);
    END IF;
    PERFORM post_once(p_business_id, p_change -> 'journal', p_now);
    RETURN true;
END
$$;
COMMENT ON FUNCTION confirm_return IS 'Writes that money has gone back, with its journal and event. False when that was written before.';

CREATE FUNCTION start_refund(p_business_id text, p_change json, p_now timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_new     refund := json_populate_record(NULL::refund, p_change -> 'refund');
    v_legs    refund_leg[] := ARRAY(SELECT leg FROM json_populate_recordset(NULL::refund_leg, p_change -> 'legs') AS leg);
    v_journal posting := json_populate_record(NULL::posting, p_change -> 'journal');
BEGIN
    -- Another refund of the same waits here, and then sees what was taken.
    UPDATE payment SET refunded_minor = refunded_minor + v_new.amount_minor, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = v_new.payment_id;
    UPDATE collection SET refunded_minor = refunded_minor + v_new.amount_minor, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = v_new.collection_id;
    PERFORM refuse_foreign_legs(p_business_id, v_new, v_legs);
    IF (v_new.amount_minor, v_new.fee_returned_minor, v_new.vat_returned_minor) IS DISTINCT FROM
       (SELECT (sum(amount_minor)::bigint, sum(fee_minor)::bigint, sum(vat_minor)::bigint) FROM unnest(v_legs))
       OR ARRAY[(coalesce(v_new.wallet_currency, v_new.currency), coalesce(v_new.debited_minor, v_new.amount_minor))::text]
          IS DISTINCT FROM
          (SELECT array_agg((currency, amount_minor)::text)
             FROM unnest(v_journal.accounts, v_journal.currencies, v_journal.amounts_minor)
                  AS line (account, currency, amount_minor) WHERE account = 'refunds') THEN
        RAISE EXCEPTION 'the parts of a refund do not add up to it' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO refund (business_id, reference, payment_id, collection_id, currency, amount_minor, reason, note,
                        initiated_at, fee_returned_minor, vat_returned_minor, rate_chosen, wallet_currency,
                        debited_minor, worth_minor)
    VALUES (p_business_id, v_new.reference, v_new.payment_id, v_new.collection_id, v_new.currency, v_new.amount_minor,
            v_new.reason, v_new.note, p_now, v_new.fee_returned_minor, v_new.vat_returned_minor, v_new.rate_chosen,
            v_new.wallet_currency, v_new.debited_minor, v_new.worth_minor)
    RETURNING * INTO v_new;
    INSERT INTO refund_leg (business_id, reference, refund_id, rail, transaction_id, currency, amount_minor, fee_minor,
                            vat_minor, next_poll_at)
    SELECT p_business_id, leg.reference, v_new.id, leg.rail, leg.transaction_id, v_new.currency, leg.amount_minor,
           leg.fee_minor, leg.vat_minor, p_now
      FROM unnest(v_legs) AS leg;
    PERFORM post_once(p_business_id, p_change -> 'journal', p_now);
    RETURN v_new.id;
END
$$;
COMMENT ON FUNCTION start_refund IS 'Writes a refund, its amount on the payment or inflow, its legs, and the debit of the wallet. Its number. Raises when a transfer of the payment has less left to refund.';

CREATE FUNCTION refuse_foreign_legs(p_business_id text, p_refund refund, p_legs refund_leg[]) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM unnest(p_legs) AS leg
                 LEFT JOIN receipt ON receipt.business_id = p_business_id AND receipt.rail = leg.rail
                      AND receipt.transaction_id = leg.transaction_id AND receipt.payment_id = p_refund.payment_id
                      AND receipt.currency = p_refund.currency AND receipt.outcome IN ('settled', 'held')
                 LEFT JOIN collection ON collection.business_id = p_business_id AND collection.rail = leg.rail
                      AND collection.transaction_id = leg.transaction_id AND collection.id = p_refund.collection_id
                      AND collection.source_currency = p_refund.currency AND collection.status = 'successful'
                WHERE (receipt.id IS NULL AND collection.id IS NULL)
                   OR receipt.id IS NOT NULL AND leg.amount_minor > refundable_minor(
                          p_business_id, receipt.payment_id, receipt.rail, receipt.transaction_id,
                          receipt.account_number, receipt.amount_minor)) THEN
        RAISE EXCEPTION 'a transfer has less to refund' USING ERRCODE = 'integrity_constraint_violation',
            CONSTRAINT = 'refund_leg_takes_what_is_left', TABLE = 'refund_leg',
            DETAIL = 'It violates the constraint "refund_leg_takes_what_is_left".';
    END IF;
END
$$;
COMMENT ON FUNCTION refuse_foreign_legs IS 'Raises unless each leg goes back by a transfer of the refunded payment or inflow, and takes no more than is left of it.';


-- Paystack

CREATE TABLE paystack_attempt (
    business_id  text        NOT NULL CONSTRAINT paystack_attempt_business_fk REFERENCES business (id),
    reference    text        NOT NULL,
    currency     text        NOT NULL,
    amount_minor bigint      NOT NULL,
    action       jsonb,
    expected     jsonb,
    started_at   timestamptz NOT NULL,
    CONSTRAINT paystack_attempt_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT paystack_attempt_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE paystack_attempt IS 'Attempts given to Paystack; a row is written before the call.';
COMMENT ON COLUMN paystack_attempt.action IS 'What the payer has to do. Paystack does not repeat a page or an account.';
COMMENT ON COLUMN paystack_attempt.expected IS 'What the payer can do when Paystack''s answer is lost: approve a prompt, or type a voucher.';

CREATE TABLE paystack_payout (
    business_id           text        NOT NULL CONSTRAINT paystack_payout_business_fk REFERENCES business (id),
    reference             text        NOT NULL,
    kind                  text        NOT NULL,
    transaction_id        text        NOT NULL,
    transaction_reference text,
    refund_id             text,
    tried_at              timestamptz NOT NULL,
    tries                 integer     NOT NULL DEFAULT 1,
    may_repeat            boolean     NOT NULL DEFAULT false,
    CONSTRAINT paystack_payout_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT paystack_payout_kind_is_known CHECK (kind IN ('return', 'refund')),
    CONSTRAINT paystack_payout_was_tried CHECK (tries > 0)
);
COMMENT ON TABLE paystack_payout IS 'Refunds and returns requested from Paystack; a row is written before the call. Paystack has no idempotency key: without an id the refund is looked for, and a part is requested again only when an operator has said so.';
COMMENT ON COLUMN paystack_payout.transaction_reference IS 'Of the transaction, as Paystack''s notifications name it.';
COMMENT ON COLUMN paystack_payout.refund_id IS 'Paystack''s; none while its answer is not known.';
COMMENT ON COLUMN paystack_payout.may_repeat IS 'It is surely not at Paystack: an operator has looked there, or the repeat itself was not taken.';

GRANT SELECT, INSERT, UPDATE ON paystack_attempt TO tidegate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON paystack_payout TO tidegate_app;


-- pawaPay

CREATE TABLE pawapay_deposit (
    business_id  text        NOT NULL CONSTRAINT pawapay_deposit_business_fk REFERENCES business (id),
    reference    text        NOT NULL,
    deposit_id   text        NOT NULL,
    provider     text        NOT NULL,
    currency     text        NOT NULL,
    amount_minor bigint      NOT NULL,
    started_at   timestamptz NOT NULL,
    CONSTRAINT pawapay_deposit_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT pawapay_deposit_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE pawapay_deposit IS 'Attempts given to pawaPay; a row is written before the call.';
COMMENT ON COLUMN pawapay_deposit.deposit_id IS 'Made of the business and the reference, so that a repeat is the same deposit.';
-- Callbacks name a deposit, not a business.
CREATE INDEX pawapay_deposit_by_id ON pawapay_deposit (deposit_id);
CREATE INDEX pawapay_deposit_by_time ON pawapay_deposit (started_at);

CREATE TABLE pawapay_payout (
    business_id text        NOT NULL CONSTRAINT pawapay_payout_business_fk REFERENCES business (id),
    reference   text        NOT NULL,
    kind        text        NOT NULL,
    deposit_id  text        NOT NULL,
    refund_id   text        NOT NULL,
    number      integer     NOT NULL,
    tried_at    timestamptz NOT NULL,
    CONSTRAINT pawapay_payout_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT pawapay_payout_kind_is_known CHECK (kind IN ('return', 'refund'))
);
COMMENT ON TABLE pawapay_payout IS 'Refunds and returns requested from pawaPay; a row is written before the call.';
COMMENT ON COLUMN pawapay_payout.number IS 'Counts the requests that pawaPay ended for want of funds; each has another refund_id.';
CREATE INDEX pawapay_payout_by_id ON pawapay_payout (refund_id);
CREATE INDEX pawapay_payout_by_time ON pawapay_payout (tried_at);

GRANT SELECT, INSERT ON pawapay_deposit TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON pawapay_payout TO tidegate_app;


-- Bank files
--
-- A bank's file is of no business; its entries find one when they are recorded. What goes out belongs to a business.

CREATE TABLE bank_file (
    id          text        CONSTRAINT bank_file_pk PRIMARY KEY,
    name        text        NOT NULL,
    kind        text,
    state       text        NOT NULL,
    reason      text,
    byte_count  bigint      NOT NULL,
    entry_count integer     NOT NULL DEFAULT 0,
    received_at timestamptz NOT NULL,
    CONSTRAINT bank_file_state_is_known CHECK (state IN ('reading', 'read', 'refused')),
    CONSTRAINT bank_file_is_refused_for_a_reason CHECK ((state = 'refused') = (reason IS NOT NULL))
);
COMMENT ON TABLE bank_file IS 'Files that came from a bank, each once. One that is refused has no entries, and may be imported again.';
COMMENT ON COLUMN bank_file.id IS 'SHA-256 of its bytes.';
COMMENT ON COLUMN bank_file.kind IS 'Such as camt.053.001.08; none when it was refused before that was known.';
CREATE INDEX bank_file_by_age ON bank_file (received_at);

CREATE TABLE bank_file_part (
    file_id text    NOT NULL CONSTRAINT bank_file_part_file_fk REFERENCES bank_file (id),
    number  integer NOT NULL,
    content bytea   NOT NULL,
    CONSTRAINT bank_file_part_pk PRIMARY KEY (file_id, number)
);
COMMENT ON TABLE bank_file_part IS 'The bytes of a file as they came, in compressed parts. They leave after their time, and when a payer in them is erased.';

CREATE TABLE bank_statement (
    file_id      text        NOT NULL CONSTRAINT bank_statement_file_fk REFERENCES bank_file (id),
    number       integer     NOT NULL,
    statement_id text        NOT NULL,
    message_id   text        NOT NULL,
    account      text        NOT NULL,
    currency     text,
    is_binding   boolean     NOT NULL,
    sequence     bigint,
    page         integer,
    is_last_page boolean,
    opening      numeric,
    closing      numeric,
    total        numeric     NOT NULL,
    entry_count  integer     NOT NULL,
    day          date        NOT NULL,
    received_at  timestamptz NOT NULL,
    CONSTRAINT bank_statement_pk PRIMARY KEY (file_id, number)
);
COMMENT ON TABLE bank_statement IS 'Statements in files: numbers and balances, by which gaps are found.';
COMMENT ON COLUMN bank_statement.is_binding IS 'Of a closed day; the others come earlier and are repeated by it.';
CREATE INDEX bank_statement_of_account ON bank_statement (account, sequence);

CREATE TABLE bank_entry (
    file_id       text    NOT NULL CONSTRAINT bank_entry_file_fk REFERENCES bank_file (id),
    number        integer NOT NULL,
    account       text    NOT NULL,
    booked_on     date    NOT NULL,
    is_credit     boolean NOT NULL,
    amount        numeric NOT NULL,
    currency      text    NOT NULL,
    keys          text[]  NOT NULL,
    state         text    NOT NULL,
    note          text,
    destination   text,
    details       jsonb   NOT NULL,
    awaits_credit boolean NOT NULL DEFAULT false,
    takes_back    text,
    is_decided    boolean NOT NULL DEFAULT false,
    CONSTRAINT bank_entry_pk PRIMARY KEY (file_id, number),
    CONSTRAINT bank_entry_state_is_known CHECK (state IN ('new', 'done', 'repeat', 'ignored', 'problem', 'settled')),
    CONSTRAINT bank_entry_is_recognised CHECK (cardinality(keys) > 0),
    CONSTRAINT bank_entry_awaits_as_a_problem CHECK (NOT awaits_credit OR state = 'problem' AND NOT is_credit),
    CONSTRAINT bank_entry_takes_back_as_a_debit CHECK (takes_back IS NULL OR NOT is_credit)
);
COMMENT ON TABLE bank_entry IS 'Transactions in files. What is certainly new is recorded, whatever file it came in; what certainly is not is a repeat; the rest waits for a decision.';
COMMENT ON COLUMN bank_entry.keys IS 'The first is the transaction''s identifier at this rail; by the others it is found again in later files.';
COMMENT ON COLUMN bank_entry.destination IS 'The account that it was recorded for: a virtual number, an account and a reference, or the account alone.';
COMMENT ON COLUMN bank_entry.details IS 'The entry as it was read; empty when its payer was erased.';
COMMENT ON COLUMN bank_entry.awaits_credit IS 'It takes money back, and no credit fits it with certainty. It is judged again when one with an identifier of its own is recorded, and when a statement is read.';
COMMENT ON COLUMN bank_entry.is_decided IS 'An operator let it be recorded. A debit of a return that the bank had rejected is then that return.';
COMMENT ON COLUMN bank_entry.takes_back IS 'The first key of the credit that the bank takes back with it.';
-- Without the list of pending entries, which every look would read from end to end: a page of an import is then found
-- in milliseconds instead of seconds.
CREATE INDEX bank_entry_by_key ON bank_entry USING gin (keys) WITH (fastupdate = off);
CREATE INDEX bank_entry_to_record ON bank_entry (is_credit DESC, file_id, number) WHERE state = 'new';
CREATE INDEX bank_entry_with_a_problem ON bank_entry (booked_on) WHERE state = 'problem';
CREATE INDEX bank_entry_of_account ON bank_entry (account, booked_on);
-- A reversal names its credit by one of these.
CREATE INDEX bank_entry_by_identifier ON bank_entry
    USING gin ((ARRAY[details ->> 'uetr', details ->> 'transaction_id', details ->> 'end_to_end_id']))
    WITH (fastupdate = off) WHERE is_credit AND state = 'done';
CREATE INDEX bank_entry_that_awaits_its_credit ON bank_entry
    USING gin ((ARRAY[details ->> 'uetr', details ->> 'transaction_id', details ->> 'end_to_end_id']))
    WITH (fastupdate = off) WHERE awaits_credit;
CREATE UNIQUE INDEX bank_entry_takes_back_once ON bank_entry (takes_back) WHERE takes_back IS NOT NULL;

-- Pages of entries that were written, of all files: a gap tells an import that another one wrote between its own.
CREATE SEQUENCE bank_entry_page;

CREATE TABLE bank_attempt (
    business_id    text        NOT NULL CONSTRAINT bank_attempt_business_fk REFERENCES business (id),
    reference      text        NOT NULL,
    account_number text        NOT NULL,
    code           text        NOT NULL,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    started_at     timestamptz NOT NULL,
    CONSTRAINT bank_attempt_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT bank_attempt_is_of_money CHECK (amount_minor > 0)
);
COMMENT ON TABLE bank_attempt IS 'Attempts to pay by transfer to an account of the operator. The payer types the code as the narration.';
CREATE UNIQUE INDEX bank_attempt_one_code ON bank_attempt (code);

CREATE TABLE bank_number (
    business_id text        NOT NULL CONSTRAINT bank_number_business_fk REFERENCES business (id),
    reference   text        NOT NULL,
    number      text        NOT NULL,
    given_at    timestamptz NOT NULL,
    CONSTRAINT bank_number_pk PRIMARY KEY (business_id, reference)
);
COMMENT ON TABLE bank_number IS 'Virtual numbers of the bank that were given to accounts, each to one for ever.';
CREATE UNIQUE INDEX bank_number_given_once ON bank_number (number);

CREATE TABLE bank_export (
    id             text        CONSTRAINT bank_export_pk PRIMARY KEY,
    account_number text        NOT NULL,
    content        bytea       NOT NULL,
    payment_count  integer     NOT NULL,
    made_by        text        NOT NULL,
    made_at        timestamptz NOT NULL,
    written_at     timestamptz
);
COMMENT ON TABLE bank_export IS 'Files of payments (pain.001), kept before they are written, so that a crash neither loses nor changes one.';

CREATE TABLE bank_payout (
    business_id    text        NOT NULL CONSTRAINT bank_payout_business_fk REFERENCES business (id),
    reference      text        NOT NULL,
    kind           text        NOT NULL,
    transaction_id text        NOT NULL,
    account_number text        NOT NULL,
    currency       text        NOT NULL,
    amount_minor   bigint      NOT NULL,
    end_to_end_id  text        NOT NULL,
    payee_name     text,
    payee_account  text,
    payee_bank     text,
    remittance     text        NOT NULL,
    status         text        NOT NULL DEFAULT 'proposed',
    bank_status    text,
    reason         text,
    proposed_by    text        NOT NULL,
    proposed_at    timestamptz NOT NULL,
    approved_by    text,
    approved_at    timestamptz,
    export_id      text        CONSTRAINT bank_payout_export_fk REFERENCES bank_export (id),
    sent_as        text,
    CONSTRAINT bank_payout_pk PRIMARY KEY (business_id, reference),
    CONSTRAINT bank_payout_is_of_money CHECK (amount_minor > 0),
    CONSTRAINT bank_payout_kind_is_known CHECK (kind IN ('return', 'refund')),
    CONSTRAINT bank_payout_status_is_known CHECK (status IN ('proposed', 'approved', 'exported', 'rejected', 'done')),
    CONSTRAINT bank_payout_is_approved_by_another CHECK (approved_by <> proposed_by),
    CONSTRAINT bank_payout_is_approved_before_export
        CHECK (export_id IS NULL OR (approved_by IS NOT NULL AND payee_account IS NOT NULL)),
    CONSTRAINT bank_payout_is_rejected_for_a_reason CHECK (status <> 'rejected' OR reason IS NOT NULL)
);
COMMENT ON TABLE bank_payout IS 'Returns and refunds by the bank: proposed, approved by another person, exported as pain.001; done when the debit is in a statement, or rejected by the bank.';
COMMENT ON COLUMN bank_payout.proposed_by IS 'Who said where the money goes: tidegate, by the credit itself, until one of the staff has amended or proposed it.';
CREATE UNIQUE INDEX bank_payout_one_end_to_end_id ON bank_payout (end_to_end_id);
CREATE INDEX bank_payout_under_way ON bank_payout (proposed_at) WHERE status IN ('proposed', 'approved', 'exported');

GRANT SELECT, INSERT, UPDATE ON bank_file, bank_entry, bank_payout, bank_export TO tidegate_app;
GRANT USAGE ON SEQUENCE bank_entry_page TO tidegate_app;
GRANT SELECT, INSERT ON bank_file_part, bank_statement, bank_attempt, bank_number TO tidegate_app;


-- Sandbox
--
-- An outside world of our own: only the sandbox's rail reads these tables.

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
CREATE INDEX sandbox_attempt_by_age ON sandbox_attempt (started_at);
COMMENT ON COLUMN sandbox_attempt.action IS 'What the payer has to do now.';
COMMENT ON COLUMN sandbox_attempt.ends_at IS 'When it ends by itself or ended: with `failure`, or without one in success.';

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
CREATE INDEX sandbox_payout_by_age ON sandbox_payout (created_at);

CREATE TABLE sandbox_notification (
    business_id     text        NOT NULL CONSTRAINT sandbox_notification_business_fk REFERENCES business (id),
    id              bigint      GENERATED ALWAYS AS IDENTITY,
    notification_id text        NOT NULL,
    body            bytea       NOT NULL,
    created_at      timestamptz NOT NULL,
    due_at          timestamptz NOT NULL,
    sent_at         timestamptz,
    CONSTRAINT sandbox_notification_pk PRIMARY KEY (business_id, id)
);
COMMENT ON TABLE sandbox_notification IS 'Notifications that the sandbox''s rail sends. Two rows with one `notification_id` are one notification sent twice.';
COMMENT ON COLUMN sandbox_notification.due_at IS 'Taking a notification moves it on, so that one whose sender died is due again.';
CREATE INDEX sandbox_notification_by_notification ON sandbox_notification (business_id, notification_id);
CREATE INDEX sandbox_notification_due_and_not_sent ON sandbox_notification (business_id, due_at) WHERE sent_at IS NULL;
CREATE INDEX sandbox_notification_by_age ON sandbox_notification (created_at) WHERE sent_at IS NOT NULL;

CREATE TABLE sandbox_trade (
    business_id text        CONSTRAINT sandbox_trade_pk PRIMARY KEY
                            CONSTRAINT sandbox_trade_business_fk REFERENCES business (id),
    days        integer     NOT NULL,
    days_left   integer     NOT NULL,
    lease_until timestamptz,
    CONSTRAINT sandbox_trade_has_days CHECK (days_left BETWEEN 0 AND days)
);
COMMENT ON TABLE sandbox_trade IS 'Days of sample trade that the dashboard has asked for; the worker trades them one by one.';
COMMENT ON COLUMN sandbox_trade.lease_until IS 'Until then a worker trades a day of it. By the real clock.';
GRANT SELECT, INSERT, UPDATE ON sandbox_trade TO tidegate_app;

CREATE FUNCTION reset_sandbox(p_business_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_numbers text[] := ARRAY(SELECT account_number FROM virtual_account
                               WHERE business_id = p_business_id AND account_number IS NOT NULL);
BEGIN
    IF NOT EXISTS (SELECT FROM deployment WHERE mode = 'sandbox') THEN
        RAISE EXCEPTION 'only a sandbox is emptied' USING ERRCODE = 'insufficient_privilege';
    ELSIF NOT EXISTS (SELECT FROM business WHERE id = p_business_id) THEN
        RAISE EXCEPTION 'there is no business %', p_business_id USING ERRCODE = 'foreign_key_violation';
    END IF;
    UPDATE endpoint_state
       SET next_poll_at = NULL, failures = 0, failing_since = NULL, openings = 0, open_until = NULL
     WHERE business_id = p_business_id;
    DELETE FROM webhook_attempt WHERE business_id = p_business_id;
    DELETE FROM webhook_delivery WHERE business_id = p_business_id;
    -- The sandbox's rail puts the business into the identifiers of what it tells.
    DELETE FROM notification WHERE rail = 'sandbox' AND position(p_business_id IN id) > 0;
    DELETE FROM event WHERE business_id = p_business_id;
    DELETE FROM money_return WHERE business_id = p_business_id;
    DELETE FROM dispute WHERE business_id = p_business_id;
    DELETE FROM refund_leg WHERE business_id = p_business_id;
    DELETE FROM refund WHERE business_id = p_business_id;
    DELETE FROM credit_reversal WHERE account_number = ANY (v_numbers);
    DELETE FROM collection WHERE business_id = p_business_id;
    DELETE FROM collection_tally WHERE business_id = p_business_id;
    DELETE FROM receipt WHERE business_id = p_business_id;
    DELETE FROM suspense_decision WHERE business_id = p_business_id OR given_to = p_business_id;
    DELETE FROM attempt WHERE business_id = p_business_id;
    DELETE FROM account_number WHERE kind = 'attempt' AND business_id = p_business_id;
    DELETE FROM receipt_mail WHERE business_id = p_business_id;
    DELETE FROM idempotency_key WHERE business_id = p_business_id;
    DELETE FROM mail WHERE business_id = p_business_id;
    DELETE FROM approval WHERE business_id = p_business_id;
    DELETE FROM takings WHERE business_id = p_business_id;
    DELETE FROM takings_watermark WHERE business_id = p_business_id;
    DELETE FROM case_link WHERE business_id = p_business_id;
    DELETE FROM sandbox_trade WHERE business_id = p_business_id;
    DELETE FROM payment WHERE business_id = p_business_id;
    DELETE FROM journal_to_link WHERE business_id = p_business_id;
    DELETE FROM journal_link WHERE business_id = p_business_id;
    DELETE FROM entry WHERE business_id = p_business_id;
    DELETE FROM journal WHERE business_id = p_business_id;
    DELETE FROM wallet WHERE business_id = p_business_id;
    DELETE FROM leased_work WHERE business_id = p_business_id;
END
$$;
COMMENT ON FUNCTION reset_sandbox IS 'Deletes all payments, inflows and books of one business in a sandbox. Endpoints, their secrets and virtual accounts are settings, and stay.';

-- A simulation may be emptied.
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbox_attempt, sandbox_payout, sandbox_notification TO tidegate_app;
GRANT SELECT, INSERT, DELETE ON sandbox_account TO tidegate_app;
GRANT USAGE ON SEQUENCE sandbox_rail_serial TO tidegate_app;


-- Retention
--
-- What has a limit of age leaves by these functions alone: the service's role may delete none of it. Each takes the
-- business first, removes only rows that are older than the limit given and than the hard minimum of their kind, skips
-- what others hold, keeps what is still needed, and counts what it has removed.

CREATE TABLE retention (
    kind           text        CONSTRAINT retention_pk PRIMARY KEY,
    removed_before timestamptz NOT NULL,
    day            date        NOT NULL,
    count          bigint      NOT NULL,
    CONSTRAINT retention_counts_from_zero CHECK (count >= 0)
);
COMMENT ON TABLE retention IS 'What has left after its time: rows of this kind that are older than `removed_before` may be gone.';
COMMENT ON COLUMN retention.count IS 'How many left on `day`; written to audit once the day is over.';

CREATE FUNCTION kept_at_least(p_kind text) RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE p_kind
        WHEN 'notifications' THEN interval '30 days'
        WHEN 'webhook_attempts' THEN interval '7 days'
        WHEN 'events' THEN interval '30 days'
        WHEN 'idempotency_keys' THEN interval '30 days'
        WHEN 'mails' THEN interval '7 days'
        WHEN 'bank_files' THEN interval '30 days'
        WHEN 'requests' THEN interval '1 day'
        WHEN 'failed_requests' THEN interval '7 days'
        WHEN 'sandbox_notifications' THEN interval '1 day'
        WHEN 'sandbox_attempts' THEN interval '1 day'
        WHEN 'sandbox_payouts' THEN interval '1 day'
    END;
END
$$;
COMMENT ON FUNCTION kept_at_least IS 'The hard minimum of a kind, whatever limit is given; NULL for a kind that never leaves.';

-- By the database's own clock, which the service cannot set. In a sandbox the time of a business may be ahead.
CREATE FUNCTION removable_before(p_kind text, p_business_id text, p_before timestamptz) RETURNS timestamptz
    LANGUAGE sql STABLE AS $$
    SELECT CASE mode WHEN 'sandbox' THEN time_of(p_business_id, bound) ELSE bound END
      FROM deployment CROSS JOIN LATERAL (SELECT least(p_before, now() - kept_at_least(p_kind)) AS bound) AS given
$$;
COMMENT ON FUNCTION removable_before IS 'Rows of a business that are older may be removed: the limit given, or the hard minimum when that is earlier.';

CREATE FUNCTION removed_before(p_kind text, p_business_id text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT time_of(p_business_id, removed_before) FROM retention WHERE kind = p_kind), '-infinity')
$$;
COMMENT ON FUNCTION removed_before IS 'Rows of a business that are older may be gone.';

CREATE FUNCTION end_removal_day(p_kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_today date := (now() AT TIME ZONE 'UTC')::date;
    v_known retention;
BEGIN
    -- Most calls find nothing, and lock nothing.
    IF NOT EXISTS (SELECT FROM retention WHERE kind = p_kind AND count > 0 AND day < v_today) THEN
        RETURN;
    END IF;
    SELECT * INTO v_known FROM retention WHERE kind = p_kind FOR UPDATE;
    IF v_known.day >= v_today OR v_known.count = 0 THEN
        RETURN;
    END IF;
    WITH written AS (
        INSERT INTO audit (business_id, actor, action, subject, details, created_at)
        VALUES ('000000000000000000000000', 'tidegate', 'retention.removed', p_kind,
                jsonb_build_object('day', v_known.day, 'count', v_known.count, 'before', v_known.removed_before), now())
        RETURNING business_id, id)
    INSERT INTO audit_to_link SELECT business_id, id FROM written;
    UPDATE retention SET day = v_today, count = 0 WHERE kind = p_kind;
END
$$;
COMMENT ON FUNCTION end_removal_day IS 'Writes the count of a day that is over to audit, once.';

CREATE FUNCTION note_removal(p_kind text, p_before timestamptz, p_count bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := least(p_before, now() - kept_at_least(p_kind));
    v_today  date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    IF p_count = 0 THEN
        RETURN;
    END IF;
    PERFORM end_removal_day(p_kind);
    INSERT INTO retention AS known (kind, removed_before, day, count) VALUES (p_kind, v_before, v_today, p_count)
        ON CONFLICT ON CONSTRAINT retention_pk
        DO UPDATE SET day = greatest(known.day, excluded.day), count = known.count + excluded.count,
                      removed_before = greatest(known.removed_before, excluded.removed_before);
END
$$;
COMMENT ON FUNCTION note_removal IS 'Counts what was removed. The functions that remove call it, so that nothing leaves without it; the service cannot.';

-- By an array of keys, not by a join: a join that was planned while a table was small takes seconds once it is large.
CREATE FUNCTION remove_notifications(p_rail text, p_ids text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('notifications', '', p_before);
    v_count  integer;
BEGIN
    -- On a cluster their ids are of several nodes, and rows of several nodes cannot be skipped by their locks.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('remove_notifications', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM notification
     WHERE rail = p_rail AND id = ANY (p_ids) AND state = 'done' AND received_at < v_before;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('notifications', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_notifications IS 'Removes old notifications of a rail that were acted on. How many; none while another transaction removes some. Those in suspense or quarantine stay.';

CREATE FUNCTION remove_bank_files(p_rail text, p_ids text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('bank_files', '', p_before);
    v_count  integer;
BEGIN
    WITH removed AS (
        DELETE FROM bank_file_part WHERE file_id = ANY (ARRAY(
            SELECT id FROM bank_file
             WHERE id = ANY (p_ids) AND state <> 'reading' AND received_at < v_before
               AND NOT EXISTS (SELECT FROM bank_entry WHERE file_id = id AND bank_entry.state IN ('new', 'problem'))
               FOR UPDATE SKIP LOCKED))
        RETURNING file_id)
    SELECT count(DISTINCT file_id) INTO v_count FROM removed;
    PERFORM note_removal('bank_files', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_bank_files IS 'Removes the bytes of old files whose entries are all recorded. How many files. Their hashes, statements and entries stay.';

CREATE FUNCTION remove_webhook_attempts(p_business_id text, p_delivery_ids text[], p_before timestamptz)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('webhook_attempts', p_business_id, p_before);
    v_count  integer;
BEGIN
    DELETE FROM webhook_attempt
     WHERE business_id = p_business_id AND started_at < v_before AND delivery_id = ANY (ARRAY(
        SELECT id FROM webhook_delivery
         WHERE business_id = p_business_id AND id = ANY (p_delivery_ids::bigint[]) AND created_at < v_before
           FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('webhook_attempts', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_webhook_attempts IS 'Removes old attempts of deliveries, with the bodies of their answers. How many. The deliveries stay, as long as their events.';

CREATE FUNCTION remove_events(p_business_id text, p_ids text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before     timestamptz := removable_before('events', p_business_id, p_before);
    v_ids        text[];
    v_deliveries bigint[];
    v_count      integer;
BEGIN
    -- Locked events get no new deliveries. The lock is one statement, the look at the deliveries the next.
    v_ids := ARRAY(
        SELECT id FROM event
         WHERE business_id = p_business_id AND id = ANY (p_ids) AND is_fanned_out AND created_at < v_before
           FOR UPDATE SKIP LOCKED);
    v_deliveries := ARRAY(
        SELECT id FROM webhook_delivery AS delivery
         WHERE business_id = p_business_id AND event_id = ANY (v_ids) AND status <> 'pending'
           AND NOT EXISTS (SELECT FROM leased_work
                            WHERE business_id = p_business_id AND kind = 'deliver_webhooks' AND id = delivery.id::text)
           FOR UPDATE SKIP LOCKED);
    v_ids := ARRAY(
        SELECT old.id FROM unnest(v_ids) AS old (id)
         WHERE NOT EXISTS (SELECT FROM webhook_delivery AS needed
                            WHERE needed.business_id = p_business_id AND needed.event_id = old.id
                              AND needed.id <> ALL (v_deliveries)));
    DELETE FROM webhook_attempt AS attempt USING webhook_delivery AS delivery
     WHERE delivery.business_id = p_business_id AND delivery.event_id = ANY (v_ids)
       AND attempt.business_id = p_business_id AND attempt.delivery_id = delivery.id;
    DELETE FROM webhook_delivery WHERE business_id = p_business_id AND event_id = ANY (v_ids);
    DELETE FROM event WHERE business_id = p_business_id AND id = ANY (v_ids);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('events', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_events IS 'Removes old events with their deliveries. How many. An event stays while a delivery of it is pending, or parked for an operator.';

CREATE FUNCTION remove_idempotency_keys(p_business_id text, p_keys text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('idempotency_keys', p_business_id, p_before);
    v_count  integer;
BEGIN
    DELETE FROM idempotency_key WHERE business_id = p_business_id AND key = ANY (ARRAY(
        SELECT key FROM idempotency_key
         WHERE business_id = p_business_id AND key = ANY (p_keys) AND created_at < v_before FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('idempotency_keys', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_idempotency_keys IS 'Removes old answers kept under an Idempotency-Key. How many.';

CREATE FUNCTION remove_mails(p_business_id text, p_ids text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('mails', p_business_id, p_before);
    v_count  integer;
BEGIN
    DELETE FROM mail WHERE business_id = p_business_id AND id = ANY (ARRAY(
        SELECT id FROM mail
         WHERE business_id = p_business_id AND id = ANY (p_ids::bigint[]) AND status <> 'waiting'
           AND created_at < v_before FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('mails', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_mails IS 'Removes old messages to people that were sent, or refused for good, with their attachments. How many.';

-- In real time, also in a sandbox.
CREATE FUNCTION remove_requests(p_business_id text, p_numbers text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := least(p_before, now() - kept_at_least('requests'));
    v_count  integer;
BEGIN
    DELETE FROM request_log WHERE business_id = p_business_id AND number = ANY (ARRAY(
        SELECT number FROM request_log
         WHERE business_id = p_business_id AND number = ANY (p_numbers::bigint[]) AND status < 400
           AND created_at < v_before FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('requests', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_requests IS 'Removes old requests that succeeded from the log. How many.';

CREATE FUNCTION remove_failed_requests(p_business_id text, p_numbers text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := least(p_before, now() - kept_at_least('failed_requests'));
    v_count  integer;
BEGIN
    DELETE FROM request_log WHERE business_id = p_business_id AND number = ANY (ARRAY(
        SELECT number FROM request_log
         WHERE business_id = p_business_id AND number = ANY (p_numbers::bigint[]) AND status >= 400
           AND created_at < v_before FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('failed_requests', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_failed_requests IS 'Removes old requests that failed from the log. How many.';

CREATE FUNCTION remove_sandbox_notifications(p_business_id text, p_ids text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('sandbox_notifications', p_business_id, p_before);
    v_count  integer;
BEGIN
    DELETE FROM sandbox_notification WHERE business_id = p_business_id AND id = ANY (ARRAY(
        SELECT id FROM sandbox_notification
         WHERE business_id = p_business_id AND id = ANY (p_ids::bigint[]) AND sent_at IS NOT NULL
           AND created_at < v_before FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('sandbox_notifications', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_sandbox_notifications IS 'Removes old notifications that the sandbox''s rail has sent. How many.';

CREATE FUNCTION remove_sandbox_attempts(p_business_id text, p_references text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('sandbox_attempts', p_business_id, p_before);
    v_count  integer;
BEGIN
    DELETE FROM sandbox_attempt WHERE business_id = p_business_id AND reference = ANY (ARRAY(
        SELECT reference FROM sandbox_attempt AS simulated
         WHERE business_id = p_business_id AND reference = ANY (p_references) AND started_at < v_before
           AND NOT EXISTS (
               SELECT FROM attempt JOIN payment ON payment.business_id = p_business_id AND payment.id = payment_id
                WHERE attempt.business_id = p_business_id AND attempt.reference = simulated.reference
                  AND (attempt.status IN ('starting', 'waiting', 'running') OR attempt.next_poll_at IS NOT NULL
                       OR payment.status IN ('initiated', 'pending', 'processing')))
           FOR UPDATE OF simulated SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('sandbox_attempts', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_sandbox_attempts IS 'Removes old attempts at the sandbox''s rail whose payments have ended. How many.';

CREATE FUNCTION remove_sandbox_payouts(p_business_id text, p_references text[], p_before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_before timestamptz := removable_before('sandbox_payouts', p_business_id, p_before);
    v_count  integer;
BEGIN
    WITH old AS (
        SELECT kind, reference FROM sandbox_payout AS payout
         WHERE business_id = p_business_id AND reference = ANY (p_references) AND created_at < v_before
           AND NOT EXISTS (SELECT FROM refund_leg AS leg
                            WHERE leg.business_id = p_business_id AND leg.reference = payout.reference
                              AND leg.status = 'processing')
           AND NOT EXISTS (SELECT FROM money_return AS back
                            WHERE back.business_id = p_business_id AND back.reference = payout.reference
                              AND back.status <> 'confirmed')
           FOR UPDATE OF payout SKIP LOCKED)
    DELETE FROM sandbox_payout AS payout USING old
     WHERE payout.business_id = p_business_id AND payout.kind = old.kind AND payout.reference = old.reference;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM note_removal('sandbox_payouts', p_before, v_count);
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION remove_sandbox_payouts IS 'Removes old refunds and returns at the sandbox''s rail that have ended. How many.';

GRANT SELECT ON retention TO tidegate_app;


-- Erasure
--
-- On a payer's request its personal data goes; amounts, keys and the books stay. NULL in place of a payload, an answer or
-- the body of a notification means that it was erased. On a cluster what belongs to a business is on its node, and bank
-- files are on the coordinator alone: each has functions of its own, called in one transaction.

CREATE FUNCTION events_about(p_business_id text, p_causes text[]) RETURNS SETOF event LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT * FROM event
         WHERE business_id = p_business_id AND cause = ANY (p_causes)
           AND type IN ('charge.successful', 'charge.reversed', 'charge.disputed', 'collection.successful', 'collection.returned',
                        'refund.successful', 'refund.failed', 'virtualaccount.approved', 'virtualaccount.declined',
                        'virtualaccount.suspended', 'virtualaccount.closed');
END
$$;
COMMENT ON FUNCTION events_about IS 'The events of these causes, of whatever type, by their unique key.';

CREATE FUNCTION is_undelivered(p_business_id text, p_causes text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM events_about(p_business_id, p_causes) WHERE NOT is_fanned_out)
        OR EXISTS (SELECT FROM webhook_delivery AS delivery
                     JOIN webhook_endpoint AS endpoint ON endpoint.business_id = p_business_id
                          AND endpoint.id = delivery.endpoint_id
                    WHERE delivery.business_id = p_business_id
                      AND delivery.event_id = ANY (ARRAY(SELECT id FROM events_about(p_business_id, p_causes)))
                      AND delivery.status = 'pending' AND endpoint.status = 'enabled'
                      AND endpoint.deleted_at IS NULL);
END
$$;
COMMENT ON FUNCTION is_undelivered IS 'Whether an event of these causes is still on its way to an endpoint that takes it.';

CREATE FUNCTION erase_events(p_business_id text, p_causes text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := ARRAY(SELECT id FROM events_about(p_business_id, p_causes));
BEGIN
    -- Those of endpoints that are disabled: nothing can be sent any more.
    UPDATE webhook_delivery SET status = 'cancelled', due_at = NULL
     WHERE business_id = p_business_id AND event_id = ANY (v_ids) AND status = 'pending';
    UPDATE webhook_attempt AS attempt SET body = NULL, answer_headers = NULL
      FROM webhook_delivery AS delivery
     WHERE delivery.business_id = p_business_id AND delivery.event_id = ANY (v_ids)
       AND attempt.business_id = p_business_id AND attempt.delivery_id = delivery.id AND attempt.body IS NOT NULL;
    UPDATE event SET payload = NULL WHERE business_id = p_business_id AND id = ANY (v_ids) AND payload IS NOT NULL;
END
$$;
COMMENT ON FUNCTION erase_events IS 'Erases the payloads of events, and what receivers answered to them.';

CREATE FUNCTION erase_remarks(p_business_id text, p_subjects text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE audit SET details = details - ARRAY['note', 'reason']
     WHERE business_id = p_business_id AND subject = ANY (p_subjects) AND details ?| ARRAY['note', 'reason'];
    UPDATE approval
       SET reason = '(erased)',
           -- The reason of a return is one of a few.
           arguments = CASE WHEN command IN ('refund', 'refund.create') THEN arguments - ARRAY['note', 'reason']
                            ELSE arguments END
     WHERE business_id = p_business_id AND subject = ANY (p_subjects);
END
$$;
COMMENT ON FUNCTION erase_remarks IS 'Erases what people wrote about these things: in proposals, and in the rows of audit.';

CREATE FUNCTION erase_suspense_remarks(p_business_id text, p_receipt_id bigint, p_cause text, p_subject text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE audit SET details = details - 'note'
     WHERE business_id = p_business_id AND action IN ('suspense.assigned', 'suspense.returned', 'suspense.closed')
       AND subject = p_subject AND details ->> 'receipt' = p_cause AND details ? 'note';
    UPDATE audit SET details = details - 'note'
     WHERE business_id = p_business_id AND subject = p_receipt_id::text AND action LIKE 'suspense.%' AND details ? 'note';
    UPDATE approval SET reason = '(erased)'
     WHERE business_id = p_business_id AND subject = p_receipt_id::text AND command LIKE 'suspense.%';
    UPDATE money_return SET reason = '(erased)'
     WHERE business_id = p_business_id AND reference = p_subject AND payment_id IS NULL AND collection_id IS NULL
       AND status = 'confirmed';
END
$$;
COMMENT ON FUNCTION erase_suspense_remarks IS 'Erases what the staff wrote about money in suspense that was decided, in one of the businesses of the decision. The decision itself is erased beside it.';

CREATE FUNCTION erase_bank_entries(p_transaction_ids text[], p_fields text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_keys text[] := ARRAY(SELECT DISTINCT unnest(keys) FROM bank_entry WHERE keys && p_transaction_ids);
BEGIN
    WITH erased AS (UPDATE bank_entry SET details = details - p_fields WHERE keys && v_keys RETURNING file_id)
    DELETE FROM bank_file_part WHERE file_id IN (SELECT file_id FROM erased);
END
$$;
COMMENT ON FUNCTION erase_bank_entries IS 'Erases fields of these transactions from the entries of bank files. The bytes of the files they came in leave as a whole: they cannot be erased in part.';

CREATE FUNCTION erase_bank_payer(p_transaction_ids text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM erase_bank_entries(p_transaction_ids, ARRAY['counterparty', 'remittance', 'end_to_end_id']);
    UPDATE bank_payout
       SET payee_name = NULL, payee_bank = NULL, payee_account = CASE WHEN export_id IS NOT NULL THEN '(erased)' END,
           remittance = ''
     WHERE transaction_id = ANY (p_transaction_ids) AND status IN ('done', 'rejected');
    UPDATE bank_export SET content = ''
     WHERE id IN (SELECT export_id FROM bank_payout WHERE transaction_id = ANY (p_transaction_ids))
       AND NOT EXISTS (SELECT FROM bank_payout WHERE export_id = bank_export.id AND status = 'exported');
END
$$;
COMMENT ON FUNCTION erase_bank_payer IS 'Erases the payers of these transactions from bank files, and from payments to them that have ended.';

CREATE FUNCTION erase_bank_payee(p_transaction_ids text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM erase_bank_entries(p_transaction_ids, ARRAY['payee_name']);
END
$$;
COMMENT ON FUNCTION erase_bank_payee IS 'Erases the name of the recipient of these transactions from bank files.';

CREATE FUNCTION with_parts(p_business_id text, p_refund_ids bigint[]) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(SELECT reference FROM refund WHERE business_id = p_business_id AND id = ANY (p_refund_ids))
           || ARRAY(SELECT reference FROM refund_leg WHERE business_id = p_business_id AND refund_id = ANY (p_refund_ids));
END
$$;
COMMENT ON FUNCTION with_parts IS 'The references of refunds and of their parts.';

CREATE FUNCTION causes_of_payment(p_business_id text, p_payment_id bigint) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT ARRAY['payment/' || p_payment_id]
               || ARRAY(SELECT rail || '/' || transaction_id FROM receipt
                         WHERE business_id = p_business_id AND payment_id = p_payment_id)
               || ARRAY(SELECT reference FROM refund WHERE business_id = p_business_id AND payment_id = p_payment_id)
               || ARRAY(SELECT 'dispute/' || rail || '/' || id || '/' || status.name
                          FROM dispute, unnest('{open,won,lost}'::text[]) AS status (name)
                         WHERE business_id = p_business_id AND payment_id = p_payment_id));
END
$$;
COMMENT ON FUNCTION causes_of_payment IS 'What the events about a payment are caused by.';

-- A function and not a join: on a cluster a function that is sent to a node joins no table that every node has.
CREATE FUNCTION is_reversed(p_rail text, p_account_number text, p_transaction_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM credit_reversal
                    WHERE rail = p_rail AND account_number = coalesce(p_account_number, '')
                      AND transaction_id = p_transaction_id AND applied_at IS NOT NULL);
END
$$;
COMMENT ON FUNCTION is_reversed IS 'Whether the bank has taken money back, and that is booked.';

CREATE FUNCTION payment_erasure_block(p_business_id text, p_payment_id bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN payment.status IN ('initiated', 'pending', 'processing') OR payment.held_minor > 0
                 OR EXISTS (SELECT FROM attempt WHERE business_id = p_business_id AND payment_id = p_payment_id
                               AND next_poll_at IS NOT NULL)
                 OR EXISTS (SELECT FROM receipt WHERE business_id = p_business_id AND payment_id = p_payment_id
                               AND outcome = 'suspense'
                               AND NOT is_reversed(rail, account_number, transaction_id))
                 OR EXISTS (SELECT FROM refund WHERE business_id = p_business_id AND payment_id = p_payment_id
                               AND status = 'processing')
                 OR EXISTS (SELECT FROM dispute WHERE business_id = p_business_id AND payment_id = p_payment_id
                               AND dispute.status = 'open')
                 OR EXISTS (SELECT FROM money_return WHERE business_id = p_business_id AND payment_id = p_payment_id
                               AND status <> 'confirmed') THEN 'open'
            WHEN EXISTS (SELECT FROM mail WHERE mail.business_id = p_business_id AND mail.status = 'waiting'
                            AND lower(mail.recipient) = lower(payment.customer_email)) THEN 'undelivered'
            WHEN is_undelivered(p_business_id, causes_of_payment(p_business_id, p_payment_id)) THEN 'undelivered' END
          FROM payment WHERE business_id = p_business_id AND id = p_payment_id);
END
$$;
COMMENT ON FUNCTION payment_erasure_block IS 'Why the payer of a payment cannot be erased yet: open, while money may still move or is in suspense; undelivered, while an event or a mail is on its way. NULL when it can.';

CREATE FUNCTION erase_payment(p_business_id text, p_payment_id bigint, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_obstacle text;
BEGIN
    PERFORM FROM payment WHERE business_id = p_business_id AND id = p_payment_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    -- A worker that is writing its mail is waited for, so that the mail is seen below.
    PERFORM FROM receipt_mail WHERE business_id = p_business_id AND payment_id = p_payment_id FOR UPDATE;
    PERFORM FROM refund WHERE business_id = p_business_id AND payment_id = p_payment_id FOR NO KEY UPDATE;
    v_obstacle := payment_erasure_block(p_business_id, p_payment_id);
    IF v_obstacle IS NOT NULL THEN
        RETURN v_obstacle;
    END IF;
    PERFORM erase_events(p_business_id, causes_of_payment(p_business_id, p_payment_id));
    DELETE FROM sandbox_notification AS sent USING receipt
     WHERE receipt.business_id = p_business_id AND receipt.payment_id = p_payment_id
       AND sent.business_id = p_business_id AND sent.sent_at IS NOT NULL
       AND sent.notification_id IN ('attempt-' || receipt.transaction_id,
                                      'credit-' || p_business_id || '-' || receipt.transaction_id,
                                      'reversal-' || p_business_id || '-' || receipt.transaction_id);
    UPDATE dispute SET reason = '(erased)' WHERE business_id = p_business_id AND payment_id = p_payment_id;
    UPDATE paystack_attempt AS given SET action = NULL
      FROM attempt
     WHERE attempt.business_id = p_business_id AND attempt.payment_id = p_payment_id
       AND given.business_id = p_business_id AND given.reference = attempt.reference;
    UPDATE receipt SET payer = '{}', notified = CASE WHEN outcome = 'suspense' THEN notified END
     WHERE business_id = p_business_id AND payment_id = p_payment_id;
    UPDATE attempt SET details = '{}' WHERE business_id = p_business_id AND payment_id = p_payment_id;
    UPDATE refund SET reason = NULL, note = NULL, mail_due_at = NULL
     WHERE business_id = p_business_id AND payment_id = p_payment_id;
    PERFORM erase_remarks(
        p_business_id,
        with_parts(p_business_id, ARRAY(SELECT id FROM refund WHERE business_id = p_business_id AND payment_id = p_payment_id))
        || ARRAY(SELECT pay_code FROM payment WHERE business_id = p_business_id AND id = p_payment_id)
        || ARRAY(SELECT rail || '/' || id FROM dispute WHERE business_id = p_business_id AND payment_id = p_payment_id)
        || ARRAY(SELECT reference FROM money_return WHERE business_id = p_business_id AND payment_id = p_payment_id));
    DELETE FROM receipt_mail WHERE business_id = p_business_id AND payment_id = p_payment_id;
    DELETE FROM mail USING payment
     WHERE payment.business_id = p_business_id AND payment.id = p_payment_id AND mail.business_id = p_business_id
       AND mail.status <> 'waiting' AND lower(mail.recipient) = lower(payment.customer_email);
    UPDATE payment
       SET customer_name = '(erased)', customer_email = 'erased@tidegate.invalid', customer_phone = NULL,
           redirect_url = NULL, success_message = NULL, metadata = NULL, request_hash = '', version = version + 1,
           updated_at = p_now
     WHERE business_id = p_business_id AND id = p_payment_id;
    RETURN 'erased';
END
$$;
COMMENT ON FUNCTION erase_payment IS 'Erases the payer of a payment, everywhere in its business that a key leads from it. erased, unknown, or what blocks it.';

CREATE FUNCTION causes_of_inflow(p_business_id text, p_collection_id bigint) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT ARRAY(SELECT rail || '/' || transaction_id FROM collection
                      WHERE business_id = p_business_id AND id = p_collection_id)
               || ARRAY(SELECT reference FROM refund WHERE business_id = p_business_id AND collection_id = p_collection_id));
END
$$;
COMMENT ON FUNCTION causes_of_inflow IS 'What the events about an inflow are caused by.';

CREATE FUNCTION inflow_erasure_block(p_business_id text, p_collection_id bigint) RETURNS text
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN status = 'pending' OR (return_reference IS NOT NULL AND return_confirmed_at IS NULL)
                 OR EXISTS (SELECT FROM refund WHERE business_id = p_business_id AND collection_id = p_collection_id
                               AND refund.status = 'processing') THEN 'open'
            WHEN is_undelivered(p_business_id, causes_of_inflow(p_business_id, p_collection_id)) THEN 'undelivered' END
          FROM collection WHERE business_id = p_business_id AND id = p_collection_id);
END
$$;
COMMENT ON FUNCTION inflow_erasure_block IS 'Why the payer of an inflow cannot be erased yet; as for a payment.';

CREATE FUNCTION erase_inflow(p_business_id text, p_collection_id bigint, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_inflow   collection;
    v_obstacle text;
BEGIN
    SELECT * INTO v_inflow FROM collection
     WHERE business_id = p_business_id AND id = p_collection_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    v_obstacle := inflow_erasure_block(p_business_id, p_collection_id);
    IF v_obstacle IS NOT NULL THEN
        RETURN v_obstacle;
    END IF;
    PERFORM erase_events(p_business_id, causes_of_inflow(p_business_id, p_collection_id));
    DELETE FROM sandbox_notification
     WHERE business_id = p_business_id AND sent_at IS NOT NULL
       AND notification_id IN ('credit-' || p_business_id || '-' || v_inflow.transaction_id,
                               'reversal-' || p_business_id || '-' || v_inflow.transaction_id);
    UPDATE refund SET reason = NULL, note = NULL WHERE business_id = p_business_id AND collection_id = p_collection_id;
    PERFORM erase_remarks(
        p_business_id,
        with_parts(p_business_id,
                   ARRAY(SELECT id FROM refund WHERE business_id = p_business_id AND collection_id = p_collection_id))
        || ARRAY[v_inflow.reference, v_inflow.return_reference]);
    UPDATE collection SET payer = '{}', remittance = NULL, note = NULL, version = version + 1, updated_at = p_now
     WHERE business_id = p_business_id AND id = p_collection_id;
    RETURN 'erased';
END
$$;
COMMENT ON FUNCTION erase_inflow IS 'Erases the payer of an inflow, everywhere in its business that a key leads from it. erased, unknown, or what blocks it.';

CREATE FUNCTION account_erasure_block(p_business_id text, p_account_id text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN status NOT IN ('closed', 'declined')
                 OR EXISTS (SELECT FROM collection WHERE business_id = p_business_id AND account_id = p_account_id
                               AND collection.status = 'pending') THEN 'open'
            WHEN is_undelivered(p_business_id,
                                ARRAY(SELECT 'account/' || p_account_id || '/' || number
                                        FROM generate_series(0, account.version) AS number)) THEN 'undelivered' END
          FROM virtual_account AS account WHERE business_id = p_business_id AND id = p_account_id);
END
$$;
COMMENT ON FUNCTION account_erasure_block IS 'Why the holder of an account cannot be erased yet: open, until it is closed or was declined; undelivered, while an event is on its way. NULL when it can.';

CREATE FUNCTION erase_account(p_business_id text, p_account_id text, p_now timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_account  virtual_account;
    v_obstacle text;
BEGIN
    SELECT * INTO v_account FROM virtual_account
     WHERE business_id = p_business_id AND id = p_account_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 'unknown';
    END IF;
    v_obstacle := account_erasure_block(p_business_id, p_account_id);
    IF v_obstacle IS NOT NULL THEN
        RETURN v_obstacle;
    END IF;
    PERFORM erase_events(p_business_id, ARRAY(SELECT 'account/' || p_account_id || '/' || number
                                                FROM generate_series(0, v_account.version) AS number));
    UPDATE sandbox_account SET holder = '(erased)' WHERE business_id = p_business_id AND reference = p_account_id;
    DELETE FROM account_document WHERE business_id = p_business_id AND account_id = p_account_id;
    DELETE FROM account_question WHERE business_id = p_business_id AND account_id = p_account_id;
    UPDATE audit SET details = details - 'holder'
     WHERE business_id = p_business_id AND subject = p_account_id AND details ? 'holder';
    PERFORM erase_remarks(p_business_id, ARRAY[p_account_id]);
    UPDATE virtual_account
       SET holder = '(erased)', kyc = '{}', documents = '[]', metadata = NULL, monthly_volume = NULL,
           entity_name = NULL, payment_flow_description = NULL, note = NULL, reason = NULL, version = version + 1,
           updated_at = p_now
     WHERE business_id = p_business_id AND id = p_account_id;
    RETURN 'erased';
END
$$;
COMMENT ON FUNCTION erase_account IS 'Erases the holder of an account that is closed. erased, unknown, or what blocks it. Inflows have the name too: erase_payees comes first.';

CREATE FUNCTION erase_payees(p_business_id text, p_collection_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE collection
       SET payee_name = NULL,
           -- On a cluster an UPDATE calls immutable functions alone: not jsonb_build_object.
           name_check = jsonb_set(jsonb_set(
               '{"typed": null, "compared": null, "holder": "(erased)", "verdict": null, "reason": "(erased)", "steps": []}',
               '{compared}', coalesce(name_check -> 'compared', 'null')),
               '{verdict}', coalesce(name_check -> 'verdict', 'null'))
     WHERE business_id = p_business_id AND id = ANY (p_collection_ids) AND status <> 'pending';
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION erase_payees IS 'Erases the name of the recipient from inflows, and how it was compared; the verdict stays. How many.';

CREATE FUNCTION erase_notifications(p_rail text, p_ids text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE notification SET body = NULL
     WHERE rail = p_rail AND id = ANY (p_ids) AND state = 'done' AND body IS NOT NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION erase_notifications IS 'Erases the bodies of notifications that were acted on. How many. Those in suspense or quarantine stay.';

CREATE FUNCTION erase_answers(p_business_id text, p_keys text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE idempotency_key SET body = NULL
     WHERE business_id = p_business_id AND key = ANY (p_keys) AND body IS NOT NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
COMMENT ON FUNCTION erase_answers IS 'Erases answers kept under an Idempotency-Key. How many. The keys stay, so that none has an effect twice.';


-- Functions that run with the rights of the schema's owner are for the service alone.
REVOKE EXECUTE ON FUNCTION
    post_journals_of_several, lock_balance, close_wallet_period, apply_payment_changes, apply_payment_changes_of_several,
    record_inflow, record_inflows_of_several, change_inflow, record_unclaimed, lock_unclaimed, decide_unclaimed, confirm_return, start_refund, reset_sandbox,
    fan_out_events, claim_deliveries, finish_deliveries,
    remove_notifications, remove_webhook_attempts, remove_events, remove_idempotency_keys, remove_mails,
    remove_requests, remove_failed_requests,
    remove_sandbox_notifications, remove_sandbox_attempts, remove_sandbox_payouts, remove_bank_files, end_removal_day,
    erase_payment, erase_inflow, erase_account, erase_payees, erase_suspense_remarks, erase_notifications, erase_answers, erase_bank_payer,
    erase_bank_payee, note_removal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    post_journals_of_several, lock_balance, close_wallet_period, apply_payment_changes, apply_payment_changes_of_several,
    record_inflow, record_inflows_of_several, change_inflow, record_unclaimed, lock_unclaimed, decide_unclaimed, confirm_return, start_refund, reset_sandbox,
    fan_out_events, claim_deliveries, finish_deliveries,
    remove_notifications, remove_webhook_attempts, remove_events, remove_idempotency_keys, remove_mails,
    remove_requests, remove_failed_requests,
    remove_sandbox_notifications, remove_sandbox_attempts, remove_sandbox_payouts, remove_bank_files, end_removal_day,
    erase_payment, erase_inflow, erase_account, erase_payees, erase_suspense_remarks, erase_notifications, erase_answers, erase_bank_payer,
    erase_bank_payee TO tidegate_app;
