"""What people usually build: the create endpoint in FastAPI, pydantic and SQLAlchemy, for one line of the benchmark.

Written as the manuals of the three recommend, and as fairly as we could: a pooled engine, compiled statements cached,
the fast loop and parser, one process as ours. It reads the keys from the database each time, as is customary, and does
less than ours: no rate limit, no idempotency keys, no fees of a business's own, no search for card numbers.

    DATABASE_URL=postgresql://… PORT=8081 python -m bench.customary
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, status
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, EmailStr, Field
from pydantic.alias_generators import to_camel
from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, LargeBinary, Text, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, joinedload, mapped_column, relationship

# As many connections as ours has.
POOL = 10
METHODS = {
    "NGN": ["bank_transfer", "card", "ussd"],
    "GHS": ["card", "mobile_money"],
    "KES": ["card", "mobile_money"],
    "UGX": ["mobile_money"],
    "ZAR": ["card"],
    "ZMW": ["mobile_money"],
}

engine = create_async_engine(
    os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1),
    pool_size=POOL,
    max_overflow=0,
    connect_args={"server_settings": {"role": "tidegate_app", "timezone": "UTC"}},
)
open_session = async_sessionmaker(engine, expire_on_commit=False)


class Table(DeclarativeBase):
    type_annotation_map = {  # noqa: RUF012 -- what SQLAlchemy reads here is no default that instances share
        str: Text,
        int: BigInteger,
        bytes: LargeBinary,
        datetime: DateTime(timezone=True),
        list[str]: ARRAY(Text),
    }


class Business(Table):
    __tablename__ = "business"

    id: Mapped[str] = mapped_column(primary_key=True)
    code: Mapped[str]
    status: Mapped[str]
    session_minutes: Mapped[int]


class Credential(Table):
    __tablename__ = "credential"

    business_id: Mapped[str] = mapped_column(ForeignKey("business.id"), primary_key=True)
    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    kind: Mapped[str]
    key_hash: Mapped[bytes]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    business: Mapped[Business] = relationship(lazy="raise")


class Payment(Table):
    __tablename__ = "payment"

    business_id: Mapped[str] = mapped_column(ForeignKey("business.id"), primary_key=True)
    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    pay_code: Mapped[str]
    reference: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'initiated'"))
    currency: Mapped[str]
    asked_minor: Mapped[int]
    expected_minor: Mapped[int]
    fee_bearer: Mapped[str]
    fee_rule_id: Mapped[str]
    methods: Mapped[list[str]]
    default_method: Mapped[str]
    customer_name: Mapped[str]
    customer_email: Mapped[str]
    customer_phone: Mapped[str | None]
    redirect_url: Mapped[str | None]
    success_message: Mapped[str | None]
    details: Mapped[dict[str, object] | None] = mapped_column("metadata", JSON(none_as_null=True))
    request_hash: Mapped[bytes]
    expires_at: Mapped[datetime]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class Schema(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Customer(Schema):
    name: Annotated[str, Field(min_length=1, max_length=255)]
    email: EmailStr
    phone_number: Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$")] | None = None


class CreatePayment(Schema):
    amount: Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
    currency: Literal["NGN", "GHS", "KES", "UGX", "ZAR", "ZMW"]
    customer: Customer
    fee_bearer: Literal["business", "customer"] = "business"
    reference: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")] | None = None
    redirect_url: AnyHttpUrl | None = None
    metadata: dict[str, Any] | None = None
    success_message: Annotated[str, Field(max_length=5_000)] | None = None
    payment_methods: Annotated[list[str], Field(min_length=1, max_length=16)] | None = None
    default_payment_method: str | None = None


class Created(Schema):
    link: str
    pay_code: str
    reference: str


class Envelope(Schema):
    status: bool = True
    message: str
    data: Created


async def session() -> AsyncIterator[AsyncSession]:
    async with open_session() as opened:
        yield opened


Session = Annotated[AsyncSession, Depends(session)]


async def business_of(
    opened: Session, api_key: Annotated[str, Header()], x_pub_key: Annotated[str, Header()]
) -> Business:
    """Both keys in one question, with their business."""
    wanted = {kind: hashlib.sha256(key.encode()).digest() for kind, key in (("secret", api_key), ("public", x_pub_key))}
    found = await opened.scalars(
        select(Credential)
        .options(joinedload(Credential.business))
        .where(
            Credential.key_hash.in_(wanted.values()),
            Credential.revoked_at.is_(None),
            or_(Credential.expires_at.is_(None), Credential.expires_at > datetime.now(UTC)),
        )
    )
    keys = {key.kind: key for key in found if wanted.get(key.kind) == key.key_hash}
    secret, public = keys.get("secret"), keys.get("public")
    if secret is None or public is None or secret.business_id != public.business_id:
        raise HTTPException(status.HTTP_401_UNAUTHORIZED, "send valid keys")
    if secret.business.status != "active":
        raise HTTPException(status.HTTP_403_FORBIDDEN, "this business is suspended")
    return secret.business


app = FastAPI(title="The customary stack")


@app.post("/checkout/payments", status_code=status.HTTP_201_CREATED, response_model=Envelope)
async def create_payment(
    order: CreatePayment, business: Annotated[Business, Depends(business_of)], opened: Session
) -> Envelope:
    payment = payment_of(order, business)
    opened.add(payment)
    try:
        await opened.commit()
    except IntegrityError:
        raise HTTPException(status.HTTP_409_CONFLICT, "this reference belongs to another payment") from None
    link = f"http://localhost:8080/pay/{payment.pay_code}"
    created = Created(link=link, pay_code=payment.pay_code, reference=payment.reference)
    return Envelope(message="Checkout link generated", data=created)


def payment_of(order: CreatePayment, business: Business) -> Payment:
    now = datetime.now(UTC)
    pay_code = f"tg_{business.code}_{secrets.token_hex(11)}"
    minor = order.amount * (1 if order.currency == "UGX" else 100)
    methods = order.payment_methods or METHODS[order.currency]
    default = order.default_payment_method or methods[0]
    return Payment(
        business_id=business.id,
        pay_code=pay_code,
        reference=order.reference or pay_code,
        currency=order.currency,
        asked_minor=minor,
        expected_minor=minor,
        fee_bearer=order.fee_bearer,
        fee_rule_id=f"default-{order.currency.lower()}-{default}",
        methods=methods,
        default_method=default,
        customer_name=order.customer.name,
        customer_email=order.customer.email,
        customer_phone=order.customer.phone_number,
        redirect_url=str(order.redirect_url) if order.redirect_url else None,
        success_message=order.success_message,
        details=order.metadata,
        request_hash=hashlib.blake2b(order.model_dump_json().encode(), digest_size=16).digest(),
        expires_at=now + timedelta(minutes=business.session_minutes),
        created_at=now,
        updated_at=now,
    )


if __name__ == "__main__":
    port = int(os.environ["PORT"])
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", ws="none", access_log=False, log_level="warning")
