-- Life over turns
--
-- The life of those who won and of those who lost at the end of each turn, on average. A player's life stays as it was
-- until it changes; after its last turn a match counts no more, so later turns tell of long matches only. Of matches
-- that have ended with a winner.
--
-- Columns:
--   turn     the turn; 0 is the beginning
--   matches  matches that had this turn
--   winners  life of those who won them, on average
--   losers   life of all others, on average; it may be below zero (L-2)
--   lead     winners - losers
--
-- Definition: life over turns, version 1

WITH
    turns AS (
        SELECT match, unnest(range(turns + 1)) AS turn
        FROM matches
        WHERE status = 'ended' AND winner IS NOT NULL
    ),
    left_by AS (
        SELECT match, player, turn, last(life ORDER BY n, part) AS life
        FROM life
        GROUP BY match, player, turn
    )
SELECT
    turns.turn,
    count(*) FILTER (WHERE result = 'won') AS matches,
    avg(left_by.life) FILTER (WHERE result = 'won') AS winners,
    avg(left_by.life) FILTER (WHERE result = 'lost') AS losers,
    winners - losers AS lead
FROM turns
JOIN players USING (match)
ASOF JOIN left_by
    ON left_by.match = turns.match AND left_by.player = players.player AND left_by.turn <= turns.turn
GROUP BY turns.turn
ORDER BY turns.turn
