-- Win rate of deck against deck
--
-- How often a deck wins against another one, of simulated matches between two players that have ended. A deck against
-- itself is left out.
--
-- Columns:
--   deck      the deck
--   against   the other player's
--   played    matches
--   won       those that the deck won
--   drawn     those that nobody won; they are played, not won
--   low       lower end of the 95 % interval of the win rate (Wilson)
--   high      its upper end
--   win_rate  won / played, 0 to 1
--
-- Definition: win rate, version 1

WITH pairs AS (
    SELECT
        mine.deck,
        other.deck AS against,
        count(*) AS played,
        count(*) FILTER (WHERE mine.result = 'won') AS won,
        count(*) FILTER (WHERE mine.result = 'drawn') AS drawn
    FROM matches
    JOIN players AS mine USING (match)
    JOIN players AS other ON other.match = mine.match AND other.seat <> mine.seat
    WHERE matches.status = 'ended' AND matches.players = 2 AND mine.deck <> other.deck
    GROUP BY ALL
)
SELECT
    deck,
    against,
    played,
    won,
    drawn,
    if(won = 0, 0, (won + 1.9208 - 1.96 * sqrt(won * (played - won) / played + 0.9604)) / (played + 3.8416)) AS low,
    if(
        won = played, 1, (won + 1.9208 + 1.96 * sqrt(won * (played - won) / played + 0.9604)) / (played + 3.8416)
    ) AS high,
    won / played AS win_rate
FROM pairs
ORDER BY deck, against
