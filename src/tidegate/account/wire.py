"""Virtual accounts as JSON, in and out: the only module with JSON field names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.account.field import DocumentUrl, Kyc
from tidegate.account.model import (
    Account,
    AccountStatus,
    AccountType,
    DocumentType,
    KycDocument,
)
from tidegate.account.name_rule import NameVerdict, check_name
from tidegate.core import ids
from tidegate.core.errors import Problem
from tidegate.core.money import ACCOUNT_OFFERS, Currency
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE, PageNumber, PerPage
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import card_data
from tidegate.merchant.field import METADATA_MEANING, Metadata, PersonName, Reference, Remark
from tidegate.merchant.model import Business
from tidegate.rail.interface import AccountDetails
from tidegate.webhook.model import MEANING_OF_EVENT

DOCUMENTS_MAX = 20

if TYPE_CHECKING:
    AccountCurrency = str
else:
    AccountCurrency = Annotated[
        Literal[tuple(currency.value for currency in ACCOUNT_OFFERS)],
        meanings({currency.value: currency.meaning for currency in ACCOUNT_OFFERS}),
    ]
RequestStatus = Literal["pending", "approved", "declined"]
_EVENTS = {name: words for name, words in MEANING_OF_EVENT.items() if name.startswith("virtualaccount.")}
REQUEST_STATUSES = get_args(RequestStatus)
_REQUEST_STATUS = {status: AccountStatus(status).meaning for status in REQUEST_STATUSES}


class DocumentGiven(msgspec.Struct, kw_only=True):
    name: Annotated[PersonName, Meta(description="What the document is, for the operator.")]
    url: Annotated[DocumentUrl, Meta(description="An https address that the operator can open.")]
    type: Annotated[DocumentType, Meta(description="The field of the record that shows it.")] = DocumentType.ATTACHMENT


class RequestAccount(msgspec.Struct, kw_only=True, rename="camel"):
    currency: Annotated[AccountCurrency, Meta(description="Currency that the account receives.")]
    account_type: Annotated[AccountType, Meta(description="Who holds the account.")]
    kyc_information: Annotated[
        Kyc,
        Meta(
            description="The account holder: `firstName` and `lastName` of a person, `businessName` of a company. "
            "Payers must type this name. Further fields are allowed, as agreed with the operator."
        ),
    ] = msgspec.field(name="KYCInformation")
    documents: Annotated[
        list[DocumentGiven], Meta(description="Documents that the operator asks for.", max_length=DOCUMENTS_MAX)
    ] = []
    settlement_currency: Annotated[
        Currency | None, Meta(description="Currency of the wallet to credit; by default the account's own.")
    ] = None
    merchant_reference: Annotated[
        Reference | None, Meta(description="Your own reference, unique among your accounts.")
    ] = None
    monthly_volume: Annotated[Remark | None, Meta(description="What you expect to receive in a month, in words.")] = (
        None
    )
    entity_name: Annotated[
        PersonName | None, Meta(description="Name of the entity that the account is for, where it is not the holder.")
    ] = None
    payment_flow_description: Annotated[
        Remark | None, Meta(description="Who will pay into the account, and for what.")
    ] = None
    metadata: Annotated[Metadata | None, Meta(description=METADATA_MEANING)] = None


def problems_between(fields: Mapping[str, Any], *, value: Any) -> Iterator[Problem]:
    yield from card_data.problems_in(value, but_not_in=("merchantReference",))
    kyc, account_type = fields.get("kyc_information"), fields.get("account_type")
    if not isinstance(kyc, Kyc) or account_type is None:
        return
    is_company = account_type is AccountType.CORPORATE
    missing = tuple(kyc.missing_names(is_company=is_company))
    for name in missing:
        yield Problem(f"KYCInformation.{name}", f"is required for an account of type {account_type.value}")
    if not missing and not is_payable(kyc.holder(is_company=is_company), is_company=is_company):
        yield Problem(
            "KYCInformation", "has a name that cannot be compared, so every transfer would be returned; change it"
        )


def is_payable(holder: str, *, is_company: bool) -> bool:
    """Whether the name, typed as it stands on the account, passes the check."""
    check = check_name(payee_name=holder, holder=holder, is_company=is_company)
    return check.verdict is NameVerdict.EXACT


def account_from(request: RequestAccount, business_id: str, *, now: datetime) -> Account:
    currency = Currency(request.currency)
    kyc = request.kyc_information
    return Account(
        business_id=business_id,
        id=ids.new_account_id(),
        currency=currency,
        settlement_currency=request.settlement_currency or currency,
        account_type=request.account_type,
        holder=kyc.holder(is_company=request.account_type is AccountType.CORPORATE),
        merchant_reference=_plain(request.merchant_reference),
        kyc=str(kyc),
        metadata=_plain(request.metadata),
        documents=tuple(KycDocument(type=one.type, name=str(one.name), url=str(one.url)) for one in request.documents),
        monthly_volume=_plain(request.monthly_volume),
        entity_name=_plain(request.entity_name),
        payment_flow_description=_plain(request.payment_flow_description),
        created_at=now,
        updated_at=now,
    )


def _plain(text: str | None) -> str | None:
    """A checked type as an ordinary string, for JSON."""
    return None if text is None else str(text)


class ListAccounts(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of accounts."""

    page: Annotated[PageNumber, Meta(description="Number of the page, from 1.")] = PageNumber.when_absent(1)
    per_page: Annotated[PerPage, Meta(description="Accounts on a page.")] = PerPage.when_absent(PER_PAGE)
    currency: Annotated[AccountCurrency, Meta(description="Only accounts of this currency.")] | UnsetType = UNSET
    status: Annotated[AccountStatus, Meta(description="Only accounts with this status.")] | UnsetType = UNSET


class ListRequests(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of requests."""

    page: Annotated[PageNumber, Meta(description="Number of the page, from 1.")] = PageNumber.when_absent(1)
    per_page: Annotated[PerPage, Meta(description="Requests on a page.")] = PerPage.when_absent(PER_PAGE)
    currency: Annotated[AccountCurrency, Meta(description="Only requests for this currency.")] | UnsetType = UNSET
    status: (
        Annotated[RequestStatus, meanings(_REQUEST_STATUS), Meta(description="Only requests with this status.")]
        | UnsetType
    ) = UNSET


class FurtherDetails(msgspec.Struct, kw_only=True, rename="camel"):
    iban: Annotated[str, Meta(description="Empty where the country has no IBAN.")]
    account_number: Annotated[str, Meta(description="Number of the account within its bank.")]
    check_number: Annotated[str, Meta(description="The check digits of the IBAN, or the routing number.")]
    sort_code: Annotated[str, Meta(description="Bank code or routing number.")]
    bank_swift_code: Annotated[str, Meta(description="BIC of the bank.")]


class AccountInformation(msgspec.Struct, kw_only=True, rename="camel"):
    account_name: Annotated[str, Meta(description="The recipient's name, exactly as a payer must type it.")]
    account_number: Annotated[str, Meta(description="The IBAN where the country has one.")]
    bank_name: Annotated[str, Meta(description="The bank that keeps the account.")]
    bank_code: Annotated[str, Meta(description="The bank's national code, or its BIC.")]
    country_code: Annotated[str, Meta(description="Country of the bank, ISO 3166.")]
    reference: Annotated[str, Meta(description="Reference of the account at the bank.")]
    other_info: Annotated[FurtherDetails, Meta(description="The same details in the form that each scheme asks for.")]


class DocumentRecord(msgspec.Struct, kw_only=True):
    name: Annotated[str, Meta(description="What the document is.")]
    url: Annotated[str, Meta(description="Address of the document, as you gave it.")]


class Owner(msgspec.Struct, kw_only=True):
    name: Annotated[str, Meta(description="Name of your business.")]
    email: Annotated[str, Meta(description="E-mail address of your business.")]


class AccountRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="The account's id.")] = msgspec.field(name="_id")
    business: Annotated[Owner, Meta(description="Your business.")]
    status: Annotated[AccountStatus, Meta(description="Where the account stands.")]
    is_active: Annotated[bool, Meta(description="Whether it accepts money now.")]
    is_suspended: Annotated[
        bool, Meta(description="Whether the operator has suspended it; money that arrives is returned.")
    ]
    reason: Annotated[str | None, Meta(description="Why it was declined, suspended or closed.")]
    currency: Annotated[Currency, Meta(description="Currency that the account receives.")]
    settlement_currency: Annotated[Currency, Meta(description="Currency of the wallet that is credited.")]
    currency_type: Annotated[str, Meta(description="Always `fiat`.")] = "fiat"
    account_type: Annotated[AccountType, Meta(description="Who holds the account.")]
    entity_type: Annotated[str, Meta(description="Always `main_account`.")] = "main_account"
    virtual_account_type: Annotated[str, Meta(description="`temporary` for one checkout, otherwise `additional`.")]
    account_number: Annotated[str, Meta(description="Empty before approval.")]
    account_information: Annotated[
        AccountInformation, Meta(description="All fields are empty strings before approval.")
    ]
    merchant_reference: Annotated[str | None, Meta(description="Your own reference, as you gave it.")]
    kyc_information: Annotated[
        msgspec.Raw, Meta(description="The account holder, as you gave it.", extra_json_schema={"type": "object"})
    ] = msgspec.field(name="KYCInformation")
    verified_kyc_data: Annotated[
        str | None, Meta(description="Always null; kept for clients of the published interface.")
    ] = msgspec.field(name="verifiedKYCData", default=None)
    note: Annotated[str | None, Meta(description="The operator's note for you.")]
    account_opening_fee: Annotated[int, Meta(description="Fee for opening the account; always 0.")] = 0
    pending_additional_info_count: Annotated[int, Meta(description="Open questions of the operator; always 0.")] = 0
    is_permanent: Annotated[bool, Meta(description="False for the temporary account of one checkout.")]
    expires_at: Annotated[
        Timestamp | None, Meta(description="When the account stops taking money; null when it is permanent.")
    ]
    is_checkout_va: Annotated[bool, Meta(description="Whether it belongs to a checkout payment.")]
    is_bank_transfer_va: Annotated[bool, Meta(description="Whether it was given to a payer for a bank transfer.")]
    monthly_volume: Annotated[str | None, Meta(description="As you gave it in the request.")]
    entity_name: Annotated[str | None, Meta(description="As you gave it in the request.")]
    payment_flow_description: Annotated[str | None, Meta(description="As you gave it in the request.")]
    attachments: Annotated[list[DocumentRecord], Meta(description="Documents of type `attachment`.")]
    means_of_id: Annotated[list[DocumentRecord], Meta(description="Documents of type `meansOfId`.")]
    bank_statement: Annotated[list[DocumentRecord], Meta(description="Documents of type `bankStatement`.")]
    utility_bill: Annotated[list[DocumentRecord], Meta(description="Documents of type `utilityBill`.")]
    risk_rating: Annotated[str, Meta(description="Always `unrated`; ratings are not kept here.")] = "unrated"
    checklist: Annotated[dict[str, bool], Meta(description="Which of the usual documents were given, by type.")]
    risk_screening: Annotated[str, Meta(description="Always `not_screened`; screening is not recorded here.")] = (
        "not_screened"
    )
    channel_kyc_update_status: Annotated[
        str | None, Meta(description="Always null; kept for clients of the published interface.")
    ] = None
    channel_kyc_update_response: Annotated[
        str | None, Meta(description="Always null; kept for clients of the published interface.")
    ] = None
    metadata: Annotated[
        msgspec.Raw,
        Meta(description="Your JSON, as sent; null without.", extra_json_schema={"type": ["object", "null"]}),
    ]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last change.")]


AccountEventName = Literal[
    "virtualaccount.approved", "virtualaccount.declined", "virtualaccount.suspended", "virtualaccount.closed"
]


class AccountEvent(msgspec.Struct, kw_only=True):
    """Payload of the events of virtual accounts."""

    event: Annotated[AccountEventName, meanings(_EVENTS), Meta(description="Name of the event.")]
    data: Annotated[AccountRecord, Meta(description="The virtual account.")]


class AccountPage(msgspec.Struct, kw_only=True):
    results: Annotated[list[AccountRecord], Meta(description="The newest first.")]
    total: Annotated[int, Meta(description="Number of accounts on all pages.")]


def record_of(account: Account, business: Business, *, now: datetime) -> AccountRecord:
    return AccountRecord(
        id=account.id,
        business=Owner(name=business.name, email=business.email),
        status=AccountStatus.EXPIRED if account.has_expired(now) else account.status,
        is_active=account.is_active(now),
        is_suspended=account.is_suspended,
        reason=account.reason,
        currency=account.currency,
        settlement_currency=account.settlement_currency,
        account_type=account.account_type,
        virtual_account_type="temporary" if account.is_temporary else "additional",
        account_number=account.details.account_number if account.details else "",
        account_information=_information(account, account.details) if account.details else _NO_INFORMATION,
        merchant_reference=account.merchant_reference,
        kyc_information=msgspec.Raw(account.kyc.encode()),
        note=account.note,
        is_permanent=account.is_permanent,
        expires_at=to_iso(account.expires_at) if account.expires_at else None,
        is_checkout_va=account.is_temporary,
        is_bank_transfer_va=account.is_temporary,
        monthly_volume=account.monthly_volume,
        entity_name=account.entity_name,
        payment_flow_description=account.payment_flow_description,
        attachments=_documents(account, DocumentType.ATTACHMENT),
        means_of_id=_documents(account, DocumentType.MEANS_OF_ID),
        bank_statement=_documents(account, DocumentType.BANK_STATEMENT),
        utility_bill=_documents(account, DocumentType.UTILITY_BILL),
        checklist=checklist_of(account),
        metadata=msgspec.Raw((account.metadata or "null").encode()),
        created_at=to_iso(account.created_at),
        updated_at=to_iso(account.updated_at),
    )


def _information(account: Account, details: AccountDetails) -> AccountInformation:
    return AccountInformation(
        account_name=account.holder,
        account_number=details.account_number,
        bank_name=details.bank_name,
        bank_code=details.bank_code,
        country_code=details.country_code,
        reference=details.reference,
        other_info=FurtherDetails(
            iban=details.iban or "",
            account_number=details.local_number,
            check_number=details.iban[2:4] if details.iban else details.bank_code,
            sort_code=details.bank_code,
            bank_swift_code=details.swift_code or "",
        ),
    )


# The same shape before approval: a string in the specification is always a string.
_NO_INFORMATION = AccountInformation(
    account_name="",
    account_number="",
    bank_name="",
    bank_code="",
    country_code="",
    reference="",
    other_info=FurtherDetails(iban="", account_number="", check_number="", sort_code="", bank_swift_code=""),
)


def _documents(account: Account, wanted: DocumentType) -> list[DocumentRecord]:
    return [DocumentRecord(name=one.name, url=one.url) for one in account.documents if one.type is wanted]


def checklist_of(account: Account) -> dict[str, bool]:
    """Which of the usual documents were given."""
    given = {document.type for document in account.documents}
    wanted = (DocumentType.MEANS_OF_ID, DocumentType.BANK_STATEMENT, DocumentType.UTILITY_BILL)
    return {kind.value: kind in given for kind in wanted}
