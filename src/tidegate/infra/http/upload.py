"""Forms with a file (`multipart/form-data`), bounded before they are parsed and kept in memory as a whole."""

from __future__ import annotations

import io

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, parse_options_header
from starlette.types import Receive, Scope

from tidegate.core.errors import Malformed
from tidegate.infra.http.body import read_beginning, read_body
from tidegate.infra.http.form import FIELDS_MAX, NOTHING_SENT, Form, checked
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.strict_json import shown

MEDIA_TYPE = "multipart/form-data"


def is_upload(headers: Headers) -> bool:
    return (headers.one(b"content-type") or "").partition(";")[0].strip().lower() == MEDIA_TYPE


async def read_upload(headers: Headers, scope: Scope, receive: Receive, *, bytes_max: int) -> Form:
    body = await read_body(headers, scope, receive, bytes_max=bytes_max)
    return parse(body, headers.one(b"content-type") or "")


async def read_fields_before_file(headers: Headers, receive: Receive) -> Form:
    """Of a form that is refused for the size of its file: what was typed into the fields before it."""
    content_type = headers.one(b"content-type") or ""
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    before, found, _ = (await read_beginning(receive)).rpartition(b"\r\n--" + boundary)
    if not boundary or not found:
        return NOTHING_SENT
    try:
        return parse(before + found + b"--\r\n", content_type)
    except Malformed:
        return NOTHING_SENT


def parse(body: bytes, content_type: str) -> Form:
    """Raises Malformed, without repeating a value. A file that was not chosen is absent."""
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}

    def on_field(field: Field) -> None:
        name = _new_name(field.field_name, fields, files)
        fields[name] = _text(field.value or b"")

    def on_file(file: File) -> None:
        name = _new_name(file.field_name, fields, files)
        file.file_object.seek(0)
        content = file.file_object.read()
        file.close()
        if content:
            files[name] = content

    sent = {"Content-Type": content_type.encode(), "Content-Length": str(len(body)).encode()}
    try:
        parse_form(sent, io.BytesIO(body), on_field, on_file)
    except (FormParserError, ValueError):
        raise Malformed("the form is not valid multipart/form-data") from None
    return Form(fields, files)


def _new_name(raw: bytes | None, fields: dict[str, str], files: dict[str, bytes]) -> str:
    name = _text(raw or b"")
    if not name or name in fields or name in files:
        raise Malformed(f"the field {shown(name)!r} is given twice, or has no name")
    if len(fields) + len(files) >= FIELDS_MAX:
        raise Malformed(f"the form has more than {FIELDS_MAX} fields; send fewer")
    return name


def _text(raw: bytes) -> str:
    try:
        return checked(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Malformed("the form is not valid UTF-8") from None
