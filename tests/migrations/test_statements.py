"""Every statement is about one business, so that one node of a cluster does it; or it is listed, with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tidegate.deployment import cluster
from tidegate.infra import migrate

SOURCE = Path(migrate.__file__).parents[1]
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
_VIEW = re.compile(r"CREATE VIEW (\w+) AS")
_SQL = re.compile(r"\s*(?:--[^\n]*\n\s*)*(?:WITH|SELECT|INSERT|UPDATE|DELETE)\b")
# Comments, and conditions that a caller may leave out.
_LEFT_OUT = re.compile(r"--[^\n]*|/\*.*?\*/|\(\$\d+(?:::\w+)? IS NULL OR [^()]*\)", re.DOTALL)
_NAMED = re.compile(r"\b(?:FROM|JOIN|UPDATE|INTO|USING)\s+([a-z_]+)\b(?!\s*\(\s*SELECT)")
# Of the given business, or of the business of a row that is named too.
_GIVEN = re.compile(r"\bbusiness_id\s*=\s*\$\d|\bVALUES\s*\(\$1|\bSELECT \$1")
_BOUND = re.compile(r"\bbusiness_id\s*=\s*(?:\$\d|\w+\.business_id)|USING \(business_id|\(\s*business_id,")


def tables() -> dict[str, bool]:
    """Of the migrations, and whether each has a business."""
    text = "\n".join(migration.sql for migration in migrate.migrations())
    return {name: re.search(r"\n\s+business_id ", columns) is not None for name, columns in _TABLE.findall(text)}


def views() -> set[str]:
    return set(_VIEW.findall("\n".join(migration.sql for migration in migrate.migrations())))


def statements() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        for node in ast.parse(path.read_text()).body:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and _SQL.match(part.value):
                    yield f"{module}:{_name_of(node)}", _LEFT_OUT.sub("", part.value)


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", "")


def is_of_one_business(statement: str, distributed: set[str]) -> bool:
    named = [table for table in _NAMED.findall(statement) if table in distributed]
    return not named or (_GIVEN.search(statement) is not None and len(_BOUND.findall(statement)) >= len(named))


def test_every_table_has_its_place_in_a_cluster() -> None:
    placed = {*cluster.ON_EVERY_NODE, *cluster.ON_THE_COORDINATOR, *cluster.DIRECTORIES}
    assert [name for name, has_business in tables().items() if not has_business and name not in placed] == []
    assert placed - tables().keys() == set()


def test_what_is_on_the_nodes_refers_to_nothing_on_the_coordinator() -> None:
    """Citus refuses such a foreign key, and with it the whole set-up."""
    text = "\n".join(migration.sql for migration in migrate.migrations())
    referred = {name: set(_REFERRED.findall(columns)) for name, columns in _TABLE.findall(text)}
    assert {"comparison", "payment"} <= referred.keys()
    assert {
        name: found
        for name, tables in referred.items()
        if name not in cluster.ON_THE_COORDINATOR and (found := tables & cluster.ON_THE_COORDINATOR)
    } == {}


def test_every_statement_is_about_one_business_or_says_why_not() -> None:
    placed = {*cluster.ON_EVERY_NODE, *cluster.ON_THE_COORDINATOR, *cluster.DIRECTORIES}
    distributed = (tables().keys() - placed) | views()
    others = {where for where, statement in statements() if not is_of_one_business(statement, distributed)}
    assert [where for where in sorted(others) if not any(fnmatch(where, rule) for rule in OVER_ALL_BUSINESSES)] == []
    # No rule outlives its statement.
    assert [rule for rule in OVER_ALL_BUSINESSES if not any(fnmatch(where, rule) for where in others)] == []


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
    schema = "\n".join(migration.sql for migration in migrate.migrations())
    everywhere = [("migrations", _LEFT_OUT.sub("", schema)), *statements()]
    assert {where: found for where, statement in everywhere if (found := nameless(statement))} == {}


def test_a_function_that_reads_what_is_distributed_can_do_so_on_a_cluster() -> None:
    """Citus refuses parameters in the statements of SQL functions, and no node takes a row of a shard for one of its
    table."""
    placed = {*cluster.ON_EVERY_NODE, *cluster.ON_THE_COORDINATOR}
    distributed = tables().keys() - placed
    text = "\n".join(migration.sql for migration in migrate.migrations())
    refused = []
    for name, given, head, body in _FUNCTION.findall(text):
        reads = distributed.intersection(_NAMED.findall(body))
        takes_row = head.find("STABLE") != -1 and distributed.intersection(re.findall(r"\bp_\w+ (\w+)", given))
        if takes_row or (reads and "LANGUAGE sql" in head):
            refused.append(name)
    assert refused == []


def test_a_statement_that_forgets_the_business_is_found() -> None:
    assert not is_of_one_business("SELECT * FROM payment WHERE reference = $1", {"payment"})
    assert not is_of_one_business("SELECT 1 FROM payment JOIN attempt ON true WHERE payment.business_id = $1",
                                  {"payment", "attempt"})  # fmt: skip
    assert is_of_one_business("SELECT * FROM payment WHERE business_id = $1", {"payment"})
