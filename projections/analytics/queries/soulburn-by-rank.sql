-- Soulburn by the rank of the Souls that paid
--
-- Whether strong Souls burn more than weak ones. What a payment burned, for overpaying, for fizzling and for the unused
-- ranks of the Rift that it opened, is shared out among its Souls by their power; so the columns add up to all Soulburn.
-- Of matches that have ended.
--
-- Columns:
--   rank      of the Soul when it was spent, 0 to 3
--   spent     Souls of that rank that were spent
--   power     their power
--   overpay   life that overpaying took (B-2), their part of it
--   fizzle    life that fizzling took (B-3), their part
--   rift      life that unused ranks took (B-4), their part
--   burned    all of it
--   per_soul  life for each Soul that was spent
--
-- Definition: Soulburn by rank, version 1

WITH
    ended AS (SELECT match FROM matches WHERE status = 'ended'),
    burns AS (
        SELECT
            match,
            coalesce(soulburns.payment, rifts.payment) AS payment,
            sum(damage) FILTER (WHERE source = 'overpay') AS overpay,
            sum(damage) FILTER (WHERE source = 'fizzle') AS fizzle,
            sum(damage) FILTER (WHERE source = 'rift') AS rift
        FROM soulburns
        LEFT JOIN rifts USING (match, rift)
        GROUP BY ALL
    ),
    spent AS (
        SELECT
            match,
            payment,
            last_rank AS rank,
            last_rank + 1 AS power,
            (last_rank + 1) / sum(last_rank + 1) OVER (PARTITION BY match, payment) AS part
        FROM souls
        JOIN ended USING (match)
        WHERE fate = 'spent'
    ),
    by_rank AS (
        SELECT
            rank,
            count(*) AS spent,
            sum(power)::BIGINT AS power,
            coalesce(sum(part * overpay), 0) AS overpay,
            coalesce(sum(part * fizzle), 0) AS fizzle,
            coalesce(sum(part * rift), 0) AS rift
        FROM spent
        LEFT JOIN burns USING (match, payment)
        GROUP BY rank
    )
SELECT *, overpay + fizzle + rift AS burned, burned / spent AS per_soul
FROM by_rank
ORDER BY rank
