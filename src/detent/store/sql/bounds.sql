-- Bounds: how far items are followed, and how many there may be.

-- name: lock_bounds
-- Waits until nobody adds items of the kind's source, and lets nobody begin to until this transaction ends.
SELECT lock_source(source_id) FROM kind WHERE id = %(kind)s;

-- name: set_bounds
-- Keeps the bounds of a kind.
UPDATE kind SET depth = %(depth)s, most = %(most)s, most_state = %(state)s WHERE id = %(kind)s;

-- name: note_frontier
-- Items at rest that are as deep as items could be: what they find counts from now on, so they go round again.
INSERT INTO nearer (item_id, priority)
SELECT item_id, priority FROM place
WHERE kind_id = %(kind)s AND state = ANY (%(states)s::text[]) AND priority >= %(depth)s;

-- name: hold_back
-- Lets items that have nothing yet, and wait for their first try, wait until they are let in.
WITH kept AS (
    DELETE FROM place
    WHERE kind_id = %(kind)s AND state = %(waiting)s AND not_before = '-infinity'
      AND NOT EXISTS (SELECT FROM node WHERE node.item_id = place.item_id)
    RETURNING kind_id, state, priority, item_id, alone
),
told AS (UPDATE item SET not_before = held_back() FROM kept WHERE item.id = kept.item_id)
INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
SELECT kind_id, state, held_back(), priority, item_id, alone FROM kept;

-- name: lock_letting_in
-- Items of a kind are let in by one at a time, so that the count of those that are in is right.
SELECT pg_advisory_xact_lock(%(lock)s, %(kind)s);

-- name: room
-- How many items of a kind may still be let in, and how many wait for that. Those that are in are under way, have come
-- to rest where they count, or wait without being held back.
SELECT coalesce(kind.most, 2147483647) - (
           (SELECT coalesce(sum(count), 0) FROM tally WHERE kind_id = kind.id AND state = ANY (%(states)s::text[]))
           + (SELECT count(*) FROM place
              WHERE kind_id = kind.id AND state = %(waiting)s AND not_before < held_back())
       )::integer AS room,
       (SELECT count(*)::integer FROM (
            SELECT FROM place WHERE kind_id = kind.id AND state = %(waiting)s AND not_before = '-infinity' LIMIT 1000
        ) AS ready) AS ready,
       (SELECT count(*)::integer FROM place
        WHERE %(counted)s AND kind_id = kind.id AND state = %(waiting)s AND not_before = held_back()) AS held_back
FROM kind WHERE id = %(kind)s;

-- name: let_in
-- Lets items wait like others, those first that come first.
WITH chosen AS MATERIALIZED (
    SELECT ctid AS spot FROM place
    WHERE kind_id = %(kind)s AND state = %(waiting)s AND not_before = held_back()
    ORDER BY kind_id, state, not_before, priority, item_id LIMIT %(limit)s FOR UPDATE
),
left_behind AS (
    DELETE FROM place WHERE ctid = ANY (ARRAY(SELECT spot FROM chosen))
    RETURNING kind_id, state, priority, item_id, alone
),
told AS (UPDATE item SET not_before = '-infinity' FROM left_behind WHERE item.id = left_behind.item_id)
INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
SELECT kind_id, state, '-infinity', priority, item_id, alone FROM left_behind
RETURNING item_id;

-- name: nearer
-- Some of the items that are to be drawn nearer, and how near.
SELECT item_id, min(priority) AS priority FROM (SELECT item_id, priority FROM nearer LIMIT 1000) AS wish
GROUP BY item_id ORDER BY item_id;

-- name: draw_nearer
-- Gives items, which the caller holds, a smaller priority, at their places too.
WITH wish AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::bigint[], %(priorities)s::integer[]) AS wish (id, priority)
),
moved AS (
    DELETE FROM place USING item, wish
    WHERE item.id = wish.id AND place.kind_id = item.kind_id AND place.state = item.state
      AND place.not_before = item.not_before AND place.priority = item.priority AND place.item_id = item.id
    RETURNING place.kind_id, place.state, place.not_before, place.item_id, place.alone, wish.priority
),
told AS (UPDATE item SET priority = wish.priority FROM wish WHERE item.id = wish.id)
INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
SELECT kind_id, state, not_before, priority, item_id, alone FROM moved;

-- name: forget_nearer
-- What was wished of these items, unless it is nearer still.
DELETE FROM nearer USING unnest(%(ids)s::bigint[], %(priorities)s::integer[]) AS done (id, priority)
WHERE nearer.item_id = done.id AND nearer.priority >= done.priority;

-- name: depths
-- How deep the items of a kind are on average in each of these states, of so many in each at most.
SELECT asked.state, avg(found.priority)::float8 AS depth
FROM unnest(%(states)s::text[]) AS asked (state)
CROSS JOIN LATERAL (
    (SELECT priority FROM place WHERE kind_id = %(kind)s AND state = asked.state LIMIT %(limit)s)
    UNION ALL
    (SELECT item.priority FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
     JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = lease.state
     WHERE lease.state = asked.state AND item.kind_id = %(kind)s)
) AS found
GROUP BY asked.state;

-- name: stale_claims
-- Items of a kind whose leases have run out.
SELECT item.key, item.priority, lease.claimed_at
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = lease.state
WHERE lease.deadline < clock() AND item.kind_id = %(kind)s
ORDER BY lease.claimed_at, item.id LIMIT %(limit)s;
