"""Cards and decks: those that come along, what is wrong with those that cannot be, and which commands cards are."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from domain.rules import State, decide, decode_command, fold
from simulation.decks import SHIPPED, SMALLEST_DECK, TARGETED, Card, DeckError, Does, Effect, pool, read_deck, read_pool
from simulation.effects import Doing, commands, targets
from tests.kit import Json, of

encode = msgspec.json.Encoder(order="sorted").encode

MAIN = "[main]\ngrave-whisper = 10\nash-hound = 10"
OWN = 'name = "Mine"\n[main]\nown = 10\nash-hound = 10\n[cards.own]\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Decks are read from a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fault(content: str | bytes, name: str = "mine.toml") -> str:
    """What is said of a deck file with this content."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DeckError) as raised:
        read_deck(name)
    return str(raised.value)


# ------------------------------------------------------------ what comes along


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_decks_can_be_played(name: str) -> None:
    """A deck that comes along has a name, says what it is for, and has 20 cards or more, of the pool alone."""
    deck = read_deck(name)
    assert deck.name
    assert deck.tells
    assert not deck.cards
    assert sum(deck.main.values()) >= SMALLEST_DECK
    assert all(pool()[key].rank is None for key in deck.main)
    assert {pool()[key].rank for key in deck.extra} <= {1, 2, 3}
    assert deck.extra


def test_every_card_of_the_pool_is_in_a_deck() -> None:
    """No card of the pool is never played."""
    held = {key for name in SHIPPED for part in (read_deck(name).main, read_deck(name).extra) for key in part}
    assert held == set(pool())


def test_pool_uses_every_effect_kind_and_field() -> None:
    """All 18 effects are on some card, as are all kinds of cards and each of the fields that a card may have."""
    effects = [effect for card in pool().values() for effect in card.effects]
    assert {effect.does for effect in effects} == set(get_args(Does))
    assert len(get_args(Does)) == 18
    assert {card.kind for card in pool().values()} == {"creature", "relic", "spell"}
    cards = list(pool().values())
    assert all(any(getattr(card, field) for card in cards) for field in Card.__struct_fields__)
    assert {card.pays for card in cards} == {"effect", "cost"}
    assert {effect.whose for effect in effects} == {"theirs", "own", "all"}
    assert {effect.on for effect in effects} == {"creature", "relic"}


# ------------------------------------------------------------ decks that cannot be


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f'nome = "x"\n{MAIN}', ("mine.toml", "nome")),
        (f'name = "x"\nfoo = 1\n{MAIN}', ("mine.toml", "foo")),
        ('name = "x"\n[main]\nash-hound = "many"', ("mine.toml", "int", "main", "ash-hound")),
        ('name = "x"\n[main]\nash-hound = 21', ("mine.toml", "20", "main", "ash-hound")),
        ('name = "x"\n[main]\nash-hound = 0', ("mine.toml", "1", "main", "ash-hound")),
        ('name = "x"\n[main]\nash-hund = 20', ("mine.toml: main.ash-hund", "there is no such card")),
        ('name = "x"\n[main]\nash-hound = 19', ("mine.toml: main", "20 cards or more, not 19")),
        ('name = "x"\n[main]\nrift-moth = 20', ("mine.toml: main.rift-moth", "extra")),
        (f'name = "x"\n{MAIN}\n[extra]\nash-hound = 1', ("mine.toml: extra.ash-hound", "main")),
        ('name = ""\n' + MAIN, ("mine.toml", "name")),
        ('name = "x"', ("mine.toml", "main")),
        ("name = ", ("mine.toml", "Invalid value")),
        (b'name = "\xff"', ("mine.toml",)),
    ],
    ids=lambda value: None if isinstance(value, tuple) else "deck",
)
def test_fault_of_a_deck_names_file_place_and_what_to_do(content: str | bytes, told: tuple[str, ...]) -> None:
    """What is wrong with a deck is said with its file and the place in it."""
    message = fault(content)
    for part in told:
        assert part in message, message
    assert "\n" not in message


def test_shadowed_card_is_refused() -> None:
    """A card of one's own cannot be called like one of the pool: nobody would know which one is meant."""
    shadow = f'name = "x"\n{MAIN}\n[cards.ash-hound]\nname = "Other Hound"\nkind = "creature"'
    assert fault(shadow) == "mine.toml: cards.ash-hound: the pool has a card of this name; choose another"


def test_deck_that_is_not_there_is_told() -> None:
    """The message names the decks that there are."""
    with pytest.raises(DeckError, match=r"there is no deck no\.toml .*rift, reap, blaze"):
        read_deck("no.toml")


CREATURE = 'name = "X"\nkind = "creature"\n'
SPELL = 'name = "X"\nkind = "spell"\n'
RELIC = 'name = "X"\nkind = "relic"\n'


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ('kind = "creature"', "name"),
        ('name = "X"\nkind = "trap"', "trap"),
        (CREATURE + "colour = 3", "colour"),
        (CREATURE + "attack = 51", "attack"),
        (CREATURE + "attack = -1", "attack"),
        (CREATURE + "attack = 2.5", "attack"),
        (CREATURE + "rank = 0", "rank"),
        (CREATURE + "rank = 4", "rank"),
        (CREATURE + "soulrift = 13", "soulrift"),
        (CREATURE + "fickle = 101", "fickle"),
        (CREATURE + 'pays = "life"', "life"),
        (CREATURE + 'effects = [{ does = "explode" }]', "explode"),
        (CREATURE + 'effects = [{ does = "strike", amount = 51 }]', "amount"),
        (CREATURE + 'effects = [{ does = "strike", much = 1 }]', "much"),
        (CREATURE + 'effects = [{ does = "destroy", on = "spell" }]', "spell"),
        (CREATURE + 'effects = [{ does = "destroy", whose = "nobody" }]', "nobody"),
        (CREATURE + 'effects = [{ does = "destroy", modifier = 4 }]', "modifier"),
        (CREATURE + 'effects = [{ does = "release", rank = 4 }]', "rank"),
        (SPELL + 'rank = 1\neffects = [{ does = "strike" }]', "only a creature has a rank; drop rank"),
        (RELIC + "rank = 1", "only a creature has a rank; drop rank"),
        (RELIC + "attack = 1", "only a creature attacks; drop attack"),
        (RELIC + "sealed = true", "only a creature is Soulless or Sealed"),
        (RELIC + "soulless = true", "only a creature is Soulless or Sealed"),
        (SPELL, "a spell does something; give it effects"),
        (CREATURE + "rank = 1\nsoulrift = 1", "drop soulrift and event"),
        (CREATURE + "rank = 1\nevent = true", "drop soulrift and event"),
        (SPELL + 'delayed = true\neffects = [{ does = "strike" }]', "give it soulrift"),
        (SPELL + 'delayed = true\nsoulrift = 1\npays = "cost"\neffects = [{ does = "strike" }]', "give it soulrift"),
        (SPELL + 'fickle = 5\nsoulrift = 1\npays = "cost"\neffects = [{ does = "strike" }]', "drop fickle"),
        (SPELL + 'effects = [{ does = "destroy" }, { does = "seal" }]', "one effect at most chooses a card"),
    ],
    ids=lambda text: text.replace("\n", " ")[-40:],
)
def test_fault_of_a_card_names_it_and_what_to_do(card: str, told: str) -> None:
    """What is wrong with a card of one's own is said with the file and with the card or its field."""
    message = fault(OWN + card)
    assert message.startswith("mine.toml: ")
    assert told in message
    assert "own" in message, message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("card", "field"),
    [
        (CREATURE + "soulrift = 1", "effects"),
        (CREATURE + "soulrift = 1\ndelayed = true", "effects"),
        (SPELL + 'effects = [{ does = "seal", on = "relic" }]', "on"),
        (SPELL + 'effects = [{ does = "unseal", on = "relic" }]', "on"),
        (SPELL + 'effects = [{ does = "hollow", on = "relic" }]', "on"),
        (SPELL + 'effects = [{ does = "wake", on = "relic" }]', "on"),
        (SPELL + 'effects = [{ does = "raise", on = "relic" }]', "on"),
        (SPELL + 'effects = [{ does = "steal", whose = "own" }]', "whose"),
    ],
    ids=lambda text: text.replace("\n", " ")[-40:],
)
def test_card_that_could_not_be_played_is_refused(card: str, field: str) -> None:
    """A card whose payment would stay open for ever, or whose effect no rule allows, is a fault of the file: no match
    with it begins.
    """
    assert field in fault(OWN + card)


@pytest.mark.parametrize("whose", ["own", "all"])
def test_steal_is_from_others(whose: str) -> None:
    """What a player controls already cannot be stolen: a card that would is refused when it is read."""
    text = OWN + f'name = "X"\nkind = "spell"\neffects = [{{ does = "steal", whose = "{whose}" }}]'
    assert "steal takes from others; drop whose" in fault(text)


@pytest.mark.parametrize(
    "text",
    ['"A\\u0001B"', '"A\\nB"', '"A\\u0085B"', '"' + 65 * "x" + '"', '""', '"sealed"'],
    ids=["control", "newline", "C1", "too long", "empty", "the engine's own"],
)
def test_names_that_no_record_takes_are_refused(text: str) -> None:
    """A card is called what the wire format allows: else the record of its matches could not be read again. The name
    `sealed` is the engine's own, where it modifies ranks.
    """
    assert "name" in fault(OWN + f'name = {text}\nkind = "spell"\neffects = [{{ does = "sweep", modifier = 1 }}]')


@pytest.mark.parametrize("key", ['"a\\u0001b"', '""', 60 * "k"], ids=["control", "empty", "too long"])
def test_keys_that_no_record_takes_are_refused(key: str) -> None:
    """What a deck calls a card becomes, with a number behind it, its name on the battlefield: at most 64 characters."""
    content = f'name = "x"\n[main]\n{key} = 10\nash-hound = 10\n[cards.{key}]\nname = "X"\nkind = "relic"'
    assert fault(content).startswith("mine.toml: ")


def test_own_cards_are_played_with() -> None:
    """A deck may bring cards of its own, for main and extra deck."""
    Path("mine.toml").write_text(
        'name = "Mine"\n[main]\nown = 15\nash-hound = 5\n[extra]\nbig = 2\n'
        '[cards.own]\nname = "My Card"\nkind = "spell"\nsoulrift = 2\neffects = [{ does = "strike", amount = 9 }]\n'
        '[cards.big]\nname = "Big"\nkind = "creature"\nrank = 3\nattack = 12\n'
    )
    deck = read_deck("mine.toml")
    assert deck.cards["own"] == Card("My Card", "spell", soulrift=2, effects=(Effect("strike", 9),))
    assert deck.cards["big"] == Card("Big", "creature", rank=3, attack=12)


def test_pool_file_is_judged_like_cards_of_a_deck() -> None:
    """A pool with a fault names its file and its card."""
    with pytest.raises(DeckError, match=r"^pool\.toml: cards\.x: a spell does something; give it effects$"):
        read_pool(b'[cards.x]\nname = "X"\nkind = "spell"', "pool.toml")


# ------------------------------------------------------------ which commands cards are


def board() -> State:
    """A table of a and b: of each a plain, a Sealed and a Soulless creature and a relic; Souls 1 to 4 in the Aether,
    of ranks 0, 3, 1 and 3.
    """
    state = State()
    given = [of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}]), of("begin_turn", player="a")]
    for player, prefix in (("a", "mine"), ("b", "theirs")):
        given += [
            of("enter", card=prefix, controller=player),
            of("enter", card=f"{prefix}-sealed", controller=player),
            of("seal", card=f"{prefix}-sealed"),
            of("enter", card=f"{prefix}-hollow", controller=player, soulless=True),
            of("enter", card=f"{prefix}-relic", controller=player, kind="other"),
        ]
    given += [of("release", rank=rank) for rank in (0, 3, 1, 3)]
    for command in given:
        fold(decide(state, decode_command(encode(command))), state)
    return state


def life(**deltas: int) -> Json:
    return of("change_life", changes=[{"delta": delta, "player": name} for name, delta in deltas.items()], reason="X")


COMMANDS: list[tuple[Mapping[str, Any], list[Json]]] = [
    ({"does": "again"}, []),
    ({"does": "banish"}, [of("leave", by="a", card="theirs", to="exile")]),
    ({"does": "bleed", "amount": 7}, [life(a=-7)]),
    ({"does": "bounce", "on": "relic"}, [of("leave", by="a", card="theirs-relic", to="hand")]),
    ({"does": "destroy"}, [of("destroy", by="a", cards=["theirs"], cause="X")]),
    (
        {"does": "destroy", "whose": "own", "modifier": -1},
        [
            of(
                "destroy",
                by="a",
                cards=["mine"],
                cause="X",
                modifiers=[{"card": "mine", "delta": -1, "name": "X"}],
            )
        ],
    ),
    ({"does": "destroy", "on": "relic", "whose": "all"}, [of("destroy", by="a", cards=["mine-relic"], cause="X")]),
    ({"does": "drain", "amount": 4}, [life(a=4, b=-4)]),
    ({"does": "heal", "amount": 3}, [life(a=3)]),
    ({"does": "hollow"}, [of("set_soulless", card="theirs", soulless=True)]),
    ({"does": "raise", "whose": "own"}, [of("set_rank", card="mine", cause="X", rank=1)]),
    ({"does": "reap", "amount": 3}, [of("reap", by="a", card="mine-relic", cause="X", souls=[2, 4, 3])]),
    ({"does": "release"}, [of("release", by="a", cause="X")]),
    ({"does": "release", "rank": 0}, [of("release", by="a", cause="X", rank=0)]),
    ({"does": "release", "rank": 2}, [of("release", by="a", cause="X", rank=2)]),
    ({"does": "scorch", "amount": 5}, [life(a=-5, b=-5)]),
    ({"does": "seal", "whose": "own"}, [of("seal", card="mine")]),
    ({"does": "steal"}, [of("change_control", card="theirs", to="a")]),
    ({"does": "strike", "amount": 2}, [life(b=-2)]),
    (
        {"does": "sweep"},
        [
            of(
                "destroy",
                by="a",
                cards=["mine", "mine-sealed", "mine-hollow", "theirs", "theirs-sealed", "theirs-hollow"],
                cause="X",
            )
        ],
    ),
    ({"does": "unseal", "whose": "all"}, [of("unseal", card="mine-sealed")]),
    ({"does": "wake", "whose": "own"}, [of("set_soulless", card="mine-hollow", soulless=False)]),
]


@pytest.mark.parametrize(("effect", "expected"), COMMANDS, ids=lambda value: str(value)[:40])
def test_effect_is_these_commands(effect: Mapping[str, Any], expected: list[Json]) -> None:
    """Each effect is the commands that a game server would give, aimed at the first card that fits, in normal form;
    the strict edge and the rules accept them.
    """
    state, chosen = board(), msgspec.convert(effect, Effect)
    target = next(iter(targets(chosen, state, "a"))) if chosen.does in TARGETED else None
    made = commands(chosen, Doing(state, "a", "mine-relic", "X", target))
    assert made is not None
    assert json.loads(encode(made)) == expected
    for command in made:
        decoded = decode_command(encode(command))
        assert encode(decoded) == encode(command)
        fold(decide(state, decoded), state)


def test_all_effects_are_tried() -> None:
    """The table above has every effect."""
    assert {effect["does"] for effect, _ in COMMANDS} == set(get_args(Does))


def test_sweep_modifies_every_soul() -> None:
    """A sweep with a modifier names it for each creature."""
    made = commands(Effect(does="sweep", modifier=1), Doing(board(), "a", None, "X", None))
    cards = ["mine", "mine-sealed", "mine-hollow", "theirs", "theirs-sealed", "theirs-hollow"]
    assert made is not None
    assert json.loads(encode(made[0]))["modifiers"] == [{"card": card, "delta": 1, "name": "X"} for card in cards]


def test_effects_on_nothing_fizzle() -> None:
    """What has nothing to be done to gives no commands: an empty table, a target that is gone or does not fit."""
    empty = State()
    start = of("start_match", match="m", players=[{"player": "a"}, {"player": "b"}])
    fold(decide(empty, decode_command(encode(start))), empty)
    assert commands(Effect(does="sweep"), Doing(empty, "a", None, "X", None)) is None
    assert commands(Effect(does="reap"), Doing(empty, "a", None, "X", None)) is None
    state = board()
    assert commands(Effect(does="reap"), Doing(state, "a", "gone", "X", None)) is None
    for target in (None, "gone", "mine", "theirs-relic"):
        assert commands(Effect(does="destroy"), Doing(state, "a", None, "X", target)) is None
    assert commands(Effect(does="seal"), Doing(state, "a", None, "X", "theirs-sealed")) is None
    assert commands(Effect(does="wake"), Doing(state, "a", None, "X", "theirs")) is None
