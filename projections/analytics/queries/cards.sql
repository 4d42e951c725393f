-- Cards
--
-- How often each card of the card pool came to the battlefield, what became of it, and how often those won who played
-- it at least once. That says as much about the decks that it is in as about the card. Of matches that have ended;
-- cards without a definition are left out.
--
-- Columns:
--   card       its definition
--   name       its name for display
--   played     times that it came to the battlefield, through a Rift or otherwise
--   destroyed  times that it was destroyed
--   souls      Souls that it gave (C-1)
--   seats      players who played it in a match at least once; they controlled it first
--   won        those of them who won
--   low        lower end of the 95 % interval of the win rate (Wilson)
--   high       its upper end
--   win_rate   won / seats, 0 to 1
--
-- Definition: card win rate, version 1

WITH
    stays AS (
        SELECT cards.*, result
        FROM cards
        JOIN players USING (match, player)
        WHERE result <> 'running' AND definition IS NOT NULL
    ),
    seats AS (
        SELECT definition, count(*) AS seats, count(*) FILTER (WHERE result = 'won') AS won
        FROM (SELECT DISTINCT match, player, definition, result FROM stays)
        GROUP BY definition
    )
SELECT
    definition AS card,
    min(name) AS name,
    count(*) AS played,
    count(*) FILTER (WHERE fate = 'destroyed') AS destroyed,
    count(soul) AS souls,
    seats,
    won,
    if(won = 0, 0, (won + 1.9208 - 1.96 * sqrt(won * (seats - won) / seats + 0.9604)) / (seats + 3.8416)) AS low,
    if(won = seats, 1, (won + 1.9208 + 1.96 * sqrt(won * (seats - won) / seats + 0.9604)) / (seats + 3.8416)) AS high,
    won / seats AS win_rate
FROM stays
JOIN seats USING (definition)
GROUP BY definition, seats, won
ORDER BY played DESC, card
