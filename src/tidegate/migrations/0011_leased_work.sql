-- One table of leases and failures for all background work, instead of lease columns in the table of each kind.

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

GRANT SELECT, INSERT, UPDATE, DELETE ON leased_work TO tidegate_app;

ALTER TABLE attempt DROP COLUMN lease_until, DROP COLUMN lease_token;
ALTER TABLE money_return DROP COLUMN lease_until, DROP COLUMN lease_token;
ALTER TABLE refund_leg DROP COLUMN lease_until, DROP COLUMN lease_token;
