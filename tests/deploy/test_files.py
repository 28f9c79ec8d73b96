"""The files of ``penstock deploy``, read by the programs that they are for, and by ours."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner, Result

from penstock.cli.application import application
from penstock.cli.arguments import RunOptions
from penstock.cli.deploy import PLACES, deployment
from penstock.observe.dashboard.probes import LOOKS_WITHIN, PROBES
from penstock.observe.metrics.table import METRICS
from tests.deploy.programs import said_by
from tests.style.project import ROOT

RULES: Final = "penstock.rules.yml"
PAGE: Final = ROOT / "docs" / "deploy.md"
LABELS: Final = {metric.prometheus_name: set(metric.labels) for metric in METRICS}
NAME: Final = re.compile(r"penstock_\w+")
SELECTOR: Final = re.compile(r"(penstock_\w+)\{([^}]*)\}")
SHOWN: Final = re.compile(r"\{\{ ?(?:\$labels\.)?(\w+) ?\}\}")
OF_PROMETHEUS: Final = {"instance", "job"}
OF_KUBERNETES: Final = ("pipeline.yaml",)
"""Those of which the schema of Kubernetes itself knows the kinds."""


def deploy(place: str, into: Path) -> Result:
    return CliRunner().invoke(application, ["deploy", place, "--into", str(into)])


def text_of(place: str, name: str) -> str:
    (found,) = [each for each in deployment(place) if each.name == name]
    return found.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", PLACES)
def test_the_files_are_written_and_named(tmp_path: Path, place: str) -> None:
    done = deploy(place, tmp_path)
    assert done.exit_code == 0, done.output
    names = [each.name for each in deployment(place)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert f"has {', '.join(names)};" in done.stdout


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_is_there_is_left_as_it_is_and_no_other_is_written(
    tmp_path: Path, place: str
) -> None:
    mine = tmp_path / deployment(place)[-1].name
    mine.write_text("mine")
    done = deploy(place, tmp_path)
    assert done.exit_code == 2
    assert f"{mine} is there already; name another folder by --into" in done.output
    assert [*tmp_path.iterdir()] == [mine]
    assert mine.read_text() == "mine"


def test_a_folder_that_is_not_there_is_made_and_one_that_cannot_be_is_named(
    tmp_path: Path,
) -> None:
    assert deploy("docker", tmp_path / "new").exit_code == 0
    assert (tmp_path / "new" / "Dockerfile").exists()
    done = deploy("docker", tmp_path / "no" / "where")
    assert done.exit_code == 2
    assert f"{tmp_path}/no/where cannot be written: No such file or directory" in done.output


# systemd


@pytest.mark.systemd
def test_systemd_reads_the_unit_and_finds_little_exposed(tmp_path: Path) -> None:
    program = tmp_path / "i" / ".venv" / "bin" / "penstock"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    unit = tmp_path / "penstock@.service"
    unit.write_text(text_of("systemd", unit.name).replace("/opt/penstock", str(tmp_path)))
    assert said_by("systemd-analyze", "verify", "--man=no", str(unit)) == (0, "")
    options = ("--offline=yes", "--threshold=15", "--no-pager")
    code, table = said_by("systemd-analyze", "security", *options, str(unit))
    assert code == 0, table


def test_the_unit_fits_the_program() -> None:
    unit = text_of("systemd", "penstock@.service")
    assert f"WatchdogSec={LOOKS_WITHIN:g}\n" in unit
    drain = re.search(r"--drain-timeout (\d+)", unit)
    stop = re.search(r"TimeoutStopSec=(\d+)", unit)
    assert drain is not None
    assert stop is not None
    assert int(drain[1]) + 15 <= int(stop[1])


# Docker


@pytest.mark.hadolint
def test_hadolint_has_nothing_against_the_dockerfile(tmp_path: Path) -> None:
    deploy("docker", tmp_path)
    assert said_by("hadolint", str(tmp_path / "Dockerfile")) == (0, "")


def test_the_image_installs_extras_that_exist() -> None:
    (line,) = re.findall(r"^ARG EXTRAS=(.+)$", text_of("docker", "Dockerfile"), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(line.split(",")) <= extras["optional-dependencies"].keys()


# Kubernetes


def manifests(name: str) -> list[dict[str, Any]]:
    return [*yaml.safe_load_all(text_of("kubernetes", name))]


@pytest.mark.parametrize("name", OF_KUBERNETES)
def test_the_manifests_fit_the_schema_of_kubernetes(name: str) -> None:
    for manifest in manifests(name):
        for version in ("1.29", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(manifest, version, strict=True)


def test_kustomize_has_all_that_belongs_to_one_pipeline() -> None:
    (listed,) = manifests("kustomization.yaml")
    names = {each.name for each in deployment("kubernetes")}
    assert {*listed["resources"]} == names - {"kustomization.yaml", "service-monitor.yaml"}
    (image, _) = (each["image"] for each in containers())
    assert image.startswith(f"{listed['images'][0]['name']}:")


def containers() -> list[dict[str, Any]]:
    _, _, workload = manifests("pipeline.yaml")
    return [*workload["spec"]["template"]["spec"]["containers"]]


def test_the_pod_fits_the_program() -> None:
    config, service, workload = manifests("pipeline.yaml")
    options = tomllib.loads(config["data"]["penstock.toml"])["run"]
    RunOptions(**options).require_complete()
    pod = workload["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= options["drain_timeout"] + 15
    pipeline, metrics = pod["containers"]
    asked = [
        str(pipeline[f"{probe}Probe"]["exec"]["command"][-1])
        for probe in ("startup", "liveness", "readiness")
    ]
    alive, ready = PROBES
    place = f"http://127.0.0.1:{options['port']}"
    for command, path in zip(asked, (alive, alive, ready), strict=True):
        assert f"urlopen('{place}{path}'," in command
        compile(command, path, "exec")
    assert f"proxy_pass {place};" in config["data"]["metrics.conf"]
    (port,) = metrics["ports"]
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert f"listen {port['containerPort']};" in config["data"]["metrics.conf"]
    (monitor,) = manifests("service-monitor.yaml")
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]


def test_the_pod_keeps_to_the_restricted_standard() -> None:
    """Of the Pod Security Standards; each point of it, as far as it asks for something."""
    _, _, workload = manifests("pipeline.yaml")
    pod = workload["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
    kinds = {kind for volume in pod["volumes"] for kind in volume.keys() - {"name"}}
    assert kinds <= {"configMap", "emptyDir", "secret", "persistentVolumeClaim"}


# Prometheus and Grafana


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(text_of("prometheus", RULES))["groups"]
    return [*group["rules"]]


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of("prometheus", "penstock.dashboard.json"))
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Each expression of the board, with what is written beside it."""
    for panel in board()["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for annotation in board()["annotations"]["list"]:
        yield annotation["expr"], annotation["titleFormat"]


EXPRESSIONS: Final = [
    *((alert["expr"], " ".join(alert["annotations"].values())) for alert in alerts()),
    *queries(),
]


@pytest.mark.parametrize(("expression", "words"), EXPRESSIONS)
def test_rules_and_board_name_metrics_and_labels_that_exist(expression: str, words: str) -> None:
    names = set(NAME.findall(expression))
    assert names <= LABELS.keys()
    for name, selector in SELECTOR.findall(expression):
        assert set(re.findall(r"(\w+)=", selector)) <= LABELS[name] | OF_PROMETHEUS
    known = OF_PROMETHEUS.union(*(LABELS[name] for name in names))
    assert set(SHOWN.findall(words)) <= known


def test_each_metric_that_the_documentation_wakes_somebody_for_has_an_alert() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text().partition("## What to be woken for")[2]
    named = {name for line in page.splitlines() if line[:2] == "| " for name in NAME.findall(line)}
    alerted = {name for alert in alerts() for name in NAME.findall(alert["expr"])}
    assert named <= alerted | {"penstock_stage_slowest"}  # which says for whom the others wait


def test_each_alert_has_a_section_that_says_what_to_do() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert headings == [alert["alert"] for alert in alerts()]
    for alert in alerts():
        assert alert["annotations"]["runbook"] == f"deploy.html#{alert['alert'].lower()}"


def test_the_panels_of_the_board_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


@pytest.mark.promtool
def test_each_alert_fires_when_it_should_and_else_is_silent(tmp_path: Path) -> None:
    deploy("prometheus", tmp_path)
    assert said_by("promtool", "check", "rules", "--lint-fatal", RULES, folder=tmp_path)[0] == 0
    cases = ROOT / "tests" / "deploy" / "penstock.rules.test.yml"
    (tmp_path / cases.name).write_text(cases.read_text())
    code, words = said_by("promtool", "test", "rules", cases.name, folder=tmp_path)
    assert code == 0, words
    tried = set(re.findall(r'alertname="(\w+)"', cases.read_text()))
    assert tried == {alert["alert"] for alert in alerts()}


@pytest.mark.promtool
def test_each_expression_of_the_board_is_promql(tmp_path: Path) -> None:
    rules = [
        {"record": f"board:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, (expression, _) in enumerate(queries())
    ]
    file = tmp_path / "board.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    code, words = said_by("promtool", "check", "rules", str(file))
    assert code == 0, words
