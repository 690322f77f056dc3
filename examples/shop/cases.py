"""Odd cases, played through the sandbox as the payer, the bank or the network would, and what should come of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import httpx2
from examples.shop.play import (
    GOOD_CARD,
    Play,
    by_card,
    by_phone,
    by_transfer,
    by_ussd,
    cancel,
    close_the_tab,
    expire,
    five_declines,
    open_the_return,
    pay_twice,
    refund,
    same_order,
    to_a_closed_account,
)
from examples.shop.play_webhook import before_the_return, forged, late, shop_fails, shop_is_down, twice

Fault = Literal["answer lost", "429"]


@dataclass(frozen=True)
class Case:
    group: str
    label: str
    # The order's state in the end, and why.
    expected: str
    why: str
    play: Play
    # Mobile money is paid in shillings.
    currency: Literal["NGN", "KES"] = "NGN"
    # What happens to the first request that creates the payment.
    fault: Fault | None = None

    @property
    def name(self) -> str:
        words = f"{self.group} {self.label}".lower().replace(",", "")
        return words.replace(" ", "-")


class Faulty(httpx2.HTTPTransport):
    """A network that fails once."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault: Fault | None = fault

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        fault, self._fault = self._fault, None
        if fault == "429":
            return httpx2.Response(429, headers={"retry-after": "1"}, request=request)
        answer = super().handle_request(request)
        if fault:
            answer.close()
            raise httpx2.ReadTimeout("the answer was lost", request=request)
        return answer


PAID = "The money is there, whole."
OPEN = "The payment stays open: the customer may try again, or change the method."
CASES = [
    Case("Transfer", "Exact", "delivered", PAID, by_transfer("1")),
    Case("Transfer", "Too little", "held", "It succeeds with varianceType underpayment.", by_transfer("0.5")),
    Case("Transfer", "Too much", "held", "It succeeds with varianceType overpayment.", by_transfer("1.5")),
    Case(
        "Transfer", "In two parts", "held",
        "By the policy accept the first part ends the payment and the second is returned. By top_up both would count.",
        by_transfer("0.5", "0.5"),
    ),
    Case("Transfer", "Too late", "not paid", "Its session had ended: it is returned.", by_transfer("1", late=True)),
    Case(
        "Transfer", "To a closed account", "delivered",
        "A card has paid. The transfer to the account of the first try is returned.", to_a_closed_account,
    ),
    Case("Transfer", "Bank takes it back", "taken back", "isReversed is set.", by_transfer("1", reversed_=True)),
    Case("Card", "Paid at once", "delivered", PAID, by_card(GOOD_CARD)),
    Case("Card", "PIN", "delivered", PAID, by_card("5366139833864633", pin="1234")),
    Case("Card", "PIN and OTP", "delivered", PAID, by_card("5333018248439266", pin="1234", otp="123456")),
    Case("Card", "3-D Secure", "delivered", PAID, by_card("4084080000000409", otp="123456")),
    Case("Card", "Address", "delivered", PAID, by_card("4960215093757593", has_address=True)),
    Case("Card", "Declined", "waiting", OPEN, by_card("4084080000005408")),
    Case("Card", "Five times declined", "waiting", "No sixth card is taken; other methods are.", five_declines),
    Case("Phone and USSD", "Approved", "delivered", PAID, by_phone("0000"), "KES"),
    Case("Phone and USSD", "Approved after 5 s", "delivered", PAID, by_phone("0001", seconds=6), "KES"),
    Case("Phone and USSD", "No money", "waiting", OPEN, by_phone("0002"), "KES"),
    Case("Phone and USSD", "Not approved", "waiting", OPEN, by_phone("0003"), "KES"),
    Case("Phone and USSD", "No wallet", "waiting", OPEN, by_phone("0004"), "KES"),
    Case(
        "Phone and USSD", "No answer", "delivered", "The outcome is found by asking the operator again.",
        by_phone("0005", seconds=15), "KES",
    ),
    Case("Phone and USSD", "USSD approved", "delivered", PAID, by_ussd(is_approved=True)),
    Case("Phone and USSD", "USSD not approved", "waiting", OPEN, by_ussd(is_approved=False)),
    Case("Customer", "Closes the tab", "waiting", "It can be paid until its session ends.", close_the_tab),
    Case("Customer", "Cancels", "not paid", "The customer has given up.", cancel),
    Case("Customer", "Pays twice", "delivered", "The second attempt is refused.", pay_twice),
    Case("Customer", "Opens the return address by hand", "waiting", "The return proves nothing.", open_the_return),
    Case("Webhook", "Twice", "delivered", "The second one is dropped by its webhook-id.", twice),
    Case("Webhook", "Late, 10 min", "delivered", "Verifying was enough; the webhook changes nothing.", late),
    Case("Webhook", "Before the return", "delivered", "The webhook is faster than the customer.", before_the_return),
    Case("Webhook", "Forged signature", "waiting", "It is answered 401 and changes nothing.", forged),
    Case("Webhook", "Shop answers 500", "delivered", "It is sent again.", shop_fails),
    Case("Webhook", "Shop is down", "delivered", "The order is verified, and the delivery resent.", shop_is_down),
    Case(
        "Server and time", "Create times out", "waiting", "It is sent again with the same key: one payment.",
        close_the_tab, fault="answer lost",
    ),
    Case("Server and time", "429 on create", "waiting", "The client waits as long as Retry-After says.",
         close_the_tab, fault="429"),
    Case("Server and time", "Same order again", "waiting", "409, with the first link.", same_order),
    Case("Server and time", "Session ends", "not paid", "It was not paid in time.", expire),
    Case("Server and time", "Refund of all", "refunded", "The customer has the money again.", refund("1")),
    Case("Server and time", "Refund of a part", "refunded in part", "The rest stays the shop's.", refund("0.5")),
    Case(
        "Server and time", "Refund fails", "delivered", "The amount is back in the wallet.",
        refund("0.5", cents="0.13"),
    ),
]  # fmt: skip
BY_NAME = {case.name: case for case in CASES}
