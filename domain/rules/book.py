"""The words of the rule book: each rule by its number, in a sentence or two that a player understands.

Lives here: the words alone. Must not know: any match, or how the rules are judged (the deciders). Whole and binding is
the book itself, `docs/rules.md`; these are the words of version 1 of it, with the figures of the usual ruleset.
"""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "S-1": "A Soul has a rank from 0 to 3. As payment it counts for one more: a power from 1 to 4.",
    "S-2": "Every Soul is in one place: in the Aether, on one card, or gone for good.",
    "S-3": "A Soul that is not gone stays the same Soul and keeps its rank, wherever it moves.",
    "C-1": "A creature that is destroyed on the battlefield leaves one new Soul in the Aether.",
    "C-2": "A creature that is Soulless when it is destroyed leaves none.",
    "C-3": "A new Soul's rank is the creature's rank plus every modifier; only the sum is held within 0 and 3.",
    "C-4": "A creature without a rank counts as rank 0.",
    "C-5": "Creatures of the extra deck have rank 1, 2 or 3.",
    "C-6": "No creature is of a higher rank than 3.",
    "C-7": "A creature that is Sealed when it is destroyed leaves a Soul of a rank 1 higher (sealed_bonus).",
    "C-8": "Effects may add named modifiers to a new Soul's rank, or change the rank of a living creature.",
    "C-9": "A Soul that an effect releases is a new one in the Aether, of the rank that the effect gives, or of rank 0 "
    "if it gives none (release_rank).",
    "C-10": "Cards that are no creatures leave no Soul of their own.",
    "C-11": "A card that leaves in any other way than by destruction leaves no new Soul.",
    "C-12": "Of cards destroyed together all leave first, each as it was; then, card by card, Souls on it return and "
    "its own comes.",
    "P-1": "Soulrift N is paid with Souls of a total power of at least N.",
    "P-2": "A player may pay with Souls in the Aether and on cards that this player controls at that moment.",
    "P-3": "Souls give no change: the power beyond the cost is wasted, and burns.",
    "P-4": "Souls are consumed as payment only, and for something that the player names.",
    "P-5": "A payment holds no Soul without which the others would still reach the cost (overpay).",
    "P-6": "If all Souls open to a player do not add up to the cost, it cannot be paid.",
    "P-7": "A Soul is named once in a payment.",
    "B-1": "Soulburn takes 3 life (soulburn_per_power) for each power level, from the player who paid.",
    "B-2": "Whoever pays too much burns at once, at a power level of the power consumed less the cost.",
    "B-3": "When a paid effect fizzles, its payer burns at a power level of its cost; what was overpaid burned before.",
    "B-4": "Closing a Rift burns its player at a power level of its rank less the highest rank that came through it.",
    "B-5": "Nothing else causes Soulburn, and nobody can choose to burn.",
    "E-1": "A payment for an effect is open until that effect resolves or fizzles: one of the two, once.",
    "E-2": "A payment for anything but an effect is final at once.",
    "E-3": "An effect for which no Souls were paid may fizzle too; that burns nobody.",
    "R-1": "Each turn gives its player one Event, and opening a Rift is one.",
    "R-2": "A Rift of rank 1, 2 or 3 is opened by paying Soulrift of that number, as for any other cost.",
    "R-3": "Through an open Rift its player summons creatures of rank 1 (rift_min_rank) up to the Rift's rank.",
    "R-4": "A Rift stays open until its player closes it.",
    "R-5": "One creature of the Rift's own rank is enough for nothing to burn, even if it is no longer there.",
    "R-6": "A Rift may be closed though nothing came through it: its full rank burns, and the Event is spent.",
    "R-7": "Only the player whose turn it is can open a Rift.",
    "R-8": "One Rift is open at a time, and no turn begins while one is.",
    "R-9": "A player who falls to the Soulburn of the opening payment gets no Rift.",
    "R-10": "A Rift closes by itself and burns nobody when its player is defeated or the match is over.",
    "A-1": "To reap is to lay Souls out of the Aether on a card of the battlefield.",
    "A-2": "Souls on a card are open to the player who controls it, and to nobody else.",
    "A-3": "Whoever gains control of a card can use the Souls on it from that moment on; the former controller cannot.",
    "A-4": "The Souls on a card that is destroyed return to the Aether, beside the Soul that it may leave itself.",
    "A-5": "Souls are reaped from the Aether only, never from another card.",
    "A-6": "When a card leaves without being destroyed, the Souls on it return to the Aether (souls_on_leaving).",
    "L-1": "All players begin with the same life, 30 unless agreed otherwise (starting_life).",
    "L-2": "Soulburn changes life, and so does whatever else the game reports; life may go below 0.",
    "L-3": "Whoever has 0 life or less once a command is done is defeated: burns no more, and does not come back.",
    "L-4": "The last player standing has won; if the last ones fall together it is a draw. Players may concede.",
    "L-5": "The defeated do nothing more. Once a match is over, only a judge's ruling is taken.",
    "L-6": "Whose turn comes next is what the game reports; each turn brings an unused Event.",
    "L-7": "The game may declare a match over, with or without a winner.",
    "J-1": "A judge mends a match by a ruling: who, why, about which entry, what is corrected. The record only grows.",
    "J-2": "A ruling keeps to S-1 and S-2 only: ranks stay within 0 and 3, and Souls that are gone do not come back.",
    "J-3": "Defeats and the end are looked at once, after the last correction of a ruling.",
}
"""Every rule of the book, in its order."""


def words(rule: str) -> str:
    """The words of the rule with this number, as "B-2".

    Raises:
        KeyError: the book has no such rule.

    """
    return WORDS[rule]
