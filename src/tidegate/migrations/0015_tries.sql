-- What a payer may try, and how often: attempts by method, answers to the bank's question, repeats of a prompt or code.

ALTER TABLE payment ADD COLUMN attempts_by_method jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN payment.attempts_by_method IS 'How many attempts were begun by each method; `attempts` is their sum.';
-- Only payments that can still be tried are asked for it.
UPDATE payment SET attempts_by_method = counted.by_method
  FROM (SELECT business_id, payment_id, jsonb_object_agg(method, times) AS by_method
          FROM (SELECT attempt.business_id, attempt.payment_id, attempt.method, count(*) AS times
                  FROM payment JOIN attempt ON attempt.business_id = payment.business_id
                       AND attempt.payment_id = payment.id
                 WHERE payment.status IN ('pending', 'processing')
                 GROUP BY attempt.business_id, attempt.payment_id, attempt.method) AS by_one
         GROUP BY business_id, payment_id) AS counted
 WHERE payment.business_id = counted.business_id AND payment.id = counted.payment_id;

ALTER TABLE attempt
    ADD COLUMN answers      integer NOT NULL DEFAULT 0,
    ADD COLUMN resends      integer NOT NULL DEFAULT 0,
    ADD COLUMN resend_from  timestamptz,
    ADD COLUMN said_sent_at timestamptz;
COMMENT ON COLUMN attempt.answers IS 'How many answers the payer gave to what is asked now, such as a PIN.';
COMMENT ON COLUMN attempt.resends IS 'How often the prompt or code that the payer waits for was sent again.';
COMMENT ON COLUMN attempt.resend_from IS 'Before then it is not sent again.';
COMMENT ON COLUMN attempt.said_sent_at IS 'When the payer said that the money of a transfer is on its way.';

-- The whole number of a phone was kept for a second prompt, which its rail now sends by the attempt's reference.
UPDATE attempt SET details = details - 'number' WHERE method = 'mobile_money' AND details ? 'number';

CREATE OR REPLACE FUNCTION payment_row(payment) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE RETURN json_build_array(
    $1.id, $1.business_id, $1.pay_code, $1.reference, $1.status, $1.variance, $1.ending, $1.is_disabled, $1.version,
    $1.attempts, $1.currency, $1.asked_minor, $1.expected_minor, $1.received_minor, $1.held_minor, $1.returned_minor,
    $1.refunded_minor, $1.fee_minor, $1.vat_minor, $1.settled_minor, $1.fee_bearer, $1.fee_rule_id, $1.methods,
    $1.default_method, $1.method, $1.customer_name, $1.customer_email, $1.customer_phone, $1.redirect_url,
    $1.success_message, $1.metadata::text, $1.paid_at, $1.expires_at, $1.created_at, $1.updated_at,
    $1.attempts_by_method, $1.reversed_minor);
