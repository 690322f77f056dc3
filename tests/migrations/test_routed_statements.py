"""What examines the statements is examined: each shape in which a business can be missed, and those that are right."""

from __future__ import annotations

import ast

import pytest

from migrations import texts
from migrations.routing import Schema, is_of_one_business, parse

SCHEMA = Schema(
    """
    CREATE TABLE business (id text, name text);
    CREATE TABLE payment (business_id text, id text, reference text);
    CREATE TABLE attempt (business_id text, id text, payment_id text);
    CREATE VIEW found AS SELECT payment.* FROM payment JOIN business ON business.id = payment.business_id;
    """,
    {"business"},
)
# Of one business in each half.
HALF = "(SELECT id FROM payment WHERE business_id = $1)"

OVER_ALL = {
    "no condition": "SELECT * FROM payment",
    "another key": "SELECT * FROM payment WHERE reference = $1",
    "lower case": "select * from payment where reference = $1",
    "TABLE": "TABLE payment",
    "a comma": "SELECT 1 FROM payment, attempt WHERE payment.business_id = $1",
    "the comma's other side": "SELECT 1 FROM attempt, payment WHERE attempt.business_id = $1",
    "ONLY": "SELECT 1 FROM ONLY payment",
    "a schema": "SELECT 1 FROM public.payment",
    "quotes": 'SELECT 1 FROM "payment"',
    "quotes and capitals": 'SELECT 1 FROM "payment" AS "P" WHERE "P".reference = $1',
    "OR": "SELECT * FROM payment WHERE business_id = $1 OR reference = $2",
    "left out": "SELECT * FROM payment WHERE business_id = $1 OR $2 IS NULL",
    "left out by its own value": "SELECT * FROM payment WHERE ($1::text IS NULL OR business_id = $1)",
    "NOT": "SELECT * FROM payment WHERE NOT (business_id = $1)",
    "CASE": "SELECT * FROM payment WHERE CASE WHEN $2 THEN business_id = $1 ELSE true END",
    "coalesce": "SELECT * FROM payment WHERE business_id = coalesce($1, business_id)",
    "another comparison": "SELECT * FROM payment WHERE business_id >= $1",
    "several": "SELECT * FROM payment WHERE business_id = ANY ($1)",
    "itself": "SELECT * FROM payment WHERE business_id = business_id",
    "in a comment": "SELECT * FROM payment -- business_id = $1",
    "in a text": "SELECT * FROM payment WHERE reference = 'business_id = $1'",
    "in EXISTS of another, twice": "SELECT * FROM payment WHERE EXISTS (SELECT FROM attempt"
                                   " WHERE attempt.business_id = $1 AND attempt.business_id = $1)",
    "from inside of EXISTS": "SELECT * FROM payment WHERE EXISTS (SELECT FROM attempt"
                             " WHERE attempt.business_id = $1 AND attempt.business_id = payment.business_id)",
    "EXISTS": "SELECT EXISTS (SELECT FROM attempt WHERE id = $2) FROM payment WHERE business_id = $1",
    "in the list": "SELECT business_id = $1 FROM payment",
    "a join": "SELECT 1 FROM payment JOIN attempt ON true WHERE payment.business_id = $1",
    "a join by another column": "SELECT 1 FROM payment JOIN attempt ON payment_id = payment.id"
                                " WHERE payment.business_id = $1",
    "two businesses": "SELECT 1 FROM payment JOIN attempt ON true"
                      " WHERE payment.business_id = $1 AND attempt.business_id = $2",
    "the outer side of a join": "SELECT 1 FROM payment LEFT JOIN attempt ON payment.business_id = $1"
                                " AND attempt.business_id = payment.business_id",
    "the outer side, by the other": "SELECT 1 FROM payment LEFT JOIN attempt ON attempt.business_id = $1"
                                    " AND attempt.business_id = payment.business_id",
    "a full join": "SELECT 1 FROM payment FULL JOIN attempt ON payment.business_id = $1 AND attempt.business_id = $1",
    "one half": f"{HALF} UNION ALL (SELECT id FROM payment)",
    "one half, in lower case": f"(select id from payment) union all {HALF}",
    "what is limited before": "SELECT * FROM (SELECT * FROM payment LIMIT 9) AS first WHERE business_id = $1",
    "what is numbered before": "SELECT * FROM (SELECT *, row_number() OVER () FROM payment) AS one"
                               " WHERE business_id = $1",
    "another level's condition": "SELECT * FROM (SELECT business_id AS other, $1 AS business_id FROM payment) AS one"
                                 " WHERE business_id = $1",
    "an outer WITH": "WITH one AS (SELECT * FROM payment) SELECT * FROM one WHERE id = $1",
    "a WITH that writes": "WITH gone AS (DELETE FROM attempt WHERE id = $2)"
                          " SELECT * FROM payment WHERE business_id = $1",
    "a list that is given": "SELECT * FROM payment JOIN unnest($1::text[]) AS one (business_id) USING (business_id)",
    "a view": "SELECT * FROM found WHERE reference = $1",
    "INSERT of others": "INSERT INTO payment (business_id, id) SELECT business_id, id FROM attempt",
    "INSERT of a list": "INSERT INTO payment (business_id, id) SELECT * FROM unnest($1::text[], $2::text[])",
    "INSERT of two": "INSERT INTO payment (business_id, id) VALUES ($1, $2), ($3, $4)",
    "INSERT in another order": "INSERT INTO payment (id, business_id) SELECT $1, id FROM business",
    "UPDATE": "UPDATE payment SET business_id = $1 WHERE id = $2",
    "UPDATE from another": "UPDATE payment SET id = $2 FROM attempt WHERE attempt.business_id = $1",
    "DELETE": "DELETE FROM payment WHERE id = $1",
    "DELETE with another": "DELETE FROM payment USING attempt WHERE attempt.business_id = $1",
    "MERGE": "MERGE INTO payment USING attempt ON attempt.business_id = $1 AND payment.business_id = $1"
             " WHEN MATCHED THEN DELETE",
    "TRUNCATE": "TRUNCATE payment",
    "LOCK": "LOCK TABLE payment",
    "COPY": "COPY payment TO STDOUT",
}  # fmt: skip

OF_ONE = {
    "given": "SELECT * FROM payment WHERE business_id = $1",
    "lower case": "select * from public.payment as p where p.business_id = $1::text and (id = $2 or $3)",
    "a word of ours": "SELECT * FROM payment WHERE business_id = '000000000000000000000000'",
    "not distributed": "SELECT * FROM business",
    "a join": "SELECT 1 FROM payment JOIN attempt USING (business_id) WHERE business_id = $1",
    "an outer join": "SELECT 1 FROM payment LEFT JOIN attempt ON attempt.business_id = payment.business_id"
                     " WHERE payment.business_id = $1",
    "rows": "SELECT 1 FROM payment, attempt WHERE payment.business_id = $1"
            " AND (attempt.business_id, payment_id) = (payment.business_id, payment.id)",
    "through the business": "SELECT 1 FROM business JOIN payment ON payment.business_id = business.id"
                            " WHERE $1 = business.id",
    "IN": "SELECT 1 FROM payment WHERE (business_id, id) IN"
          " (SELECT business_id, payment_id FROM attempt WHERE business_id = $1)",
    "EXISTS": "SELECT 1 FROM payment WHERE business_id = $1"
              " AND NOT EXISTS (SELECT FROM attempt WHERE attempt.business_id = payment.business_id)",
    "both halves": f"{HALF} UNION ALL {HALF}",
    "halves, from outside": "SELECT 1 FROM (SELECT business_id FROM payment UNION ALL SELECT business_id FROM attempt)"
                            " AS each WHERE business_id = $1",
    "a view": "SELECT * FROM found WHERE business_id = $1",
    "WITH": "WITH one (its, id) AS (SELECT business_id, id FROM payment WHERE business_id = $1 LIMIT 1)"
            " UPDATE attempt SET id = $2 FROM one WHERE attempt.business_id = one.its",
    "a WITH that writes": "WITH gone AS (DELETE FROM payment WHERE business_id = $1 RETURNING *)"
                          " INSERT INTO attempt SELECT gone.* FROM gone",
    "INSERT": "INSERT INTO payment (id, business_id) VALUES ($1, $2), ($3, $2) ON CONFLICT DO NOTHING",
}  # fmt: skip

MADE = {
    "a hole before FROM": 'f"SELECT {COLUMNS} FROM payment"',
    "a hole at the end": 'f"SELECT * FROM payment WHERE business_id = $1 {more}"',
    "a hole, lower case": 'f"select * from {table} where business_id = $1"',
    "plus": '"SELECT " + COLUMNS + " FROM payment"',
    "plus, lower case": '"select " + COLUMNS + " from payment"',
    "plus of a constant": 'OF_ONE + ORDER',
    "plus, of another module": 'store.OF_ONE + " LIMIT 1"',
    "plus and assigned": 'text += " WHERE business_id = $1"',
    "format": '"SELECT * FROM {}".format(table)',
    "percent": '"SELECT * FROM payment WHERE %s" % condition',
    "join": '" AND ".join(["SELECT * FROM payment WHERE business_id = $1", more])',
    "replace": 'OF_ONE.replace("$1", "business_id")',
}  # fmt: skip

PIECES = ["SELECT * FROM payment WHERE", " WHERE business_id = $1", "\n  AND id = $2", "(SELECT id FROM"]
NO_SQL = ['"Delete " + name', 'f"With {name} and its values"', '"DELETE"', "1 + count('SELECT * FROM payment')"]


@pytest.mark.parametrize("sql", OVER_ALL.values(), ids=OVER_ALL.keys())
def test_a_statement_that_forgets_the_business_is_found(sql: str) -> None:
    (statement,) = texts.statements_in(sql)
    assert not is_of_one_business(SCHEMA, statement)


@pytest.mark.parametrize("sql", OF_ONE.values(), ids=OF_ONE.keys())
def test_a_statement_of_one_business_is_not(sql: str) -> None:
    (statement,) = parse(sql)
    assert is_of_one_business(SCHEMA, statement)


@pytest.mark.parametrize("expression", MADE.values(), ids=MADE.keys())
def test_sql_that_is_put_together_is_found(expression: str) -> None:
    assert texts.made(ast.parse(expression), {"OF_ONE"})


@pytest.mark.parametrize("text", PIECES)
def test_a_piece_of_sql_is_found(text: str) -> None:
    assert texts.unreadable(ast.parse(repr(text))) == [text]


@pytest.mark.parametrize("expression", NO_SQL)
def test_other_texts_are_none(expression: str) -> None:
    tree = ast.parse(expression)
    assert (texts.made(tree, set()), texts.unreadable(tree)) == ([], [])
