"""Every command that lets money out or widens rights, one row each."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from tidegate.approval.model import ApprovalRequest
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import arguments, money, rights, store
from tidegate.staff_approval.arguments import NoArguments
from tidegate.staff_approval.model import StaffCommand


def _inflow_page(approval: ApprovalRequest) -> str:
    return f"/held/{approval.subject}"


def _account_page(approval: ApprovalRequest) -> str:
    return f"/accounts/{approval.subject}"


def _merchant_page(approval: ApprovalRequest) -> str:
    return f"/merchants/{approval.business_id}"


def _suspense_page(approval: ApprovalRequest) -> str:
    return f"/suspense/{approval.subject}"


def _refund_page(approval: ApprovalRequest) -> str:
    return f"/refunds/{approval.business_id}/{quote(approval.subject, safe='')}"


def _payout_page(approval: ApprovalRequest) -> str:
    return f"/bank/{approval.business_id}/{approval.subject}"


def _rate_page(_: ApprovalRequest) -> str:
    return "/rates"


def _staff_page(_: ApprovalRequest) -> str:
    return "/staff"


STAFF_COMMANDS: dict[str, StaffCommand] = {
    "inflow.credit": StaffCommand(
        NoArguments, store.version_of_inflow, money.credit, lambda _: "Credit a held inflow", _inflow_page
    ),
    "inflow.return": StaffCommand(
        NoArguments, store.version_of_inflow, money.send_back,
        lambda _: "Return a held inflow to its payer", _inflow_page,
    ),
    "suspense.assign": StaffCommand(
        arguments.AssignArguments, store.version_of_suspense, money.assign,
        lambda it: f"Assign money in suspense to {it.payment or it.account_id} of {it.business_id}", _suspense_page,
    ),
    "suspense.return": StaffCommand(
        NoArguments, store.version_of_suspense, money.return_suspense,
        lambda _: "Return money in suspense to its payer", _suspense_page,
    ),
    "suspense.close": StaffCommand(
        NoArguments, store.version_of_suspense, money.close_suspense,
        lambda _: "Close money in suspense: it was settled outside", _suspense_page,
    ),
    "refund.create": StaffCommand(
        arguments.OperatorRefund, store.version_of_refundable, money.refund, arguments.refund_words, _refund_page
    ),
    "quarantine.close": StaffCommand(
        NoArguments, store.version_of_quarantined, money.close_quarantine,
        lambda _: "Close a notification in quarantine: the rail has said what is right", lambda _: "/suspense",
        is_of_platform=True,
    ),
    "return.end": StaffCommand(
        NoArguments, store.version_of_return, money.end_return,
        lambda _: "End a return by hand: it was paid back by another way", lambda _: "/stuck",
    ),
    "refund.end": StaffCommand(
        arguments.RefundEndArguments, store.version_of_refund_leg, money.end_refund, arguments.refund_end_words,
        lambda _: "/stuck",
    ),
    "dispute.end": StaffCommand(
        arguments.DisputeEndArguments, store.version_of_dispute, money.end_dispute, arguments.dispute_end_words,
        lambda _: "/disputes",
    ),
    "bank.pay": StaffCommand(
        arguments.PayoutArguments, store.version_of_payout, money.pay, arguments.payout_words, _payout_page
    ),
    "bank.settle": StaffCommand(
        NoArguments, store.version_of_bank_entry, money.settle_bank_entry,
        lambda _: "Settle an entry of a bank's file: it was seen to outside", lambda _: "/bank", is_of_platform=True,
    ),
    "bank.record": StaffCommand(
        NoArguments, store.version_of_bank_entry, money.record_bank_entry,
        lambda _: "Record an entry of a bank's file: a credit of its own, or a debit that is judged again",
        lambda _: "/bank", is_of_platform=True,
    ),
    "bank.take_back": StaffCommand(
        arguments.TakeBackArguments, store.version_of_bank_entry, money.take_back_bank_entry,
        lambda it: f"Take back the credit {it.credit}, as an entry of a bank's file says", lambda _: "/bank",
        is_of_platform=True,
    ),
    "rail.resume": StaffCommand(
        NoArguments, store.version_of_pause, money.resume_rail, lambda _: "Let payments, refunds and returns go by a "
        "rail again", lambda _: "/rails", is_of_platform=True,
    ),
    "rate.set": StaffCommand(
        arguments.RateArguments, store.version_of_rate, money.set_one_rate, arguments.rate_words, _rate_page,
        is_of_platform=True,
    ),
    "rate.import": StaffCommand(
        arguments.ImportArguments, store.version_of_rates, money.import_rates, arguments.import_words, _rate_page,
        is_of_platform=True,
    ),
    "account.approve": StaffCommand(
        arguments.ApprovalArguments, store.version_of_account, rights.approve_account,
        lambda _: "Approve an account", _account_page,
    ),
    "account.reinstate": StaffCommand(
        NoArguments, store.version_of_account, rights.reinstate_account,
        lambda _: "Reinstate an account", _account_page,
    ),
    "merchant.settings": StaffCommand(
        arguments.SettingArguments, store.version_of_business, rights.change_settings, arguments.setting_words,
        _merchant_page,
    ),
    "merchant.price": StaffCommand(
        arguments.PriceArguments, store.version_of_business, rights.set_price,
        lambda it: f"Price: {arguments.price_words(it)}", _merchant_page,
    ),
    "merchant.key": StaffCommand(
        arguments.KeyArguments, store.version_of_keys, rights.make_key, arguments.key_words, _merchant_page
    ),
    "merchant.roll": StaffCommand(
        arguments.RollArguments, store.version_of_keys, rights.roll_key, arguments.roll_words, _merchant_page
    ),
    "webhook.add": StaffCommand(
        arguments.EndpointArguments, store.version_of_endpoints, rights.add_endpoint,
        lambda it: f"Send a merchant's events to another address: {', '.join(it.events)}", _merchant_page,
    ),
    "webhook.change": StaffCommand(
        arguments.EndpointChanges, store.version_of_endpoint, rights.change_endpoint, arguments.endpoint_words,
        _merchant_page,
    ),
    "merchant.owner": StaffCommand(
        NoArguments, store.version_of_owners, rights.invite_owner,
        lambda _: "Invite an owner of a merchant", _merchant_page, makes_link=True,
    ),
    "person.reset": StaffCommand(
        NoArguments, store.version_of_person, rights.reset_factors,
        lambda _: "Remove all second factors of a person, 24 hours later", lambda _: "/merchants", is_of_platform=True,
    ),
    "staff.add": StaffCommand(
        arguments.StaffArguments, store.version_of_staff, rights.add_staff,
        lambda it: f"Add {it.name} as {it.role}", _staff_page, StaffPermission.STAFF, is_of_platform=True,
        makes_link=True,
    ),
    "staff.remove": StaffCommand(
        NoArguments, store.version_of_staff, rights.remove_staff, lambda _: "Take the access of one of the staff",
        _staff_page, StaffPermission.STAFF, is_of_platform=True,
    ),
}  # fmt: skip


def words_of(approval: ApprovalRequest) -> str:
    command = STAFF_COMMANDS[approval.command]
    return command.words(msgspec.json.decode(approval.arguments, type=command.arguments))


def business_for(command: str, business_id: str) -> str:
    return PLATFORM_BUSINESS_ID if STAFF_COMMANDS[command].is_of_platform else business_id
