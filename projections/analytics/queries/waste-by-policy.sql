-- Power wasted, by policy
--
-- How much of the power that players paid was burned instead of buying something, by policy, and how sure that is. Of
-- simulated matches that have ended.
--
-- Columns:
--   policy   the policy
--   seats    players in matches
--   paid     power of all their payments
--   overpay  power that burned as it was paid beyond the cost (B-2)
--   fizzle   as what it paid for fizzled (B-3)
--   rift     as ranks of a Rift were not used (B-4)
--   wasted   all of it
--   share    wasted / paid, 0 to 1; null if nothing was paid
--   error    its standard error, by the spread of the seats around it; null of one seat
--
-- Definition: power wasted, version 1

WITH
    burned AS (
        SELECT
            match,
            player,
            sum(power) FILTER (WHERE source = 'overpay') AS overpay,
            sum(power) FILTER (WHERE source = 'fizzle') AS fizzle,
            sum(power) FILTER (WHERE source = 'rift') AS rift
        FROM soulburns
        GROUP BY match, player
    ),
    paid AS (
        SELECT match, player, sum(power) AS paid
        FROM payments
        GROUP BY match, player
    ),
    seats AS (
        SELECT
            players.policy,
            coalesce(paid.paid, 0) AS paid,
            coalesce(burned.overpay, 0) AS overpay,
            coalesce(burned.fizzle, 0) AS fizzle,
            coalesce(burned.rift, 0) AS rift,
            wasted
        FROM players
        JOIN matches USING (match)
        LEFT JOIN burned USING (match, player)
        LEFT JOIN paid USING (match, player)
        WHERE status = 'ended' AND policy IS NOT NULL
    )
SELECT
    policy,
    count(*) AS seats,
    sum(paid)::BIGINT AS paid,
    sum(overpay)::BIGINT AS overpay,
    sum(fizzle)::BIGINT AS fizzle,
    sum(rift)::BIGINT AS rift,
    sum(wasted)::BIGINT AS wasted,
    sum(wasted) / nullif(sum(paid), 0) AS share,
    sqrt(abs(var_samp(wasted) - 2 * share * covar_samp(wasted, paid) + share * share * var_samp(paid)) * count(*))
        / nullif(sum(paid), 0) AS error
FROM seats
GROUP BY policy
ORDER BY seats DESC, policy
