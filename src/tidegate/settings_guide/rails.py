"""Settings of the rails that move money."""

from __future__ import annotations

from tidegate.rail_settings import PAWAPAY_URL, PAYSTACK_ADDRESSES, PAYSTACK_CURRENCIES, PAYSTACK_URL
from tidegate.settings_guide.model import SettingRow, SettingSection

RAIL_SECTIONS = (
    SettingSection(
        title="Rails",
        rows=(
            SettingRow(
                name="TIDEGATE_RAILS",
                meaning="The rails that move money, separated by commas; for each currency and method the first that "
                "can is used.",
                live="{rails}",
            ),
            SettingRow(
                name="TIDEGATE_USSD_METHOD",
                meaning="The name of the USSD method on the wire.",
                usual="payAttitude",
            ),
        ),
    ),
    SettingSection(
        title="Paystack",
        rail="paystack",
        rows=(
            SettingRow(
                name="TIDEGATE_PAYSTACK_SECRET_KEY",
                meaning="sk_live_…, from Paystack's dashboard. The webhook URL to enter there is "
                "<base URL>/intake/paystack.",
                live="",
            ),
            SettingRow(
                name="TIDEGATE_PAYSTACK_SECRET_KEY_OLD",
                meaning="The key before, still accepted in signatures while keys are exchanged.",
            ),
            SettingRow(
                name="TIDEGATE_PAYSTACK_CURRENCIES",
                meaning="Those enabled on the account at Paystack.",
                usual=",".join(PAYSTACK_CURRENCIES),
            ),
            SettingRow(
                name="TIDEGATE_PAYSTACK_PESALINK",
                meaning="yes: bank transfers in KES, which Paystack enables on request.",
                usual="no",
            ),
            SettingRow(
                name="TIDEGATE_PAYSTACK_WEBHOOK_IPS",
                meaning="Addresses that notifications come from; any for no check. Behind a proxy it needs "
                "TIDEGATE_TRUSTED_PROXIES.",
                usual=",".join(PAYSTACK_ADDRESSES),
            ),
            SettingRow(
                name="TIDEGATE_PAYSTACK_BASE_URL",
                meaning="Another address only to try it: `tidegate emulate paystack`.",
                usual=PAYSTACK_URL,
            ),
        ),
    ),
    SettingSection(
        title="pawaPay",
        rail="pawapay",
        rows=(
            SettingRow(
                name="TIDEGATE_PAWAPAY_TOKEN",
                meaning="API token of pawaPay's dashboard. The callback URL for deposits and refunds to enter there is "
                "<base URL>/intake/pawapay, with signed callbacks on.",
                live="",
            ),
            SettingRow(
                name="TIDEGATE_PAWAPAY_SIGNING_KEY",
                meaning="Where the account takes signed requests only: an EC P-256 private key in PEM, on one line, "
                r"its line breaks as \n, in single quotes.",
            ),
            SettingRow(
                name="TIDEGATE_PAWAPAY_SIGNING_KEY_ID",
                meaning="The name that pawaPay's dashboard gives its public key.",
            ),
            SettingRow(
                name="TIDEGATE_PAWAPAY_BASE_URL",
                meaning="Another address only to try it: `tidegate emulate pawapay`.",
                usual=PAWAPAY_URL,
            ),
        ),
    ),
    SettingSection(
        title="Bank files",
        rail="bankfiles",
        rows=(
            SettingRow(
                name="TIDEGATE_BANKFILES_DIR",
                meaning="The folder of the bank's files: statements are put into in/, payments are written into out/.",
                live="/var/lib/tidegate/bank",
            ),
            SettingRow(
                name="TIDEGATE_BANKFILES_ACCOUNTS",
                meaning="A TOML file with an [[account]] for each account at the bank; see docs/bank-files.md.",
                live="",
            ),
        ),
    ),
)
