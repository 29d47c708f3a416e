-- What embedding has cost.

-- name: note_spending
-- Keeps what a worker has spent so far.
INSERT INTO spending (owner, provider, tokens) VALUES (%(owner)s, %(provider)s, %(tokens)s)
ON CONFLICT (provider, owner) DO UPDATE SET tokens = greatest(spending.tokens, excluded.tokens);

-- name: spent_elsewhere
-- What all others have spent, now and before.
SELECT coalesce(sum(tokens), 0)::bigint AS tokens FROM spending WHERE provider = %(provider)s AND owner <> %(owner)s;
