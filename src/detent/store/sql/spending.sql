-- What embedding has cost, and who is embedding what.

-- name: note_spending
-- Keeps what a worker has spent so far.
INSERT INTO spending (owner, provider, tokens) VALUES (%(owner)s, %(provider)s, %(tokens)s)
ON CONFLICT (provider, owner) DO UPDATE SET tokens = greatest(spending.tokens, excluded.tokens);

-- name: add_spending
-- Adds to what an owner has spent, and says what all have, now and before. Less is added where less was used.
WITH added AS (
    INSERT INTO spending (owner, provider, tokens)
    SELECT %(owner)s, %(provider)s, %(tokens)s::bigint WHERE %(tokens)s::bigint <> 0
    ON CONFLICT (provider, owner) DO UPDATE SET tokens = spending.tokens + excluded.tokens
)
SELECT coalesce(sum(tokens), 0)::bigint + %(tokens)s::bigint AS tokens FROM spending WHERE provider = %(provider)s;

-- name: spent_elsewhere
-- What all others have spent, now and before.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM spending WHERE provider = %(provider)s AND owner <> %(owner)s;

-- name: try_reserve
-- Reserves texts for who asks, where nobody has them.
SELECT key, pg_try_advisory_lock(key) AS taken FROM unnest(%(keys)s::bigint[]) AS asked (key);

-- name: end_reservations
-- Lets others have texts.
SELECT pg_advisory_unlock(key) FROM unnest(%(keys)s::bigint[]) AS asked (key);
