"""Methods of the client. Written by `make clients` from the OpenAPI document; not by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from tidegate_client import _operations as ops
from tidegate_client import _types as t
from tidegate_client import _webhooks
from tidegate_client._call import Send, given_only
from tidegate_client._model import NOT_GIVEN, NotGiven

# `list` is the name of a method.
_List = list


class WebhooksEndpoints:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(self, *, timeout: float | None = None, max_retries: int | None = None) -> t.EndpointList:
        """List endpoints.

        The oldest first; the first is the one that the business's webhook URL sets.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_LIST, {}, {}, None, idempotency_key=None, timeout=timeout, max_retries=max_retries
        )

    def create(
        self,
        *,
        url: str,
        events: Sequence[
            Literal[
                "charge.successful",
                "collection.successful",
                "charge.reversed",
                "charge.disputed",
                "collection.returned",
                "refund.successful",
                "refund.failed",
                "virtualaccount.approved",
                "virtualaccount.declined",
                "virtualaccount.suspended",
                "virtualaccount.closed",
            ]
        ]
        | None = None,
        description: str | None = None,
        rate_per_second: int | None = None,
        secret: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.EndpointWithSecret:
        """Create an endpoint.

        Every endpoint gets `charge.successful` and `collection.successful`; list any others in `events`. The secret
        is shown only in this answer, not in the answer to a repeated `Idempotency-Key`; if you lose it, rotate.
        Earlier events are not sent; replay them if you need them.

        Args:
            url: https, port 443 or 8443; in the sandbox also http and your own machine.
            events: Besides `charge.successful` and `collection.successful`, which every endpoint gets. At least one
              name; for no others, name one of these.
            description: Your own text, shown in lists.
            rate_per_second: The most requests a second that your server accepts.
            secret: `whsec_` and 24 to 64 bytes in base64. Generated when absent.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_CREATE,
            {},
            {},
            given_only(url=url, events=events, description=description, rate_per_second=rate_per_second, secret=secret),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self, endpoint_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.EndpointRecord:
        """Get an endpoint.

        The endpoint without its secret.

        Args:
            endpoint_id: The id of the endpoint.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_GET,
            {"endpointId": endpoint_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def update(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        events: Sequence[
            Literal[
                "charge.successful",
                "collection.successful",
                "charge.reversed",
                "charge.disputed",
                "collection.returned",
                "refund.successful",
                "refund.failed",
                "virtualaccount.approved",
                "virtualaccount.declined",
                "virtualaccount.suspended",
                "virtualaccount.closed",
            ]
        ]
        | None = None,
        description: str | NotGiven | None = NOT_GIVEN,
        status: t.EndpointStatus | None = None,
        rate_per_second: int | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.EndpointRecord:
        """Change an endpoint.

        Absent fields stay as they are. Pending deliveries go to the new URL.

        Args:
            endpoint_id: The id of the endpoint.
            url: https, port 443 or 8443; in the sandbox also http and your own machine.
            events: Besides `charge.successful` and `collection.successful`, which every endpoint gets. At least one
              name; for no others, name one of these.
            description: Your own text; null removes it.
            status: Enabling also resets the failures of an endpoint.
            rate_per_second: The most requests a second that your server accepts.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_UPDATE,
            {"endpointId": endpoint_id},
            {},
            given_only(url=url, events=events, status=status, rate_per_second=rate_per_second)
            | {"description": description},
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def delete(
        self, endpoint_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.EndpointDeleted:
        """Delete an endpoint.

        Requests in flight may still arrive; no others follow.

        Args:
            endpoint_id: The id of the endpoint.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_DELETE,
            {"endpointId": endpoint_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def rotate_secret(
        self,
        endpoint_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.EndpointWithSecret:
        """Rotate an endpoint's secret.

        For 24 hours `webhook-signature` has a signature for each secret, new and old; `signature` uses the new
        secret at once. The new secret is shown only in this answer, not in the answer to a repeated `Idempotency-
        Key`.

        Args:
            endpoint_id: The id of the endpoint.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_ROTATE_SECRET,
            {"endpointId": endpoint_id},
            {},
            None,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def test(
        self,
        endpoint_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.DeliveryRecord:
        """Send a test event.

        Sends an event `webhook.test` to this endpoint only. Get the delivery to see your server's answer.

        Args:
            endpoint_id: The id of the endpoint.
        """
        return self._send(
            ops.WEBHOOKS_ENDPOINTS_TEST,
            {"endpointId": endpoint_id},
            {},
            None,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )


class WebhooksDeliveries:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        status: Literal["pending", "delivered", "exhausted", "cancelled"] | None = None,
        event: str | None = None,
        endpoint_id: str | None = None,
        reference: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.DeliveryPage:
        """List deliveries.

        Each delivery, your server's answers, and the time of the next attempt. Filters are combined with AND.

        Args:
            status: Only deliveries with this status.
            event: Such as `charge.successful`.
            endpoint_id: Only deliveries to this endpoint.
            reference: Your reference of the payment or other subject.
            date_from: From this day or time, inclusive.
            date_to: Before this time; a date includes the whole day.
            per_page: Deliveries on a page.
            cursor: The `nextCursor` of the previous page.
        """
        return self._send(
            ops.WEBHOOKS_DELIVERIES_LIST,
            {},
            given_only(
                status=status,
                event=event,
                endpoint_id=endpoint_id,
                reference=reference,
                date_from=date_from,
                date_to=date_to,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self, delivery_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.DeliveryRecord:
        """Get a delivery.

        The delivery with its payload, the last ten attempts, and the time of the next.

        Args:
            delivery_id: The id of the delivery.
        """
        return self._send(
            ops.WEBHOOKS_DELIVERIES_GET,
            {"deliveryId": delivery_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def resend(
        self,
        delivery_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.DeliveryRecord:
        """Resend a delivery.

        Sends the same event and body with a new timestamp at once; if it fails, the retry schedule starts again.

        Args:
            delivery_id: The id of the delivery.
        """
        return self._send(
            ops.WEBHOOKS_DELIVERIES_RESEND,
            {"deliveryId": delivery_id},
            {},
            None,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxTransfers:
    def __init__(self, send: Send) -> None:
        self._send = send

    def send(
        self,
        *,
        account_number: str,
        amount: Decimal | int,
        currency: t.Currency,
        payer: t.PayerFields,
        payee: t.PayeeFields | None = None,
        reference: str | None = None,
        remittance: str | None = None,
        scheme: str | None = None,
        valued_at: str | None = None,
        delay: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.TransferSent:
        """Send a bank transfer.

        A bank transfer to any virtual account, in any amount and currency: too little, too much, too late, or to an
        account that does not exist. It is notified as by a real bank, and handled by your policy. `payee.name` is
        the recipient's name as the payer typed it; a permanent account compares it with its holder's name.

        Args:
            account_number: Any account, temporary or permanent; an IBAN may be typed in groups.
            amount: In major units; may have decimals.
            currency: Any of these; an account accepts only its own.
            payer: The sender.
            payee: The recipient's name, as the payer typed it.
            reference: The bank's reference; a repeated one repeats the notification of the same transfer.
            remittance: The payer's remittance text.
            scheme: The scheme, such as `sepa`, `ach` or `wire`. By default the usual one of the currency.
            valued_at: The value date, past or future: a date, or a time with its offset. Now when absent.
            delay: Delay of the notification, such as 10s. A reversal during the delay is notified first.
        """
        return self._send(
            ops.SANDBOX_TRANSFERS_SEND,
            {},
            {},
            given_only(
                account_number=account_number,
                amount=amount,
                currency=currency,
                payer=payer,
                payee=payee,
                reference=reference,
                remittance=remittance,
                scheme=scheme,
                valued_at=valued_at,
                delay=delay,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def reverse(
        self, reference: str, *, reason: str | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> t.TransferReversed:
        """Reverse a bank transfer.

        The bank reverses the transfer with this reference and notifies it at once. A repeat sends the same reversal
        again. For a reversal that comes before its credit, send the transfer with a `delay` and reverse it before
        the delay is over.

        Args:
            reference: The transfer's reference: yours if you gave one, otherwise its `transactionId`.
            reason: The bank's reason.
        """
        return self._send(
            ops.SANDBOX_TRANSFERS_REVERSE,
            {"reference": reference},
            {},
            given_only(reason=reason),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxCharges:
    def __init__(self, send: Send) -> None:
        self._send = send

    def approve(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.Acted:
        """Approve on the phone.

        The payer approves on the phone, for mobile money and USSD.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.SANDBOX_CHARGES_APPROVE,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def decline(
        self, pay_code: str, *, reason: str | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> t.Acted:
        """Decline on the phone.

        The payer declines on the phone. `reason` may be `not_approved`, `insufficient_funds`, `no_such_wallet`,
        `wrong_pin` or `expired`; any other text counts as `not_approved`.

        Args:
            pay_code: The payment's pay code.
            reason: `not_approved` when absent.
        """
        return self._send(
            ops.SANDBOX_CHARGES_DECLINE,
            {"payCode": pay_code},
            {},
            given_only(reason=reason),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def expire(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.SessionEnded:
        """End the checkout now.

        Ends the session of one payment and closes its account, without moving the clock. Money that arrives
        afterwards is returned. A moment passes before the payment is `expired`.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.SANDBOX_CHARGES_EXPIRE,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def dispute(
        self,
        pay_code: str,
        *,
        status: t.DisputeStatus | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.ChargeIsDisputed:
        """Dispute a payment.

        The payer disputes a paid payment with the bank, or the bank decides: `won` leaves you the money, `lost`
        takes it back. It is notified a moment later, with `charge.disputed`.

        Args:
            pay_code: The payment's pay code.
            status: `open` begins it; the others end it.
        """
        return self._send(
            ops.SANDBOX_CHARGES_DISPUTE,
            {"payCode": pay_code},
            {},
            given_only(status=status),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxClock:
    def __init__(self, send: Send) -> None:
        self._send = send

    def get(self, *, timeout: float | None = None, max_retries: int | None = None) -> t.ClockView:
        """Get the sandbox's clock.

        Each business has its own clock, used for its payments, accounts, retries and settlement.
        """
        return self._send(
            ops.SANDBOX_CLOCK_GET, {}, {}, None, idempotency_key=None, timeout=timeout, max_retries=max_retries
        )

    def advance(self, *, advance: str, timeout: float | None = None, max_retries: int | None = None) -> t.ClockView:
        """Advance the sandbox's clock.

        Moves the clock of this business ahead, and of no other. It cannot be moved back.

        Args:
            advance: How far, such as 30s, 15m, 2h or 3d.
        """
        return self._send(
            ops.SANDBOX_CLOCK_ADVANCE,
            {},
            {},
            given_only(advance=advance),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxAccounts:
    def __init__(self, send: Send) -> None:
        self._send = send

    def approve(
        self, account_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.AccountRecord:
        """Approve a virtual account.

        The rail opens the account: its details are available at once, and it takes transfers.

        Args:
            account_id: The `_id` of the virtual account.
        """
        return self._send(
            ops.SANDBOX_ACCOUNTS_APPROVE,
            {"accountId": account_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def decline(
        self,
        account_id: str,
        *,
        reason: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountRecord:
        """Decline a virtual account.

        The account gets no details. To try again, request another account.

        Args:
            account_id: The `_id` of the virtual account.
            reason: Shown in the account's record.
        """
        return self._send(
            ops.SANDBOX_ACCOUNTS_DECLINE,
            {"accountId": account_id},
            {},
            given_only(reason=reason),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def suspend(
        self,
        account_id: str,
        *,
        reason: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountRecord:
        """Suspend a virtual account.

        Money that arrives while the account is suspended is returned.

        Args:
            account_id: The `_id` of the virtual account.
            reason: Shown in the account's record.
        """
        return self._send(
            ops.SANDBOX_ACCOUNTS_SUSPEND,
            {"accountId": account_id},
            {},
            given_only(reason=reason),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def reinstate(
        self, account_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.AccountRecord:
        """Reinstate a virtual account.

        The account takes transfers again.

        Args:
            account_id: The `_id` of the virtual account.
        """
        return self._send(
            ops.SANDBOX_ACCOUNTS_REINSTATE,
            {"accountId": account_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def close(
        self,
        account_id: str,
        *,
        reason: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountRecord:
        """Close a virtual account.

        Final. Money that arrives afterwards is returned.

        Args:
            account_id: The `_id` of the virtual account.
            reason: Shown in the account's record.
        """
        return self._send(
            ops.SANDBOX_ACCOUNTS_CLOSE,
            {"accountId": account_id},
            {},
            given_only(reason=reason),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxCollections:
    def __init__(self, send: Send) -> None:
        self._send = send

    def credit(
        self, reference: str, *, note: str | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> t.CollectionRecord:
        """Credit a held inflow.

        Credits a held inflow despite its review reason. Only while it is `pending`.

        Args:
            reference: The `reference` of the inflow.
            note: The operator's note, for the audit trail.
        """
        return self._send(
            ops.SANDBOX_COLLECTIONS_CREDIT,
            {"reference": reference},
            {},
            given_only(note=note),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def send_back(
        self, reference: str, *, note: str | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> t.CollectionRecord:
        """Return a held inflow.

        Returns a held inflow to its payer. Only while it is `pending`.

        Args:
            reference: The `reference` of the inflow.
            note: The operator's note, for the audit trail.
        """
        return self._send(
            ops.SANDBOX_COLLECTIONS_SEND_BACK,
            {"reference": reference},
            {},
            given_only(note=note),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class SandboxRates:
    def __init__(self, send: Send) -> None:
        self._send = send

    def set(
        self,
        *,
        base: t.Currency,
        quote: t.Currency,
        rate: Decimal | int,
        spread_percent: Decimal | int | None = None,
        source: str | None = None,
        quoted_at: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.RateRecord:
        """Set an exchange rate.

        The rate for inflows whose account settles in another currency; without a current rate they are held. It
        applies to this business only; the newest of its own and the operator's rates is used until it expires.

        Args:
            base: Currency of the inflow.
            quote: Currency of the wallet that is credited.
            rate: One `base` in `quote`; at most 12 digits.
            spread_percent: Kept of each conversion; 0 when absent.
            source: Where the rate comes from.
            quoted_at: Time of the quote, not in the future; now when absent. The newest is used.
        """
        return self._send(
            ops.SANDBOX_RATES_SET,
            {},
            {},
            given_only(
                base=base, quote=quote, rate=rate, spread_percent=spread_percent, source=source, quoted_at=quoted_at
            ),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Payments:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        status: Literal["initiated", "pending", "processing", "success", "failed", "expired"] | None = None,
        variance_type: Literal["underpayment", "overpayment"] | None = None,
        payment_method: t.RequestedMethod | str | None = None,
        currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"] | None = None,
        email: str | None = None,
        reference_prefix: str | None = None,
        amount_min: str | None = None,
        amount_max: str | None = None,
        payment_link_id: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.PaymentRecordPage:
        """List payments.

        Your payments, the newest first: all of them, or those that fit every filter. A page costs the same however
        many there are; go on with `nextCursor`. There is no total: to count them, read all pages or the file.
        `Accept: text/csv` gives a file of all rows that fit. With `Accept: text/csv` the answer is a file.

        Args:
            status: Only payments with this status.
            variance_type: Only payments that were paid with too little or too much.
            payment_method: Only payments that were paid by this method, in any letter case.
            currency: Only payments in this currency.
            email: The customer's e-mail address, in any letter case.
            reference_prefix: How `merchantReference` begins, such as `ORDER-10`.
            amount_min: At least this `amountExpected`; needs `currency`.
            amount_max: At most this `amountExpected`; needs `currency`.
            payment_link_id: Only payments made by this payment link.
            date_from: Created from this day or time on.
            date_to: Created before this time; a day is included.
            per_page: Payments on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.PAYMENTS_LIST,
            {},
            given_only(
                status=status,
                variance_type=variance_type,
                payment_method=payment_method,
                currency=currency,
                email=email,
                reference_prefix=reference_prefix,
                amount_min=amount_min,
                amount_max=amount_max,
                payment_link_id=payment_link_id,
                date_from=date_from,
                date_to=date_to,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_csv(
        self,
        *,
        status: Literal["initiated", "pending", "processing", "success", "failed", "expired"] | None = None,
        variance_type: Literal["underpayment", "overpayment"] | None = None,
        payment_method: t.RequestedMethod | str | None = None,
        currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"] | None = None,
        email: str | None = None,
        reference_prefix: str | None = None,
        amount_min: str | None = None,
        amount_max: str | None = None,
        payment_link_id: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> bytes:
        """List payments.

        Your payments, the newest first: all of them, or those that fit every filter. A page costs the same however
        many there are; go on with `nextCursor`. There is no total: to count them, read all pages or the file.
        `Accept: text/csv` gives a file of all rows that fit. With `Accept: text/csv` the answer is a file.

        Args:
            status: Only payments with this status.
            variance_type: Only payments that were paid with too little or too much.
            payment_method: Only payments that were paid by this method, in any letter case.
            currency: Only payments in this currency.
            email: The customer's e-mail address, in any letter case.
            reference_prefix: How `merchantReference` begins, such as `ORDER-10`.
            amount_min: At least this `amountExpected`; needs `currency`.
            amount_max: At most this `amountExpected`; needs `currency`.
            payment_link_id: Only payments made by this payment link.
            date_from: Created from this day or time on.
            date_to: Created before this time; a day is included.
            per_page: Payments on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.PAYMENTS_LIST_CSV,
            {},
            given_only(
                status=status,
                variance_type=variance_type,
                payment_method=payment_method,
                currency=currency,
                email=email,
                reference_prefix=reference_prefix,
                amount_min=amount_min,
                amount_max=amount_max,
                payment_link_id=payment_link_id,
                date_from=date_from,
                date_to=date_to,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def create(
        self,
        *,
        amount: int,
        currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"],
        customer: t.CustomerFields,
        fee_bearer: t.FeeBearer | None = None,
        reference: str | None = None,
        redirect_url: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        success_message: str | None = None,
        settlement_destination: Literal["wallet"] | None = None,
        payment_methods: Sequence[t.RequestedMethod | str] | None = None,
        default_payment_method: t.RequestedMethod | str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.Created:
        """Create a payment.

        Returns a link to the hosted checkout page. Send your customer there. When the payment has ended,
        successfully or not, the customer returns to `redirectUrl` with `?reference=…`. The redirect proves nothing:
        verify the payment.

        Args:
            amount: In major units, a whole number. At most 100,000,000 NGN, 1,000,000 GHS, 10,000,000 KES,
              250,000,000 UGX, 1,000,000 ZAR, 2,000,000 ZMW.
            currency: What you charge in; decides which methods can be offered.
            customer: An object; the same object as a JSON string is accepted too.
            fee_bearer: Who pays the fee. By default what your business has set: at first, it does.
            reference: Yours, unique per business, never reusable; the pay code when absent.
            redirect_url: Where the customer returns to after the payment, with `?reference=…` added.
            metadata: Any JSON of yours; returned as sent. At most 50 keys of 40 characters, texts of 500
              characters, and 16 kB.
            success_message: Shown to the customer after a successful payment, as plain text.
            settlement_destination: The only destination: your wallet.
            payment_methods: In the order shown on the page, in any letter case. Every method of the currency when
              absent.
            default_payment_method: The one that the page opens with, in any letter case. The first offered when
              absent.
        """
        return self._send(
            ops.PAYMENTS_CREATE,
            {},
            {},
            given_only(
                amount=amount,
                currency=currency,
                customer=customer,
                fee_bearer=fee_bearer,
                reference=reference,
                redirect_url=redirect_url,
                metadata=metadata,
                success_message=success_message,
                settlement_destination=settlement_destination,
                payment_methods=payment_methods,
                default_payment_method=default_payment_method,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def verify(
        self, reference: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.PaymentRecord:
        """Verify a payment.

        The payment as it is now. Deliver only when `status` is `success`, and check `varianceType`: a bank transfer
        can be more or less than `amountExpected`.

        Args:
            reference: Your reference, or the pay code when you gave none.
        """
        return self._send(
            ops.PAYMENTS_VERIFY,
            {"reference": reference},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def disable(
        self, reference: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.PaymentRecord:
        """Disable a payment's page.

        The link takes no new attempts until you enable it again. Attempts already started can still be finished,
        and their money counts: a card that waits for its PIN, an approval on the phone, a transfer to an open
        account. Repeating the call changes nothing; a payment that has ended cannot be disabled.

        Args:
            reference: Your reference, or the pay code when you gave none.
        """
        return self._send(
            ops.PAYMENTS_DISABLE,
            {"reference": reference},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def enable(
        self, reference: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.PaymentRecord:
        """Enable a payment's page.

        The link works again until its checkout expires. Disabling does not extend the expiry.

        Args:
            reference: Your reference, or the pay code when you gave none.
        """
        return self._send(
            ops.PAYMENTS_ENABLE,
            {"reference": reference},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Fees:
    def __init__(self, send: Send) -> None:
        self._send = send

    def quote(
        self,
        *,
        currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"],
        type: t.RequestedMethod | str,
        amount: int,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.FeesQuoted:
        """Quote fees.

        The fee and the VAT on it, by the rule that would price the payment: your own where you have one. Nothing is
        created.

        Args:
            currency: What you would charge in.
            type: The payment method, in any letter case.
            amount: In major units, a whole number. At most 100,000,000 NGN, 1,000,000 GHS, 10,000,000 KES,
              250,000,000 UGX, 1,000,000 ZAR, 2,000,000 ZMW.
        """
        return self._send(
            ops.FEES_QUOTE,
            {},
            {},
            given_only(currency=currency, type=type, amount=amount),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class PaymentLinks:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        status: Literal["ended", "not_ended"] | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.LinkRecordPage:
        """List payment links.

        Your payment links, the newest first, with what became of each.

        Args:
            status: Only links that you ended, or only the others.
            per_page: Payment links on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.PAYMENT_LINKS_LIST,
            {},
            given_only(status=status, per_page=per_page, cursor=cursor),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def create(
        self,
        *,
        name: str,
        currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"],
        kind: t.LinkKind | None = None,
        amount: int | None = None,
        amount_min: int | None = None,
        amount_max: int | None = None,
        fee_bearer: t.FeeBearer | None = None,
        payment_methods: Sequence[t.RequestedMethod | str] | None = None,
        ask_phone_number: t.FieldRule | None = None,
        ask_note: t.FieldRule | None = None,
        note_label: str | None = None,
        ends_at: str | None = None,
        payments_max: int | None = None,
        success_message: str | None = None,
        redirect_url: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.LinkRecord:
        """Create a payment link.

        A link with a page of its own, a QR code and a poster. The amount is fixed, or the customer's choice within
        your bounds. The page asks for name and e-mail address, and for a phone number and a note where you say so.
        Payments made by it carry its id as `paymentLinkId`, in the record, in lists and in their events.

        Args:
            name: What is paid for; shown to the customer.
            currency: What you charge in.
            kind: How often it is paid.
            amount: In major units, a whole number; absent where the customer chooses the amount.
            amount_min: The least that the customer may choose; 1 when absent.
            amount_max: The most that the customer may choose; the currency's limit when absent.
            fee_bearer: Who pays the fee. By default what your business has set: at first, it does.
            payment_methods: In the order shown on the page, in any letter case. Every method of the currency when
              absent.
            ask_phone_number: Whether the page asks for a phone number; not at all when absent.
            ask_note: Whether the page asks for a note: a line of text of up to 200 characters, `note` in the
              payment's metadata. Not at all when absent.
            note_label: What the page calls the note, such as T-shirt size; `Note` in the customer's language when
              absent.
            ends_at: It takes payments before this time; of a day, to its end.
            payments_max: How often a reusable link may be paid; without limit when absent.
            success_message: Shown to the customer after a successful payment, as plain text.
            redirect_url: Where the customer returns to after the payment, with `?reference=…` added.
        """
        return self._send(
            ops.PAYMENT_LINKS_CREATE,
            {},
            {},
            given_only(
                name=name,
                kind=kind,
                currency=currency,
                amount=amount,
                amount_min=amount_min,
                amount_max=amount_max,
                fee_bearer=fee_bearer,
                payment_methods=payment_methods,
                ask_phone_number=ask_phone_number,
                ask_note=ask_note,
                note_label=note_label,
                ends_at=ends_at,
                payments_max=payments_max,
                success_message=success_message,
                redirect_url=redirect_url,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(self, link_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.LinkRecord:
        """Get a payment link.

        A payment link as it is now.

        Args:
            link_id: The id of the payment link.
        """
        return self._send(
            ops.PAYMENT_LINKS_GET,
            {"linkId": link_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def end(self, link_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.LinkRecord:
        """End a payment link.

        It takes no new payments until you reopen it. Payments already begun can still be paid. Repeating the call
        changes nothing.

        Args:
            link_id: The id of the payment link.
        """
        return self._send(
            ops.PAYMENT_LINKS_END,
            {"linkId": link_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def reopen(self, link_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.LinkRecord:
        """Reopen a payment link.

        It takes payments again. Refused when its end date has passed or it is used up: duplicate it.

        Args:
            link_id: The id of the payment link.
        """
        return self._send(
            ops.PAYMENT_LINKS_REOPEN,
            {"linkId": link_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def duplicate(
        self,
        link_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.LinkRecord:
        """Duplicate a payment link.

        A new link with the same terms and another address. An end date that has passed is left out.

        Args:
            link_id: The id of the payment link.
        """
        return self._send(
            ops.PAYMENT_LINKS_DUPLICATE,
            {"linkId": link_id},
            {},
            None,
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )


class Checkouts:
    def __init__(self, send: Send) -> None:
        self._send = send

    def get(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.CheckoutView:
        """Get the payer's view of a checkout.

        What the hosted page shows, with the `banks` and `operators` that a charge may name. The same path followed
        by `/events` sends it as server-sent events (`event: status`), at once and after every change.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.CHECKOUTS_GET,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def charge(
        self,
        pay_code: str,
        *,
        type: t.RequestedMethod | str,
        card: t.CardFields | None = None,
        phone: str | None = None,
        operator: str | None = None,
        bank: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.Charged:
        """Start an attempt.

        Starts an attempt by one of the offered methods. `action` is the payer's next step: send a `transfer`,
        approve a `prompt`, `dial` a code, give a `pin`, an `otp` or an `address`, follow a `redirect`, or none. A
        second charge replaces one that still waits for the payer, and is refused while an outcome is not known.
        While an account for a transfer is open, another charge by `bank_transfer` gives the same account and is no
        new attempt.

        Args:
            pay_code: The payment's pay code.
            type: One of the offered methods, in any letter case.
            card: For `card`: the payer's card.
            phone: For mobile money, such as +254712345678.
            operator: For mobile money: an `id` of the checkout's `operators`; guessed from the number if absent.
            bank: For USSD: a `code` of the checkout's `banks`.
        """
        return self._send(
            ops.CHECKOUTS_CHARGE,
            {"payCode": pay_code},
            {},
            given_only(type=type, card=card, phone=phone, operator=operator, bank=bank),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def authorize(
        self,
        pay_code: str,
        *,
        pin: str | None = None,
        otp: str | None = None,
        address: t.AddressFields | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.Charged:
        """Answer a challenge.

        Exactly one of `pin`, `otp` and `address`, as the last `action` requires.

        Args:
            pay_code: The payment's pay code.
            pin: When the action is `pin`.
            otp: When the action is `otp` or `redirect`.
            address: When the action is `address`: the card's billing address.
        """
        return self._send(
            ops.CHECKOUTS_AUTHORIZE,
            {"payCode": pay_code},
            {},
            given_only(pin=pin, otp=otp, address=address),
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def resend(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.Charged:
        """Send the prompt or the code again.

        Sends the prompt, the USSD code or the one-time code of the attempt again: at most 3 times, 30 seconds
        apart. Earlier requests get a 429 with `Retry-After`; `resendFrom` is the earliest time. A USSD code is
        replaced by a new one. Where `resendsLeft` is null, it cannot be sent again.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.CHECKOUTS_RESEND,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def extend(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.Charged:
        """Extend the account of a transfer.

        Keeps the account of a bank transfer open for another 30 minutes, but not beyond the checkout's expiry.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.CHECKOUTS_EXTEND,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def cancel(self, pay_code: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.CheckoutView:
        """Cancel a checkout.

        The payer cancels. Money already received is returned.

        Args:
            pay_code: The payment's pay code.
        """
        return self._send(
            ops.CHECKOUTS_CANCEL,
            {"payCode": pay_code},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Requests:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        outcome: Literal["success", "error"] | None = None,
        status: int | None = None,
        method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] | None = None,
        operation: str | None = None,
        key_id: int | None = None,
        request_id: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.RequestRecordPage:
        """List your requests.

        Requests made with your keys, the newest first, about a second after they were answered. They are kept for 7
        days, those that failed for 30, unless this installation is set otherwise. When very many come at once, some
        that succeeded are left out. Bodies are kept of failed requests only, with texts and long numbers masked.

        Args:
            outcome: Only requests that succeeded, or only those that failed.
            status: Only requests answered with this status.
            method: Only requests with this HTTP method.
            operation: Only this operation, such as `createPayment`.
            key_id: Only requests with this key.
            request_id: Only the request with this id.
            date_from: From this day or time on.
            date_to: Before this time; a day is included.
            per_page: Requests on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.REQUESTS_LIST,
            {},
            given_only(
                outcome=outcome,
                status=status,
                method=method,
                operation=operation,
                key_id=key_id,
                request_id=request_id,
                date_from=date_from,
                date_to=date_to,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Merchant:
    def __init__(self, send: Send) -> None:
        self._send = send

    def me(self, *, timeout: float | None = None, max_retries: int | None = None) -> t.BusinessRecord:
        """Get your business.

        Returns the business that the `api-key` belongs to: its id, which other operations take as `x-business-id`
        or `business`, and its settings. It contains no key and no secret.
        """
        return self._send(ops.MERCHANT_ME, {}, {}, None, idempotency_key=None, timeout=timeout, max_retries=max_retries)


class Accounts:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list_requests(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        currency: Literal["USD", "EUR"] | None = None,
        status: Literal["pending", "approved", "declined"] | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountPage:
        """List requests for virtual accounts.

        The newest first: requests that are `pending`, `approved`, or `declined` with the `reason`. A request and
        its account are one record with one `_id`. Closed and expired accounts are not in the list.

        Args:
            page: Number of the page, from 1.
            per_page: Requests on a page.
            currency: Only requests for this currency.
            status: Only requests with this status.
        """
        return self._send(
            ops.ACCOUNTS_LIST_REQUESTS,
            {},
            given_only(page=page, per_page=per_page, currency=currency, status=status),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def request(
        self,
        *,
        currency: Literal["USD", "EUR"],
        account_type: t.AccountType,
        kyc_information: Mapping[str, Any],
        documents: Sequence[t.DocumentGiven] | None = None,
        settlement_currency: t.Currency | None = None,
        merchant_reference: str | None = None,
        monthly_volume: str | None = None,
        entity_name: str | None = None,
        payment_flow_description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountRecord:
        """Request a virtual account.

        The account starts `pending`, without details; the operator approves or declines it. Documents are links
        that the operator can open. In the sandbox approve it yourself: `POST /sandbox/virtual-
        accounts/{accountId}/approve`.

        Args:
            currency: Currency that the account receives.
            account_type: Who holds the account.
            kyc_information: The account holder: `firstName` and `lastName` of a person, `businessName` of a
              company. Payers must type this name. Further fields are allowed, as agreed with the operator.
            documents: Documents that the operator asks for.
            settlement_currency: Currency of the wallet to credit; by default the account's own.
            merchant_reference: Your own reference, unique among your accounts.
            monthly_volume: What you expect to receive in a month, in words.
            entity_name: Name of the entity that the account is for, where it is not the holder.
            payment_flow_description: Who will pay into the account, and for what.
            metadata: Any JSON of yours; returned as sent. At most 50 keys of 40 characters, texts of 500
              characters, and 16 kB.
        """
        return self._send(
            ops.ACCOUNTS_REQUEST,
            {},
            {},
            given_only(
                currency=currency,
                account_type=account_type,
                kyc_information=kyc_information,
                documents=documents,
                settlement_currency=settlement_currency,
                merchant_reference=merchant_reference,
                monthly_volume=monthly_volume,
                entity_name=entity_name,
                payment_flow_description=payment_flow_description,
                metadata=metadata,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list(
        self,
        *,
        page: int | None = None,
        per_page: int | None = None,
        currency: Literal["USD", "EUR"] | None = None,
        status: Literal["pending", "approved", "declined", "expired", "closed"] | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.AccountPage:
        """List virtual accounts.

        The newest first. Temporary accounts of checkouts are not in the list; get them by their ids.

        Args:
            page: Number of the page, from 1.
            per_page: Accounts on a page.
            currency: Only accounts of this currency.
            status: Only accounts with this status.
        """
        return self._send(
            ops.ACCOUNTS_LIST,
            {},
            given_only(page=page, per_page=per_page, currency=currency, status=status),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(self, account_id: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.AccountRecord:
        """Get a virtual account.

        The crediting details are in `accountInformation`. The temporary account of a checkout has the same record,
        with `isCheckoutVa` and `expiresAt`.

        Args:
            account_id: The `_id` of the virtual account.
        """
        return self._send(
            ops.ACCOUNTS_GET,
            {"accountId": account_id},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Refunds:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        trans_reference: str | None = None,
        status: Literal["processing", "successful", "failed"] | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.RefundPage:
        """List refunds.

        The newest first. Filters are combined with AND. The query parameters may also be sent as a JSON object in
        the body; each one in one place.

        Args:
            trans_reference: Your reference, a pay code, or the reference of a collection.
            status: Only refunds with this status.
            date_from: From this day or time, inclusive.
            date_to: Before this time; a date includes the whole day.
            per_page: Refunds on a page.
            cursor: The `nextCursor` of the previous page.
        """
        return self._send(
            ops.REFUNDS_LIST,
            {},
            given_only(
                trans_reference=trans_reference,
                status=status,
                date_from=date_from,
                date_to=date_to,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def create(
        self,
        *,
        trans_reference: str,
        amount: Decimal | int | None = None,
        currency: t.Currency | None = None,
        reason: str | None = None,
        note: str | None = None,
        business: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.RefundRecord:
        """Refund a payment or a collection.

        `transReference` is your reference, a pay code, or the reference of a collection. The amount is limited to
        what was received and not yet refunded, and to your wallet's balance. In the sandbox a refund takes two
        seconds; an amount that ends in .13 is declined, and one that ends in .17 is not answered at first.

        Args:
            trans_reference: Your reference, a pay code, or the reference of a collection.
            amount: By default the excess of an overpayment, otherwise all that remains; an unknown field is then
              refused, since it may be a mistyped amount.
            currency: If given, it must be the currency received.
            reason: Shown to your customer.
            note: Not shown to your customer.
            business: Your business's id, if you name it.
        """
        return self._send(
            ops.REFUNDS_CREATE,
            {},
            {},
            given_only(
                trans_reference=trans_reference,
                amount=amount,
                currency=currency,
                reason=reason,
                note=note,
                business=business,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(self, reference: str, *, timeout: float | None = None, max_retries: int | None = None) -> t.RefundRecord:
        """Get a refund.

        The refund as it is now. `successful` and `failed` are final.

        Args:
            reference: The `reference` of the refund.
        """
        return self._send(
            ops.REFUNDS_GET,
            {"reference": reference},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Collections:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(
        self,
        *,
        virtual_account: str | None = None,
        destination_currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW", "TZS", "USD", "EUR"] | None = None,
        status: Literal["pending", "successful", "reversed", "failed"] | None = None,
        reference: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.CollectionPage:
        """List inflows.

        Filters combine with AND; without any, all of your inflows are listed. Page by `cursor`: every page costs
        the same, and new inflows neither repeat nor hide a row. `total` is exact. The query parameters may also be
        sent as a JSON object in the body; each one in one place. With `Accept: text/csv` the answer is a file.

        Args:
            virtual_account: The `_id` of a virtual account.
            destination_currency: Currency of the wallet that was credited.
            status: Only inflows with this status.
            reference: Only the inflow with this reference.
            date_from: From this day or time on.
            date_to: Before this time; a day is included.
            page: Number of the page, from 1; use `cursor` to read more than 10,000 rows.
            per_page: Inflows on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.COLLECTIONS_LIST,
            {},
            given_only(
                virtual_account=virtual_account,
                destination_currency=destination_currency,
                status=status,
                reference=reference,
                date_from=date_from,
                date_to=date_to,
                page=page,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def list_csv(
        self,
        *,
        virtual_account: str | None = None,
        destination_currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW", "TZS", "USD", "EUR"] | None = None,
        status: Literal["pending", "successful", "reversed", "failed"] | None = None,
        reference: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        page: int | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> bytes:
        """List inflows.

        Filters combine with AND; without any, all of your inflows are listed. Page by `cursor`: every page costs
        the same, and new inflows neither repeat nor hide a row. `total` is exact. The query parameters may also be
        sent as a JSON object in the body; each one in one place. With `Accept: text/csv` the answer is a file.

        Args:
            virtual_account: The `_id` of a virtual account.
            destination_currency: Currency of the wallet that was credited.
            status: Only inflows with this status.
            reference: Only the inflow with this reference.
            date_from: From this day or time on.
            date_to: Before this time; a day is included.
            page: Number of the page, from 1; use `cursor` to read more than 10,000 rows.
            per_page: Inflows on a page.
            cursor: The `nextCursor` of the page before.
        """
        return self._send(
            ops.COLLECTIONS_LIST_CSV,
            {},
            given_only(
                virtual_account=virtual_account,
                destination_currency=destination_currency,
                status=status,
                reference=reference,
                date_from=date_from,
                date_to=date_to,
                page=page,
                per_page=per_page,
                cursor=cursor,
            ),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def get(
        self, reference: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> t.CollectionRecord:
        """Get an inflow.

        By the `reference` that the webhook has. `nameCheck` lists the steps of the name comparison.

        Args:
            reference: The `reference` of the inflow.
        """
        return self._send(
            ops.COLLECTIONS_GET,
            {"reference": reference},
            {},
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Wallets:
    def __init__(self, send: Send) -> None:
        self._send = send

    def list(self, *, timeout: float | None = None, max_retries: int | None = None) -> _List[t.WalletRecord]:
        """List wallets.

        One wallet for each currency that you have received.
        """
        return self._send(
            ops.WALLETS_LIST, {}, {}, None, idempotency_key=None, timeout=timeout, max_retries=max_retries
        )

    def statement(
        self,
        currency: str,
        *,
        date_from: str | None = None,
        date_to: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.StatementPage:
        """Read a wallet's statement.

        Every line has the balance after it. Opening and closing balance are those of the whole period, on every
        page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of
        the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf`
        it is a document to print or to keep.

        Args:
            currency: The wallet's currency.
            date_from: From this day or time in UTC, inclusive.
            date_to: Before this time; a date includes the whole day.
            order: Order of the lines.
            per_page: Lines on a page.
            cursor: The `nextCursor` of the previous page.
        """
        return self._send(
            ops.WALLETS_STATEMENT,
            {"currency": currency},
            given_only(date_from=date_from, date_to=date_to, order=order, per_page=per_page, cursor=cursor),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def statement_csv(
        self,
        currency: str,
        *,
        date_from: str | None = None,
        date_to: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> bytes:
        """Read a wallet's statement.

        Every line has the balance after it. Opening and closing balance are those of the whole period, on every
        page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of
        the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf`
        it is a document to print or to keep.

        Args:
            currency: The wallet's currency.
            date_from: From this day or time in UTC, inclusive.
            date_to: Before this time; a date includes the whole day.
            order: Order of the lines.
            per_page: Lines on a page.
            cursor: The `nextCursor` of the previous page.
        """
        return self._send(
            ops.WALLETS_STATEMENT_CSV,
            {"currency": currency},
            given_only(date_from=date_from, date_to=date_to, order=order, per_page=per_page, cursor=cursor),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )

    def statement_pdf(
        self,
        currency: str,
        *,
        date_from: str | None = None,
        date_to: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        per_page: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> bytes:
        """Read a wallet's statement.

        Every line has the balance after it. Opening and closing balance are those of the whole period, on every
        page. Page with `cursor`: entries booked meanwhile neither repeat nor hide a line. Files have all lines of
        the period, the oldest first. With `Accept: text/csv` the answer is a file. With `Accept: application/pdf`
        it is a document to print or to keep.

        Args:
            currency: The wallet's currency.
            date_from: From this day or time in UTC, inclusive.
            date_to: Before this time; a date includes the whole day.
            order: Order of the lines.
            per_page: Lines on a page.
            cursor: The `nextCursor` of the previous page.
        """
        return self._send(
            ops.WALLETS_STATEMENT_PDF,
            {"currency": currency},
            given_only(date_from=date_from, date_to=date_to, order=order, per_page=per_page, cursor=cursor),
            None,
            idempotency_key=None,
            timeout=timeout,
            max_retries=max_retries,
        )


class Webhooks:
    def __init__(self, send: Send) -> None:
        self._send = send
        self.endpoints = WebhooksEndpoints(send)
        self.deliveries = WebhooksDeliveries(send)

    verify = staticmethod(_webhooks.verify)

    def replay(
        self,
        *,
        date_from: str,
        date_to: str,
        endpoint_id: str | None = None,
        events: Sequence[
            Literal[
                "charge.successful",
                "collection.successful",
                "charge.reversed",
                "charge.disputed",
                "collection.returned",
                "refund.successful",
                "refund.failed",
                "virtualaccount.approved",
                "virtualaccount.declined",
                "virtualaccount.suspended",
                "virtualaccount.closed",
            ]
        ]
        | None = None,
        undelivered_only: bool | None = None,
        confirm: bool | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> t.ReplayAnswer:
        """Replay the events of a period.

        Counts the deliveries, and sends them only with `confirm`. Ids and bodies are unchanged. New events are sent
        before replayed ones. At most 20,000 deliveries per replay.

        Args:
            date_from: From this day or time, inclusive.
            date_to: Before this time; a date includes the whole day.
            endpoint_id: Only deliveries to this endpoint.
            events: Only these events.
            undelivered_only: Leave out delivered events.
            confirm: Without it deliveries are counted, not sent.
        """
        return self._send(
            ops.WEBHOOKS_REPLAY,
            {},
            {},
            given_only(
                date_from=date_from,
                date_to=date_to,
                endpoint_id=endpoint_id,
                events=events,
                undelivered_only=undelivered_only,
                confirm=confirm,
            ),
            idempotency_key=idempotency_key,
            timeout=timeout,
            max_retries=max_retries,
        )


class Sandbox:
    def __init__(self, send: Send) -> None:
        self._send = send
        self.transfers = SandboxTransfers(send)
        self.charges = SandboxCharges(send)
        self.clock = SandboxClock(send)
        self.accounts = SandboxAccounts(send)
        self.collections = SandboxCollections(send)
        self.rates = SandboxRates(send)

    def reset(self, *, timeout: float | None = None, max_retries: int | None = None) -> t.Emptied:
        """Delete the business's data.

        Deletes the business's payments, inflows, money, events and deliveries. Its keys, settings, virtual accounts
        and webhook endpoints stay.
        """
        return self._send(
            ops.SANDBOX_RESET, {}, {}, None, idempotency_key=None, timeout=timeout, max_retries=max_retries
        )


class Resources:
    def _attach(self, send: Send) -> None:
        self.payments = Payments(send)
        self.fees = Fees(send)
        self.payment_links = PaymentLinks(send)
        self.checkouts = Checkouts(send)
        self.requests = Requests(send)
        self.merchant = Merchant(send)
        self.accounts = Accounts(send)
        self.refunds = Refunds(send)
        self.collections = Collections(send)
        self.wallets = Wallets(send)
        self.webhooks = Webhooks(send)
        self.sandbox = Sandbox(send)
