"""POST /checkout/payments."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from fastapi import FastAPI, HTTPException, status
from sqlalchemy.exc import IntegrityError

from bench.customary.authentication import Caller, Session
from bench.customary.database import Business, Payment, engine
from bench.customary.schemas import Created, CreatePayment, Envelope

CHECKOUT_URL = "http://localhost:8080/pay"
METHODS = {
    "NGN": ["bank_transfer", "card", "ussd"],
    "GHS": ["card", "mobile_money"],
    "KES": ["card", "mobile_money"],
    "UGX": ["mobile_money"],
    "ZAR": ["card"],
    "ZMW": ["mobile_money"],
}
MINOR_OF_MAJOR = {"UGX": 1}


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    await engine.dispose()


app = FastAPI(title="The customary stack", lifespan=lifespan)


@app.get("/readyz")
async def ready() -> dict[str, bool]:
    return {"ready": True}


@app.post("/checkout/payments", status_code=status.HTTP_201_CREATED, response_model=Envelope)
async def create_payment(order: CreatePayment, business: Caller, session: Session) -> Envelope:
    payment = payment_of(order, business)
    session.add(payment)
    try:
        await session.commit()
    except IntegrityError:
        raise HTTPException(status.HTTP_409_CONFLICT, "this reference belongs to another payment") from None
    created = Created(link=f"{CHECKOUT_URL}/{payment.pay_code}", pay_code=payment.pay_code, reference=payment.reference)
    return Envelope(message="Checkout link generated", data=created)


def payment_of(order: CreatePayment, business: Business) -> Payment:
    now = datetime.now(UTC)
    pay_code = f"tg_{business.code}_{secrets.token_hex(11)}"
    minor = order.amount * MINOR_OF_MAJOR.get(order.currency, 100)
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
