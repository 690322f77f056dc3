-- In a sandbox each business has a time and rates of its own.

CREATE TABLE business_clock (
    business_id text     NOT NULL CONSTRAINT business_clock_pk PRIMARY KEY
                         CONSTRAINT business_clock_business_fk REFERENCES business (id),
    ahead       interval NOT NULL,
    CONSTRAINT business_clock_never_goes_back CHECK (ahead >= '0')
);
COMMENT ON TABLE business_clock IS 'How far the time of a business is ahead of the real one, where a sandbox has moved it. Empty in live mode.';
INSERT INTO business_clock (business_id, ahead)
SELECT business.id, sandbox_clock.ahead FROM business CROSS JOIN sandbox_clock WHERE sandbox_clock.ahead > '0';
DROP TABLE sandbox_clock;
GRANT SELECT, INSERT, UPDATE ON business_clock TO tidegate_app;

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
COMMENT ON FUNCTION latest_time IS 'What time it is for the business that is furthest ahead. A bound that an index can use: nothing later is due for anybody.';

ALTER TABLE exchange_rate
    ADD COLUMN business_id text NOT NULL DEFAULT '000000000000000000000000'
        CONSTRAINT exchange_rate_business_fk REFERENCES business (id);
ALTER TABLE exchange_rate ALTER COLUMN business_id DROP DEFAULT;
COMMENT ON COLUMN exchange_rate.business_id IS 'Whose inflows it converts; of the house, those of every business.';
