-- Soulburn by source
--
-- What Soulburn took, by what it was for: overpaying, effects that fizzled, unused ranks of Rifts. Of matches that have
-- ended.
--
-- Columns:
--   source     overpay (B-2), fizzle (B-3) or rift (B-4)
--   times      how often somebody burned for it
--   power      power levels that burned
--   burned     life that this took
--   share      its share of all life that Soulburn took, 0 to 1
--   per_match  life in a match, on average over all of them
--
-- Definition: Soulburn, version 1

WITH ended AS (SELECT match FROM matches WHERE status = 'ended')
SELECT
    source,
    count(*) AS times,
    sum(power)::BIGINT AS power,
    sum(damage)::BIGINT AS burned,
    sum(damage) / sum(sum(damage)) OVER () AS share,
    sum(damage) / (SELECT count(*) FROM ended) AS per_match
FROM soulburns
JOIN ended USING (match)
GROUP BY source
ORDER BY burned DESC, source
