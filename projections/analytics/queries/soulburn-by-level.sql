-- Soulburn by power level
--
-- How much power burned at once, and how much life that took. Of matches that have ended.
--
-- Columns:
--   source  overpay (B-2), fizzle (B-3) or rift (B-4)
--   level   power that burned at once (B-1); 5 stands for 5 and more
--   times   how often
--   burned  life that this took, in all
--
-- Definition: Soulburn, version 1

SELECT
    source,
    least(power, 5) AS level,
    count(*) AS times,
    sum(damage)::BIGINT AS burned
FROM soulburns
JOIN matches USING (match)
WHERE status = 'ended'
GROUP BY source, level
ORDER BY list_position(['overpay', 'fizzle', 'rift'], source), level
