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
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.http.paging import PER_PAGE, PageNumber, PerPage
from tidegate.infra.timestamp import to_iso
from tidegate.merchant import card_data
from tidegate.merchant.field import Metadata, PersonName, Reference, Remark
from tidegate.merchant.model import Business
from tidegate.rail.interface import AccountDetails

DOCUMENTS_MAX = 20

if TYPE_CHECKING:
    AccountCurrency = str
else:
    AccountCurrency = Literal[tuple(currency.value for currency in ACCOUNT_OFFERS)]
RequestStatus = Literal["pending", "approved", "declined"]
REQUEST_STATUSES = get_args(RequestStatus)


class DocumentGiven(msgspec.Struct, kw_only=True):
    name: PersonName
    url: Annotated[DocumentUrl, Meta(description="An https address that the operator can open.")]
    type: Annotated[DocumentType, Meta(description="The field of the record that shows it.")] = DocumentType.ATTACHMENT


class RequestAccount(msgspec.Struct, kw_only=True, rename="camel"):
    currency: AccountCurrency
    account_type: AccountType
    kyc_information: Annotated[
        Kyc,
        Meta(
            description="The account holder: `firstName` and `lastName` of a person, `businessName` of a company. "
            "Payers must type this name. Further fields are allowed, as agreed with the operator."
        ),
    ] = msgspec.field(name="KYCInformation")
    documents: Annotated[list[DocumentGiven], Meta(max_length=DOCUMENTS_MAX)] = []
    settlement_currency: Annotated[
        Currency | None, Meta(description="Currency of the wallet to credit; by default the account's own.")
    ] = None
    merchant_reference: Annotated[
        Reference | None, Meta(description="Your own reference, unique among your accounts.")
    ] = None
    monthly_volume: Remark | None = None
    entity_name: PersonName | None = None
    payment_flow_description: Remark | None = None
    metadata: Metadata | None = None


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

    page: PageNumber = PageNumber.when_absent(1)
    per_page: PerPage = PerPage.when_absent(PER_PAGE)
    currency: AccountCurrency | UnsetType = UNSET
    status: AccountStatus | UnsetType = UNSET


class ListRequests(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of requests."""

    page: PageNumber = PageNumber.when_absent(1)
    per_page: PerPage = PerPage.when_absent(PER_PAGE)
    currency: AccountCurrency | UnsetType = UNSET
    status: RequestStatus | UnsetType = UNSET


class FurtherDetails(msgspec.Struct, kw_only=True, rename="camel"):
    iban: Annotated[str, Meta(description="Empty where the country has no IBAN.")]
    account_number: str
    check_number: Annotated[str, Meta(description="The check digits of the IBAN, or the routing number.")]
    sort_code: Annotated[str, Meta(description="Bank code or routing number.")]
    bank_swift_code: str


class AccountInformation(msgspec.Struct, kw_only=True, rename="camel"):
    account_name: Annotated[str, Meta(description="The recipient's name, exactly as a payer must type it.")]
    account_number: Annotated[str, Meta(description="The IBAN where the country has one.")]
    bank_name: str
    bank_code: str
    country_code: str
    reference: str
    other_info: FurtherDetails


class DocumentRecord(msgspec.Struct, kw_only=True):
    name: str
    url: str


class Owner(msgspec.Struct, kw_only=True):
    name: str
    email: str


class AccountRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: str = msgspec.field(name="_id")
    business: Owner
    status: AccountStatus
    is_active: Annotated[bool, Meta(description="Whether it accepts money now.")]
    is_suspended: bool
    reason: Annotated[str | None, Meta(description="Why it was declined, suspended or closed.")]
    currency: Currency
    settlement_currency: Annotated[Currency, Meta(description="Currency of the wallet that is credited.")]
    currency_type: str = "fiat"
    account_type: AccountType
    entity_type: str = "main_account"
    virtual_account_type: str
    account_number: Annotated[str, Meta(description="Empty before approval.")]
    account_information: Annotated[
        AccountInformation, Meta(description="All fields are empty strings before approval.")
    ]
    merchant_reference: str | None
    kyc_information: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})] = msgspec.field(
        name="KYCInformation"
    )
    verified_kyc_data: None = msgspec.field(name="verifiedKYCData", default=None)
    note: str | None
    account_opening_fee: int = 0
    pending_additional_info_count: int = 0
    is_permanent: bool
    expires_at: Timestamp | None
    is_checkout_va: bool
    is_bank_transfer_va: bool
    monthly_volume: str | None
    entity_name: str | None
    payment_flow_description: str | None
    attachments: list[DocumentRecord]
    means_of_id: list[DocumentRecord]
    bank_statement: list[DocumentRecord]
    utility_bill: list[DocumentRecord]
    risk_rating: str = "unrated"
    checklist: dict[str, bool]
    risk_screening: str = "not_screened"
    channel_kyc_update_status: None = None
    channel_kyc_update_response: None = None
    metadata: Annotated[msgspec.Raw | None, Meta(extra_json_schema={"type": ["object", "null"]})]
    created_at: Timestamp
    updated_at: Timestamp


class AccountPage(msgspec.Struct, kw_only=True):
    results: Annotated[list[AccountRecord], Meta(description="The newest first.")]
    total: int


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
        checklist=_checklist(account),
        metadata=msgspec.Raw(account.metadata.encode()) if account.metadata else None,
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


def _checklist(account: Account) -> dict[str, bool]:
    """Which of the usual documents were given."""
    given = {document.type for document in account.documents}
    wanted = (DocumentType.MEANS_OF_ID, DocumentType.BANK_STATEMENT, DocumentType.UTILITY_BILL)
    return {kind.value: kind in given for kind in wanted}
