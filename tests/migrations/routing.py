"""Whether an SQL statement is about one business, so that one node of a cluster does it.

PostgreSQL's own parser reads the statement. Each row of a table that has a business must be bound to the same given
value: by an equality that always holds, or by one with a row that is bound. What is not proved is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import postgast
from postgast import PgQueryError, unwrap_node
from postgast import pg_query_pb2 as nodes

BUSINESS = "business_id"
# A column of one row of the statement, or a value that is given to it.
Place = tuple[int, str]
GIVEN = 0
# Stands for the names of all columns.
STAR = "*"
# With one of these, or with a window, a subquery gives something else when its rows are limited from outside.
LIMITS = {"limit_count", "limit_offset", "distinct_clause"}


def parse(text: str) -> list[Any]:
    """Of the statements in the text; none when it is no SQL."""
    try:
        return [unwrap_node(raw.stmt) for raw in postgast.parse(text).stmts]
    except (PgQueryError, UnicodeEncodeError):
        return []


def walk(node: Any) -> Iterator[Any]:
    yield node
    for _, part in _children(node):
        yield from walk(part)


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    """Each with the name of its field."""
    for kind, value in node.ListFields():
        if kind.message_type:
            for part in value if kind.is_repeated else [value]:
                yield kind.name, unwrap_node(part)


class Schema:
    """The columns of each table and the query of each view; and which tables have their rows by business."""

    def __init__(self, sql: str, elsewhere: Collection[str]) -> None:
        made = parse(sql)
        self.tables = {
            one.relation.relname: [part.column_def.colname for part in one.table_elts if part.HasField("column_def")]
            for one in made
            if isinstance(one, nodes.CreateStmt)
        }
        self.views = {one.view.relname: one.query for one in made if isinstance(one, nodes.ViewStmt)}
        self.distributed = self.tables.keys() - set(elsewhere)

    @cached_property
    def names(self) -> frozenset[str]:
        """Of what is distributed, and of the views on it."""
        return frozenset(self.distributed | self.views.keys())

    def names_in(self, node: Any) -> set[str]:
        return {part.relname for part in walk(node) if isinstance(part, nodes.RangeVar)} & self.names


@dataclass(frozen=True)
class Rows:
    """What a table, a subquery or a statement gives. Those of `open` are limited by a condition on what it gives."""

    columns: list[tuple[str, Place | None]]
    open: frozenset[int] = frozenset()


@dataclass
class Level:
    """Names that a query can use: what is in its FROM and WITH, and those of the queries around it."""

    around: Level | None = None
    sources: dict[str, Rows] = field(default_factory=dict)
    common: dict[str, Rows] = field(default_factory=dict)

    def outward(self) -> Iterator[Level]:
        level: Level | None = self
        while level is not None:
            yield level
            level = level.around

    def find(self, names: Sequence[str]) -> Place | None:
        *source, column = names
        for level in self.outward():
            for name, rows in level.sources.items():
                found = dict(rows.columns)
                if column in found and source in ([], [name]):
                    return found[column]
        return None

    def find_common(self, name: str) -> Rows | None:
        return next((level.common[name] for level in self.outward() if name in level.common), None)


class Proof:
    """Of one statement. A place is bound when all places of one of its rules are."""

    def __init__(self, schema: Schema, statement: Any) -> None:
        self._schema = schema
        self._numbers = count(GIVEN + 1)
        self._rules: list[tuple[Place, tuple[Place, ...]]] = []
        self._needed: list[Place] = []
        self._given: set[Place] = set()
        # Each with its node: an id is nobody else's while the node is held.
        self._subqueries: dict[int, tuple[Any, Rows]] = {}
        self._query(statement, Level())

    @property
    def holds(self) -> bool:
        return not self._needed or any(self._bound_by(given).issuperset(self._needed) for given in self._given)

    def _bound_by(self, given: Place) -> set[Place]:
        bound, before = {given}, 0
        while before != len(bound):
            before = len(bound)
            bound.update(place for place, needs in self._rules if bound.issuperset(needs))
        return bound

    # Queries

    def _query(self, node: Any, around: Level) -> Rows:
        node, level = unwrap_node(node), Level(around)
        for one in node.with_clause.ctes if hasattr(node, "with_clause") else ():
            common = one.common_table_expr
            level.common[common.ctename] = _renamed(self._query(common.ctequery, level), common.aliascolnames)
        match node:
            case nodes.SelectStmt(op=nodes.SETOP_NONE):
                return self._select(node, level)
            case nodes.SelectStmt():
                return self._united([self._query(node.larg, level), self._query(node.rarg, level)], node)
            case nodes.InsertStmt():
                return self._insert(node, level)
            case nodes.UpdateStmt() | nodes.DeleteStmt():
                return self._change(node, level)
        # MERGE, TRUNCATE, COPY and others: not with what is distributed.
        self._needed += [self._new(name) for name in self._schema.names_in(node)]
        return Rows([])

    def _select(self, node: Any, level: Level) -> Rows:
        opened = self._from(node.from_clause, level)
        self._condition(node.where_clause, level, opened)
        self._look_into(node, level)
        if node.values_lists:
            places = [[self._place(one, level) for one in row.list.items] for row in node.values_lists]
            return self._united([Rows([("", place) for place in row]) for row in places], node)
        return Rows(self._given_columns(node.target_list, level), self._opened(node, opened))

    def _united(self, parts: list[Rows], node: Any) -> Rows:
        """Bound where all of them are."""
        columns: list[tuple[str, Place | None]] = []
        for these in zip(*(part.columns for part in parts), strict=True):
            name, whole = these[0][0], self._new(these[0][0])
            places = [place for _, place in these]
            if None not in places:
                self._rules.append((whole, tuple(place for place in places if place)))
            for part, place in zip(parts, places, strict=True):
                self._bind(place, whole, part.open)
            columns.append((name, whole))
        return Rows(columns, self._opened(node, {place[0] for _, place in columns if place}))

    def _opened(self, node: Any, opened: Iterable[int]) -> frozenset[int]:
        given = (part for target in node.target_list for part in walk(target))
        windows = any(isinstance(part, nodes.FuncCall) and part.HasField("over") for part in given)
        limits = LIMITS.intersection(kind.name for kind, _ in node.ListFields())
        return frozenset() if windows or limits else frozenset(opened)

    def _insert(self, node: Any, level: Level) -> Rows:
        given = self._query(node.select_stmt, level)
        rows = self._table(node.relation)
        columns = dict(rows.columns)
        names = [column.res_target.name for column in node.cols] or list(columns)
        for name, (_, place) in zip(names, given.columns, strict=False):
            self._bind(columns[name], place, rows.open)
        level.sources |= {self._name_of(node.relation): rows, "excluded": rows}
        self._look_into(node, level)
        return Rows(self._given_columns(node.returning_clause.exprs, level))

    def _change(self, node: Any, level: Level) -> Rows:
        rows = level.sources[self._name_of(node.relation)] = self._table(node.relation)
        others = node.from_clause if isinstance(node, nodes.UpdateStmt) else node.using_clause
        self._condition(node.where_clause, level, rows.open | self._from(others, level))
        self._look_into(node, level)
        return Rows(self._given_columns(node.returning_clause.exprs, level))

    # What is in FROM

    def _from(self, items: Iterable[Any], level: Level) -> frozenset[int]:
        return frozenset().union(*(self._source(item, level) for item in items))

    def _source(self, item: Any, level: Level) -> frozenset[int]:
        """Adds it to the level. Returns what a condition on it limits."""
        item = unwrap_node(item)
        match item:
            case nodes.JoinExpr():
                return self._join(item, level)
            case nodes.RangeVar():
                common = None if item.schemaname else level.find_common(item.relname)
                rows = Rows(common.columns) if common else self._table(item)
            case nodes.RangeSubselect():
                rows = self._query(item.subquery, level)
            case nodes.RangeFunction():
                self._look_into(item, level)
                rows = Rows([])
            case _:
                raise NotImplementedError(type(item).__name__)
        level.sources[self._name_of(item)] = _renamed(rows, item.alias.colnames)
        return rows.open

    def _join(self, join: Any, level: Level) -> frozenset[int]:
        before = set(level.sources)
        left = self._source(join.larg, level)
        of_left = _without(before, level)
        right = self._source(join.rarg, level)
        of_right = _without(before | of_left.sources.keys(), level)
        # A condition of an outer join leaves all rows of its outer side.
        limited = {
            nodes.JOIN_INNER: left | right,
            nodes.JOIN_LEFT: right,
            nodes.JOIN_RIGHT: left,
        }.get(join.jointype, frozenset())
        for name in _names(join.using_clause):
            self._equal(of_left.find([name]), of_right.find([name]), limited)
        self._condition(join.quals, level, limited)
        return left | right

    def _table(self, relation: Any) -> Rows:
        name = relation.relname
        if name in self._schema.views:
            return self._query(self._schema.views[name], Level())
        number = next(self._numbers)
        if name in self._schema.distributed:
            self._needed.append((number, BUSINESS))
        return Rows([(column, (number, column)) for column in self._schema.tables.get(name, ())], frozenset({number}))

    def _name_of(self, item: Any) -> str:
        return str(item.alias.aliasname or getattr(item, "relname", next(self._numbers)))

    def _given_columns(self, targets: Iterable[Any], level: Level) -> list[tuple[str, Place | None]]:
        columns: list[tuple[str, Place | None]] = []
        for target in (one.res_target for one in targets):
            names = _names(target.val.column_ref.fields)
            if names[-1:] == [STAR]:
                of = names[:-1]
                columns += [one for name, rows in level.sources.items() if of in ([], [name]) for one in rows.columns]
            else:
                columns.append((target.name or "".join(names[-1:]), self._place(target.val, level)))
        return columns

    # Conditions

    def _condition(self, node: Any, level: Level, limited: frozenset[int]) -> None:
        """What holds for every row. One side of OR does not, nor what is under NOT."""
        node = unwrap_node(node)
        match node:
            case nodes.BoolExpr(boolop=nodes.AND_EXPR):
                for part in node.args:
                    self._condition(part, level, limited)
            case nodes.A_Expr(kind=nodes.AEXPR_OP) if _names(node.name)[-1] == "=":
                for left, right in zip(_parts(node.lexpr), _parts(node.rexpr), strict=False):
                    self._equal(self._place(left, level), self._place(right, level), limited)
            case nodes.SubLink(sub_link_type=nodes.ANY_SUBLINK) if not node.oper_name:
                rows = self._subquery(node, level)
                for left, (_, right) in zip(_parts(node.testexpr), rows.columns, strict=False):
                    self._equal(self._place(left, level), right, limited | rows.open)
        self._look_into(node, level)

    def _look_into(self, node: Any, level: Level) -> None:
        """For subqueries in expressions; those in FROM and WITH are looked at where they stand."""
        node = unwrap_node(node)
        if isinstance(node, nodes.SubLink):
            self._subquery(node, level)
            self._look_into(node.testexpr, level)
        elif not isinstance(node, nodes.RangeSubselect | nodes.WithClause):
            for name, part in _children(node):
                if name not in ("select_stmt", "larg", "rarg"):
                    self._look_into(part, level)

    def _subquery(self, link: Any, level: Level) -> Rows:
        if id(link) not in self._subqueries:
            self._subqueries[id(link)] = link, self._query(link.subselect, level)
        return self._subqueries[id(link)][1]

    def _place(self, node: Any, level: Level) -> Place | None:
        node = unwrap_node(node)
        match node:
            case nodes.ColumnRef():
                return level.find(_names(node.fields))
            case nodes.TypeCast():
                return self._place(node.arg, level)
            case nodes.ParamRef():
                return self._value(f"${node.number}")
            case nodes.A_Const() if node.HasField("sval"):
                return self._value(repr(node.sval.sval))
            case nodes.SubLink(sub_link_type=nodes.EXPR_SUBLINK):
                return self._subquery(node, level).columns[0][1]
        return None

    def _value(self, text: str) -> Place:
        self._given.add((GIVEN, text))
        return GIVEN, text

    def _new(self, name: str) -> Place:
        return next(self._numbers), name

    def _equal(self, left: Place | None, right: Place | None, limited: frozenset[int]) -> None:
        self._bind(left, right, limited)
        self._bind(right, left, limited)

    def _bind(self, place: Place | None, to: Place | None, limited: Collection[int]) -> None:
        if place and to and place[0] in limited:
            self._rules.append((place, (to,)))


def _parts(node: Any) -> Sequence[Any]:
    return node.row_expr.args if node.HasField("row_expr") else (node,)


def _names(parts: Iterable[Any]) -> list[str]:
    return [part.string.sval or STAR for part in parts]


def _without(names: Collection[str], level: Level) -> Level:
    return Level(sources={name: rows for name, rows in level.sources.items() if name not in names})


def _renamed(rows: Rows, names: Iterable[Any]) -> Rows:
    columns = [(new, place) for new, (_, place) in zip(_names(names), rows.columns, strict=False)]
    return Rows([*columns, *rows.columns[len(columns) :]], rows.open)


def is_of_one_business(schema: Schema, statement: Any) -> bool:
    return Proof(schema, statement).holds
