"""Operations of the API. Written by `make clients` from the OpenAPI document; not by hand."""

from __future__ import annotations

from tidegate_client import _types as t
from tidegate_client._call import Operation

PAYMENTS_LIST = Operation(
    "GET",
    "/checkout/payments",
    t.PaymentRecordPage,
    retry="safe",
    headers=("api-key",),
    shape={
        "variance_type": "varianceType",
        "payment_method": "paymentMethod",
        "reference_prefix": "referencePrefix",
        "amount_min": "amountMin",
        "amount_max": "amountMax",
        "payment_link_id": "paymentLinkId",
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "per_page": "perPage",
    },
    paging="cursor",
)
PAYMENTS_LIST_CSV = Operation(
    "GET",
    "/checkout/payments",
    bytes,
    retry="safe",
    headers=("api-key",),
    shape={
        "variance_type": "varianceType",
        "payment_method": "paymentMethod",
        "reference_prefix": "referencePrefix",
        "amount_min": "amountMin",
        "amount_max": "amountMax",
        "payment_link_id": "paymentLinkId",
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "per_page": "perPage",
    },
    paging="cursor",
    media="text/csv",
)
PAYMENTS_CREATE = Operation(
    "POST",
    "/checkout/payments",
    t.Created,
    retry="key",
    headers=("api-key", "x-pub-key"),
    shape={
        "customer": ("customer", {"phone_number": "phoneNumber"}),
        "fee_bearer": "feeBearer",
        "redirect_url": "redirectUrl",
        "success_message": "successMessage",
        "settlement_destination": "settlementDestination",
        "payment_methods": "paymentMethods",
        "default_payment_method": "defaultPaymentMethod",
    },
)
PAYMENTS_VERIFY = Operation(
    "GET",
    "/checkout/payments/merchant-reference/{reference}",
    t.PaymentRecord,
    retry="safe",
    headers=("api-key", "x-business-id"),
)
PAYMENTS_DISABLE = Operation(
    "POST",
    "/checkout/payments/merchant-reference/{reference}/disable",
    t.PaymentRecord,
    retry="safe",
    headers=("api-key", "x-business-id"),
)
PAYMENTS_ENABLE = Operation(
    "POST",
    "/checkout/payments/merchant-reference/{reference}/enable",
    t.PaymentRecord,
    retry="safe",
    headers=("api-key", "x-business-id"),
)
FEES_QUOTE = Operation("POST", "/checkout/data/fees", t.FeesQuoted, retry="safe", headers=("api-key",))
PAYMENT_LINKS_LIST = Operation(
    "GET",
    "/checkout/payment-links",
    t.LinkRecordPage,
    retry="safe",
    headers=("api-key",),
    shape={"per_page": "perPage"},
    paging="cursor",
)
PAYMENT_LINKS_CREATE = Operation(
    "POST",
    "/checkout/payment-links",
    t.LinkRecord,
    retry="key",
    headers=("api-key",),
    shape={
        "amount_min": "amountMin",
        "amount_max": "amountMax",
        "fee_bearer": "feeBearer",
        "payment_methods": "paymentMethods",
        "ask_phone_number": "askPhoneNumber",
        "ask_note": "askNote",
        "note_label": "noteLabel",
        "ends_at": "endsAt",
        "payments_max": "paymentsMax",
        "success_message": "successMessage",
        "redirect_url": "redirectUrl",
    },
)
PAYMENT_LINKS_GET = Operation(
    "GET", "/checkout/payment-links/{linkId}", t.LinkRecord, retry="safe", headers=("api-key",)
)
PAYMENT_LINKS_END = Operation(
    "POST", "/checkout/payment-links/{linkId}/end", t.LinkRecord, retry="never", headers=("api-key",)
)
PAYMENT_LINKS_REOPEN = Operation(
    "POST", "/checkout/payment-links/{linkId}/reopen", t.LinkRecord, retry="never", headers=("api-key",)
)
PAYMENT_LINKS_DUPLICATE = Operation(
    "POST", "/checkout/payment-links/{linkId}/duplicate", t.LinkRecord, retry="key", headers=("api-key",)
)
CHECKOUTS_GET = Operation("GET", "/checkout/payments/{payCode}", t.CheckoutView, retry="safe")
CHECKOUTS_CHARGE = Operation(
    "POST",
    "/checkout/payments/{payCode}/charge",
    t.Charged,
    retry="never",
    shape={"card": ("card", {"expiry_month": "expiryMonth", "expiry_year": "expiryYear"})},
)
CHECKOUTS_AUTHORIZE = Operation(
    "POST",
    "/checkout/payments/{payCode}/charge/authorize",
    t.Charged,
    retry="never",
    shape={"address": ("address", {"postal_code": "postalCode"})},
)
CHECKOUTS_RESEND = Operation("POST", "/checkout/payments/{payCode}/charge/resend", t.Charged, retry="never")
CHECKOUTS_EXTEND = Operation("POST", "/checkout/payments/{payCode}/charge/extend", t.Charged, retry="never")
CHECKOUTS_CANCEL = Operation("POST", "/checkout/payments/{payCode}/cancel", t.CheckoutView, retry="never")
REQUESTS_LIST = Operation(
    "GET",
    "/requests",
    t.RequestRecordPage,
    retry="safe",
    headers=("api-key",),
    shape={
        "key_id": "keyId",
        "request_id": "requestId",
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "per_page": "perPage",
    },
    paging="cursor",
)
MERCHANT_ME = Operation("GET", "/profile/merchants/me", t.BusinessRecord, retry="safe", headers=("api-key",))
ACCOUNTS_LIST_REQUESTS = Operation(
    "GET",
    "/profile/virtual-accounts/requests",
    t.AccountPage,
    retry="safe",
    headers=("api-key",),
    shape={"per_page": "perPage"},
    paging="page",
)
ACCOUNTS_REQUEST = Operation(
    "POST",
    "/profile/virtual-accounts/requests",
    t.AccountRecord,
    retry="key",
    headers=("api-key",),
    shape={
        "account_type": "accountType",
        "kyc_information": (
            "KYCInformation",
            {"first_name": "firstName", "last_name": "lastName", "business_name": "businessName"},
        ),
        "settlement_currency": "settlementCurrency",
        "merchant_reference": "merchantReference",
        "monthly_volume": "monthlyVolume",
        "entity_name": "entityName",
        "payment_flow_description": "paymentFlowDescription",
    },
)
ACCOUNTS_LIST = Operation(
    "GET",
    "/profile/virtual-accounts",
    t.AccountPage,
    retry="safe",
    headers=("api-key",),
    shape={"per_page": "perPage"},
    paging="page",
)
ACCOUNTS_GET = Operation(
    "GET", "/profile/virtual-accounts/{accountId}", t.AccountRecord, retry="safe", headers=("api-key",)
)
REFUNDS_LIST = Operation(
    "GET",
    "/collections/refund",
    t.RefundPage,
    retry="safe",
    headers=("api-key",),
    shape={"trans_reference": "transReference", "date_from": "dateFrom", "date_to": "dateTo", "per_page": "perPage"},
    paging="cursor",
    has_business=True,
)
REFUNDS_CREATE = Operation(
    "POST",
    "/collections/refund",
    t.RefundRecord,
    retry="key",
    headers=("api-key",),
    shape={"trans_reference": "transReference"},
)
REFUNDS_GET = Operation("GET", "/collections/refund/{reference}", t.RefundRecord, retry="safe", headers=("api-key",))
COLLECTIONS_LIST = Operation(
    "GET",
    "/collections",
    t.CollectionPage,
    retry="safe",
    headers=("api-key",),
    shape={
        "virtual_account": "virtualAccount",
        "destination_currency": "destinationCurrency",
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "per_page": "perPage",
    },
    paging="cursor",
    has_business=True,
)
COLLECTIONS_LIST_CSV = Operation(
    "GET",
    "/collections",
    bytes,
    retry="safe",
    headers=("api-key",),
    shape={
        "virtual_account": "virtualAccount",
        "destination_currency": "destinationCurrency",
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "per_page": "perPage",
    },
    paging="cursor",
    has_business=True,
    media="text/csv",
)
COLLECTIONS_GET = Operation(
    "GET", "/collections/reference/{reference}", t.CollectionRecord, retry="safe", headers=("api-key",)
)
WALLETS_LIST = Operation("GET", "/wallets", list[t.WalletRecord], retry="safe", headers=("api-key",))
WALLETS_STATEMENT = Operation(
    "GET",
    "/wallets/{currency}/statement",
    t.StatementPage,
    retry="safe",
    headers=("api-key",),
    shape={"date_from": "dateFrom", "date_to": "dateTo", "per_page": "perPage"},
    paging="cursor",
)
WALLETS_STATEMENT_CSV = Operation(
    "GET",
    "/wallets/{currency}/statement",
    bytes,
    retry="safe",
    headers=("api-key",),
    shape={"date_from": "dateFrom", "date_to": "dateTo", "per_page": "perPage"},
    paging="cursor",
    media="text/csv",
)
WALLETS_STATEMENT_PDF = Operation(
    "GET",
    "/wallets/{currency}/statement",
    bytes,
    retry="safe",
    headers=("api-key",),
    shape={"date_from": "dateFrom", "date_to": "dateTo", "per_page": "perPage"},
    paging="cursor",
    media="application/pdf",
)
WEBHOOKS_ENDPOINTS_LIST = Operation("GET", "/webhooks/endpoints", t.EndpointList, retry="safe", headers=("api-key",))
WEBHOOKS_ENDPOINTS_CREATE = Operation(
    "POST",
    "/webhooks/endpoints",
    t.EndpointWithSecret,
    retry="key",
    headers=("api-key",),
    shape={"rate_per_second": "ratePerSecond"},
)
WEBHOOKS_ENDPOINTS_GET = Operation(
    "GET", "/webhooks/endpoints/{endpointId}", t.EndpointRecord, retry="safe", headers=("api-key",)
)
WEBHOOKS_ENDPOINTS_UPDATE = Operation(
    "PATCH",
    "/webhooks/endpoints/{endpointId}",
    t.EndpointRecord,
    retry="safe",
    headers=("api-key",),
    shape={"rate_per_second": "ratePerSecond"},
)
WEBHOOKS_ENDPOINTS_DELETE = Operation(
    "DELETE", "/webhooks/endpoints/{endpointId}", t.EndpointDeleted, retry="never", headers=("api-key",)
)
WEBHOOKS_ENDPOINTS_ROTATE_SECRET = Operation(
    "POST", "/webhooks/endpoints/{endpointId}/rotate", t.EndpointWithSecret, retry="key", headers=("api-key",)
)
WEBHOOKS_ENDPOINTS_TEST = Operation(
    "POST", "/webhooks/endpoints/{endpointId}/test", t.DeliveryRecord, retry="key", headers=("api-key",)
)
WEBHOOKS_DELIVERIES_LIST = Operation(
    "GET",
    "/webhooks/deliveries",
    t.DeliveryPage,
    retry="safe",
    headers=("api-key",),
    shape={"endpoint_id": "endpointId", "date_from": "dateFrom", "date_to": "dateTo", "per_page": "perPage"},
    paging="cursor",
)
WEBHOOKS_DELIVERIES_GET = Operation(
    "GET", "/webhooks/deliveries/{deliveryId}", t.DeliveryRecord, retry="safe", headers=("api-key",)
)
WEBHOOKS_DELIVERIES_RESEND = Operation(
    "POST", "/webhooks/deliveries/{deliveryId}/resend", t.DeliveryRecord, retry="key", headers=("api-key",)
)
WEBHOOKS_REPLAY = Operation(
    "POST",
    "/webhooks/replays",
    t.ReplayAnswer,
    retry="key",
    headers=("api-key",),
    shape={
        "date_from": "dateFrom",
        "date_to": "dateTo",
        "endpoint_id": "endpointId",
        "undelivered_only": "undeliveredOnly",
    },
)
SANDBOX_TRANSFERS_SEND = Operation(
    "POST",
    "/sandbox/transfers",
    t.TransferSent,
    retry="key",
    headers=("api-key",),
    shape={
        "account_number": "accountNumber",
        "payer": ("payer", {"account_number": "accountNumber", "bank_name": "bankName"}),
        "valued_at": "valuedAt",
    },
)
SANDBOX_TRANSFERS_REVERSE = Operation(
    "POST", "/sandbox/transfers/{reference}/reverse", t.TransferReversed, retry="never", headers=("api-key",)
)
SANDBOX_CHARGES_APPROVE = Operation(
    "POST", "/sandbox/charges/{payCode}/approve", t.Acted, retry="never", headers=("api-key",)
)
SANDBOX_CHARGES_DECLINE = Operation(
    "POST", "/sandbox/charges/{payCode}/decline", t.Acted, retry="never", headers=("api-key",)
)
SANDBOX_CHARGES_EXPIRE = Operation(
    "POST", "/sandbox/charges/{payCode}/expire", t.SessionEnded, retry="never", headers=("api-key",)
)
SANDBOX_CHARGES_DISPUTE = Operation(
    "POST", "/sandbox/charges/{payCode}/dispute", t.ChargeIsDisputed, retry="never", headers=("api-key",)
)
SANDBOX_CLOCK_GET = Operation("GET", "/sandbox/clock", t.ClockView, retry="safe", headers=("api-key",))
SANDBOX_CLOCK_ADVANCE = Operation("POST", "/sandbox/clock", t.ClockView, retry="never", headers=("api-key",))
SANDBOX_RESET = Operation("POST", "/sandbox/reset", t.Emptied, retry="never", headers=("api-key",))
SANDBOX_ACCOUNTS_APPROVE = Operation(
    "POST", "/sandbox/virtual-accounts/{accountId}/approve", t.AccountRecord, retry="never", headers=("api-key",)
)
SANDBOX_ACCOUNTS_DECLINE = Operation(
    "POST", "/sandbox/virtual-accounts/{accountId}/decline", t.AccountRecord, retry="never", headers=("api-key",)
)
SANDBOX_ACCOUNTS_SUSPEND = Operation(
    "POST", "/sandbox/virtual-accounts/{accountId}/suspend", t.AccountRecord, retry="never", headers=("api-key",)
)
SANDBOX_ACCOUNTS_REINSTATE = Operation(
    "POST", "/sandbox/virtual-accounts/{accountId}/reinstate", t.AccountRecord, retry="never", headers=("api-key",)
)
SANDBOX_ACCOUNTS_CLOSE = Operation(
    "POST", "/sandbox/virtual-accounts/{accountId}/close", t.AccountRecord, retry="never", headers=("api-key",)
)
SANDBOX_COLLECTIONS_CREDIT = Operation(
    "POST", "/sandbox/collections/{reference}/credit", t.CollectionRecord, retry="never", headers=("api-key",)
)
SANDBOX_COLLECTIONS_SEND_BACK = Operation(
    "POST", "/sandbox/collections/{reference}/return", t.CollectionRecord, retry="never", headers=("api-key",)
)
SANDBOX_RATES_SET = Operation(
    "POST",
    "/sandbox/rates",
    t.RateRecord,
    retry="safe",
    headers=("api-key",),
    shape={"spread_percent": "spreadPercent", "quoted_at": "quotedAt"},
)
