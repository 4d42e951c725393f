-- Rifts by the highest rank that came through
--
-- How often which rank was the highest that came through a Rift of which rank, and what the ranks above it burned. Of
-- matches that have ended.
--
-- Columns:
--   rank     of the Rift, 1 to 3
--   highest  highest rank that came through; 0 if nothing did, or a creature of rank 0 where the ruleset lets it (R-3)
--   opened   Rifts
--   share    share of all Rifts of that rank, 0 to 1
--   burned   life that their unused ranks took, in all (B-4); none where the match ended first (R-10)
--
-- Definition: use of Rifts, version 1

SELECT
    rifts.rank,
    highest,
    count(*) AS opened,
    count(*) / sum(count(*)) OVER (PARTITION BY rifts.rank) AS share,
    sum(burned)::BIGINT AS burned
FROM rifts
JOIN matches USING (match)
WHERE status = 'ended'
GROUP BY rifts.rank, highest
ORDER BY rifts.rank, highest
