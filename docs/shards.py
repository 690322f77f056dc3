"""How unevenly merchants of very different sizes load shards, and what moving the largest of them costs.

    python docs/shards.py                  a million merchants, 1,000 payments a second

Nothing is measured here: it computes, from the sizes that `docs/scale.md` has measured.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence

import click

# Of a payment that was paid, with its indexes, without deliveries of webhooks.
BYTES_PER_PAYMENT = 8_100
SECONDS_PER_YEAR = 31_557_600


def merchant_shares(merchants: int, exponent: float) -> list[float]:
    """Zipf: the n-th largest has 1/n^exponent of the largest one's payments."""
    weights = [rank**-exponent for rank in range(1, merchants + 1)]
    whole = sum(weights)
    return [weight / whole for weight in weights]


def shard_shares(shares: Sequence[float], shards: int, seed: int) -> list[float]:
    """Merchants fall into shards by a hash of their id, whatever their size."""
    chance = random.Random(seed)
    loads = [0.0] * shards
    for share in shares:
        loads[chance.randrange(shards)] += share
    return loads


def busiest_node(shards: Sequence[float], nodes: int, *, is_balanced: bool) -> float:
    """Share of the busiest node: shards dealt in turn, or the largest first to the least busy one."""
    if not is_balanced:
        return max(sum(shards[first::nodes]) for first in range(nodes))
    busy = [0.0] * nodes
    for load in sorted(shards, reverse=True):
        heapq.heapreplace(busy, busy[0] + load)
    return max(busy)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--merchants", type=click.IntRange(1, 10_000_000), default=1_000_000)
@click.option(
    "--exponent", type=click.FloatRange(0.0, 3.0), default=1.0, help="0 makes all equal; 1 is usual of trade."
)
@click.option(
    "--per-second", type=click.IntRange(1, 1_000_000), default=1_000, help="Payments of all merchants together."
)
@click.option("--moved-mb-per-second", type=click.IntRange(1, 10_000), default=40, help="Assumed; ask your network.")
@click.option("--seed", type=int, default=1)
def main(*, merchants: int, exponent: float, per_second: int, moved_mb_per_second: int, seed: int) -> None:
    """Print the busiest shard and node over the mean, and how long the largest merchant's books take to move."""
    shares = merchant_shares(merchants, exponent)
    print(f"{merchants:,} merchants, exponent {exponent}; the largest has {shares[0]:.1%} of all payments.\n")
    print("| nodes | shards | busiest shard | busiest node, in turn | busiest node, balanced |")
    print("|--:|--:|--:|--:|--:|")
    for nodes, count in ((3, 32), (8, 64), (8, 256), (32, 256), (32, 1_024)):
        loads = shard_shares(shares, count, seed)
        turn, balanced = (busiest_node(loads, nodes, is_balanced=is_balanced) * nodes for is_balanced in (False, True))
        print(f"| {nodes} | {count:,} | {max(loads) * count:.1f} | {turn:.2f} | {balanced:.2f} |")
    year_bytes = shares[0] * per_second * SECONDS_PER_YEAR * BYTES_PER_PAYMENT
    hours = year_bytes / moved_mb_per_second / 1e6 / 3_600
    print(f"\nShares are over the mean. A year of the largest merchant is {year_bytes / 1e12:,.2f} TB,", end=" ")
    print(f"{hours:,.1f} h to copy at {moved_mb_per_second} MB/s.")


if __name__ == "__main__":
    main()
