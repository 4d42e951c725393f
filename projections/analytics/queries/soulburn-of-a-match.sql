-- Soulburn of a match
--
-- The life that Soulburn took in a match, of all its players together, and how much matches differ in it: by source, and
-- of all sources. A match in which nothing burned counts as 0. Of matches that have ended.
--
-- Columns:
--   source   overpay (B-2), fizzle (B-3), rift (B-4), or all
--   matches  matches
--   mean     life in a match, on average
--   spread   its standard deviation between matches; null of one match
--
-- Definition: Soulburn, version 1

WITH burned AS (
    SELECT
        match,
        sum(burned_overpay) AS overpay,
        sum(burned_fizzle) AS fizzle,
        sum(burned_rift) AS rift,
        overpay + fizzle + rift AS "all"
    FROM players
    WHERE result <> 'running'
    GROUP BY match
)
SELECT
    source,
    count(*) AS matches,
    avg(life) AS mean,
    stddev_samp(life) AS spread
FROM (UNPIVOT burned ON overpay, fizzle, rift, "all" INTO NAME source VALUE life)
GROUP BY source
ORDER BY list_position(['overpay', 'fizzle', 'rift', 'all'], source)
