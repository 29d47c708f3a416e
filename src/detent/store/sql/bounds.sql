-- Bounds: how far items are followed, and how many there may be.

-- name: lock_bounds
-- Waits until nobody adds, lets in or moves items of the kind's source by hand, and lets nobody begin to until this
-- transaction ends.
SELECT lock_source(source_id) FROM kind WHERE id = %(kind)s;

-- name: set_bounds
-- Keeps the bounds of a kind.
UPDATE kind SET depth = %(depth)s, most = %(most)s, most_state = %(state)s, breadth = %(breadth)s WHERE id = %(kind)s;

-- name: breadths
-- Of what one item finds deeper than itself, how many count, where that is bounded.
SELECT id, breadth FROM kind WHERE id = ANY (%(kinds)s::integer[]) AND breadth IS NOT NULL;

-- name: bounded
-- Those of some kinds of which at most so many items may come to rest.
SELECT id FROM kind WHERE id = ANY (%(kinds)s::integer[]) AND most IS NOT NULL ORDER BY id;

-- name: note_frontier
-- Items at rest that are so deep or deeper: more of what they find counts from now on, so they go round again.
INSERT INTO nearer (item_id, priority)
SELECT item_id, priority FROM place
WHERE kind_id = %(kind)s AND state = ANY (%(states)s::text[]) AND priority >= %(depth)s;

-- name: set_version
-- Keeps what the items of a kind are made by; nothing if it is the same.
UPDATE kind SET version = %(version)s WHERE id = %(kind)s AND version IS DISTINCT FROM %(version)s RETURNING id;

-- name: note_made
-- Items that were made, or are being made, by another version: they go round again.
INSERT INTO nearer (item_id, priority)
SELECT id, priority FROM item WHERE kind_id = %(kind)s AND state = ANY (%(states)s::text[]);

-- name: hold_back
-- Lets so many items that have nothing yet, and wait to begin, wait until they are let in: the farthest, and those that
-- wait for a later time last, since they are tried at once when they are let in. Says which those are.
WITH chosen AS MATERIALIZED (
    SELECT place.not_before, place.priority, place.item_id FROM place
    WHERE kind_id = %(kind)s AND state = %(initial)s AND not_before < held_back()
      AND NOT EXISTS (SELECT FROM node WHERE node.item_id = place.item_id)
    ORDER BY not_before > '-infinity', priority DESC, item_id DESC LIMIT %(limit)s
),
locked AS MATERIALIZED (
    SELECT place.ctid AS spot FROM chosen
    JOIN place ON place.kind_id = %(kind)s AND place.state = %(initial)s AND place.not_before = chosen.not_before
              AND place.priority = chosen.priority AND place.item_id = chosen.item_id
    ORDER BY place.item_id FOR UPDATE OF place
),
kept AS (
    DELETE FROM place WHERE ctid = ANY (ARRAY(SELECT spot FROM locked))
    RETURNING kind_id, state, priority, item_id, alone
),
told AS (UPDATE item SET not_before = held_back() FROM kept WHERE item.id = kept.item_id)
INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
SELECT kind_id, state, held_back(), priority, item_id, alone FROM kept
RETURNING item_id;

-- name: lock_letting_in
-- Items of a kind are let in by one at a time, so that the count of those that are in is right.
SELECT pg_advisory_xact_lock(%(lock)s, %(kind)s);

-- name: few_ready
-- Those of some kinds, of which at most so many items may come to rest, of whose items fewer wait in a state than
-- wanted that can be claimed at once, and how many those are.
SELECT kind.id, waiting.count AS ready FROM kind
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS count FROM (
        SELECT FROM place
        WHERE kind_id = kind.id AND state = %(state)s AND not_before = '-infinity' LIMIT %(limit)s
    ) AS ready
) AS waiting
WHERE kind.id = ANY (%(kinds)s::integer[]) AND kind.most IS NOT NULL AND waiting.count < %(limit)s
ORDER BY kind.id;

-- name: held_back_among
-- Those of some items of a kind, by their keys, that are held back, in the order in which they are named, and locked. Who
-- asks may hold other places, so it does not wait for those that somebody moves at this moment.
SELECT item.id FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS asked (key, position)
CROSS JOIN LATERAL (
    SELECT * FROM item WHERE item.kind_id = %(kind)s AND item.key = asked.key LIMIT 1
) AS item
JOIN place ON place.kind_id = item.kind_id AND place.state = item.state AND place.not_before = item.not_before
          AND place.priority = item.priority AND place.item_id = item.id
WHERE item.not_before = held_back() ORDER BY asked.position FOR UPDATE OF place SKIP LOCKED;

-- name: room
-- How many items of a kind may still be let in, and how many of those that wait in some states are held back: all but
-- those that are in. There may be very many of them, and they are not looked at.
SELECT coalesce(kind.most, 2147483647) - (tallied.inside + let_in.count)::integer AS room,
       (tallied.asked - let_in.asked)::integer AS held_back
FROM kind
CROSS JOIN LATERAL (
    SELECT coalesce(sum(count) FILTER (WHERE state <> ALL (%(waiting)s::text[])
                                         AND (state = kind.most_state OR state = ANY (%(working)s::text[]))), 0) AS inside,
           coalesce(sum(count) FILTER (WHERE state = ANY (%(asked)s::text[])), 0) AS asked
    FROM tally WHERE kind_id = kind.id
) AS tallied
CROSS JOIN LATERAL (
    SELECT count(*) AS count, count(*) FILTER (WHERE state = ANY (%(asked)s::text[])) AS asked FROM place
    WHERE kind_id = kind.id AND state = ANY (%(waiting)s::text[]) AND not_before < held_back()
) AS let_in
WHERE kind.id = %(kind)s;

-- name: next_to_let_in
-- Items that are held back in one state, those first that come first.
SELECT item_id FROM place
WHERE kind_id = %(kind)s AND state = %(state)s AND not_before = held_back()
ORDER BY kind_id, state, not_before, priority, item_id LIMIT %(limit)s;

-- name: let_in
-- Lets items that are held back wait like others.
WITH locked AS MATERIALIZED (
    SELECT place.ctid AS spot FROM item
    JOIN place ON place.kind_id = item.kind_id AND place.state = item.state AND place.not_before = item.not_before
              AND place.priority = item.priority AND place.item_id = item.id
    WHERE item.id = ANY (%(ids)s::bigint[]) AND place.not_before = held_back()
    ORDER BY item.id FOR UPDATE OF place
),
left_behind AS (
    DELETE FROM place WHERE ctid = ANY (ARRAY(SELECT spot FROM locked))
    RETURNING kind_id, state, priority, item_id, alone
),
told AS (UPDATE item SET not_before = '-infinity' FROM left_behind WHERE item.id = left_behind.item_id)
INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
SELECT kind_id, state, '-infinity', priority, item_id, alone FROM left_behind;

-- name: nearer
-- Some of the items that are to be drawn nearer.
SELECT DISTINCT item_id FROM nearer ORDER BY item_id LIMIT %(limit)s;

-- name: take_wishes
-- How near these items, which the caller holds, are to be drawn; that is done now, and wished no more.
WITH taken AS (DELETE FROM nearer WHERE item_id = ANY (%(ids)s::bigint[]) RETURNING item_id, priority)
SELECT item_id, min(priority) AS priority FROM taken GROUP BY item_id;

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

-- name: forget_wishes
-- What is wished of items that are gone.
DELETE FROM nearer WHERE item_id = ANY (%(ids)s::bigint[]) AND NOT EXISTS (SELECT FROM item WHERE id = item_id);

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
