"""The account that runs the embedded PostgreSQL, and its folders."""

import ctypes
import hashlib
import os
import pwd
import re
import secrets
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# PostgreSQL refuses to run as root. These accounts exist nearly everywhere; none is ever added.
UNPRIVILEGED_ACCOUNTS = ("postgres", "nobody", "daemon")
# Root's folder for data that the unprivileged account cannot reach in the usual place.
SHARED_STATE = Path("/var/lib/tidegate")
# In a sandbox's folder: the link to its data there. Without it, as after `rm -r`, a sandbox begins anew.
DATA_LINK = "postgres"
DATA_NAME_BYTES = 6
DATA_NAME = re.compile(f"[0-9a-f]{{{2 * DATA_NAME_BYTES}}}")
PROGRAM_TIMEOUT_S = 120.0
# The only variables passed to programs: the others may hold secrets, and the account may be another one.
PASSED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class EmbeddedPostgresFailed(Exception):  # our errors name what is wrong
    """The message says what is wrong and what to do."""


@dataclass(frozen=True)
class SystemAccount:
    name: str
    uid: int
    gid: int
    is_borrowed: bool
    """The process is root and runs the server as this account."""

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        output: int | IO[bytes],
        end_signal: signal.Signals = signal.SIGTERM,
        inherited_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a program that gets `end_signal` when the calling thread ends."""
        return subprocess.Popen(  # noqa: S603  # no untrusted arguments
            [str(argument) for argument in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # The account may not have access to the current folder.
            cwd="/",
            env={name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | {"LC_ALL": "C"},
            # Ctrl-C in the terminal must not reach the server, which is stopped after its last client.
            start_new_session=True,
            user=self.uid if self.is_borrowed else None,
            group=self.gid if self.is_borrowed else None,
            extra_groups=[] if self.is_borrowed else None,
            pass_fds=inherited_fds,
            preexec_fn=_end_with_parent(end_signal),  # noqa: PLW1509  # no other thread runs yet
        )

    def run(self, argv: Sequence[str | Path], *, inherited_fds: Sequence[int] = ()) -> tuple[int, str]:
        """Return the exit code and the output; as in a shell, 127 is not started, 124 timed out."""
        try:
            process = self.spawn(argv, output=subprocess.PIPE, inherited_fds=inherited_fds)
        except (OSError, subprocess.SubprocessError) as error:
            return 127, str(error)
        with process:
            try:
                printed, _ = process.communicate(timeout=PROGRAM_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return 124, f"{argv[0]} did not end within {PROGRAM_TIMEOUT_S:.0f} s"
            except BaseException:
                process.kill()
                raise
        return process.returncode, printed.decode(errors="replace").strip()

    def can_enter(self, folder: Path) -> bool:
        # Mode bits are not enough (access lists, mounts, security modules), so try it.
        return self.run(["/bin/sh", "-c", 'cd -- "$1"', "sh", folder])[0] == 0


def _end_with_parent(signum: signal.Signals) -> Callable[[], None] | None:
    """Runs in the child after the change of user, which would clear the setting.

    Linux binds this to the thread that forks, not to the process: the server ends with the thread that
    called start(), so call it from the main thread. Elsewhere there is no such setting, and a server is
    stopped only by stop() or at the normal end of the interpreter.
    """
    libc, parent = _LIBC, os.getpid()
    if libc is None:
        return None

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        # If the parent has died already, the signal would never be sent.
        if os.getppid() != parent:
            os._exit(1)

    return tie


def current_account() -> SystemAccount:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise EmbeddedPostgresFailed(
            f"PostgreSQL needs a named account, and user id {uid} has no name on this machine. "
            "Add it to /etc/passwd, run as another user, or set DATABASE_URL to a server of your own."
        ) from error
    return SystemAccount(entry.pw_name, entry.pw_uid, entry.pw_gid, is_borrowed=False)


def server_account(home: Path) -> SystemAccount:
    """The current account, or an existing unprivileged one for root."""
    me = current_account()
    if me.uid != 0:
        return me
    # The account that already owns the data comes first, even if another one exists by now.
    owners = {folder.stat().st_uid for folder in (home, _place_of_root(home)) if folder.exists()}
    for account in sorted(_unprivileged_accounts(), key=lambda account: account.uid not in owners):
        if account.can_enter(Path("/")):
            return account
    raise EmbeddedPostgresFailed(
        "PostgreSQL does not run as root, and root could not switch to any of the accounts "
        f"{', '.join(UNPRIVILEGED_ACCOUNTS)}. Start as an ordinary user, or set DATABASE_URL."
    )


def _unprivileged_accounts() -> Iterator[SystemAccount]:
    for name in UNPRIVILEGED_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        yield SystemAccount(name, entry.pw_uid, entry.pw_gid, is_borrowed=True)


def place_for(home: Path, account: SystemAccount) -> Path:
    """Return `home`, or root's folder when `account` cannot reach a parent of `home`."""
    if not account.is_borrowed:
        return home
    nearest = next(folder for folder in home.parents if folder.exists())
    return home if account.can_enter(nearest) else _place_of_root(home)


def _place_of_root(home: Path) -> Path:
    link = home / DATA_LINK
    if not link.is_symlink():
        return SHARED_STATE / secrets.token_hex(DATA_NAME_BYTES)
    # The owner of `home` can put any link there; root follows it only into its own folder.
    name = link.readlink().name
    if not DATA_NAME.fullmatch(name):
        raise _cannot_use(link, f"it does not lead to data in {SHARED_STATE}")
    return SHARED_STATE / name


def short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def make_place(home: Path, account: SystemAccount) -> Path:
    """Make the folder of `place_for`, and return it."""
    place = place_for(home, account)
    if place.parent == SHARED_STATE:
        make_shared_state()
        place = _linked(home, place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_use(place.parent, str(error.strerror)) from error
    claim_folder(place, account)
    if account.is_borrowed and not account.can_enter(place):
        raise _cannot_use(place, f"the account {account.name}, which runs PostgreSQL for root, cannot enter it")
    return place


def _linked(home: Path, place: Path) -> Path:
    """Link `home` to `place`, and return the one it is linked to: another process may have been first."""
    link = home / DATA_LINK
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(place)
    except OSError as error:
        raise _cannot_use(home, str(error.strerror)) from error
    if not link.is_symlink():
        raise _cannot_use(link, f"a link to the data in {SHARED_STATE} belongs there")
    return _place_of_root(home)


def make_shared_state() -> None:
    claim_folder(SHARED_STATE, current_account(), mode=0o755)


def claim_folder(folder: Path, account: SystemAccount, *, mode: int = 0o700) -> None:
    """Make the folder, or check that the existing one belongs to `account`."""
    try:
        folder.mkdir(mode=mode, exist_ok=True)
        # The descriptor pins the folder: no symbolic link can replace it between check and change.
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _cannot_use(folder, str(error.strerror)) from error
    try:
        status = os.fstat(found)
        if status.st_uid not in (account.uid, os.geteuid()):
            raise _cannot_use(folder, f"PostgreSQL would run as {account.name}")
        if status.st_uid != account.uid:
            os.fchown(found, account.uid, account.gid)
        if stat.S_IMODE(status.st_mode) != mode:
            os.fchmod(found, mode)
    except OSError as error:
        raise _cannot_use(folder, str(error.strerror)) from error
    finally:
        os.close(found)


def _cannot_use(folder: Path, reason: str) -> EmbeddedPostgresFailed:
    try:
        status = folder.lstat()
        kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "a folder"
        whose = f" ({kind} of {_name_of(status.st_uid)}'s)"
    except OSError:
        whose = ""
    return EmbeddedPostgresFailed(
        f"Cannot use {folder}{whose} for the embedded PostgreSQL: {reason}. "
        "Choose another folder, start as its owner, or set DATABASE_URL to a server of your own."
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user id {uid}"


def write_private(path: Path, text: str, account: SystemAccount) -> None:
    """Replace a file in one step.

    Root writes into a folder of another account, so it never opens an existing file: it could be a link to
    one of root's.
    """
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    written = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(written, "w", encoding="utf-8") as file:
        if account.is_borrowed:
            os.fchown(file.fileno(), account.uid, account.gid)
        file.write(text)
    fresh.replace(path)
