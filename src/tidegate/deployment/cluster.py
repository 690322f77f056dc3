"""Where each table is when the database is a cluster (Citus). On a plain PostgreSQL nothing of this is asked for.

Everything that belongs to a business is on the node of that business. docs/cluster.md says how to set one up.
"""

from __future__ import annotations

from tidegate.deployment import cluster_store as store
from tidegate.infra.cluster_store import is_cluster
from tidegate.infra.db import Tx

# Small, read with everything, rarely written: every node has a copy.
ON_EVERY_NODE = (
    "deployment",
    "business",
    "business_logo",
    "business_clock",
    "credential",
    "credential_epoch",
    "fee_rule",
    "exchange_rate",
    "retention",
    "person",
    # A bank names a transaction, and perhaps no business yet; they are few.
    "credit_reversal",
    # Money of one business, or of none, that an operator gives to another; they are few too.
    "suspense_decision",
)
# Of no business, or unique over all of them; rarely written, and never in the transaction of a payment.
ON_THE_COORDINATOR = frozenset(
    {
        "migration",
        "passkey",
        "used_challenge",
        "recovery_code",
        "known_device",
        "sign_in_try",
        "member_session",
        "one_time_link",
        "membership",
        "invitation",
        "staff",
        "erasure",
        # Of the sandbox alone.
        "sandbox_trade",
        "bank_file",
        "bank_file_part",
        "bank_statement",
        "bank_entry",
        "bank_attempt",
        "bank_number",
        "bank_export",
        "bank_payout",
    }
)
# What rails name things by, before their business is known.
DIRECTORIES = {"notification": "id", "account_number": "number"}
# All others are distributed by it, and the rows of a business are on one node.
BUSINESS = "business_id"
FIRST_TABLE = "payment"

# Each takes the business first. A call by itself is sent to the node of the business; inside a transaction the function
# runs where it is called. These may write on other nodes too: a notification, an account number.
SENT_TO_ITS_BUSINESS = frozenset(
    {
        "apply_payment_changes",
        "begin_attempt",
        "record_inflow",
        "record_unclaimed",
        "create_payments",
        "count_inflows",
    }
)
# Sent there inside a transaction too, on the connection that has the locks of that transaction. Anywhere else the
# owner's rights would need a second connection, which waits for those locks. They touch one business alone.
SENT_IN_TRANSACTIONS = frozenset(
    {
        "change_inflow",
        "lock_unclaimed",
        "decide_unclaimed",
        "pay_from_suspense",
        "credit_from_suspense",
        "confirm_return",
        "start_refund",
        "post_journal",
        "lock_balance",
        "close_wallet_period",
        "fan_out_events",
        "claim_deliveries",
        "finish_deliveries",
        "erase_payment",
        "erase_inflow",
        "erase_account",
        "erase_payees",
        "erase_suspense_remarks",
        "erase_answers",
    }
)

# Its filters may be NULL.
WITH_OPTIONAL_ARGUMENTS = frozenset({"count_inflows"})


async def distribute(tx: Tx) -> list[str]:
    """Brings what is not distributed yet to the nodes, in the transaction; says what it did. Nothing without Citus."""
    if not await is_cluster(tx):
        return []
    await store.plan_for_values(tx)
    pending = await list_missing(tx)
    functions = [one for one in await store.list_functions(tx) if _is_pending(one)]
    incomplete = await list_incomplete_nodes(tx)
    if not pending and not functions and not incomplete:
        return []
    await store.set_up(tx)
    done = await _distribute_tables(tx, pending)
    await store.copy_sequences_and_types(tx)
    for function in functions:
        if function.name in SENT_TO_ITS_BUSINESS | SENT_IN_TRANSACTIONS:
            if function.name not in WITH_OPTIONAL_ARGUMENTS:
                await store.ignore_null(tx, function.signature)
            await store.send_to_its_business(tx, function.signature, always=function.name in SENT_IN_TRANSACTIONS)
        else:
            await store.copy_function(tx, function.signature)
    if functions:
        done.append(f"{len(functions)} functions are on every node")
    return [*done, *(f"{node}: has the sequences too" for node in incomplete)]


async def list_missing(tx: Tx) -> list[str]:
    """Tables that are on the coordinator and belong on the nodes."""
    known = await store.list_distributed(tx)
    return [name for name in await store.list_tables(tx) if name not in known and name not in ON_THE_COORDINATOR]


async def list_incomplete_nodes(tx: Tx) -> list[str]:
    """Nodes that were added after the tables were distributed: Citus brings everything to them but sequences."""
    return await store.list_incomplete_nodes(tx)


def _is_pending(function: store.Function) -> bool:
    is_to_be_sent = function.name in SENT_TO_ITS_BUSINESS | SENT_IN_TRANSACTIONS
    return not function.is_known or (is_to_be_sent and not function.is_sent_to_its_business)


async def _distribute_tables(tx: Tx, pending: list[str]) -> list[str]:
    keys = await store.list_foreign_keys(tx, pending)
    for key in keys:
        await tx.execute(key.drop)
    copied = [name for name in ON_EVERY_NODE if name in pending]
    for name in copied:
        await store.copy_to_every_node(tx, name)
    looked_up = [name for name in pending if name in DIRECTORIES]
    for name in looked_up:
        await store.distribute(tx, name, DIRECTORIES[name], colocate_with="none")
    # The first one decides how many shards there are; the others join it.
    spread = sorted((name for name in pending if name not in {*copied, *looked_up}), key=lambda one: one != FIRST_TABLE)
    for name in spread:
        await store.distribute(tx, name, BUSINESS, colocate_with="none" if name == FIRST_TABLE else FIRST_TABLE)
    for key in keys:
        await tx.execute(key.add)
    return [
        *(f"{name}: a copy on every node" for name in copied),
        *(f"{name}: distributed by {DIRECTORIES[name]}" for name in looked_up),
        *(f"{name}: distributed by {BUSINESS}" for name in spread),
    ]
