"""A mail server on this machine that keeps what it is given, or refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from tidegate.mail_settings import MailSettings


@dataclass
class MailServer:
    port: int = 0
    # The answer to a recipient; 250 takes it.
    recipient_answer: str = "250 ok"
    received: list[EmailMessage] = field(default_factory=list)

    @property
    def settings(self) -> MailSettings:
        return MailSettings(
            host="127.0.0.1", port=self.port, is_tls=False, is_local=True, sender="Tidegate <no-reply@example.com>"
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                body = (await reader.readuntil(b"\r\n.\r\n")).removesuffix(b".\r\n").replace(b"\r\n..", b"\r\n.")
                message = message_from_bytes(body, policy=policy.default)
                assert isinstance(message, EmailMessage)
                self.received.append(message)
            answer = self.recipient_answer if verb == b"RCPT" else "221 bye" if verb == b"QUIT" else "250 ok"
            writer.write(f"{answer}\r\n".encode())
            if verb == b"QUIT":
                break
        writer.close()


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    server = MailServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server
