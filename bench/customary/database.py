"""The tables as mapped classes, and the engine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

# As many connections as ours has.
POOL = 10
WAIT_S = 30
ROLE = "tidegate_app"

engine = create_async_engine(
    os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+asyncpg://", 1),
    pool_size=POOL,
    max_overflow=0,
    pool_timeout=WAIT_S,
    connect_args={"server_settings": {"role": ROLE, "timezone": "UTC"}},
)
open_session = async_sessionmaker(engine, expire_on_commit=False)


async def session() -> AsyncIterator[AsyncSession]:
    async with open_session() as opened:
        yield opened


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
