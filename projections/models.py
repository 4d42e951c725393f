"""The read models that this program keeps; each is a file of its own."""

from projections import census, life, matches, payments, players, rifts, soulburn, souls

MODELS = (
    matches.MODEL,
    souls.MODEL,
    life.MODEL,
    soulburn.MODEL,
    payments.MODEL,
    rifts.MODEL,
    census.MODEL,
    players.MODEL,
)
