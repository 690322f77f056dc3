"""SQL that distributes the schema over the nodes of a cluster (Citus)."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Tx


class ForeignKey(NamedTuple):
    """The statements that remove it, and that make it again."""

    drop: str
    add: str


async def list_tables(tx: Tx) -> list[str]:
    """Of the schema, without shards."""
    rows = await tx.fetch(
        """
        SELECT relname FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT relation_is_a_known_shard(oid)
           AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
         ORDER BY relname
        """
    )
    return [row["relname"] for row in rows]


async def list_distributed(tx: Tx) -> set[str]:
    """Tables that are distributed, or copied to every node. Those of the coordinator alone are not among them."""
    rows = await tx.fetch(
        """
        SELECT relname FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
         WHERE partmethod = 'h' OR (partmethod = 'n' AND repmodel = 't')
        """
    )
    return {row["relname"] for row in rows}


async def set_up(tx: Tx) -> None:
    """Nodes connect to each other as the service's role; a database is asked from inside a shard only about rows of the
    same business, which are there, and about tables that every node has."""
    await tx.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    await tx.execute("SET LOCAL client_min_messages = 'warning'")
    await tx.execute("ALTER ROLE tidegate_app LOGIN")
    await tx.execute(
        """
        SELECT run_command_on_all_nodes(
            format('ALTER DATABASE %I SET citus.allow_nested_distributed_execution = on', current_database()))
        """
    )
    await tx.execute("SET LOCAL citus.allow_nested_distributed_execution = on")
    # A plan for any parameters does not know the node. And Citus hides its shards by a condition on each row of
    # pg_class: the question after the types of a row, which a new connection asks once, took 5 s instead of 0.1.
    await tx.execute(
        """
        DO $do$
        BEGIN
            EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_custom_plan', current_database());
            EXECUTE format('ALTER DATABASE %I SET citus.override_table_visibility = off', current_database());
        END
        $do$
        """
    )


async def list_foreign_keys(tx: Tx, tables: list[str]) -> list[ForeignKey]:
    """Of these tables, and to them."""
    rows = await tx.fetch(
        """
        SELECT format('ALTER TABLE %I DROP CONSTRAINT %I', source.relname, conname) AS drop,
               format('ALTER TABLE %I ADD CONSTRAINT %I %s', source.relname, conname,
                      pg_get_constraintdef(pg_constraint.oid)) AS add
          FROM pg_constraint
          JOIN pg_class AS source ON source.oid = conrelid
          JOIN pg_class AS target ON target.oid = confrelid
         WHERE contype = 'f' AND source.relnamespace = 'public'::regnamespace
           AND (source.relname = ANY ($1) OR target.relname = ANY ($1))
         ORDER BY conname
        """,
        tables,
    )
    return [ForeignKey(**row) for row in rows]


async def copy_to_every_node(tx: Tx, table: str) -> None:
    await tx.execute("SELECT create_reference_table($1::text::regclass)", table)


async def distribute(tx: Tx, table: str, column: str, *, colocate_with: str) -> None:
    await tx.execute(
        "SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)", table, column, colocate_with
    )


async def list_incomplete_nodes(tx: Tx) -> list[str]:
    """Those that copy_sequences_and_types has not seen."""
    rows = await tx.fetch(
        """
        SELECT nodename || ':' || nodeport AS name
          FROM run_command_on_workers(
              $$ SELECT to_regclass('collection_serial') IS NULL
                     OR to_regclass('webhook_delivery_serial') IS NULL $$) AS asked
          JOIN pg_dist_node USING (nodename, nodeport)
         WHERE success AND result::boolean ORDER BY 1
        """
    )
    return [row["name"] for row in rows]


async def copy_sequences_and_types(tx: Tx) -> None:
    """Those that only the bodies of functions name: nothing else brings them to the other nodes. Types that are older
    than the extension are made on each node by itself, in the order in which they use each other."""
    await tx.execute(
        """
        SELECT run_command_on_workers(
            'CREATE SEQUENCE IF NOT EXISTS collection_serial MINVALUE 0 MAXVALUE 4095 CYCLE;'
            'CREATE SEQUENCE IF NOT EXISTS webhook_delivery_serial MINVALUE 0 MAXVALUE 1048575 CYCLE;'
            'GRANT USAGE ON SEQUENCE collection_serial, webhook_delivery_serial TO tidegate_app')
        """
    )
    await tx.execute(
        """
        SELECT run_command_on_workers(format(
            'DO $do$ BEGIN'
            '    PERFORM set_config(''citus.enable_ddl_propagation'', ''off'', true);'
            '    CREATE TYPE %I AS (%s);'
            'EXCEPTION WHEN duplicate_object THEN NULL; END $do$', typname, columns))
          FROM (SELECT typname,
                       (SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', '
                                          ORDER BY attnum)
                          FROM pg_attribute WHERE attrelid = typrelid) AS columns
                  FROM pg_type JOIN pg_class ON pg_class.oid = typrelid
                 WHERE relkind = 'c' AND typnamespace = 'public'::regnamespace
                   AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_type.oid AND deptype = 'e')
                 ORDER BY pg_type.oid OFFSET 0) AS made
        """
    )


class Function(NamedTuple):
    name: str
    signature: str
    is_known: bool
    is_sent_to_its_business: bool


async def list_functions(tx: Tx) -> list[Function]:
    """Functions of the schema, whether the other nodes know them, and whether calls are sent to the business's node."""
    rows = await tx.fetch(
        """
        SELECT proname, pg_proc.oid::regprocedure::text AS signature, known.objid IS NOT NULL AS is_known,
               known.distribution_argument_index IS NOT NULL AS is_sent
          FROM pg_proc
          LEFT JOIN pg_catalog.pg_dist_object AS known ON known.classid = 'pg_proc'::regclass
               AND known.objid = pg_proc.oid
         WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
           AND NOT EXISTS (SELECT FROM pg_depend WHERE pg_depend.objid = pg_proc.oid AND deptype = 'e')
         ORDER BY pg_proc.oid
        """
    )
    return [Function(*row.values()) for row in rows]


async def plan_for_values(tx: Tx) -> None:
    """Citus sees by the values which node has the rows; a plan for any values has none."""
    await tx.execute(
        """
        DO $$
        DECLARE
            v_function regprocedure;
        BEGIN
            FOR v_function IN
                SELECT oid FROM pg_proc
                 WHERE pronamespace = 'public'::regnamespace AND 'plan_cache_mode=force_generic_plan' = ANY (proconfig)
            LOOP
                EXECUTE format('ALTER FUNCTION %s RESET plan_cache_mode', v_function);
            END LOOP;
        END
        $$
        """
    )


async def copy_function(tx: Tx, signature: str) -> None:
    """To every node; a call runs where it is made."""
    await tx.execute("SELECT create_distributed_function($1::text::regprocedure)", signature)


async def ignore_null(tx: Tx, signature: str) -> None:
    """A call with NULL does nothing, and returns NULL. Citus would look for the node of no business, and end."""
    await tx.execute(await tx.fetchval("SELECT format('ALTER FUNCTION %s STRICT', $1::text::regprocedure)", signature))


async def send_to_its_business(tx: Tx, signature: str, *, always: bool) -> None:
    """Calls are sent to the node that has the rows of the business; inside a transaction only with `always`."""
    await tx.execute(
        """
        SELECT create_distributed_function($1::text::regprocedure, 'p_business_id', colocate_with => 'payment',
                                           force_delegation => $2)
        """,
        signature,
        always,
    )
