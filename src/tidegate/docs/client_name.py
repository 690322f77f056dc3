"""What each operation is called in the clients, and whether it may be repeated. Pure."""

from __future__ import annotations

import keyword
import re

# An operation that is not here is named by its tag: `listDisputes` of Disputes is `disputes.list`.
METHODS = {
    "createPayment": "payments.create",
    "verifyPayment": "payments.verify",
    "disablePayment": "payments.disable",
    "enablePayment": "payments.enable",
    "quoteFees": "fees.quote",
    "viewCheckout": "checkouts.get",
    "chargeCheckout": "checkouts.charge",
    "authorizeCharge": "checkouts.authorize",
    "resendCharge": "checkouts.resend",
    "extendCharge": "checkouts.extend",
    "cancelCheckout": "checkouts.cancel",
    "getBusiness": "merchant.me",
    "requestAccount": "accounts.request",
    "listAccounts": "accounts.list",
    "listAccountRequests": "accounts.list_requests",
    "getAccount": "accounts.get",
    "readStatement": "wallets.statement",
    "createEndpoint": "webhooks.endpoints.create",
    "listEndpoints": "webhooks.endpoints.list",
    "getEndpoint": "webhooks.endpoints.get",
    "changeEndpoint": "webhooks.endpoints.update",
    "deleteEndpoint": "webhooks.endpoints.delete",
    "rotateSecret": "webhooks.endpoints.rotate_secret",
    "testEndpoint": "webhooks.endpoints.test",
    "listDeliveries": "webhooks.deliveries.list",
    "getDelivery": "webhooks.deliveries.get",
    "resendDelivery": "webhooks.deliveries.resend",
    "replayEvents": "webhooks.replay",
    "listLoggedRequests": "requests.list",
    "resetSandbox": "sandbox.reset",
    "sendTransfer": "sandbox.transfers.send",
    "reverseTransfer": "sandbox.transfers.reverse",
    "approveCharge": "sandbox.charges.approve",
    "declineCharge": "sandbox.charges.decline",
    "expireCheckout": "sandbox.charges.expire",
    "disputeCharge": "sandbox.charges.dispute",
    "getClock": "sandbox.clock.get",
    "advanceClock": "sandbox.clock.advance",
    "approveAccount": "sandbox.accounts.approve",
    "declineAccount": "sandbox.accounts.decline",
    "suspendAccount": "sandbox.accounts.suspend",
    "reinstateAccount": "sandbox.accounts.reinstate",
    "closeAccount": "sandbox.accounts.close",
    "creditCollection": "sandbox.collections.credit",
    "returnCollection": "sandbox.collections.send_back",
    "setRate": "sandbox.rates.set",
}
# Besides reads: done twice, they have done the same.
SAFE = {"quoteFees", "disablePayment", "enablePayment", "changeEndpoint", "setRate"}


def method_of(operation_id: str, tag: str) -> str:
    if operation_id in METHODS:
        return METHODS[operation_id]
    resource = snake(tag.replace(" ", "_"))
    verb, *rest = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", operation_id)
    noun = "".join(rest).lower()
    if noun in (resource.replace("_", ""), resource.replace("_", "").removesuffix("s")):
        return f"{resource}.{verb}"
    return f"{resource}.{snake(operation_id)}"


def snake(name: str) -> str:
    """`merchantReference` and `KYCInformation` as `merchant_reference` and `kyc_information`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.lstrip("_"))
    return re.sub(r"\W", "_", parted).lower()


def python_name(wire_name: str) -> str:
    name = snake(wire_name)
    return f"{name}_" if keyword.iskeyword(name) else name


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_.\W]+", name))
