-- How a business looks on the payer's pages, and how a payer reaches it.
--
-- What every view of a payment needs stands on the business itself; only the picture has a table of its own, so that
-- nobody reads it along with the rest.

ALTER TABLE business
    ADD COLUMN accent        text,
    ADD COLUMN support_email text,
    ADD COLUMN support_phone text,
    ADD COLUMN support_url   text,
    ADD COLUMN logo_hash     text,
    ADD CONSTRAINT business_accent_is_a_colour CHECK (accent ~ '^#[0-9a-f]{6}$'),
    ADD CONSTRAINT business_support_email_is_an_address
        CHECK (support_email LIKE '%@%' AND length(support_email) BETWEEN 3 AND 254),
    ADD CONSTRAINT business_support_phone_is_international CHECK (support_phone ~ '^\+[1-9][0-9]{4,14}$'),
    ADD CONSTRAINT business_support_url_is_a_web_address
        CHECK (support_url ~* '^https?://' AND length(support_url) <= 2048),
    ADD CONSTRAINT business_logo_hash_is_sha256 CHECK (logo_hash ~ '^[0-9a-f]{64}$');
COMMENT ON COLUMN business.accent IS 'The one colour of its pages; NULL for everybody''s.';
COMMENT ON COLUMN business.logo_hash IS 'The hash of its row in business_logo; NULL when it has none.';

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
COMMENT ON TABLE business_logo IS 'The logo of a business, as it was given: checked to be one whole picture, and served by its hash.';

GRANT SELECT, INSERT, UPDATE, DELETE ON business_logo TO tidegate_app;
