-- Steering: statements for a program that drives items through their lifecycle by hand.

-- name: take
-- Put items whose places the caller has vacated under one lease: a claim of exactly these.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
given AS (
    INSERT INTO lease (owner, claimed_at, deadline, duration, waited, state, back_via, back_to, back_again,
                       fail_to, fail_kind, max_attempts, suspect, alone, open, items)
    SELECT %(owner)s, moment.now, moment.now + %(duration)s, %(duration)s, %(state)s, %(working)s, %(back_via)s,
           %(back_to)s, %(back_again)s, %(fail_to)s, %(fail_kind)s, %(max_attempts)s,
           false, cardinality(%(ids)s::bigint[]) = 1 AND NOT EXISTS (SELECT FROM lease WHERE owner = %(owner)s),
           cardinality(%(ids)s::bigint[]), %(ids)s::bigint[]
    FROM moment
    RETURNING token
),
moved AS (
    UPDATE item SET state = %(working)s, since = moment.now, not_before = '-infinity', token = given.token,
                    attempt = least(attempt, 32766) + 1, content_hash = coalesce(input.hash, item.content_hash)
    FROM moment, given, unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS input (id, hash)
    WHERE item.id = input.id
    RETURNING item.id, item.kind_id, item.key, item.priority, item.attempt, item.token, item.content_hash
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT counted.kind_id, change.state, change.count
    FROM (SELECT kind_id, count(*) AS count FROM moved GROUP BY kind_id) AS counted
    CROSS JOIN LATERAL (VALUES (%(state)s, -counted.count), (%(working)s, counted.count))
         AS change (state, count)
)
SELECT id, kind_id, key, priority, attempt, token, content_hash, id = ANY (%(suspects)s::bigint[]) AS alone,
       EXISTS (SELECT FROM failure WHERE item_id = moved.id) AS put_off,
       (SELECT data FROM checkpoint WHERE item_id = moved.id) AS checkpoint
FROM moved ORDER BY priority, id;

-- name: heard
-- The last heartbeat of the holders of these leases.
SELECT token, deadline - duration AS at FROM lease WHERE token = ANY (%(tokens)s::bigint[]);

-- name: lock_stale
-- Lock the leases on items of these kinds whose holders have been silent for this many seconds or, without a
-- number, for the duration of their lease.
SELECT token FROM lease
WHERE CASE WHEN %(seconds)s::float8 IS NULL THEN deadline < clock()
           ELSE deadline - duration < clock() - make_interval(secs => %(seconds)s) END
  AND EXISTS (SELECT FROM item WHERE item.id = ANY (lease.items) AND item.token = lease.token
                                 AND item.kind_id = ANY (%(kinds)s::integer[]))
ORDER BY token LIMIT %(limit)s FOR UPDATE SKIP LOCKED;

-- name: retriable
-- Failed items of some kinds, with one kind of error or any, that have fewer than `below` failed attempts with
-- their present content, including earlier rounds.
SELECT item.id
FROM unnest(%(kinds)s::integer[]) AS asked (kind_id)
JOIN place ON place.kind_id = asked.kind_id AND place.state = %(state)s
JOIN item ON item.id = place.item_id
LEFT JOIN failure ON failure.item_id = item.id
LEFT JOIN retried ON retried.item_id = item.id AND retried.content_hash IS NOT DISTINCT FROM item.content_hash
WHERE (%(error_kind)s::text IS NULL OR failure.kind = %(error_kind)s)
  AND item.attempt + coalesce(retried.count, 0) < %(below)s
LIMIT %(limit)s;

-- name: carry_attempts
-- Add the failed attempts of items that the caller holds to those of their earlier rounds.
INSERT INTO retried (item_id, count, content_hash)
SELECT id, attempt, content_hash FROM item WHERE id = ANY (%(ids)s::bigint[]) AND attempt > 0
ON CONFLICT (item_id) DO UPDATE
SET count = excluded.count
          + CASE WHEN retried.content_hash IS NOT DISTINCT FROM excluded.content_hash THEN retried.count ELSE 0 END,
    content_hash = excluded.content_hash;

-- name: note_embeddings
-- Record the embeddings of items; values not given stay as they were. A vector of Detent's own is described by its
-- hash alone.
INSERT INTO embedding (item_id, provider, model, content_hash, hash)
SELECT line.id, %(provider)s, %(model)s, line.content_hash, line.hash
FROM unnest(%(ids)s::bigint[], %(content_hashes)s::text[], %(hashes)s::uuid[]) AS line (id, content_hash, hash)
ON CONFLICT (item_id) DO UPDATE
SET provider = coalesce(excluded.provider, embedding.provider), model = coalesce(excluded.model, embedding.model),
    content_hash = CASE WHEN excluded.hash IS NULL THEN coalesce(excluded.content_hash, embedding.content_hash)
                        ELSE excluded.content_hash END,
    hash = coalesce(excluded.hash, embedding.hash);

-- name: progress
-- Data about items beside their state: the failed attempts of their earlier rounds, and their embedding.
SELECT asked.id, coalesce(retried.count, 0) AS retried, embedding.provider, embedding.model,
       coalesce(embedding.content_hash, replace(embedding.hash::text, '-', '')) AS content_hash
FROM unnest(%(ids)s::bigint[]) AS asked (id)
JOIN item ON item.id = asked.id
LEFT JOIN retried ON retried.item_id = item.id AND retried.content_hash IS NOT DISTINCT FROM item.content_hash
LEFT JOIN embedding ON embedding.item_id = item.id;

-- name: arrivals
-- The time when items last entered each of their states, as far back as the journal goes.
SELECT item_id, to_state AS state, max(at) AS at FROM move
WHERE item_id = ANY (%(ids)s::bigint[]) GROUP BY item_id, to_state;
