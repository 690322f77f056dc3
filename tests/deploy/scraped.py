"""Run by containers.sh inside the network of the services: Prometheus scrapes both, and has read the rules."""

import json
import time
import urllib.request


def asked(path: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(f"http://prometheus:9090/api/v1/{path}", timeout=5) as answer:
        data: dict[str, list[dict[str, str]]] = json.load(answer)["data"]
        return data


for _ in range(60):
    health = {target["scrapePool"]: target["health"] for target in asked("targets")["activeTargets"]}
    if set(health.values()) == {"up"}:
        break
    time.sleep(1)
assert health == {"tidegate-api": "up", "tidegate-worker": "up"}, health
[group] = asked("rules")["groups"]
print("Prometheus scrapes", " and ".join(health), "and has the rules of", group["name"])
