-- Life over turns, and how much it differs
--
-- The quartiles of the life of those who won and of those who lost at the end of each turn: a quarter had so much or
-- less, half, three quarters. Else as in life-by-turn, which has the means. Of matches that have ended with a winner.
--
-- Columns:
--   turn            the turn; 0 is the beginning
--   matches         matches that had this turn
--   winners_low     lower quartile of the life of those who won them
--   winners_median  its median
--   winners_high    its upper quartile
--   losers_low      lower quartile of the life of all others
--   losers_median   its median
--   losers_high     its upper quartile
--
-- Definition: life over turns, version 1

WITH
    ended AS (SELECT match, turns FROM matches WHERE status = 'ended' AND winner IS NOT NULL),
    held AS (
        SELECT
            match,
            player,
            life,
            turn AS since,
            lead(turn, 1, turns + 1) OVER (PARTITION BY match, player ORDER BY n, part) AS until
        FROM life
        JOIN ended USING (match)
    ),
    stays AS (
        SELECT result, held.life, since, until, count(*) AS players
        FROM held
        JOIN players USING (match, player)
        WHERE since < until
        GROUP BY ALL
    ),
    had AS (
        SELECT turn, result, life, sum(players) AS players
        FROM (SELECT result, life, players, unnest(range(since, until)) AS turn FROM stays)
        GROUP BY turn, result, life
    ),
    counted AS (
        SELECT
            turn,
            result,
            life,
            sum(players) OVER (PARTITION BY turn, result ORDER BY life) AS so_far,
            sum(players) OVER (PARTITION BY turn, result) AS players
        FROM had
    )
SELECT
    turn,
    max(players) FILTER (WHERE result = 'won')::BIGINT AS matches,
    min(life) FILTER (WHERE result = 'won' AND so_far >= 0.25 * players) AS winners_low,
    min(life) FILTER (WHERE result = 'won' AND so_far >= 0.5 * players) AS winners_median,
    min(life) FILTER (WHERE result = 'won' AND so_far >= 0.75 * players) AS winners_high,
    min(life) FILTER (WHERE result = 'lost' AND so_far >= 0.25 * players) AS losers_low,
    min(life) FILTER (WHERE result = 'lost' AND so_far >= 0.5 * players) AS losers_median,
    min(life) FILTER (WHERE result = 'lost' AND so_far >= 0.75 * players) AS losers_high
FROM counted
GROUP BY turn
ORDER BY turn
