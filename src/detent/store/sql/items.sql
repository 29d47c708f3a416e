-- Items: adding, moving by hand, listing.

-- name: add
-- Add the items of a kind that do not exist yet, and count them; null if the kind is gone.
SELECT add_items(%(kind)s, %(initial)s, %(waiting)s, %(keys)s, %(places)s, %(numbers)s, %(states)s, %(priorities)s,
                 %(hashes)s) AS count;

-- name: draw_numbers
-- Draw numbers for items, each greater than the one before.
SELECT nextval('item_id_seq') AS id FROM generate_series(1, %(count)s);

-- name: find
-- Items by kind and key.
SELECT item.id, item.kind_id, item.key, item.state, item.attempt, item.content_hash, item.token
FROM unnest(%(kinds)s::integer[], %(keys)s::text[]) AS asked (kind_id, key)
CROSS JOIN LATERAL (SELECT * FROM item WHERE item.kind_id = asked.kind_id AND item.key = asked.key LIMIT 1) AS item
ORDER BY item.id;

-- name: keys_in
-- Keys of a kind's items in these states, in order, with the trouble of their failure.
SELECT item.id, item.key, item.state, failure.trouble FROM item LEFT JOIN failure ON failure.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.key > %(after)s AND item.state = ANY (%(states)s::text[])
ORDER BY item.kind_id, item.key LIMIT %(limit)s;

-- name: find_by_id
-- Items by number, whether they are held back, and the working state in which they last failed.
SELECT item.id, item.kind_id, item.key, item.state, item.attempt, item.priority, item.content_hash, item.token,
       item.not_before = held_back() AS held_back, failure.state AS failed_in
FROM item LEFT JOIN failure ON failure.item_id = item.id
WHERE item.id = ANY (%(ids)s::bigint[]) ORDER BY item.id;

-- name: join_movers
-- The table locks of a transaction that moves items in several statements, taken before any row lock: otherwise a
-- mover could wait for a pruner of the journal that waits for another mover that waits for the first.
LOCK TABLE tally, journal IN ROW EXCLUSIVE MODE;

-- name: hold_kinds_of
-- Keep the sources of some items from being dropped, and the bounds of their kinds as they are, until this
-- transaction ends.
SELECT hold_kinds(ARRAY(SELECT DISTINCT kind_id FROM item WHERE id = ANY (%(ids)s::bigint[]))) AS id;

-- name: hold_leases
-- Lock the leases under which these items are held, so that nobody settles or rescues them meanwhile.
SELECT token, state FROM lease
WHERE token = ANY (ARRAY(SELECT token FROM item WHERE id = ANY (%(ids)s::bigint[]) AND token IS NOT NULL))
ORDER BY token FOR UPDATE;

-- name: hold_places
-- Lock the places of these items, so that nobody claims or moves them meanwhile.
SELECT place.item_id
FROM item
JOIN place ON place.kind_id = item.kind_id AND place.state = item.state
          AND place.not_before = item.not_before AND place.priority = item.priority
          AND place.item_id = item.id
WHERE item.id = ANY (%(ids)s::bigint[])
ORDER BY item.id
FOR UPDATE OF place;

-- name: vacate
-- Delete the places, which the caller has locked, of items that it is about to move.
DELETE FROM place WHERE ctid = ANY (ARRAY(
    SELECT place.ctid FROM item
    JOIN place ON place.kind_id = item.kind_id AND place.state = item.state
              AND place.not_before = item.not_before AND place.priority = item.priority
              AND place.item_id = item.id
    WHERE item.id = ANY (%(ids)s::bigint[])
))
RETURNING item_id, alone;

-- name: move
-- Move items of one lifecycle whose places the caller has vacated, or which it has seized. `forgiven`: their
-- attempts are reset; otherwise an item that was held by a dead worker is retried alone. If the number of items at
-- rest is limited, items that were not admitted are held back where they wait; the caller holds the kinds.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
input AS MATERIALIZED (
    SELECT line.* FROM unnest(%(ids)s::bigint[], %(states)s::text[], %(tos)s::text[], %(hashes)s::text[])
         AS line (id, state, "to", hash)
),
moved AS (
    UPDATE item SET
        state = input."to", since = moment.now,
        not_before = CASE WHEN input.state = ANY (%(waiting)s::text[]) AND item.not_before < held_back()
                            OR input.state = ANY (%(working)s::text[]) OR input.state = kind.most_state
                            OR kind.most IS NULL OR input."to" <> ALL (%(waiting)s::text[])
                          THEN '-infinity' ELSE held_back() END,
        attempt = CASE WHEN %(forgiven)s THEN 0 ELSE attempt END,
        content_hash = coalesce(input.hash, item.content_hash), token = NULL, changed = false
    FROM input CROSS JOIN moment, kind
    WHERE item.id = input.id AND kind.id = item.kind_id
    RETURNING item.id, item.kind_id, item.priority, item.not_before, item.attempt, input.state, input."to"
),
placed AS (
    INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
    SELECT moved.kind_id, moved."to", moved.not_before, moved.priority, moved.id,
           NOT %(forgiven)s AND coalesce(failure.trouble = 'worker_died', false)
    FROM moved LEFT JOIN failure ON failure.item_id = moved.id
),
journaled AS (
    INSERT INTO journal (item_id, at, from_state, to_state, attempt, owner, reason)
    SELECT moved.id, moment.now, moved.state, moved."to", moved.attempt, %(owner)s, %(reason)s
    FROM moved CROSS JOIN moment WHERE moved.state <> moved."to"
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT kind_id, state, sum(count) FROM (
        SELECT kind_id, state, -1 AS count FROM moved
        UNION ALL SELECT kind_id, "to", 1 FROM moved
    ) AS change GROUP BY kind_id, state HAVING sum(count) <> 0
)
SELECT id FROM moved;

-- name: note_change
-- Mark items that a worker has as changed; settling sends them back to work.
UPDATE item SET changed = true, content_hash = input.hash
FROM unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS input (id, hash)
WHERE item.id = input.id;

-- name: note_hash
-- Store the new hash of items that wait for work anyway.
UPDATE item SET content_hash = input.hash
FROM unnest(%(ids)s::bigint[], %(hashes)s::text[]) AS input (id, hash)
WHERE item.id = input.id;

-- name: seize
-- Take items whose leases the caller has locked away from their workers, and write that to the journal. A lease
-- goes with its last item, so its worker learns of it when it renews.
WITH seized AS MATERIALIZED (
    SELECT token, count(*)::integer AS count FROM item WHERE id = ANY (%(ids)s::bigint[]) GROUP BY token
),
told AS (
    INSERT INTO journal (item_id, at, token, attempt, from_state, to_state, owner)
    SELECT item.id, lease.claimed_at, lease.token, item.attempt, lease.waited, lease.state, lease.owner
    FROM item JOIN lease ON lease.token = item.token AND lease.steps = 0 WHERE item.id = ANY (%(ids)s::bigint[])
),
closed AS (
    DELETE FROM lease USING seized WHERE lease.token = seized.token AND lease.open <= seized.count
)
UPDATE lease SET open = lease.open - seized.count FROM seized
WHERE lease.token = seized.token AND lease.open > seized.count;

-- name: forget_failures
-- Delete the failures of items: they succeeded, or begin anew.
DELETE FROM failure WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: keep_failures
-- Write the failures of items.
INSERT INTO failure (item_id, kind, trouble, state, message, at)
SELECT line.*, clock()
FROM unnest(%(ids)s::bigint[], %(kinds)s::text[], %(troubles)s::text[], %(states)s::text[],
            %(messages)s::text[]) AS line
ON CONFLICT (item_id) DO UPDATE
SET kind = excluded.kind, trouble = excluded.trouble, state = excluded.state,
    message = excluded.message, at = excluded.at;

-- name: list_by_key
-- A page of one kind's items, in the order of their keys.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM item LEFT JOIN failure ON failure.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.key > %(after_key)s
ORDER BY item.kind_id, item.key LIMIT %(limit)s;

-- name: list_matching
-- A page of one kind's items, in the order of their keys, filtered by state, by kind of error, by text in the key
-- or in the reason of the failure, and by the time they entered their state; each filter is optional.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM item LEFT JOIN failure ON failure.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.key > %(after_key)s
  AND (%(state)s::text IS NULL OR item.state = %(state)s)
  AND (%(error_kind)s::text IS NULL OR failure.kind = %(error_kind)s)
  AND (%(text)s::text IS NULL OR strpos(lower(item.key), lower(%(text)s)) > 0
                              OR strpos(lower(failure.message), lower(%(text)s)) > 0)
  AND (%(since)s::timestamptz IS NULL OR item.since >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR item.since < %(until)s)
ORDER BY item.kind_id, item.key LIMIT %(limit)s;

-- name: list_by_id
-- The items with these numbers.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM item LEFT JOIN failure ON failure.item_id = item.id
WHERE item.id = ANY (%(ids)s::bigint[]) ORDER BY item.id;

-- name: list_by_place
-- A page of one kind's items at rest in one state, in the order of claiming.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM (
    SELECT item_id, not_before, priority FROM place
    WHERE kind_id = %(kind)s AND state = %(state)s
      AND (not_before, priority, item_id)
          > (coalesce(%(after_time)s::timestamptz, '-infinity'), %(after_priority)s::integer, %(after_id)s::bigint)
    ORDER BY kind_id, state, not_before, priority, item_id LIMIT %(limit)s
) AS page
JOIN item ON item.id = page.item_id
LEFT JOIN failure ON failure.item_id = item.id
ORDER BY page.not_before, page.priority, page.item_id;

-- name: list_by_lease
-- A page of one kind's items that workers hold in one state, oldest first.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, NULL::timestamptz AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = %(state)s
LEFT JOIN failure ON failure.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.id > %(after_id)s
ORDER BY item.id LIMIT %(limit)s;

-- name: list_by_failure
-- A page of the items of some kinds whose present or last failure has one kind of error.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before,
       failure.kind AS error_kind, failure.trouble, failure.message AS error
FROM failure JOIN item ON item.id = failure.item_id
WHERE failure.kind = %(error_kind)s AND failure.item_id > %(after_id)s
  AND item.kind_id = ANY (%(kinds)s::integer[])
  AND (%(state)s::text IS NULL OR item.state = %(state)s)
ORDER BY failure.kind, failure.item_id LIMIT %(limit)s;

-- name: detail
-- Everything about one item except its journal.
SELECT item.id, item.kind_id, item.key, item.state, item.since, item.attempt, item.priority,
       item.content_hash, item.added_at, nullif(item.not_before, '-infinity') AS not_before, item.changed,
       failure.kind AS error_kind, failure.trouble, failure.message AS error, failure.at AS error_at,
       lease.owner, lease.deadline, lease.token, node.title, node.properties, alias.to_key AS alias_of,
       embedding.provider, embedding.model, embedding.content_hash AS embedded_as, embedding.hash AS embedded_hash,
       checkpoint.data AS checkpoint
FROM item
LEFT JOIN failure ON failure.item_id = item.id
LEFT JOIN lease ON lease.token = item.token AND lease.state = item.state
LEFT JOIN node ON node.item_id = item.id
LEFT JOIN alias ON alias.kind_id = item.kind_id AND alias.key = item.key
LEFT JOIN embedding ON embedding.item_id = item.id
LEFT JOIN checkpoint ON checkpoint.item_id = item.id
WHERE item.id = %(id)s;

-- name: find_key
-- The items with this key, of any kind.
SELECT item.id FROM kind JOIN item ON item.kind_id = kind.id AND item.key = %(key)s
WHERE kind.id = ANY (%(kinds)s::integer[]) ORDER BY item.id;

-- name: any_key
-- The first of these keys that an item has.
SELECT item.key FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS asked (key, place)
CROSS JOIN kind JOIN item ON item.kind_id = kind.id AND item.key = asked.key
ORDER BY asked.place LIMIT 1;

-- name: similar_keys
-- Keys with the same beginning, for a suggestion when a key is not found.
SELECT item.key FROM kind CROSS JOIN LATERAL (
    SELECT key FROM item
    WHERE item.kind_id = kind.id AND item.key >= %(start)s AND item.key < %(end)s
    ORDER BY item.kind_id, item.key LIMIT 20
) AS item;
