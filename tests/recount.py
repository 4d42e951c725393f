"""What the entries of a match add up to, counted once more from their JSON: dictionaries, and no code but this file's.

It knows what each event changes, and believes none of the sums that events state.
"""

import json
from collections import Counter
from collections.abc import Iterable

from tests.kit import Json

Census = tuple[tuple[int, ...], tuple[int, ...], int]
"""How many Souls of rank 0, 1, 2 and 3 are in the Aether and on cards, and how many are gone."""


class Recount:
    """A match, as it stands after the last of these lines of its record, and what it was after each."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.entries: list[Json] = [json.loads(line) for line in lines]
        self.events: list[Json] = [event for entry in self.entries for event in entry["events"]]
        self.life, self.fallen = dict[str, int](), dict[str, str]()
        self.cards, self.souls = dict[str, Json](), dict[int, Json]()
        self.status = "running"
        self.winner: str | None = None
        self.turn, self.turns = 0, list[int]()
        self.rift: Json = {}
        self.open: dict[int, Json] = {}
        """The payments whose effects have neither resolved nor fizzled."""
        self.least = dict[int, int]()
        """The least power, at or above its cost, that each payment's player could have paid with."""
        self.unburned = set[int]()
        """The payments whose effects fizzled when their payers were defeated."""
        self.censuses = list[Census]()
        for entry in self.entries:
            for event in entry["events"]:
                take = getattr(self, f"_{event['type']}", None)
                if take:
                    take(event)
            self.turns.append(self.turn)
            self.censuses.append(self._census())

    def of(self, *kinds: str) -> list[Json]:
        """The events of these types, in order."""
        return [event for event in self.events if event["type"] in kinds]

    def on(self, card: str) -> list[int]:
        """The numbers of the Souls on a card."""
        return [soul for soul, now in self.souls.items() if now["at"] == "card" and now["card"] == card]

    def _census(self) -> Census:
        found = Counter((soul["at"], soul["rank"]) for soul in self.souls.values())
        aether, cards = (tuple(found[at, rank] for rank in range(4)) for at in ("aether", "card"))
        return aether, cards, sum(count for (at, _), count in found.items() if at in {"spent", "lost"})

    # ------------------------------------------------------------ players and turns

    def _match_started(self, event: Json) -> None:
        self.life = {seat["player"]: event["ruleset"]["starting_life"] for seat in event["players"]}

    def _turn_began(self, event: Json) -> None:
        self.turn = event["number"]

    def _life_changed(self, event: Json) -> None:
        self.life[event["player"]] += event["delta"]

    def _soulburn_taken(self, event: Json) -> None:
        self.life[event["player"]] -= event["damage"]

    def _player_defeated(self, event: Json) -> None:
        self.fallen[event["player"]] = event["because"]

    def _match_ended(self, event: Json) -> None:
        self.status, self.winner = "ended", event["winner"]

    # ------------------------------------------------------------ cards

    def _card_entered(self, event: Json) -> None:
        self.cards[event["card"]] = {**event, "came": event["n"]}

    def _creature_summoned(self, event: Json) -> None:
        self._card_entered(event)
        self.rift["highest"] = max(self.rift["highest"], event["rank"])

    def _creature_sealed(self, event: Json) -> None:
        self.cards[event["card"]]["sealed"] = True

    def _creature_unsealed(self, event: Json) -> None:
        self.cards[event["card"]]["sealed"] = False

    def _soulless_set(self, event: Json) -> None:
        self.cards[event["card"]]["soulless"] = event["soulless"]

    def _rank_set(self, event: Json) -> None:
        self.cards[event["card"]]["rank"] = event["rank"]

    def _control_changed(self, event: Json) -> None:
        self.cards[event["card"]]["controller"] = event["to"]

    def _card_left(self, event: Json) -> None:
        del self.cards[event["card"]]

    _card_destroyed = _creature_destroyed = _card_left

    # ------------------------------------------------------------ Souls

    def _soul_collected(self, event: Json) -> None:
        self.souls[event["soul"]] = {"at": "aether", "rank": event["rank"]}

    _soul_released = _soul_collected

    def _soul_reaped(self, event: Json) -> None:
        self.souls[event["soul"]].update(at="card", card=event["card"])

    def _soul_returned(self, event: Json) -> None:
        self.souls[event["soul"]].update(at="aether")

    def _soul_lost(self, event: Json) -> None:
        self.souls[event["soul"]].update(at="lost")

    # ------------------------------------------------------------ payments and Rifts

    def _cost_paid(self, event: Json) -> None:
        sums = {0}
        for soul in self.souls.values():
            if soul["at"] == "aether" or self._controls(event["player"], soul):
                sums |= {power + soul["rank"] + 1 for power in sums}
        self.least[event["payment"]] = min(power for power in sums if power >= event["amount"])
        for spent in event["souls"]:
            self.souls[spent["soul"]].update(at="spent")
        if event["effect"] is not None:
            self.open[event["payment"]] = event

    def _controls(self, player: str, soul: Json) -> bool:
        return soul["at"] == "card" and bool(self.cards[soul["card"]]["controller"] == player)

    def _effect_resolved(self, event: Json) -> None:
        del self.open[event["payment"]]

    def _effect_fizzled(self, event: Json) -> None:
        if event["payment"] is not None:
            del self.open[event["payment"]]
            self.unburned |= {event["payment"]} if event["player"] in self.fallen else set()

    def _rift_opened(self, event: Json) -> None:
        self.rift = {**event, "highest": 0}

    def _rift_closed(self, _: Json) -> None:
        self.rift = {}

    # ------------------------------------------------------------ rulings

    def _ruling_made(self, event: Json) -> None:
        for correction in event["corrections"]:
            ((kind, made),) = correction.items()
            correct = getattr(self, f"_correct_{kind}", None)
            if correct:
                correct(made)

    def _correct_life(self, made: Json) -> None:
        self.life[made["player"]] += made["delta"]

    def _correct_soul(self, made: Json) -> None:
        at = made["to"]
        told = {"at": "lost" if at == "gone" else at} if isinstance(at, str) else {"at": "card", **at}
        self.souls[made["soul"]].update(told)

    def _correct_new_soul(self, made: Json) -> None:
        self.souls[made["soul"]] = {"rank": made["rank"]}
        self._correct_soul(made)

    def _correct_rank(self, made: Json) -> None:
        self.souls[made["soul"]]["rank"] = made["rank"]

    def _correct_payment(self, made: Json) -> None:
        del self.open[made["payment"]]

    def _correct_rift(self, made: Json) -> None:
        self.rift = {**self.rift, "highest": made["highest"]} if "highest" in made else {}

    def _correct_defeated(self, made: Json) -> None:
        self.fallen.pop(made["player"], None)
        if made["defeated"]:
            self.fallen[made["player"]] = "ruling"

    def _correct_result(self, made: Json) -> None:
        self.status, self.winner = made["status"], made.get("winner")
