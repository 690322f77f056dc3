"""Every statement is about one business, so that one node of a cluster does it; or it is listed, with the reason."""

from __future__ import annotations

import re
from fnmatch import fnmatch

from migrations import texts
from migrations.product import MIGRATIONS, ON_NO_SHARD, SCHEMA, statements, trees
from migrations.routing import Schema, is_of_one_business, parse
from tidegate.deployment import cluster

DUE = "reads which rows of all businesses are due; each is then claimed and changed by itself"
OPERATOR = "an operator asks about all businesses"
RAIL = "a rail's identifier, before the business is known; rare beside payments"
GROUPED = "of several businesses on one PostgreSQL; on a cluster it is given one business, or a node for each at a time"
OLD = "reads a page of old rows of all businesses; each business's are then removed by themselves"
# By module and function or constant.
OVER_ALL_BUSINESSES = {
    "account/question_store:list_waiting": OPERATOR,
    "account/store:find_unscoped": OPERATOR,
    "account/store:list_all": OPERATOR,
    "account/store:list_to_expire": DUE,
    "alarm/*": OPERATOR,
    "approval/store:find_last_approved": OPERATOR,
    "approval/store:list_of_staff": OPERATOR,
    "audit/chain_store:list_businesses_to_link": DUE,
    "audit/chain_store:list_trail": OPERATOR,
    "checkout/receipt_store:list_due": DUE,
    "checkout/receipt_store:list_refunds_due": DUE,
    "checkout/store:list_versions": GROUPED,
    "collection/reversal_store:find_account_number": RAIL,
    "collection/reversal_store:_DUE": DUE,
    "collection/reversal_store:_OF_RECEIPTS": DUE,
    "collection/reversal_store:list_owing": DUE,
    "collection/review_store:find_unscoped": OPERATOR,
    "collection/review_store:list_*": DUE,
    "console/find_store:find_*": OPERATOR,
    "console/ledger_store:*": OPERATOR,
    "console/queue_store:*": OPERATOR,
    "console/work_store:*": OPERATOR,
    "dashboard/case_store:open_once": "the business of a code that stands in the address, in the same statement",
    "dashboard/home_store:list_wrong_takings": OPERATOR,
    "dispute/store:find_money": RAIL,
    "doctor/*": OPERATOR,
    "infra/lease_store:claim": GROUPED,
    "infra/lease_store:list_failed": OPERATOR,
    "infra/lease_store:retry": OPERATOR,
    "infra/lease_store:delete_forgotten": OLD,
    "intake/suspense_store:*": OPERATOR,
    "ledger/audit/store:*": OPERATOR,
    "ledger/store:list_businesses_to_link": DUE,
    "mail/store:list_to_send": DUE,
    "mail/store:list_newest": OPERATOR,
    "mail/store:find_attachment": OPERATOR,
    "mail/store:list_failed": OPERATOR,
    "dispute/store:list_open": OPERATOR,
    "money_return/list_store:list_stuck": OPERATOR,
    "money_return/store:list_to_send": DUE,
    "payment/sweep_store:list_*": DUE,
    "payment/view_store:find_rows": GROUPED,
    "payment/view_store:find_views": GROUPED,
    "rail/pawapay/store:find_*_by_id": RAIL,
    "rail/pawapay/store:list_*": OPERATOR,
    "rail/sandbox/store:list_due_notifications": DUE,
    "reconcile/store:*": OPERATOR,
    "refund/reversal_store:list_owing": DUE,
    "refund/store:list_to_poll": DUE,
    "request_log/store:insert_all": GROUPED,
    "retention/erase_store:list_*": OPERATOR,
    "retention/store:list_*": OLD,
    "webhook/business_queue_store:list_*": DUE,
    "webhook/business_queue_store:find_longest_due": OPERATOR,
    "webhook/queue_store:*": GROUPED,
}

_FUNCTION = re.compile(r"CREATE FUNCTION (\w+)\((.*?)\)\s(.*?)AS \$\$(.*?)\$\$", re.DOTALL)
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)", re.DOTALL)
_REFERRED = re.compile(r"\bREFERENCES (\w+)")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def test_every_table_has_its_place_in_a_cluster() -> None:
    placed = {*ON_NO_SHARD, *cluster.DIRECTORIES}
    assert len(SCHEMA.tables) > len(placed)
    without = [name for name, columns in SCHEMA.tables.items() if cluster.BUSINESS not in columns]
    assert [name for name in without if name not in placed] == []
    assert placed - SCHEMA.tables.keys() == set()


def test_what_is_on_the_nodes_refers_to_nothing_on_the_coordinator() -> None:
    """Citus refuses such a foreign key, and with it the whole set-up."""
    referred = {name: set(_REFERRED.findall(columns)) for name, columns in _TABLE.findall(MIGRATIONS)}
    assert referred.keys() == SCHEMA.tables.keys()
    assert {
        name: found
        for name, tables in referred.items()
        if name not in cluster.ON_THE_COORDINATOR and (found := tables & cluster.ON_THE_COORDINATOR)
    } == {}


def test_every_statement_is_about_one_business_or_says_why_not() -> None:
    others = {where for where, _, statement in statements() if not is_of_one_business(SCHEMA, statement)}
    assert [where for where in sorted(others) if not any(fnmatch(where, rule) for rule in OVER_ALL_BUSINESSES)] == []
    # No rule outlives its statement.
    assert [rule for rule in OVER_ALL_BUSINESSES if not any(fnmatch(where, rule) for where in others)] == []


def test_every_statement_is_one_whole_text() -> None:
    """One that is put together when the program runs is examined by nobody."""
    constants = {module: texts.names_of_sql(tree) for module, tree in trees().items()}
    public = {name for names in constants.values() for name in names if not name.startswith("_")}
    made = {module: texts.made(tree, constants[module] | public) for module, tree in trees().items()}
    assert {module: found for module, found in made.items() if found} == {}
    unreadable = {module: texts.unreadable(tree) for module, tree in trees().items()}
    assert {module: found for module, found in unreadable.items() if found} == {}


def nameless(sql: str) -> list[str]:
    """Subqueries in FROM without a name, which PostgreSQL 15 refuses."""
    found = []
    for start in re.finditer(r"(?<!DISTINCT )\b(?:FROM|JOIN|LATERAL)\s*\(+\s*SELECT\b", sql):
        depth, at = 1, sql.index("(", start.start()) + 1
        while depth and at < len(sql):
            depth += {"(": 1, ")": -1}.get(sql[at], 0)
            at += 1
        if not re.match(r"\s*(?:AS\s+)?[a-z_]+\b", sql[at:]):
            found.append(sql[start.start() : at])
    return found


def test_every_subquery_has_a_name() -> None:
    assert nameless("SELECT count(*) FROM (SELECT FROM payment LIMIT (1)) WHERE true") != []
    assert nameless("SELECT count(*) FROM (SELECT FROM payment LIMIT (1)) AS found WHERE true") == []
    everywhere = [("migrations", MIGRATIONS), *((where, text) for where, text, _ in statements())]
    assert {where: found for where, text in everywhere if (found := nameless(_COMMENT.sub("", text)))} == {}


def test_a_function_that_reads_what_is_distributed_can_do_so_on_a_cluster() -> None:
    """Citus refuses parameters in the statements of SQL functions, and no node takes a row of a shard for one of its
    table."""
    schema = Schema(MIGRATIONS, ON_NO_SHARD)
    refused = []
    for name, given, head, body in _FUNCTION.findall(MIGRATIONS):
        takes_row = "STABLE" in head and schema.distributed.intersection(re.findall(r"\bp_\w+ (\w+)", given))
        if takes_row or ("LANGUAGE sql" in head and any(map(schema.names_in, parse(body)))):
            refused.append(name)
    assert refused == []
