import importlib
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import click
import pytest

from soulrift.cli import main
from tests.e2e.conftest import Run

RULESETS = ("--vary", "ruleset", "--case", "3=usual", "--case", "4=soulburn_per_power=4")
QUICK = ("--policies", "random", "--seed", "5", "--jobs", "1")


def test_study_is_told_as_tables(run: Run) -> None:
    """The text has the cases, every figure with its interval, the differences, the methods, and what to beware of."""
    done = run("study", *RULESETS, *QUICK, "--matches", "40")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("40 matches of seed 5 in each of 2 cases (soulrift ")
    assert lines[1] == "  in every case: decks any,any; policies random,random"
    assert lines[2:5] == [
        "  case   ruleset",
        "  3      usual                  the base",
        "  4      soulburn_per_power=4",
    ]
    assert "Each case, with 95 % intervals" in lines
    assert "4 less 3, match by match" in lines
    assert "Wilson score interval" in done.stdout
    assert any("differences were looked at" in line and "Benjamini-Hochberg" in line for line in lines)
    assert lines[-1].startswith("Beware: 4 against 3: these matches are too few to tell ")


def test_json_is_the_same_for_any_jobs_and_charts_are_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """One job and two give the same JSON and the same chart, byte for byte; batches of several sizes are joined."""
    told = []
    for jobs, runner in (("1", "local"), ("2", "processes")):
        more = ("--matches", "250", "--policies", "random", "--jobs", jobs, "--runner", runner, "--format", "json")
        done = run("study", *RULESETS, *more, "-o", f"{jobs}.svg")
        assert (done.returncode, done.stderr) == (0, "")
        told.append(done.stdout)
    assert told[0] == told[1]
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    assert ET.parse(tmp_path / "1.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    study = json.loads(told[0])
    assert {"soulrift", "simulator", "generator", "scipy", "methods", "warnings"} < study.keys()
    assert (study["seed"], study["matches"], study["vary"]) == ("1", 250, "ruleset")
    assert [case["rulesets"] for case in study["cases"]] == [[{}], [{"soulburn_per_power": 4}]]
    assert study["compared"] == len(study["figures"]) == sum(len(each["differences"]) for each in study["figures"])
    for each in study["figures"]:
        assert [case["case"] for case in each["cases"]] == ["3", "4"]
        assert [difference["case"] for difference in each["differences"]] == ["4"]
        assert each["kind"] == "mean" or 0 <= each["cases"][0]["low"] <= each["cases"][0]["value"] <= 1


def test_chart_replaces_nothing_unless_told_to(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A .png is drawn, of cases with any name; a file that is there is replaced with --force only."""
    study = ("study", "--vary", "decks", "--case", "A=rift,reap", "--case", "$B$=rift,blaze", *QUICK, "--matches", "20")
    chart = tmp_path / "a.png"
    chart.touch()
    with pytest.raises(SystemExit, match="2"):
        main([*study, "-o", str(chart)])
    assert "a.png already; --force replaces it" in " ".join(capsys.readouterr().err.split())
    done = run(*study, "-o", "a.png", "--force")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "a.png: the chart")
    assert chart.read_bytes().startswith(b"\x89PNG\r\n")


def test_policies_vary(run: Run) -> None:
    """Cases of policies name one for all seats, or one a seat; what is the same is told."""
    cases = ("--vary", "policies", "--case", "A=random", "--case", "B=random,reckless")
    done = run("study", *cases, "--decks", "rift,reap", "--matches", "40", "--jobs", "1", "--format", "json")
    study = json.loads(done.stdout)
    assert [case["policies"] for case in study["cases"]] == [["random", "random"], ["random", "reckless"]]
    figures = {each["figure"]: each for each in study["figures"]}
    assert figures["won.policy.reckless"]["cases"][0] == {"case": "A", "matches": 0} | dict.fromkeys(
        ("value", "low", "high", "spread")
    )
    assert study["common"][0]["began"] == 1


CHEAT = """
class Cheat:
    blind = True

    def __init__(self, chance):
        pass

    def choose(self, view, actions):
        return None
"""


def test_failed_matches_are_told_and_left_out(run: Run, tmp_path: Path) -> None:
    """Where a policy does what it may not, its matches are named, and the others are compared all the same."""
    (tmp_path / "cheat.py").write_text(CHEAT)
    cases = ("--vary", "policies", "--case", "A=random", "--case", "B=cheat:Cheat,random")
    done = run("study", *cases, "--matches", "30", "--jobs", "1", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "in case B:"
    assert "match 1 could not be played on" in done.stderr
    assert "Beware: case B: failed, and left out: 30 of 30 matches" in done.stdout


WRONG: dict[str, tuple[tuple[Any, ...], str]] = {
    "one case": (("--vary", "decks", "--case", "A=rift,reap"), "give --case twice or more often"),
    "no name": (("--vary", "decks", "--case", "A=rift,reap", "--case", "rift"), "--case rift is not NAME=…"),
    "same name": (
        ("--vary", "policies", "--case", "A=greedy", "--case", "A=random"),
        "two cases are called A",
    ),
    "unknown policy": (
        ("--vary", "policies", "--case", "A=greedy", "--case", "B=clever"),
        "case B: there is no policy clever",
    ),
    "unknown deck": (
        ("--vary", "decks", "--case", "A=rift,reap", "--case", "B=rift,ra"),
        "case B: there is no deck ra",
    ),
    "unknown field": (("--vary", "ruleset", "--case", "A=usual", "--case", "B=burn=2"), "case B: "),
    "bad ruleset": (
        ("--vary", "ruleset", "--case", "A=usual", "--case", "B=soulburn_per_power=-1"),
        "case B: /ruleset/soulburn_per_power",
    ),
    "decks among rulesets": (
        ("--vary", "ruleset", "--case", "A=usual", "--case", "B=rift,reap"),
        "case B: rift is not FIELD=VALUE",
    ),
    "a ruleset among decks": (
        ("--vary", "decks", "--case", "A=rift,reap", "--case", "B=soulburn_per_power=2"),
        "case B: soulburn_per_power=2 is a ruleset, but the decks vary",
    ),
    "other seats": (
        ("--vary", "decks", "--case", "A=rift,reap", "--case", "B=rift,reap,blaze"),
        "all cases must have the same number of seats",
    ),
    "what varies is fixed": ((*RULESETS, "--ruleset", "starting_life=20"), "--ruleset is what varies"),
    "no chart": ((*RULESETS, "-o", "burn.pdf"), "a chart is a .png or a .svg file, not burn.pdf"),
    "no folder": ((*RULESETS, "-o", "none/burn.svg"), "there is no folder for none/burn.svg"),
    "no cluster": ((*RULESETS, "--scheduler", "tcp://127.0.0.1:1"), "--scheduler belongs to --runner dask"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_studied_is_a_usage_error(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit status 2 and what is wrong, before a match is played; nothing is written."""
    with pytest.raises(SystemExit) as ended:
        main(["study", *arguments])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert message in " ".join(told.err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "module", "message"),
    [
        ("scipy", "soulrift.studying", "a study needs an extra: pip install 'soulrift[study]'"),
        ("matplotlib", "soulrift.picturing", "a chart needs an extra: pip install 'soulrift[study]'"),
    ],
)
def test_missing_extra_is_told(missing: str, module: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SciPy or matplotlib, it is said what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(click.UsageError) as told:
        importlib.import_module(module)
    assert str(told.value) == message
