-- A payment's row as one text: whoever reads it spends 5 µs on that, and 8 on so many columns.

CREATE FUNCTION payment_row(payment) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE RETURN json_build_array(
    $1.id, $1.business_id, $1.pay_code, $1.reference, $1.status, $1.variance, $1.ending, $1.is_disabled, $1.version,
    $1.attempts, $1.currency, $1.asked_minor, $1.expected_minor, $1.received_minor, $1.held_minor, $1.returned_minor,
    $1.refunded_minor, $1.fee_minor, $1.vat_minor, $1.settled_minor, $1.fee_bearer, $1.fee_rule_id, $1.methods,
    $1.default_method, $1.method, $1.customer_name, $1.customer_email, $1.customer_phone, $1.redirect_url,
    $1.success_message, $1.metadata::text, $1.paid_at, $1.expires_at, $1.created_at, $1.updated_at);
COMMENT ON FUNCTION payment_row(payment) IS
    'In the order in which the program reads it. Metadata is a text, as the merchant sent it.';
