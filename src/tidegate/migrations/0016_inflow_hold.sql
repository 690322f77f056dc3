-- A held inflow goes back by itself when its time is over; a business may have every other name returned at once.

ALTER TABLE business
    ADD COLUMN inflow_name_policy text NOT NULL DEFAULT 'hold',
    ADD CONSTRAINT business_inflow_name_policy_is_known CHECK (inflow_name_policy IN ('hold', 'strict'));
COMMENT ON COLUMN business.inflow_name_policy IS 'What is done with an inflow whose recipient is not the same name: hold waits for a decision where the name is close or missing, strict returns it at once.';

ALTER TABLE collection ADD COLUMN held_until timestamptz;
COMMENT ON COLUMN collection.held_until IS 'When a held inflow goes back unless it was decided on; NULL when it waits for the bank alone.';
UPDATE collection SET held_until = created_at + interval '3 days' WHERE status = 'pending' AND reason <> 'taken_back';
CREATE INDEX collection_hold_to_end ON collection (held_until) WHERE status = 'pending' AND held_until IS NOT NULL;
