"""`soulrift simulate`, as its users call it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from soulrift.cli import main
from tests.e2e.conftest import Run

ROOT = Path(__file__).parents[2]
TEN = ("simulate", "--matches", "10", "--jobs", "1")
FAILING = ("--policies", "tests.policies:Raises,random")


def mine(folder: Path, cards: str = "") -> None:
    """A deck of one's own, in a file."""
    (folder / "mine.toml").write_text(f'name = "Mine"\n[main]\nash-hound = 20\n{cards}')


def test_text_tells_what_came_of_it(run: Run) -> None:
    """The run and how to make it again, then a table for decks, policies and what brought players down."""
    done = run(*TEN, "--seed", "5", "--decks", "rift,reap", "--policies", "greedy")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "10 matches of seed 5 (simulator 1, philox4x64-10/1)"
    for head in ("deck", "policy", "brought down by"):
        assert sum(line.strip().startswith(head) for line in lines) == 1, head
    rows = {line.split()[0]: line.split() for line in lines if line.strip()}
    assert (rows["rift"][1], rows["reap"][1], rows["greedy"][1]) == ("10", "10", "20")
    won = [float(rows[deck][2]) for deck in ("rift", "reap")]
    assert sum(won) <= 100
    assert rows["greedy"][2] == f"{sum(won) / 2:.1f}"


def test_same_options_tell_the_same(run: Run) -> None:
    """What is told depends on nothing but the options."""
    first, second = (run(*TEN, "--seed", "9", "--format", "json") for _ in range(2))
    assert first.stdout == second.stdout
    assert first.stdout != run(*TEN, "--seed", "10", "--format", "json").stdout


def test_json_is_one_object(run: Run) -> None:
    """The run, so that it can be made again, its statistics, and with --coverage the counts; the seed is a string."""
    seed = str(2**64 - 1)
    done = run(*TEN, "--seed", seed, "--format", "json", "--ruleset", "overpay=any", "--ruleset", "usual")
    told = json.loads(done.stdout)
    assert set(told) == {"simulator", "generator", "seed", "run", "statistics"}
    assert told["seed"] == seed
    rulesets = [{"overpay": "any"}, {}]
    assert told["run"] == {"decks": ["any", "any"], "policies": ["any", "any"], "rulesets": rulesets}
    assert told["statistics"]["matches"] == 10
    assert sum(told["statistics"]["ended"].values()) == 10
    covered = json.loads(run(*TEN, "--format", "json", "--coverage").stdout)
    assert set(covered) == {*told, "coverage", "unused"}
    assert covered["coverage"]["match_started"] == 10


def test_coverage_as_text(run: Run) -> None:
    """Each command, event and rule with how often it was used, and in the end what never was."""
    told = run(*TEN, "--coverage", "--policies", "random").stdout
    for title in ("Commands", "Events", "Rules"):
        assert f"\n{title}\n" in told
    assert re.search(r"^  start_match +10$", told, re.MULTILINE)
    assert not re.search(r"^  ruling\b", told, re.MULTILINE)
    assert told.splitlines()[-1].startswith(("never used: ", "all of it was used"))


def test_one_match_alone_is_told(run: Run, tmp_path: Path) -> None:
    """`--only` tells one match, entry by entry, or writes it into a file that verifies."""
    done = run("simulate", "--only", "3", "--seed", "5")
    assert done.stdout.splitlines()[0].split()[:2] == ["1", "run-5-3"]
    assert run("simulate", "--only", "3", "--seed", "5", "-o", "three.soulrift.jsonl").returncode == 0
    assert "run-5-3: exact" in run("verify", "three.soulrift.jsonl").stdout
    assert len(done.stdout.splitlines()) == len((tmp_path / "three.soulrift.jsonl").read_text().splitlines()) - 2


def test_file_is_replaced_with_force_alone(run: Run, tmp_path: Path) -> None:
    """An archive that is there stays, unless --force is given; so does that of one match."""
    for options in (TEN, ("simulate", "--only", "2")):
        path = tmp_path / "run.soulrift.jsonl"
        path.write_text("mine")
        done = run(*options, "-o", path.name)
        assert done.returncode == 2
        assert "--force replaces it" in done.stderr
        assert path.read_text() == "mine"
        assert run(*options, "-o", path.name, "--force").returncode == 0
        assert "exact" in run("verify", path.name).stdout
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_archive_verifies(run: Run, ending: str) -> None:
    """What is written is an archive like any other, compressed as its name says."""
    assert f"run.soulrift.{ending}: 10 matches" in run(*TEN, "-o", f"run.soulrift.{ending}").stdout
    verified = run("verify", f"run.soulrift.{ending}")
    assert verified.returncode == 0
    assert verified.stdout.count(": exact: ") == 10


@pytest.mark.parametrize("ruleset", ["soulburn_per_power=3", "overpay=needed,starting_life=20", "usual"])
def test_archive_verifies_whatever_the_ruleset(run: Run, ruleset: str) -> None:
    """Also where a field of the ruleset is given as it is anyway."""
    assert run(*TEN, "--ruleset", ruleset, "-o", "run.soulrift.jsonl").returncode == 0
    verified = run("verify", "run.soulrift.jsonl")
    assert (verified.returncode, verified.stdout.count(": exact: ")) == (0, 10)


def test_rulesets_are_taken_in_turn(run: Run) -> None:
    """Two rulesets: the matches of odd numbers by the first, of even ones by the second."""
    rulesets = ("--ruleset", "soulburn_per_power=2", "--ruleset", "starting_life=20,souls_on_leaving=lost")
    assert run(*TEN, *rulesets, "--store", "runs.db").returncode == 0
    for number in range(1, 11):
        ruleset = json.loads(run("show", f"run-1-{number}", "--db", "runs.db", "--format", "json").stdout)["ruleset"]
        assert ruleset["soulburn_per_power"] == (2 if number % 2 else 3)
        assert ruleset["starting_life"] == (30 if number % 2 else 20)


def test_four_seats(run: Run) -> None:
    """With four decks a match has four players; one policy is for all of them, or one each."""
    decks = ("--decks", "rift,reap,blaze,any")
    done = run(*TEN, *decks, "--policies", "greedy", "--format", "json", "-o", "run.soulrift.jsonl")
    told = json.loads(done.stdout)
    assert told["run"]["policies"] == ["greedy"] * 4
    assert sum(share["matches"] for share in told["statistics"]["decks"].values()) == 40
    assert run("verify", "run.soulrift.jsonl").stdout.count(": exact: ") == 10
    assert run(*TEN, *decks, "--policies", "greedy,random,any,hoarder").returncode == 0


def test_own_deck(run: Run, tmp_path: Path) -> None:
    """A deck of one's own is named by its file; its name in the record is that of the file."""
    mine(tmp_path, '[extra]\nbig = 1\n[cards.big]\nname = "Big"\nkind = "creature"\nrank = 3\nattack = 9\n')
    done = run(*TEN, "--decks", "mine.toml,rift", "-o", "run.soulrift.jsonl", "--policies", "greedy,random")
    assert done.returncode == 0
    assert "mine.toml" in done.stdout
    assert run("verify", "run.soulrift.jsonl").stdout.count(": exact: ") == 10


ERRORS = [
    ((), "say how many --matches are to be played, or which one with --only"),
    (("--matches", "1", "--only", "1"), "say how many --matches are to be played, or which one with --only"),
    (
        ("--matches", "1", "-o", "x", "--store", "y"),
        "-o writes an archive, --store fills a store, --tables makes tables; choose",
    ),
    (("--only", "1", "--store", "y"), "--store and --tables take a run of --matches"),
    (("--only", "1", "--tables", "y"), "--store and --tables take a run of --matches"),
    (
        ("--matches", "1", "-o", "-"),
        "-o names a file, such as run.soulrift.jsonl.zst; --only M without -o prints a match",
    ),
    (("--only", "1", "-o", "-"), "-o names a file, such as run.soulrift.jsonl.zst; --only M without -o prints a match"),
    (("--matches", "0"), "--matches"),
    (("--only", "0"), "--only"),
    (("--matches", "1", "--seed", "-1"), "--seed"),
    (("--matches", "1", "--seed", str(2**64)), "--seed"),
    (("--matches", "1", "--jobs", "0"), "--jobs"),
    (("--matches", "1", "--decks", "rift"), "a match has 2 to 16 seats, with a deck each"),
    (("--matches", "1", "--decks", ",".join(["rift"] * 17)), "a match has 2 to 16 seats, with a deck each"),
    (("--matches", "1", "--policies", "greedy,random,any"), "there are 2 decks and 3 policies"),
    (("--matches", "1", "--decks", "rift,reef"), "there is no deck reef"),
    (("--matches", "1", "--decks", "rift,none.toml"), "there is no deck none.toml"),
    (("--matches", "1", "--policies", "clever"), "there is no policy clever; there are random, greedy"),
    (("--matches", "1", "--policies", "nowhere:Mine"), "the policy nowhere:Mine cannot be loaded"),
    (("--matches", "1", "--ruleset", "soulburn=2"), 'there is no field "soulburn"'),
    (("--matches", "1", "--ruleset", "overpay=never"), "/ruleset/overpay"),
    (("--matches", "1", "--ruleset", "starting_life=0"), "/ruleset/starting_life"),
    (("--matches", "1", "--ruleset", "starting_life"), "is not FIELD=VALUE"),
    (("--matches", "1", "--scheduler", "tcp://127.0.0.1:9"), "--scheduler belongs to --runner dask"),
    (("--matches", "1", "--runner", "local", "--scheduler", "tcp://127.0.0.1:9"), "--scheduler belongs to"),
    (("--matches", "1", "-o", "nowhere/run.soulrift.jsonl"), "there is no folder for"),
]


@pytest.mark.parametrize(
    ("options", "told"), ERRORS, ids=lambda value: " ".join(value)[-40:] if isinstance(value, tuple) else ""
)
def test_wrong_options_are_told(
    options: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be is said in a line, with exit status 2, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["simulate", *options])
    assert done.exit_code == 2
    assert told in done.stderr.replace("\n", " ")
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [("--runner", "dask", "--scheduler", "nonsense://x"), ("--scheduler", "nonsense://x", "--runner", "dask")],
    ids=["runner first", "scheduler first"],
)
def test_scheduler_that_cannot_be_is_told(run: Run, options: tuple[str, ...]) -> None:
    """In whatever order the options come."""
    done = run("simulate", "--matches", "1", *options)
    assert done.returncode == 2
    assert "the scheduler nonsense://x cannot be reached" in done.stderr


def test_unreachable_scheduler_is_told(run: Run) -> None:
    """A scheduler that does not answer is told after 10 seconds, by its address."""
    done = run("simulate", "--matches", "1", "--runner", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "the scheduler tcp://127.0.0.1:9 cannot be reached" in done.stderr


def test_fault_of_a_deck_is_told(run: Run, tmp_path: Path) -> None:
    """With the file, the place and what to do."""
    mine(tmp_path, '[cards.big]\nname = "Big"\nkind = "relic"\nattack = 9\n')
    done = run(*TEN, "--decks", "mine.toml,rift")
    assert done.returncode == 2
    assert "mine.toml: cards.big: only a creature attacks; drop attack" in done.stderr


def test_failing_policy_is_told_with_how_to_see_it(run: Run) -> None:
    """Matches in which a policy fails are told by number and seed, with what went wrong; the exit status is 1. The
    options that are told play such a match again, up to the failure.
    """
    done = run(*TEN, "--seed", "5", *FAILING, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "10 matches of seed 5" not in done.stdout
    failed = done.stderr.splitlines()
    assert failed[0].startswith("match 1 could not be played on after entry ")
    assert "the policy of p1 raised KeyError" in failed[0]
    assert "(--seed 5 --only 1, with the same other options)" in failed[0]
    again = run("simulate", "--seed", "5", "--only", "1", *FAILING, PYTHONPATH=str(ROOT))
    assert again.returncode == 1
    assert again.stderr.splitlines() == failed[:1]
    (entries,) = re.findall(r"after entry (\d+):", failed[0])
    assert len(again.stdout.splitlines()) == int(entries)


def test_at_most_twenty_failures_are_told(run: Run) -> None:
    """Of more than 20 matches that fail the others are counted."""
    for matches, told in ((30, "and 10 more matches failed"), (21, "and 1 more match failed")):
        options = ("--matches", str(matches), "--jobs", "1", "--policies", "tests.policies:Nothing")
        done = run("simulate", *options, PYTHONPATH=str(ROOT))
        assert done.returncode == 1
        assert done.stderr.splitlines()[20:] == [told, "no match was played to its end"]


@pytest.mark.parametrize("name", ["CannotBegin", "TakesNoChance", "Appends", "Exits"])
def test_policy_that_fails_otherwise_is_told_as_well(run: Run, name: str) -> None:
    """A policy that cannot be made, or ends the program, is a fault of the policy, not of the program."""
    done = run(*TEN, "--policies", f"tests.policies:{name},random", PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert "fault of our own" not in done.stderr
    assert "p1" in done.stderr


@pytest.mark.parametrize("where", [(), ("--store", "runs.db"), ("--coverage",)])
def test_run_of_no_match_is_told(run: Run, where: tuple[str, ...]) -> None:
    """Where every match failed, that is said, and there is no table of zeros."""
    done = run(*TEN, *where, "--policies", "tests.policies:CannotBegin", PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "no match was played to its end"
    assert done.stdout == ("runs.db: 0 matches\n" if "--store" in where else "")


def test_one_is_told_as_one(run: Run, tmp_path: Path) -> None:
    """One match, one draw: with creatures that never attack nobody wins in 40 turns."""
    cards = "".join(f'[cards.{key}]\nname = "{key}"\nkind = "creature"\n' for key in ("wall", "post"))
    (tmp_path / "walls.toml").write_text(f'name = "Walls"\n[main]\nwall = 20\npost = 20\n{cards}')
    told = run("simulate", "--matches", "1", "--decks", "walls.toml,walls.toml", "--store", "runs.db").stdout
    lines = told.splitlines()
    assert lines[0].startswith("1 match of seed 1 (")
    assert lines[1].endswith(" and 40.0 turns a match; 1 draw")
    assert lines[-1] == "runs.db: 1 match"


def test_archive_of_no_match_is_not_written(run: Run, tmp_path: Path) -> None:
    """Where every match failed there is nothing to write: no file that would be damaged."""
    done = run(*TEN, "--policies", "tests.policies:CannotBegin", "-o", "run.soulrift.jsonl", PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    path = tmp_path / "run.soulrift.jsonl"
    assert not path.exists() or run("verify", path.name).returncode == 0


def test_policy_of_the_documentation_plays(run: Run, tmp_path: Path) -> None:
    """The policy in docs/simulation.md is at most ten lines, and plays as it stands."""
    told = (ROOT / "docs" / "simulation.md").read_text()
    ((name, code),) = re.findall(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```", told, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    (tmp_path / f"{name}.py").write_text(code)
    (which,) = re.findall(rf"--policies ({name}:\w+)", told)[:1]
    done = run(*TEN, "--policies", f"{which},random")
    assert done.returncode == 0
    assert done.stderr == ""
    assert which in done.stdout


def test_deck_of_the_documentation_plays(run: Run, tmp_path: Path) -> None:
    """The deck in docs/simulation.md can be played with, and its matches verify."""
    told = (ROOT / "docs" / "simulation.md").read_text()
    ((name, content),) = re.findall(r"<!-- file: (\w+\.toml) -->\n```toml\n(.*?)```", told, re.DOTALL)
    (tmp_path / name).write_text(content)
    assert run(*TEN, "--decks", f"{name},rift", "-o", "run.soulrift.jsonl").returncode == 0
    assert run("verify", "run.soulrift.jsonl").stdout.count(": exact: ") == 10
