"""Every command that lets money out or widens rights, one row each."""

from __future__ import annotations

from urllib.parse import quote

from tidegate.approval.model import ApprovalRequest
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.retention import erasure
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import arguments, check, describe, erasing, money, rights, store
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


def _refund_detail_page(approval: ApprovalRequest) -> str:
    return f"/stuck/refund/{approval.business_id}/{quote(approval.subject, safe='')}"


def _refund_page(approval: ApprovalRequest) -> str:
    return f"/refunds/{approval.business_id}/{quote(approval.subject, safe='')}"


def _payout_page(approval: ApprovalRequest) -> str:
    return f"/bank/{approval.business_id}/{approval.subject}"


def _quarantine_page(approval: ApprovalRequest) -> str:
    return f"/quarantine?subject={quote(approval.subject, safe='')}"


def _rate_page(_: ApprovalRequest) -> str:
    return "/rates"


def _staff_page(_: ApprovalRequest) -> str:
    return "/staff"


STAFF_COMMANDS: dict[str, StaffCommand] = {
    "inflow.credit": StaffCommand(
        NoArguments, store.version_of_credit, money.credit, lambda _: "Credit a held inflow", describe.inflow,
        _inflow_page,
        check=check.credit, topic="inflow", is_of_payer=True,
    ),
    "inflow.return": StaffCommand(
        arguments.ReturnArguments, store.version_of_inflow, money.send_back, arguments.return_words, describe.inflow,
        _inflow_page,
        check=check.send_back, topic="inflow", is_of_payer=True,
    ),
    "suspense.assign": StaffCommand(
        arguments.AssignArguments, store.version_of_suspense, money.assign, lambda _: "Assign money in suspense",
        describe.assignment, _suspense_page,
        check=check.assignment, topic="suspense", is_of_payer=True,
    ),
    "suspense.return": StaffCommand(
        NoArguments, store.version_of_suspense, money.return_suspense,
        lambda _: "Return money in suspense to its payer", describe.suspense, _suspense_page,
        check=check.suspense_return, topic="suspense", is_of_payer=True,
    ),
    "suspense.close": StaffCommand(
        NoArguments, store.version_of_suspense, money.close_suspense,
        lambda _: "Close money in suspense: it was settled outside", describe.suspense, _suspense_page,
        check=check.suspense_close, topic="suspense", is_of_payer=True,
    ),
    "refund.create": StaffCommand(
        arguments.OperatorRefund, store.version_of_refundable, money.refund, arguments.refund_words, describe.refund,
        _refund_page,
        check=check.refund, name=check.refundable, is_of_payer=True,
    ),
    "quarantine.close": StaffCommand(
        NoArguments, store.version_of_quarantined, money.close_quarantine,
        lambda _: "Close a notification in quarantine: the rail has said what is right", describe.quarantined,
        _quarantine_page, is_of_platform=True,
    ),
    "return.end": StaffCommand(
        arguments.ReturnEndArguments, store.version_of_return, money.end_return, arguments.return_end_words,
        describe.money_return, lambda _: "/stuck", is_of_payer=True,
    ),
    "return.again": StaffCommand(
        NoArguments, store.version_of_return, money.request_return_again,
        lambda _: "Request a return again: the rail does not have it", describe.money_return, lambda _: "/stuck",
        check=check.request_again, topic="return.end", is_of_payer=True,
    ),
    "refund.end": StaffCommand(
        arguments.RefundEndArguments, store.version_of_refund_leg, money.end_refund, arguments.refund_end_words,
        describe.refund_leg, _refund_detail_page, is_of_payer=True,
    ),
    "refund.again": StaffCommand(
        NoArguments, store.version_of_refund_leg, money.request_refund_again,
        lambda _: "Request a refund again: the rail does not have it", describe.refund_leg, _refund_detail_page,
        check=check.request_again, topic="refund.end", is_of_payer=True,
    ),
    "dispute.end": StaffCommand(
        arguments.DisputeEndArguments, store.version_of_dispute, money.end_dispute, arguments.dispute_end_words,
        describe.dispute, lambda _: "/disputes", is_of_payer=True,
    ),
    "bank.pay": StaffCommand(
        arguments.PayoutArguments, store.version_of_payout, money.pay, arguments.payout_words, describe.payout,
        _payout_page,
        check=check.payout, is_of_payer=True,
    ),
    "bank.settle": StaffCommand(
        NoArguments, store.version_of_bank_entry, money.settle_bank_entry,
        lambda _: "Settle an entry of a bank's file: it was seen to outside", describe.bank_entry, lambda _: "/bank",
        is_of_platform=True,
        topic="bank entry",
    ),
    "bank.record": StaffCommand(
        NoArguments, store.version_of_bank_entry, money.record_bank_entry,
        lambda _: "Record an entry of a bank's file: a credit of its own, or a debit that is judged again",
        describe.bank_entry, lambda _: "/bank", is_of_platform=True,
        topic="bank entry",
    ),
    "bank.take_back": StaffCommand(
        arguments.TakeBackArguments, store.version_of_bank_entry, money.take_back_bank_entry,
        lambda it: f"Take back the credit {it.credit}, as an entry of a bank's file says", describe.bank_entry,
        lambda _: "/bank", is_of_platform=True,
        topic="bank entry",
    ),
    "rail.resume": StaffCommand(
        NoArguments, store.version_of_pause, money.resume_rail,
        lambda _: "Let payments, refunds and returns go by a rail again", describe.pause, lambda _: "/rails",
        is_of_platform=True,
    ),
    "rate.set": StaffCommand(
        arguments.RateArguments, store.version_of_rate, money.set_one_rate, arguments.rate_words, describe.rate,
        _rate_page, is_of_platform=True,
    ),
    "rate.import": StaffCommand(
        arguments.ImportArguments, store.version_of_rates, money.import_rates, arguments.import_words,
        describe.rates, _rate_page, is_of_platform=True,
    ),
    "account.approve": StaffCommand(
        arguments.ApprovalArguments, store.version_of_account, rights.approve_account,
        lambda _: "Approve an account", describe.account_approval, _account_page,
        check=check.account_approval, is_of_payer=True,
    ),
    "account.reinstate": StaffCommand(
        NoArguments, store.version_of_account, rights.reinstate_account, lambda _: "Reinstate an account",
        describe.account, _account_page,
        check=check.account_reinstatement, is_of_payer=True,
    ),
    "merchant.settings": StaffCommand(
        arguments.SettingArguments, store.version_of_business, rights.change_settings, arguments.setting_words,
        describe.settings, _merchant_page,
        check=check.settings,
    ),
    "merchant.price": StaffCommand(
        arguments.PriceArguments, store.version_of_business, rights.set_price, lambda _: "Change a merchant's price",
        describe.price, _merchant_page,
    ),
    "merchant.key": StaffCommand(
        arguments.KeyArguments, store.version_of_keys, rights.make_key, arguments.key_words, describe.new_key,
        _merchant_page,
    ),
    "merchant.roll": StaffCommand(
        arguments.RollArguments, store.version_of_keys, rights.roll_key, arguments.roll_words, describe.roll,
        _merchant_page,
        check=check.key,
    ),
    "webhook.add": StaffCommand(
        arguments.EndpointArguments, store.version_of_address, rights.add_endpoint,
        lambda _: "Send a merchant's events to another address", describe.new_endpoint, _merchant_page,
    ),
    "webhook.change": StaffCommand(
        arguments.EndpointChanges, store.version_of_endpoint, rights.change_endpoint,
        lambda _: "Change where a merchant's events are sent", describe.endpoint, _merchant_page,
    ),
    "merchant.owner": StaffCommand(
        NoArguments, store.version_of_owners, rights.invite_owner, lambda _: "Invite an owner of a merchant",
        describe.owner, _merchant_page, link=rights.owner_link,
    ),
    "person.reset": StaffCommand(
        NoArguments, store.version_of_person, rights.reset_factors,
        lambda _: "Remove all second factors of a person, 24 hours later", describe.person, lambda _: "/merchants",
        is_of_platform=True, check=check.person,
    ),
    erasure.COMMAND: StaffCommand(
        NoArguments, erasure.version_of, erasing.run, lambda _: "Erase a payer's personal data; it cannot be undone",
        erasing.facts, lambda _: "/erasures", is_of_platform=True,
    ),
    "staff.add": StaffCommand(
        arguments.StaffArguments, store.version_of_staff, rights.add_staff, lambda it: f"Add {it.name} to the staff",
        describe.new_staff, _staff_page, permission=StaffPermission.STAFF, is_of_platform=True,
        link=rights.staff_link,
    ),
    "staff.remove": StaffCommand(
        NoArguments, store.version_of_staff, rights.remove_staff, lambda _: "Take the access of one of the staff",
        describe.staff, _staff_page, permission=StaffPermission.STAFF, is_of_platform=True,
        check=check.staff,
    ),
}  # fmt: skip


def business_for(command: str, business_id: str) -> str:
    return PLATFORM_BUSINESS_ID if STAFF_COMMANDS[command].is_of_platform else business_id
