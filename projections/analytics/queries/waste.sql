-- Power wasted, by deck and source
--
-- How much of the power that players paid was burned instead of buying something. Of matches that have ended.
--
-- Columns:
--   deck    the deck; null for matches that were not simulated
--   source  overpay (B-2), fizzle (B-3) or rift (B-4)
--   wasted  power levels that burned
--   paid    power of all payments with this deck, whatever became of them
--   share   wasted / paid, 0 to 1
--
-- Definition: power wasted, version 1

WITH
    seats AS (SELECT match, player, deck FROM players WHERE result <> 'running'),
    paid AS (
        SELECT deck, sum(power) AS paid
        FROM payments
        JOIN seats USING (match, player)
        GROUP BY deck
    ),
    wasted AS (
        SELECT deck, source, sum(power) AS wasted
        FROM soulburns
        JOIN seats USING (match, player)
        GROUP BY deck, source
    )
SELECT
    wasted.deck,
    source,
    wasted::BIGINT AS wasted,
    paid::BIGINT AS paid,
    wasted / paid AS share
FROM wasted
JOIN paid ON paid.deck IS NOT DISTINCT FROM wasted.deck
ORDER BY wasted.deck, source
