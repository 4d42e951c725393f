-- Rifts by rank
--
-- What came through Rifts of each rank, and what their unused ranks burned. Of matches that have ended.
--
-- Columns:
--   rank       of the Rift, 1 to 3
--   opened     Rifts
--   creatures  creatures that came through one, on average
--   highest    highest rank that came through one, on average; 0 if nothing did
--   unused     ranks that were not used, on average
--   empty      share of Rifts through which nothing came (R-6), 0 to 1
--   used_up    share of Rifts through which a creature of their own rank came (R-5)
--   burned     life that unused ranks took, on average (B-4); none where the match ended first (R-10)
--
-- Definition: use of Rifts, version 1

SELECT
    rifts.rank,
    count(*) AS opened,
    avg(summoned) AS creatures,
    avg(highest) AS highest,
    avg(rifts.rank - highest) AS unused,
    avg((summoned = 0)::INTEGER) AS empty,
    avg((highest = rifts.rank)::INTEGER) AS used_up,
    avg(burned) AS burned
FROM rifts
JOIN matches USING (match)
WHERE status = 'ended'
GROUP BY rifts.rank
ORDER BY rifts.rank
