-- Creatures by the rank of the Rift
--
-- How many creatures of each rank came through Rifts of each rank. Of matches that have ended.
--
-- Columns:
--   rank       of the Rift, 1 to 3
--   opened     Rifts
--   rank_0     creatures of rank 0, or without one, that came through a Rift, on average (R-3)
--   rank_1     of rank 1
--   rank_2     of rank 2
--   rank_3     of rank 3
--   creatures  all of them
--
-- Definition: use of Rifts, version 1

WITH
    came AS (
        SELECT
            match,
            rift,
            count(*) FILTER (WHERE coalesce(rank, 0) = 0) AS rank_0,
            count(*) FILTER (WHERE rank = 1) AS rank_1,
            count(*) FILTER (WHERE rank = 2) AS rank_2,
            count(*) FILTER (WHERE rank = 3) AS rank_3
        FROM summons
        GROUP BY match, rift
    ),
    by_rank AS (
        SELECT
            rifts.rank,
            count(*) AS opened,
            avg(coalesce(rank_0, 0)) AS rank_0,
            avg(coalesce(rank_1, 0)) AS rank_1,
            avg(coalesce(rank_2, 0)) AS rank_2,
            avg(coalesce(rank_3, 0)) AS rank_3
        FROM rifts
        JOIN matches USING (match)
        LEFT JOIN came USING (match, rift)
        WHERE status = 'ended'
        GROUP BY rifts.rank
    )
SELECT *, rank_0 + rank_1 + rank_2 + rank_3 AS creatures
FROM by_rank
ORDER BY rank
