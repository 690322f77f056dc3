-- Webhooks: where events are sent, what was sent, what was answered; and who did what.
--
-- An event is written by whoever changes something, in its own transaction, and nothing else is written there: the
-- worker makes deliveries of it afterwards, one for each endpoint that wants it. The delivery is both the queue and the
-- log that the merchant sees.

ALTER TABLE event
    ADD COLUMN reference text,
    -- What was written before there was anybody to send it to is not sent later by itself.
    ADD COLUMN is_fanned_out boolean NOT NULL DEFAULT true;
ALTER TABLE event ALTER COLUMN is_fanned_out SET DEFAULT false;
COMMENT ON COLUMN event.reference IS 'By what the merchant knows the thing that this is about.';
COMMENT ON COLUMN event.is_fanned_out IS 'Whether its deliveries have been made.';
CREATE INDEX event_to_fan_out ON event (created_at) WHERE NOT is_fanned_out;
-- Made only when the worker marks an event, so that whoever writes one does not pay for it.
CREATE INDEX event_by_time ON event (business_id, created_at) WHERE is_fanned_out;

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
COMMENT ON TABLE webhook_endpoint IS 'Where a business wants to be told, and of what. A deleted one stays, for the log.';

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

CREATE TABLE webhook_turn (
    business_id   text        NOT NULL,
    endpoint_id   text        NOT NULL,
    look_at       timestamptz,
    full_at       timestamptz NOT NULL,
    failures      integer     NOT NULL DEFAULT 0,
    failing_since timestamptz,
    openings      integer     NOT NULL DEFAULT 0,
    open_until    timestamptz,
    CONSTRAINT webhook_turn_pk PRIMARY KEY (business_id, endpoint_id),
    CONSTRAINT webhook_turn_endpoint_fk
        FOREIGN KEY (business_id, endpoint_id) REFERENCES webhook_endpoint (business_id, id)
) WITH (fillfactor = 50);
COMMENT ON TABLE webhook_turn IS 'How an endpoint is doing, and when to look next whether something is due there. Looking by endpoint, a long queue of one never stands before another''s.';
COMMENT ON COLUMN webhook_turn.full_at IS 'When its allowance of requests is full again.';
COMMENT ON COLUMN webhook_turn.open_until IS 'Nothing is sent before; afterwards one delivery tries whether it is well again.';
CREATE INDEX webhook_turn_to_look_at ON webhook_turn (look_at) WHERE look_at IS NOT NULL;

CREATE SEQUENCE webhook_delivery_serial MINVALUE 0 MAXVALUE 1048575 CYCLE;

CREATE TABLE webhook_delivery (
    business_id  text        NOT NULL,
    id           bigint      NOT NULL,
    endpoint_id  text        NOT NULL,
    event_id     text        NOT NULL,
    event_type   text        NOT NULL,
    reference    text,
    status       text        NOT NULL DEFAULT 'pending',
    lane         smallint    NOT NULL,
    due_at       timestamptz,
    attempts     integer     NOT NULL DEFAULT 0,
    failures     integer     NOT NULL DEFAULT 0,
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
    CONSTRAINT webhook_delivery_lane_is_known CHECK (lane IN (0, 1))
) WITH (fillfactor = 80);
COMMENT ON TABLE webhook_delivery IS 'One event for one endpoint: queue and log in one row.';
COMMENT ON COLUMN webhook_delivery.id IS 'Milliseconds and a serial number, so that the key is also the order of time. See new_webhook_delivery_id.';
COMMENT ON COLUMN webhook_delivery.lane IS '0 goes first: news, and what somebody asked for by hand. 1: retries and replays.';
COMMENT ON COLUMN webhook_delivery.failures IS 'How far the schedule has gone; begins anew when it is resent.';
CREATE INDEX webhook_delivery_due ON webhook_delivery (business_id, endpoint_id, lane, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_in_flight ON webhook_delivery (business_id, endpoint_id) WHERE lease_token IS NOT NULL;
CREATE INDEX webhook_delivery_by_reference ON webhook_delivery (business_id, reference, id);
CREATE INDEX webhook_delivery_not_delivered ON webhook_delivery (business_id, status, id) WHERE status <> 'delivered';

CREATE FUNCTION new_webhook_delivery_id(p_now timestamptz) RETURNS bigint LANGUAGE sql AS $$
    SELECT (floor(extract(epoch FROM p_now) * 1000)::bigint << 20) | nextval('webhook_delivery_serial')
$$;

CREATE TABLE webhook_attempt (
    business_id text        NOT NULL,
    delivery_id bigint      NOT NULL,
    number      integer     NOT NULL,
    url         text        NOT NULL,
    started_at  timestamptz NOT NULL,
    duration_ms integer,
    status_code integer,
    error       text,
    body        text,
    CONSTRAINT webhook_attempt_pk PRIMARY KEY (business_id, delivery_id, number),
    CONSTRAINT webhook_attempt_delivery_fk
        FOREIGN KEY (business_id, delivery_id) REFERENCES webhook_delivery (business_id, id),
    CONSTRAINT webhook_attempt_counts_from_one CHECK (number >= 1),
    CONSTRAINT webhook_attempt_has_an_end CHECK (status_code IS NOT NULL OR error IS NOT NULL)
);
COMMENT ON TABLE webhook_attempt IS 'What a receiver answered, each time: its status and the beginning of its body, or why there is none.';

CREATE TABLE audit (
    business_id text        NOT NULL CONSTRAINT audit_business_fk REFERENCES business (id),
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    actor       text        NOT NULL,
    origin      text,
    action      text        NOT NULL,
    subject     text        NOT NULL,
    details     jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL,
    CONSTRAINT audit_pk PRIMARY KEY (business_id, id)
);
COMMENT ON TABLE audit IS 'Who did what to which thing, and when. Append-only: the service may add to it and nothing else.';
COMMENT ON COLUMN audit.actor IS 'key/ID for a caller of the API, operator for the command line, tidegate for ourselves.';
COMMENT ON COLUMN audit.origin IS 'The address it came from, where there is one.';

GRANT UPDATE (is_fanned_out) ON event TO tidegate_app;
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint, webhook_turn, webhook_delivery TO tidegate_app;
GRANT SELECT, INSERT, DELETE, UPDATE (expires_at) ON webhook_secret TO tidegate_app;
GRANT USAGE ON SEQUENCE webhook_delivery_serial TO tidegate_app;
GRANT SELECT, INSERT ON webhook_attempt, audit TO tidegate_app;

-- As before, and the deliveries. Endpoints and their secrets are settings, and stay.
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
