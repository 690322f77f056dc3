"""A published client of this interface that we did not write, `fincra-node-sdk` for Node, at our address."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from build import order
from clients import node
from inflow import Inflows, credit, request

PUBLISHED = Path(sys.prefix) / "published"
# Its address is a constant of its own. It never sends the x-business-id that verify needs.
PROGRAM = """
import {createRequire} from "node:module";
const {Fincra} = createRequire(process.env.PUBLISHED + "/")("fincra-node-sdk");
const {ADDRESS, BUSINESS, PUBLIC_KEY, SECRET_KEY, ACCOUNT, INFLOW, ACCOUNT_REQUEST} = process.env;
const client = new Fincra(PUBLIC_KEY, SECRET_KEY, {sandbox: true});
for (const part of Object.values(client)) if (part.request) part.request.defaults.baseURL = ADDRESS;
client.verify.request.defaults.headers["x-business-id"] = BUSINESS;
const calls = {
  business: () => client.business.getBusinessId(),
  verify: () => client.verify.verifyPayment("ORDER-1"),
  wallets: () => client.wallet.listWallet(BUSINESS),
  inflow: () => client.collection.fetchCollectionAddition({reference: INFLOW, business: BUSINESS}),
  inflows: () => client.collection.listCollectionAdditional({business: BUSINESS, virtualAccount: ACCOUNT}),
  request: () => client.virtualAccount.createVirtualAccount(JSON.parse(ACCOUNT_REQUEST)),
  requests: () => client.virtualAccount.listVirtualAccountRequests(),
  byCurrency: () => client.virtualAccount.fetchVirtualAccountByCurrency("EUR"),
  account: () => client.virtualAccount.fetchSingleVirtualAccount(ACCOUNT),
  accounts: () => client.virtualAccount.listMerchantVirtual({currency: "EUR"}),
};
for (const [name, call] of Object.entries(calls)) {
  console.log(JSON.stringify([name, await call().catch((error) => ({refused: error.message}))]));
}
"""


async def test_every_operation_that_both_have_works(inflows: Inflows, base_url: str, tmp_path: Path) -> None:
    if shutil.which("node") is None or not (PUBLISHED / "node_modules" / "fincra-node-sdk").is_dir():
        pytest.skip("fincra-node-sdk is not installed: `make published` installs it with npm")
    account = await inflows.account()
    assert account.details is not None
    arrived = await inflows.notified(credit(account.details.account_number))
    created = await inflows.shop.create(order(reference="ORDER-1"))
    assert created.status_code == 201
    lines = await asyncio.to_thread(
        node.said, PROGRAM, tmp_path, PUBLISHED=str(PUBLISHED), ADDRESS=base_url, BUSINESS=inflows.shop.business_id,
        PUBLIC_KEY=inflows.shop.public_key, SECRET_KEY=inflows.shop.secret_key, ACCOUNT=account.id,
        INFLOW=arrived["reference"], ACCOUNT_REQUEST=json.dumps(request()),
    )  # fmt: skip
    answers: dict[str, dict[str, Any]] = dict(json.loads(line) for line in lines)
    assert {name: answer for name, answer in answers.items() if "data" not in answer} == {}
    assert answers["business"]["data"]["business"]["id"] == inflows.shop.business_id
    assert answers["verify"]["data"]["merchantReference"] == "ORDER-1"
    assert answers["inflow"]["data"]["reference"] == arrived["reference"]
    assert [one["reference"] for one in answers["inflows"]["data"]["results"]] == [arrived["reference"]]
