"""The tables of the specification, and what does not fit them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Fits = Callable[[Any], bool]

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z")


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def boolean(value: Any) -> bool:
    return isinstance(value, bool)


def texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(text, value))


def anything(value: Any) -> bool:
    return True


def time(value: Any) -> bool:
    """ISO 8601 in UTC."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def one_of(*values: Any) -> Fits:
    return lambda value: value in values


def nullable(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def record(fields: Mapping[str, Fits]) -> Fits:
    """An object that has all of them; more may stand beside."""
    return lambda value: isinstance(value, dict) and not misfits(value, fields)


def records(fields: Mapping[str, Fits]) -> Fits:
    return lambda value: isinstance(value, list) and all(record(fields)(one) for one in value)


def misfits(value: Mapping[str, Any], fields: Mapping[str, Fits]) -> dict[str, Any]:
    """Each field that is missing or of another type, with what stands there."""
    return {
        name: value.get(name, "missing") for name, fits in fields.items() if name not in value or not fits(value[name])
    }


CUSTOMER = {"name": text, "email": text, "phoneNumber": text}

# 2.4
PAYMENT: dict[str, Fits] = {
    "id": integer, "businessId": text, "paymentLinkId": nullable(text), "amount": number, "currency": text,
    "convertedAmount": number, "amountReceived": number, "convertedCurrency": text, "paymentMethods": texts,
    "defaultPaymentMethod": text, "redirectUrl": nullable(text), "customUrl": nullable(text),
    "successMessage": nullable(text), "settlementDestination": one_of("wallet"), "settlementTime": text,
    "feeBearer": one_of("business", "customer"), "reference": text, "merchantReference": text, "isDisabled": boolean,
    "metadata": nullable(record({})), "status": text, "varianceType": nullable(text), "createdAt": time,
    "updatedAt": time, "customer": record(CUSTOMER), "amountExpected": number, "message": nullable(text),
    "actionRequired": nullable(text),
}  # fmt: skip

# 2.5: what is delivered, then the names that the field reference adds.
CHARGE: dict[str, Fits] = {
    "id": integer, "authorization": record({"mode": anything, "redirect": anything, "metadata": anything}),
    "auth_model": nullable(text), "amount": number, "amountReceived": number, "currency": text, "fee": number,
    "vat": number, "message": text, "status": text, "reference": text, "description": text, "type": text,
    "customer": record(CUSTOMER), "metadata": record({}), "settlementDestination": one_of("wallet"),
    "amountToSettle": number, "chargeReference": text,
}  # fmt: skip
CHARGE_FIELD_REFERENCE: dict[str, Fits] = {
    "method": text, "paymentReference": text, "transactionReference": text, "merchantReference": text,
    "amount": number, "amountToSettle": number, "fee": number, "feeBearer": one_of("business", "customer"),
    "status": text, "settlementDestination": one_of("wallet"), "currency": text, "customer": record(CUSTOMER),
    "metadata": record({}), "createdAt": time, "updatedAt": time,
}  # fmt: skip
CHARGE_ACCOUNT: dict[str, Fits] = {
    "bankName": text, "id": text, "bankCode": text, "accountName": text, "accountNumber": text, "sessionId": text,
    "channelName": text, "payerAccountNumber": text, "payerAccountName": text, "payerBankName": text,
    "payerBankCode": nullable(text), "expiresAt": time, "business": text,
}  # fmt: skip

# 2.6
_DOCUMENTS = records({"name": text, "url": text})
ACCOUNT: dict[str, Fits] = {
    "status": text, "isActive": boolean, "accountNumber": text, "merchantReference": nullable(text),
    "KYCInformation": record({}),
    "accountInformation": record({
        "accountNumber": text, "bankName": text, "bankCode": text, "countryCode": text, "reference": text,
        "otherInfo": record({
            "iban": text, "accountNumber": text, "checkNumber": text, "sortCode": text, "bankSwiftCode": text,
        }),
    }),
    "verifiedKYCData": nullable(record({})), "note": nullable(text), "accountOpeningFee": number,
    "pendingAdditionalInfoCount": integer, "isPermanent": boolean, "expiresAt": nullable(time),
    "isCheckoutVa": boolean, "isBankTransferVa": boolean, "isSuspended": boolean, "reason": nullable(text),
    "monthlyVolume": anything, "entityName": anything, "paymentFlowDescription": anything,
    "attachments": _DOCUMENTS, "meansOfId": _DOCUMENTS, "bankStatement": _DOCUMENTS, "utilityBill": _DOCUMENTS,
    "virtualAccountType": text, "riskRating": text, "checklist": record({}), "riskScreening": text,
    "channelKycUpdateStatus": anything, "channelKycUpdateResponse": anything, "metadata": nullable(record({})),
    "_id": text, "business": record({"name": text, "email": text}), "currency": one_of("EUR", "USD"),
    "accountType": text, "entityType": text, "currencyType": text, "createdAt": time, "updatedAt": time,
}  # fmt: skip

# 2.7
COLLECTION: dict[str, Fits] = {
    "id": integer, "paymentMethod": one_of("virtual_account"), "sourceCurrency": text, "sourceAmount": number,
    "payeeName": text, "merchantReference": nullable(text), "status": text, "reference": text, "initiatedAt": time,
    "createdAt": time, "vat": number, "virtualAccountId": text, "refundInfo": nullable(record({})),
    "isReversed": one_of(0, 1), "legacyBusinessId": anything, "metadata": anything,
}  # fmt: skip

# 2.8
DEPOSIT: dict[str, Fits] = {
    "business": text, "virtualAccount": text, "senderAddress": text, "sourceCurrency": text,
    "destinationCurrency": text, "sourceAmount": number, "destinationAmount": number, "description": text,
    "amountReceived": number, "fee": number, "customerName": text, "settlementDestination": one_of("wallet"),
    "status": one_of("successful"), "initiatedAt": time, "createdAt": time, "updatedAt": time, "reference": text,
    "paymentScheme": text,
}  # fmt: skip
