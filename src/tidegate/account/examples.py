"""Examples and descriptions for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.core.money import ACCOUNT_OFFERS
from tidegate.infra.http.operation import Step

GROUP = (
    f"Receive {' and '.join(ACCOUNT_OFFERS)} by bank transfer. "
    "Request an account and give its details to your payers; each transfer is "
    "checked and credited to your wallet. The payer must type the holder's first and last name as they stand on the "
    "account; when the names differ, the money is returned. Accounts hold no money."
)
REQUEST_DESCRIPTION = (
    "The account starts `pending`, without details; the operator approves or declines it. Documents are links that the "
    "operator can open. In the sandbox approve it yourself: `POST /sandbox/virtual-accounts/{accountId}/approve`."
)
LIST_DESCRIPTION = "The newest first. Temporary accounts of checkouts are not in the list; get them by their ids."
LIST_REQUESTS_DESCRIPTION = (
    "The newest first: requests that are `pending`, `approved`, or `declined` with the `reason`. A request and its "
    "account are one record with one `_id`. Closed and expired accounts are not in the list."
)
GET_DESCRIPTION = (
    "The crediting details are in `accountInformation`. The temporary account of a checkout has the same record, with "
    "`isCheckoutVa` and `expiresAt`."
)
NOTICE = "Virtual account found. Notice: this endpoint will change; the date will be announced."

ACCOUNT_ID = "64f0c3a1b2d4e5f601234567"
ACCOUNT_PARAMETER: dict[str, Any] = {
    "accountId": {
        "description": "The `_id` of the virtual account.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": ACCOUNT_ID,
    }
}

REQUEST: dict[str, Any] = {
    "currency": "EUR",
    "accountType": "individual",
    "KYCInformation": {"firstName": "Ada", "lastName": "Obi", "nationality": "NG"},
    "documents": [{"name": "Passport", "url": "https://files.example.com/passport.pdf", "type": "meansOfId"}],
}
PENDING_RECORD: dict[str, Any] = {
    "_id": ACCOUNT_ID,
    "business": {"name": "Sample Shop", "email": "shop@example.com"},
    "status": "pending",
    "isActive": False,
    "isSuspended": False,
    "reason": None,
    "currency": "EUR",
    "settlementCurrency": "EUR",
    "currencyType": "fiat",
    "accountType": "individual",
    "entityType": "main_account",
    "virtualAccountType": "additional",
    "accountNumber": "",
    "accountInformation": {
        "accountName": "",
        "accountNumber": "",
        "bankName": "",
        "bankCode": "",
        "countryCode": "",
        "reference": "",
        "otherInfo": {"iban": "", "accountNumber": "", "checkNumber": "", "sortCode": "", "bankSwiftCode": ""},
    },
    "merchantReference": None,
    "KYCInformation": {"firstName": "Ada", "lastName": "Obi", "nationality": "NG"},
    "verifiedKYCData": None,
    "note": None,
    "accountOpeningFee": 0,
    "pendingAdditionalInfoCount": 0,
    "isPermanent": True,
    "expiresAt": None,
    "isCheckoutVa": False,
    "isBankTransferVa": False,
    "monthlyVolume": None,
    "entityName": None,
    "paymentFlowDescription": None,
    "attachments": [],
    "meansOfId": [{"name": "Passport", "url": "https://files.example.com/passport.pdf"}],
    "bankStatement": [],
    "utilityBill": [],
    "riskRating": "unrated",
    "checklist": {"meansOfId": True, "bankStatement": False, "utilityBill": False},
    "riskScreening": "not_screened",
    "channelKycUpdateStatus": None,
    "channelKycUpdateResponse": None,
    "metadata": None,
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:30:00.000Z",
}
IBAN = "DE19999999990000123456"
RECORD: dict[str, Any] = {
    **PENDING_RECORD,
    "status": "approved",
    "isActive": True,
    "accountNumber": IBAN,
    "accountInformation": {
        "accountName": "Ada Obi",
        "accountNumber": IBAN,
        "bankName": "Tidegate Test Bank",
        "bankCode": "99999999",
        "countryCode": "DE",
        "reference": "sbx_acc_1",
        "otherInfo": {
            "iban": IBAN,
            "accountNumber": "0000123456",
            "checkNumber": "19",
            "sortCode": "99999999",
            "bankSwiftCode": "TIDGDEF0",
        },
    },
    "updatedAt": "2026-11-15T10:02:11.480Z",
}
PAGE: dict[str, Any] = {"results": [RECORD], "total": 1}
REQUESTS_PAGE: dict[str, Any] = {"results": [PENDING_RECORD], "total": 1}

# An approved account and its number. Only a sandbox offers the second step.
NEW_IBAN = "DE02999999999000123456"
AN_ACCOUNT = (Step("requestAccount"), Step("approveAccount"))
