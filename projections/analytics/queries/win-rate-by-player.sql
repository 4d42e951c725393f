-- Win rate by player
--
-- How often each player wins, of matches that were played, not simulated, and have ended. Players are told apart by the
-- names that commands have for them.
--
-- Columns:
--   player    the player
--   played    matches
--   won       those that the player won
--   drawn     those that nobody won; they are played, not won
--   chance    what the win rate would be if everybody won equally often: 1 / players, on average over the matches
--   low       lower end of the 95 % interval of the win rate (Wilson)
--   high      its upper end
--   win_rate  won / played, 0 to 1
--
-- Definition: win rate, version 1

WITH seats AS (
    SELECT
        player,
        count(*) AS played,
        count(*) FILTER (WHERE result = 'won') AS won,
        count(*) FILTER (WHERE result = 'drawn') AS drawn,
        avg(1 / matches.players) AS chance
    FROM players
    JOIN matches USING (match)
    WHERE status = 'ended' AND run IS NULL
    GROUP BY player
)
SELECT
    player,
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
ORDER BY played DESC, player
