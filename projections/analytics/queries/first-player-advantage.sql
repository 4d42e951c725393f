-- First player's advantage
--
-- How often the player wins who had the first turn, of matches that have ended and in which a turn began; by the number
-- of players, since the first one of four would win every fourth match by chance.
--
-- Columns:
--   players   how many sat down
--   matches   matches
--   won       those that the first player won
--   drawn     those that nobody won; they are played, not won
--   chance    what the win rate would be if the first turn meant nothing and nobody drew: 1 / players
--   low       lower end of the 95 % interval of the win rate (Wilson)
--   high      its upper end
--   win_rate  won / matches, 0 to 1
--
-- Definition: win rate, version 1

WITH begun AS (
    SELECT
        players,
        count(*) AS matches,
        count(*) FILTER (WHERE winner = first) AS won,
        count(*) FILTER (WHERE winner IS NULL) AS drawn
    FROM matches
    WHERE status = 'ended' AND first IS NOT NULL
    GROUP BY players
)
SELECT
    players,
    matches,
    won,
    drawn,
    1 / players AS chance,
    if(won = 0, 0, (won + 1.9208 - 1.96 * sqrt(won * (matches - won) / matches + 0.9604)) / (matches + 3.8416)) AS low,
    if(
        won = matches, 1, (won + 1.9208 + 1.96 * sqrt(won * (matches - won) / matches + 0.9604)) / (matches + 3.8416)
    ) AS high,
    won / matches AS win_rate
FROM begun
ORDER BY players
