"""A violated constraint is known by its name, also where a node of a cluster says it in its own words."""

from __future__ import annotations

import asyncpg
import pytest

from tidegate.infra.db import constraint_of, naming


class Taken(Exception):
    pass


def error(sqlstate: str, message: str, **fields: str) -> asyncpg.PostgresError:
    made: asyncpg.PostgresError = asyncpg.PostgresError.new({"C": sqlstate, "M": message, **fields})
    return made


@pytest.mark.parametrize(
    ("refused", "name"),
    [
        (error("23505", "duplicate key value", n="payment_pk"), "payment_pk"),
        (error("23505", 'duplicate key value violates unique constraint "payment_pk_102030"'), "payment_pk"),
        (error("23514", 'new row for "wallet_102210" violates check constraint "wallet_adds_up"'), "wallet_adds_up"),
        (error("23000", "less", D='It violates the constraint "refund_leg_takes_what_is_left".'),
         "refund_leg_takes_what_is_left"),
        (error("22023", 'no constraint "payment_pk"'), ""),
    ],
)  # fmt: skip
def test_a_constraint_is_found_by_its_name(refused: asyncpg.PostgresError, name: str) -> None:
    assert constraint_of(refused) == name


def test_a_shards_refusal_is_named_as_the_tables() -> None:
    with pytest.raises(Taken), naming({"payment_pk": Taken}):
        raise error("23505", 'duplicate key value violates unique constraint "payment_pk_102030"')
