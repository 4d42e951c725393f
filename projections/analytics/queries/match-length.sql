-- Length of matches
--
-- How many turns matches take, by the number of players: so many or fewer in a tenth of them, in a quarter, and so on.
-- Of matches that have ended.
--
-- Columns:
--   players  how many sat down
--   matches  matches
--   least    turns of the shortest one
--   p10      a tenth of them took so many turns or fewer
--   p25      a quarter
--   median   half
--   p75      three quarters
--   p90      nine tenths
--   most     turns of the longest one
--   mean     turns on average
--
-- Definition: match length, version 1

SELECT
    players,
    count(*) AS matches,
    min(turns) AS least,
    quantile_disc(turns, 0.1) AS p10,
    quantile_disc(turns, 0.25) AS p25,
    quantile_disc(turns, 0.5) AS median,
    quantile_disc(turns, 0.75) AS p75,
    quantile_disc(turns, 0.9) AS p90,
    max(turns) AS most,
    avg(turns) AS mean
FROM matches
WHERE status = 'ended'
GROUP BY players
ORDER BY players
