-- What the power of spent Souls bought, by rank
--
-- How much of the power of spent Souls bought something, by the rank that they had then, and how sure that is. What was
-- overpaid (B-2), fizzled (B-3), or opened ranks of a Rift that were not used (B-4) is wasted, and wasted of all Souls of
-- a payment alike. Of matches that have ended.
--
-- Columns:
--   rank     of the Soul when it was spent, 0 to 3
--   matches  matches in which such a Soul was spent
--   spent    Souls
--   power    their power
--   bought   power that was not wasted
--   share    bought / power, 0 to 1
--   error    its standard error, by the spread of the matches around it; null of one match
--
-- Definition: value of a Soul, version 1

WITH by_match AS (
    SELECT
        match,
        last_rank AS rank,
        count(*) AS spent,
        sum(last_rank + 1) AS power,
        sum((last_rank + 1) * (1 - wasted / payments.power)) AS bought
    FROM souls
    JOIN matches USING (match)
    JOIN payments USING (match, payment)
    WHERE status = 'ended' AND fate = 'spent'
    GROUP BY match, last_rank
)
SELECT
    rank,
    count(*) AS matches,
    sum(spent)::BIGINT AS spent,
    sum(power)::BIGINT AS power,
    sum(bought) AS bought,
    sum(bought) / sum(power) AS share,
    sqrt(abs(var_samp(bought) - 2 * share * covar_samp(bought, power) + share * share * var_samp(power)) * count(*))
        / sum(power) AS error
FROM by_match
GROUP BY rank
ORDER BY rank
