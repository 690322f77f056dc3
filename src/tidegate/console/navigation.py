"""The pages of the side, in groups, with how much waits on each. All of the staff see all pages."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.console.queue_store import QueueCounts


class ConsoleItem(NamedTuple):
    name: str
    below: str
    waiting: int = 0
    # Waits for one of the staff.
    is_urgent: bool = False


def console_items(queues: QueueCounts) -> list[list[ConsoleItem]]:
    return [
        [
            ConsoleItem("Overview", ""),
            ConsoleItem("Alarms", "/alarms", queues.alarms, is_urgent=True),
            ConsoleItem("Merchants", "/merchants", queues.merchants),
            ConsoleItem("Approvals", "/approvals", queues.approvals, is_urgent=True),
        ],
        [
            ConsoleItem("Accounts to approve", "/accounts", queues.accounts),
            ConsoleItem("Held inflows", "/held", queues.held),
            ConsoleItem("Suspense & quarantine", "/suspense", queues.suspense),
            ConsoleItem("Refunds & returns", "/stuck", queues.stuck),
            ConsoleItem("Disputes", "/disputes", queues.disputes),
            ConsoleItem("Bank payments", "/bank", queues.bank),
        ],
        [
            ConsoleItem("Rails", "/rails"),
            ConsoleItem("Rates", "/rates"),
            ConsoleItem("Reconcile", "/reconcile"),
            ConsoleItem("Books", "/books"),
            ConsoleItem("Webhook health", "/webhooks"),
            ConsoleItem("Jobs", "/jobs", queues.parked, is_urgent=True),
            ConsoleItem("Audit", "/audit"),
            ConsoleItem("Erasures", "/erasures"),
            ConsoleItem("Staff", "/staff"),
        ],
    ]
