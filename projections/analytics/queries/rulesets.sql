-- Rulesets
--
-- How matches went under each ruleset, for all of its fields. Matches of other decks or policies may stand behind
-- another ruleset: `soulrift study` compares them in the same matches. Of matches that have ended.
--
-- Columns:
--   starting_life       of the ruleset, life (L-1)
--   soulburn_per_power  life a power level (B-1)
--   sealed_bonus        ranks (C-7)
--   release_rank        rank (C-9)
--   rift_min_rank       rank (R-3)
--   souls_on_leaving    return or lost (A-6)
--   overpay             needed, any or least (P-5)
--   matches             matches
--   turns               turns of a match, on average
--   first_won           share that the player won who had the first turn, of those in which a turn began, 0 to 1; a
--                       draw is not won
--   burned              life that Soulburn took in a match, on average
--
-- Definitions: win rate, version 1; Soulburn, version 1

WITH burned AS (SELECT match, sum(damage) AS burned FROM soulburns GROUP BY match)
SELECT
    starting_life,
    soulburn_per_power,
    sealed_bonus,
    release_rank,
    rift_min_rank,
    souls_on_leaving,
    overpay,
    count(*) AS matches,
    avg(turns) AS turns,
    avg((winner IS NOT NULL AND winner = first)::INTEGER) FILTER (WHERE first IS NOT NULL) AS first_won,
    avg(coalesce(burned, 0)) AS burned
FROM matches
LEFT JOIN burned USING (match)
WHERE status = 'ended'
GROUP BY ALL
ORDER BY ALL
