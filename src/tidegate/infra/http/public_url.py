"""Where browsers find us. The address is a setting: nothing a request says about its host is believed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class PublicUrl:
    base_url: str

    @cached_property
    def origin(self) -> str:
        """As a browser writes it in `Origin`: lower case, without the port that goes without saying."""
        base = urlsplit(self.base_url)
        host = f"[{base.hostname}]" if ":" in (base.hostname or "") else base.hostname
        is_usual = base.port in (None, _DEFAULT_PORTS[base.scheme])
        return f"{base.scheme}://{host}" if is_usual else f"{base.scheme}://{host}:{base.port}"

    @cached_property
    def is_secure(self) -> bool:
        return self.origin.startswith("https://")

    def url(self, path: str) -> str:
        """A path of ours as a link: a proxy may have put us below a folder of its own."""
        return urlsplit(self.base_url).path.rstrip("/") + path
