"""Examples and descriptions for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.account.examples import ACCOUNT_ID, AN_ACCOUNT, NEW_IBAN
from tidegate.infra.http.operation import Step

GROUP = (
    "Transfers to your virtual accounts. `successful` was credited to your wallet, `pending` is held until the "
    "operator has reviewed it, `reversed` is returned to the payer. Every credit sends the webhook "
    "`collection.successful`; every return sends `collection.returned` to endpoints that subscribe to it."
)
LIST_DESCRIPTION = (
    "Filters combine with AND; without any, all of your inflows are listed. Page by `cursor`: every page costs the "
    "same, and new inflows neither repeat nor hide a row. `total` is exact."
)
GET_DESCRIPTION = "By the `reference` that the webhook has. `nameCheck` lists the steps of the name comparison."

REFERENCE = "col_4mPs9Lx2b5RkWq0Zt7cYhN"
REFERENCE_PARAMETER: dict[str, Any] = {
    "reference": {
        "description": "The `reference` of the inflow.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": REFERENCE,
    }
}
RECORD: dict[str, Any] = {
    "id": 888123456789504,
    "reference": REFERENCE,
    "status": "successful",
    "reason": None,
    "heldUntil": None,
    "paymentMethod": "virtual_account",
    "paymentScheme": "sepa",
    "sourceCurrency": "EUR",
    "sourceAmount": 250,
    "destinationCurrency": "EUR",
    "destinationAmount": 250,
    "amountReceived": 245,
    "fee": 5,
    "vat": 0,
    "exchange": None,
    "payeeName": "OBI Ada",
    "customerName": "Jean Dupont",
    "senderAddress": "FR7630006000011234567890189",
    "senderBank": "Sample Bank",
    "description": "Invoice 1001",
    "merchantReference": None,
    "virtualAccountId": ACCOUNT_ID,
    "nameCheck": {
        "verdict": "exact",
        "reason": "first and last name are the account holder's",
        "typed": "OBI Ada",
        "compared": "payee",
        "holder": "Ada Obi",
        "steps": ["typed: ada obi", "holder: ada obi", "first and last name meet"],
    },
    "refundInfo": None,
    "amountOwed": 0,
    "isReversed": 0,
    "valueDate": "2026-11-15T00:00:00.000Z",
    "valueDateFlag": None,
    "bankReference": "sbx_5f1c0e9a7b3d24680f9e1c22",
    "legacyBusinessId": None,
    "metadata": None,
    "initiatedAt": "2026-11-15T00:00:00.000Z",
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:30:00.000Z",
}
PAGE: dict[str, Any] = {"results": [RECORD], "total": 1, "nextCursor": None}

TRANSFER: dict[str, Any] = {
    "accountNumber": NEW_IBAN,
    "amount": 250,
    "currency": "EUR",
    "payer": {"name": "Jean Dupont"},
    "payee": {"name": "Ada Obi"},
}
AN_INFLOW = (
    *AN_ACCOUNT,
    Step("sendTransfer", TRANSFER),
    Step("listCollections", query={"status": "successful"}, is_awaited=True),
)
