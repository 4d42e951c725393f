-- Effects that were paid for
--
-- How often each effect was paid for, and what became of it. Of matches that have ended.
--
-- Columns:
--   effect       as the game named it
--   paid         how often it was paid for
--   resolved     how often it resolved
--   fizzled      how often it fizzled (B-3)
--   cost         power that it cost, on average
--   power        power of the Souls that paid for it, on average
--   burned       life that its overpay and its fizzling took, on average
--   fizzle_rate  fizzled / (resolved + fizzled), 0 to 1; those that neither resolved nor fizzled do not count
--
-- Definition: fizzle rate, version 1

SELECT
    effect,
    count(*) AS paid,
    count(*) FILTER (WHERE outcome = 'resolved') AS resolved,
    count(*) FILTER (WHERE outcome = 'fizzled') AS fizzled,
    avg(amount) AS cost,
    avg(power) AS power,
    avg(burned) AS burned,
    fizzled / nullif(resolved + fizzled, 0) AS fizzle_rate
FROM payments
JOIN matches USING (match)
WHERE status = 'ended' AND kind = 'effect'
GROUP BY effect
ORDER BY paid DESC, effect
