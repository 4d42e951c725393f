-- What a Soul is worth, by rank
--
-- What becomes of Souls of each rank, how long they lie until they are spent, and how much of what they pay is not
-- burned. Of matches that have ended.
--
-- Columns:
--   rank       the rank that the Soul came with, 0 to 3
--   came       Souls
--   per_match  Souls in a match, on average
--   spent      share of them that was spent (P-4), 0 to 1
--   lost       share that was lost (A-6, or by a ruling)
--   left_over  share that was there still at the end, in the Aether or on a card
--   turns      turns from when it came until it was spent, on average
--   bought     share of a spent Soul's power that bought something: 1 - wasted / power of its payment, on average over
--              Souls; what was overpaid, fizzled, or opened ranks of a Rift that were not used is wasted
--
-- Definition: value of a Soul, version 1

WITH ended AS (SELECT match FROM matches WHERE status = 'ended')
SELECT
    souls.rank,
    count(*) AS came,
    count(*) / (SELECT count(*) FROM ended) AS per_match,
    avg((fate = 'spent')::INTEGER) AS spent,
    avg((fate = 'lost')::INTEGER) AS lost,
    avg((fate IN ('aether', 'card'))::INTEGER) AS left_over,
    avg(end_turn - souls.turn) FILTER (WHERE fate = 'spent') AS turns,
    avg(1 - wasted / power) FILTER (WHERE fate = 'spent') AS bought
FROM souls
JOIN ended USING (match)
LEFT JOIN payments USING (match, payment)
GROUP BY souls.rank
ORDER BY souls.rank
