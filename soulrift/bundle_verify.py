"""Checks the bundle in whose folder it lies, with nothing but what Python brings along; openssl checks signatures.

    python3 -I verify.py [--key NAME+ID+BASE64]

It cannot play the commands again: whether the events follow from them by the rules of the game, and whether the page
says what the record says, is told by `soulrift verify`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

HERE = Path(__file__).resolve().parent

OKAY, TAMPERED, USAGE, DAMAGED, UNSIGNED, FIRST_USE, INCOMPLETE, ANOTHER = 0, 1, 2, 4, 5, 6, 7, 8

FILES = (
    r"README\.txt|verify\.py|replay\.soulrift\.jsonl|keys\.txt|audit\.json|report\.html"
    r"|checkpoints/[1-9][0-9]{0,8}\.note|proofs/entry-[1-9][0-9]{0,8}\.tlog-proof"
)
"""The files of a bundle."""

SPKI = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of an Ed25519 key that openssl reads."""


class RefusedError(Exception):
    """Something does not fit: what, and the exit status for that."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class Record(NamedTuple):
    """The record: the match, the lines of its entries, their hashes as leaves, their events."""

    match: str
    entries: list[bytes]
    leaves: list[bytes]
    events: list[Any]


class Key(NamedTuple):
    """A verifier key."""

    name: str
    key_id: bytes
    public: bytes


def matched(form: str, text: str, what: str) -> re.Match[str]:
    """How a text has a form."""
    found = re.fullmatch(form, text)
    if not found:
        raise RefusedError(DAMAGED, what)
    return found


def see(true: object, status: int, what: str) -> None:
    """Go on only if something is as it must be."""
    if not true:
        raise RefusedError(status, what)


def say(line: str) -> None:
    """Tell the user."""
    sys.stdout.write(line + "\n")


def read(name: str) -> bytes:
    """The bytes of a file of the bundle."""
    try:
        return (HERE / name).read_bytes()
    except OSError as error:
        raise RefusedError(DAMAGED, f"{name} cannot be read: {error.strerror}") from None


# ------------------------------------------------------------ hashes


def sha256(data: bytes) -> bytes:
    """The SHA-256 of bytes."""
    return hashlib.sha256(data).digest()


def leaf(line: bytes) -> bytes:
    """The hash of an entry's line as a leaf of the tree."""
    return sha256(b"\x00" + line)


def root(leaves: list[bytes]) -> bytes:
    """The root of the tree over leaf hashes (RFC 6962, section 2.1)."""
    if not leaves:
        return sha256(b"")
    level = list(leaves)
    while len(level) > 1:
        pairs = [sha256(b"\x01" + level[at] + level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]


def root_by_proof(index: int, size: int, node: bytes, proof: list[bytes]) -> bytes | None:
    """The root that a proof leads to from a leaf hash (RFC 9162, section 2.1.3.2); nothing if it does not fit."""
    last = size - 1
    for beside in proof:
        if last == 0:
            return None
        if index & 1 or index == last:
            node = sha256(b"\x01" + beside + node)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\x01" + node + beside)
        index, last = index >> 1, last >> 1
    return node if last == 0 else None


def unbase64(text: str, what: str) -> bytes:
    """The bytes of a base64 text that is written as it must be."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    see(raw and base64.b64encode(raw).decode() == text, DAMAGED, f"{what}: {text[:60]!r} is no base64")
    return raw


# ------------------------------------------------------------ the steps


def check_sums() -> list[str]:
    """All files are as they were listed, and there are no others."""
    listed = {}
    for line in read("SHA256SUMS").decode("utf-8", "replace").splitlines():
        found = matched(rf"([0-9a-f]{{64}})  ({FILES})", line, f"SHA256SUMS has a line {line[:80]!r}")
        see(found[2] not in listed, DAMAGED, f"SHA256SUMS has a line {line[:80]!r}")
        listed[found[2]] = found[1]
    for name, digest in listed.items():
        see(sha256(read(name)).hex() == digest, DAMAGED, f"{name} is not as it was written")
    there = {path.relative_to(HERE).as_posix() for path in HERE.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    strange = {name for name in there - set(listed) if not name.startswith("__pycache__/")}
    see(not strange, DAMAGED, f"{min(strange, default='')} does not belong to the bundle")
    say(f"ok    {len(listed)} files are as SHA256SUMS lists them")
    return list(listed)


def check_record() -> Record:
    """The record is a header, entries numbered from 1 and an end with their root; its lines and the match."""
    lines = read("replay.soulrift.jsonl").split(b"\n")
    see(len(lines) > len(("header", "entry", "end")) and lines.pop() == b"", DAMAGED, "the record is cut off")
    header, *entries, end = lines
    openings = entries.pop() if entries[-1].startswith(b'{"openings":') else None
    try:
        match, last = json.loads(header)["match"], json.loads(end)
        events = []
        for number, line in enumerate(entries, 1):
            entry = json.loads(line)
            see(entry["entry"] == number, DAMAGED, f"entry {entry['entry']} stands where entry {number} must be")
            see(line.startswith(b'{"command":'), DAMAGED, f"entry {number} is not written as it must be")
            events.append(entry["events"])
        see(last["entries"] == len(entries), DAMAGED, "the record has another number of entries than its end says")
        see(events[0][0]["match"] == match, DAMAGED, "the header names another match than the first entry")
        leaves = [leaf(line) for line in entries]
        see(
            root(leaves).hex() == last["root"], DAMAGED, "the entries have another root than the end of the record says"
        )
        if openings:
            check_openings(json.loads(openings)["openings"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise RefusedError(DAMAGED, f"the record cannot be read: {error!r}") from None
    say(f"ok    the record of {match} has {len(entries)} entries, with the root {root(leaves).hex()[:16]}...")
    return Record(match, entries, leaves, events)


def check_openings(openings: list[dict[str, str]]) -> None:
    """Each name of a private match belongs to its commitment."""
    for each in openings:
        opened = sha256(bytes.fromhex(each["salt"]) + each["value"].encode()).hex()
        see(
            each["commitment"] == f"sha256:{opened}",
            DAMAGED,
            f"{each['value']!r} is not what {each['commitment']} hides",
        )
    say(f"ok    {len(openings)} hidden names belong to what stands for them in the record")


def parse_key(text: str) -> Key:
    """The name, ID and bytes of a verifier key."""
    form = r"([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)"
    found = matched(form, text, f"{text[:80]!r} is no verifier key")
    raw = unbase64(found[3], "a key")
    key_id = sha256(found[1].encode() + b"\n" + raw)[:4]
    ed25519 = raw[:1] == b"\x01" and len(raw[1:]) == len(sha256(b""))
    see(ed25519, DAMAGED, f"{text[:80]!r} is no key of Ed25519")
    see(key_id.hex() == found[2], DAMAGED, f"{text[:80]!r} is not as it was made: its ID is another one")
    return Key(found[1], key_id, raw[1:])


def parse_note(content: bytes, what: str) -> tuple[bytes, list[str], list[tuple[str, bytes]]]:
    """The text, the lines and the signatures of a signed checkpoint."""
    text, blank, under = content.rpartition(b"\n\n")
    try:
        lines, signatures = text.decode().split("\n"), under.decode().splitlines()
    except UnicodeDecodeError:
        raise RefusedError(DAMAGED, f"{what} is no signed checkpoint") from None
    sized = blank and re.match(".+\n[1-9][0-9]{0,17}\n.+", "\n".join(lines))
    see(sized, DAMAGED, f"{what} is no signed checkpoint")
    signed = []
    for line in signatures:
        found = matched("\u2014 (\\S+) (\\S+)", line, f"{what} has a line that is no signature")
        signed.append((found[1], unbase64(found[2], what)))
    return text + b"\n", lines, signed


def check_checkpoint(name: str, content: bytes, record: Record, keys: list[Key]) -> tuple[int, bytes, bool]:
    """A checkpoint is of this match and this record, and one of these keys signed it; the label of the key."""
    match, leaves = record.match, record.leaves
    text, (origin, number, told, *_), signed = parse_note(content, name)
    size = int(number)
    fits = re.fullmatch("soulrift/[0-9a-f]{16}/" + re.escape(quote(match, safe="")), origin)
    see(fits, ANOTHER, f"{name} is about {origin}, not about the match {match}")
    by = [(key, raw[4:]) for key in keys for signer, raw in signed if (signer, raw[:4]) == (key.name, key.key_id)]
    see(by, UNSIGNED, f"{name} is signed by no key that is trusted")
    see(size <= len(leaves), INCOMPLETE, f"the record has {len(leaves)} entries, but had {size} when {name} was signed")
    see(
        root(leaves[:size]) == unbase64(told, name),
        ANOTHER,
        f"the first {size} entries are not those of {name}",
    )
    say(f"ok    {name}: the first {size} entries are those that were signed")
    checked = [check_signature(name, text, key, signature) for key, signature in by]
    return size, unbase64(told, name), all(checked)


def check_signature(name: str, text: bytes, key: Key, signature: bytes) -> bool:
    """A signature is the key's, if there is an openssl that can tell; whether there is."""
    label = f"{key.name}+{key.key_id.hex()}"
    openssl = shutil.which("openssl")
    if openssl is None:
        say(f"--    {name}: NOT checked whether {label} signed it: there is no openssl on this machine")
        return False
    with tempfile.TemporaryDirectory() as folder:
        pem, signed, text_file = (Path(folder) / each for each in ("key.pem", "signature", "text"))
        encoded = base64.b64encode(SPKI + key.public).decode()
        pem.write_text(f"-----BEGIN PUBLIC KEY-----\n{encoded}\n-----END PUBLIC KEY-----\n")
        signed.write_bytes(signature)
        text_file.write_bytes(text)
        verify = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", str(pem), "-rawin", "-in", str(text_file)]
        done = subprocess.run([*verify, "-sigfile", str(signed)], capture_output=True, check=False)  # noqa: S603
    if done.returncode and b"Verification Failure" not in done.stdout + done.stderr:
        say(f"--    {name}: NOT checked whether {label} signed it: this machine's openssl cannot tell")
        return False
    see(done.returncode == 0, UNSIGNED, f"{name}: the signature in the name of {label} is not its own")
    say(f"ok    {name}: {label} signed it")
    return True


def check_proof(name: str, content: bytes, record: Record, checkpoints: dict[bytes, tuple[int, bytes, bool]]) -> None:
    """A proof is of an entry as it stands in the record, and leads to a root that was signed."""
    head, _, note = content.decode("utf-8", "replace").partition("\n\n")
    form = r"c2sp\.org/tlog-proof@v1\nextra (\S+)\nindex (0|[1-9][0-9]{0,17})((?:\n\S+)*)"
    found = matched(form, head, f"{name} is no proof")
    line, index = unbase64(found[1], name), int(found[2])
    see(record.entries[index : index + 1] == [line], ANOTHER, f"{name} is not about an entry of this record")
    proof = [unbase64(each, name) for each in found[3].split()]
    see(note.encode() in checkpoints, DAMAGED, f"{name} is not about one of the checkpoints")
    size, signed, _ = checkpoints[note.encode()]
    see(name == f"proofs/entry-{index + 1}.tlog-proof", TAMPERED, f"{name} is the proof of entry {index + 1}")
    see(root_by_proof(index, size, leaf(line), proof) == signed, ANOTHER, f"{name} does not lead to what was signed")
    say(f"ok    {name}: entry {index + 1} is among those that were signed")


def check_judgment(record: Record) -> None:
    """What the judgment says of life, Soulburn, defeats, rulings and the end is what the events add up to."""
    known: dict[str, Any] = {"match": record.match, "entries": len(record.entries), "root": root(record.leaves).hex()}
    known |= {"status": "running", "winner": None, "soulburn": [], "rulings": []}
    players: dict[str, dict[str, Any]] = {}
    for number, events in enumerate(record.events, 1):
        for event in events:
            take_in(event, number, players, known)
    account = ("player", *ACCOUNT, "life", "defeated")
    try:
        judgment = json.loads(read("audit.json"))
        told: dict[str, Any] = {name: judgment[name] for name in ("match", "entries", "root", "status", "winner")}
        told["soulburn"] = [{name: each[name] for name in BURN} for each in judgment["soulburn"]]
        told["rulings"] = [each["entry"] for each in judgment["rulings"]]
        told["players"] = [{name: each[name] for name in account} for each in judgment["players"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError(DAMAGED, f"audit.json cannot be read: {error!r}") from None
    known["soulburn"] = [{name: each[name] for name in BURN} for each in known["soulburn"]]
    known["players"] = list(players.values())
    for name, value in known.items():
        what = "life of the players" if name == "players" else name
        see(told[name] == value, TAMPERED, f"audit.json tells another {what} than the events add up to")
    left = ", ".join(f"{player} {each['life']}" for player, each in players.items())
    say(f"ok    audit.json: life adds up: {left}; Soulburn, defeats, rulings and the end are those of the events")


ACCOUNT = ("start", "overpay", "fizzle", "rift", "changes", "rulings")
"""What a player's life is made of."""

BURN = ("n", "player", "source", "rule", "power", "damage", "life")
"""What is compared of Soulburn."""


def take_in(event: dict[str, Any], entry: int, players: dict[str, dict[str, Any]], known: dict[str, Any]) -> None:
    """What an event says of players and of the match."""
    kind = event["type"]
    if kind == "match_started":
        life = event["ruleset"]["starting_life"]
        for seat in event["players"]:
            account = dict.fromkeys(ACCOUNT, 0) | {"start": life, "life": life, "defeated": False}
            players[seat["player"]] = {"player": seat["player"], **account}
    elif kind == "soulburn_taken":
        players[event["player"]][event["source"]] += event["damage"]
        players[event["player"]]["life"] -= event["damage"]
        known["soulburn"].append(event)
    elif kind == "life_changed":
        players[event["player"]]["changes"] += event["delta"]
        players[event["player"]]["life"] += event["delta"]
    elif kind == "player_defeated":
        players[event["player"]]["defeated"] = True
    elif kind == "match_ended":
        known.update(status="ended", winner=event["winner"])
    elif kind == "ruling_made":
        known["rulings"].append(entry)
        for change in event["corrections"]:
            correct(change, players, known)


def correct(change: dict[str, Any], players: dict[str, dict[str, Any]], known: dict[str, Any]) -> None:
    """What a judge's correction changes of players and of the match."""
    if "life" in change:
        account = players[change["life"]["player"]]
        account["rulings"] += change["life"]["delta"]
        account["life"] += change["life"]["delta"]
    if "defeated" in change:
        players[change["defeated"]["player"]]["defeated"] = change["defeated"]["defeated"]
    if "result" in change:
        known.update(status=change["result"]["status"], winner=change["result"].get("winner"))


def check_all(pinned: list[Key]) -> int:
    """Check everything; the exit status."""
    listed = check_sums()
    record = check_record()
    keys = pinned or [parse_key(text) for text in read("keys.txt").decode("utf-8", "replace").splitlines()]
    checkpoints = {}
    for name in sorted(name for name in listed if name.startswith("checkpoints/")):
        content = read(name)
        checkpoints[content] = check_checkpoint(name, content, record, keys)
    see(checkpoints, UNSIGNED, "there is no checkpoint in it")
    for name in sorted(name for name in listed if name.startswith("proofs/")):
        check_proof(name, read(name), record, checkpoints)
    check_judgment(record)
    say("--    NOT checked: whether the events follow from the commands by the rules, and what report.html tells;")
    say("      `soulrift verify` plays the match again, and makes that page anew to compare it")
    covered = max(size for size, _, _ in checkpoints.values())
    tail = len(record.entries) - covered
    if tail:
        say(f"--    NOT signed by anybody: the last {tail} entries, from {covered + 1} on")
    fits = f"the first {covered} entries fit" if tail else "all of it fits"
    if not all(checked for _, _, checked in checkpoints.values()):
        say(f"\nVerdict: {fits}, but nobody checked who signed it: do this where there is a newer openssl.")
        return UNSIGNED
    if pinned:
        say(f"\nVerdict: {fits}, and it is signed by the key that you named.")
        return OKAY
    say(f"\nVerdict: {fits}, but the keys came along with it. Ask the organiser for the key, and use --key.")
    return FIRST_USE


def main(arguments: list[str]) -> int:
    """Check everything, for the keys that came along or for one that is named; the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        pinned = [parse_key(arguments[1].strip())] if arguments[:1] == ["--key"] and len(arguments[1:]) == 1 else []
    except RefusedError as refused:
        sys.stderr.write(f"{refused}; copy all of it\n")
        return USAGE
    if arguments and not pinned:
        asked = arguments[0] in {"-h", "--help"}
        (sys.stdout if asked else sys.stderr).write("usage: python3 -I verify.py [--key NAME+ID+BASE64]\n")
        return OKAY if asked else USAGE
    try:
        return check_all(pinned)
    except RefusedError as refused:
        status, told = refused.status, str(refused)
    except Exception as error:  # noqa: BLE001 - whatever somebody wrote into these files is answered in words
        status, told = DAMAGED, f"something in it is not as it must be: {error!r}"
    say(f"NO    {told}")
    say(f"\nVerdict: refused, exit status {status}; README.txt tells what that means.")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
