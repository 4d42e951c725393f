-- Souls on cards over turns
--
-- How many reaped Souls lie on cards (A-1) at the end of each turn, on average, by rank. After its last turn a match
-- counts no more, so later turns tell of long matches only. Of matches that have ended.
--
-- Columns:
--   turn     the turn
--   matches  matches that had this turn
--   rank_0   Souls of rank 0 in a match
--   rank_1   of rank 1
--   rank_2   of rank 2
--   rank_3   of rank 3
--   souls    all of them
--
-- Definition: Aether census, version 1

WITH
    ended AS (SELECT match, turns FROM matches WHERE status = 'ended'),
    stays AS (
        SELECT
            match,
            rank,
            step IN ('card', 'control') OR (step = 'rank' AND came_from = 'card') AS there,
            turn AS since,
            lead(turn, 1, turns + 1) OVER (PARTITION BY match, soul ORDER BY n, part) AS until
        FROM soul_moves
        JOIN ended USING (match)
    ),
    changes AS (
        SELECT since AS turn, rank, 1 AS souls FROM stays WHERE there
        UNION ALL
        SELECT until AS turn, rank, -1 AS souls FROM stays WHERE there
    ),
    by_turn AS (
        SELECT
            turn,
            sum(souls) FILTER (WHERE rank = 0) AS rank_0,
            sum(souls) FILTER (WHERE rank = 1) AS rank_1,
            sum(souls) FILTER (WHERE rank = 2) AS rank_2,
            sum(souls) FILTER (WHERE rank = 3) AS rank_3
        FROM changes
        GROUP BY turn
    ),
    turns AS (
        SELECT turn, count(*) AS matches
        FROM (SELECT unnest(range(turns + 1)) AS turn FROM ended)
        GROUP BY turn
    ),
    census AS (
        SELECT
            turn,
            matches,
            coalesce(sum(rank_0) OVER up_to_it, 0) / matches AS rank_0,
            coalesce(sum(rank_1) OVER up_to_it, 0) / matches AS rank_1,
            coalesce(sum(rank_2) OVER up_to_it, 0) / matches AS rank_2,
            coalesce(sum(rank_3) OVER up_to_it, 0) / matches AS rank_3
        FROM turns
        LEFT JOIN by_turn USING (turn)
        WINDOW up_to_it AS (ORDER BY turn)
    )
SELECT *, rank_0 + rank_1 + rank_2 + rank_3 AS souls
FROM census
WHERE turn > 0
ORDER BY turn
