-- Win rate by deck
--
-- How often each deck wins against others, of simulated matches that have ended and in which it met another one: a match
-- among the same tells nothing of it. The interval takes seats as independent.
--
-- Columns:
--   deck      the deck
--   played    seats that it was played in
--   won       matches that they won
--   drawn     matches that nobody won; they are played, not won
--   chance    what the win rate would be if all seats won equally often: 1 / players, on average
--   low       lower end of the 95 % interval of the win rate (Wilson)
--   high      its upper end
--   win_rate  won / played, 0 to 1
--
-- Definition: win rate, version 1

WITH
    mixed AS (SELECT match FROM players GROUP BY match HAVING count(DISTINCT deck) > 1),
    seats AS (
        SELECT
            deck,
            count(*) AS played,
            count(*) FILTER (WHERE result = 'won') AS won,
            count(*) FILTER (WHERE result = 'drawn') AS drawn,
            avg(1 / matches.players) AS chance
        FROM players
        JOIN mixed USING (match)
        JOIN matches USING (match)
        WHERE status = 'ended'
        GROUP BY deck
    )
SELECT
    deck,
    played,
    won,
    drawn,
    chance,
    if(won = 0, 0, (won + 1.9208 - 1.96 * sqrt(won * (played - won) / played + 0.9604)) / (played + 3.8416)) AS low,
    if(
        won = played, 1, (won + 1.9208 + 1.96 * sqrt(won * (played - won) / played + 0.9604)) / (played + 3.8416)
    ) AS high,
    won / played AS win_rate
FROM seats
ORDER BY win_rate DESC, deck
