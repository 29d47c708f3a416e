-- The cost of embedding, and reservations of texts.

-- name: note_spending
-- Record the tokens that a worker has spent so far.
INSERT INTO spending (owner, provider, tokens) VALUES (%(owner)s, %(provider)s, %(tokens)s)
ON CONFLICT (provider, owner) DO UPDATE SET tokens = greatest(spending.tokens, excluded.tokens);

-- name: add_spending
-- Add to the tokens that an owner has spent, and return the total of all owners, present and former. A negative
-- amount corrects an estimate.
WITH added AS (
    INSERT INTO spending (owner, provider, tokens)
    SELECT %(owner)s, %(provider)s, %(tokens)s::bigint WHERE %(tokens)s::bigint <> 0
    ON CONFLICT (provider, owner) DO UPDATE SET tokens = spending.tokens + excluded.tokens
)
SELECT coalesce(sum(tokens), 0)::bigint + %(tokens)s::bigint AS tokens FROM spending WHERE provider = %(provider)s;

-- name: spent_elsewhere
-- The tokens that all other owners have spent, present and former.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM spending WHERE provider = %(provider)s AND owner <> %(owner)s;

-- name: try_reserve
-- Reserve texts that nobody else has reserved.
SELECT key, pg_try_advisory_lock(key) AS taken FROM unnest(%(keys)s::bigint[]) AS asked (key);

-- name: end_reservations
-- Release texts to others.
SELECT pg_advisory_unlock(key) FROM unnest(%(keys)s::bigint[]) AS asked (key);
