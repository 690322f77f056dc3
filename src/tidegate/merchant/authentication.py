"""Authentication, authorisation and rate limit of the merchant's API."""

from __future__ import annotations

import math

from starlette.types import Scope

from tidegate.core import ids
from tidegate.core.errors import AccessDenied, RateLimited, Unauthenticated
from tidegate.infra.http.client import client_of
from tidegate.infra.http.operation import Credentials, Headers
from tidegate.infra.http.request_limit import Allowance, Limiter
from tidegate.infra.rate_limit import RateLimit
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.key_use import KeyUses
from tidegate.merchant.model import ApiKey, Caller, KeyKind

NO_CREDENTIALS = Credentials()
SECRET_KEY = Credentials(("api-key",))
SECRET_AND_PUBLIC_KEY = Credentials(("api-key", "x-pub-key"))
SECRET_KEY_AND_BUSINESS = Credentials(("api-key", "x-business-id"))
# Per client address; each unknown key costs a query. Cached keys are not limited.
UNKNOWN_KEYS = Allowance("unknown keys", per_second=0.5, burst=30)


class Authenticator:
    def __init__(
        self, key_cache: KeyCache, limit: RateLimit, unknown_keys: Limiter, uses: KeyUses | None = None
    ) -> None:
        self._key_cache = key_cache
        self._uses = uses
        self._limit = limit
        self._unknown_keys = unknown_keys
        # The same for every key that is refused: it does not say what was wrong with one.
        mode = f"{key_cache.mode.value} mode"
        self._secret_advice = f"send a valid secret key of {mode} in the api-key header"
        self._public_advice = f"send the business's own public key of {mode} in the x-pub-key header"

    async def authenticate(self, credentials: Credentials, headers: Headers, scope: Scope) -> Caller | None:
        if credentials is NO_CREDENTIALS:
            return None
        key = headers.one(b"api-key") or ""
        caller = self._key_cache.recall(key, KeyKind.SECRET) or await self._ask(
            key, KeyKind.SECRET, scope, self._secret_advice
        )
        # Known from here on, also where it is refused.
        scope["tidegate.caller"] = caller
        if credentials is SECRET_AND_PUBLIC_KEY:
            await self._refuse_foreign_public_key(caller, headers, scope)
        elif credentials is SECRET_KEY_AND_BUSINESS:
            _refuse_foreign_business(caller, headers)
        if not caller.business.is_active:
            raise AccessDenied("this business is suspended; contact the operator")
        if caller.key.scopes is not None:
            _refuse_out_of_scope(caller.key, scope)
        self._enforce_rate_limit(caller)
        if self._uses is not None:
            self._uses.note(caller, client_of(scope))
        return caller

    async def _ask(self, key: str, kind: KeyKind, scope: Scope, advice: str) -> Caller:
        """Only failures count: after a restart, all requests of a busy merchant take this path at once."""
        if not self._key_cache.may_exist(key, kind):
            raise Unauthenticated(advice)
        counted = () if self._key_cache.was_known(key) else UNKNOWN_KEYS.of_address(client_of(scope))
        self._unknown_keys.refuse(counted, f"too many unknown keys; wait as long as Retry-After says, then {advice}")
        caller = await self._key_cache.caller_of(key, kind)
        if caller is None:
            self._unknown_keys.count(counted)
            raise Unauthenticated(advice)
        return caller

    async def _refuse_foreign_public_key(self, caller: Caller, headers: Headers, scope: Scope) -> None:
        key = headers.one(b"x-pub-key") or ""
        owner = self._key_cache.recall(key, KeyKind.PUBLIC) or await self._ask(
            key, KeyKind.PUBLIC, scope, self._public_advice
        )
        if owner.business.id != caller.business.id:
            raise Unauthenticated(self._public_advice)

    def _enforce_rate_limit(self, caller: Caller) -> None:
        business = caller.business
        wait_s = self._limit.wait_s(business.number, per_second=business.rate_per_second, burst=business.rate_burst)
        if wait_s > 0:
            raise RateLimited(
                f"at most {business.rate_per_second} requests a second; wait as long as Retry-After says",
                retry_after_s=math.ceil(wait_s),
            )


def _refuse_out_of_scope(key: ApiKey, scope: Scope) -> None:
    if not key.may_come_from(client_of(scope)):
        raise AccessDenied("this key may not be used from your address; add the address to the key, or use another key")
    needed: str = scope["tidegate.right"]
    if not key.may(needed):
        has = ", ".join(sorted(key.scopes or ()))
        raise AccessDenied(f"this key may {has} only, and this needs {needed}; use a key with the scope {needed}")


def refuse_other_business(caller: Caller, business_id: str | None) -> None:
    """For requests that may name a business."""
    if business_id not in (None, caller.business.id):
        raise AccessDenied("business must be the id of the api-key's own business")


def _refuse_foreign_business(caller: Caller, headers: Headers) -> None:
    business_id = headers.one(b"x-business-id")
    if business_id == caller.business.id:
        return
    if business_id is None or not ids.BUSINESS_ID.fullmatch(business_id):
        raise Unauthenticated("send the business's id in the x-business-id header")
    raise AccessDenied("the x-business-id header names another business than the api-key")
