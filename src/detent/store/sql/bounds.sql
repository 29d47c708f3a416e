-- Bounds: how far links are followed, and how many items may come to rest.

-- name: lock_bounds
-- Wait until nobody adds, admits or moves items of the kind's source by hand, and let nobody begin to until this
-- transaction ends.
SELECT lock_source(source_id) FROM kind WHERE id = %(kind)s;

-- name: set_bounds
-- Set the bounds of a kind.
UPDATE kind SET depth = %(depth)s, most = %(most)s, most_state = %(state)s, breadth = %(breadth)s WHERE id = %(kind)s;

-- name: breadths
-- The bounded breadths of some kinds: the number of items that count, of those that one item finds deeper than
-- itself.
SELECT id, breadth FROM kind WHERE id = ANY (%(kinds)s::integer[]) AND breadth IS NOT NULL;

-- name: bounded
-- Those of some kinds whose number of items at rest is limited.
SELECT id FROM kind WHERE id = ANY (%(kinds)s::integer[]) AND most IS NOT NULL ORDER BY id;

-- name: note_frontier
-- Record items at rest at this depth or deeper for another round: more of what they find counts from now on.
INSERT INTO nearer (item_id, priority)
SELECT item_id, priority FROM place
WHERE kind_id = %(kind)s AND state = ANY (%(states)s::text[]) AND priority >= %(depth)s;

-- name: set_version
-- Set the version that makes the items of a kind; no row if it is the same.
UPDATE kind SET version = %(version)s WHERE id = %(kind)s AND version IS DISTINCT FROM %(version)s RETURNING id;

-- name: note_made
-- Record items made, or in progress, under another version for another round.
INSERT INTO nearer (item_id, priority)
SELECT id, priority FROM item WHERE kind_id = %(kind)s AND state = ANY (%(states)s::text[]);

-- name: hold_back
-- Hold back this many items that have no content yet and wait to begin: the farthest first. Items that wait for a
-- later time come last, because they are tried at once when they are admitted. Returns the items.
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
-- One transaction at a time admits items of a kind, so that the count of admitted items is right.
SELECT pg_advisory_xact_lock(%(lock)s, %(kind)s);

-- name: few_ready
-- Those of some kinds with a limited number at rest whose items claimable at once in a state are fewer than
-- wanted, and their number.
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
-- The held-back items among some of a kind, given by key, in this order, and locked. The caller may hold other
-- places, so this does not wait for items that somebody is moving.
SELECT item.id FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS asked (key, position)
CROSS JOIN LATERAL (
    SELECT * FROM item WHERE item.kind_id = %(kind)s AND item.key = asked.key LIMIT 1
) AS item
JOIN place ON place.kind_id = item.kind_id AND place.state = item.state AND place.not_before = item.not_before
          AND place.priority = item.priority AND place.item_id = item.id
WHERE item.not_before = held_back() ORDER BY asked.position FOR UPDATE OF place SKIP LOCKED;

-- name: room
-- The number of items of a kind that may still be admitted, and the number held back among those waiting in some
-- states: all except the admitted ones. There may be very many, and they are not read.
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
-- Items that are held back in one state, in the order of claiming.
SELECT item_id FROM place
WHERE kind_id = %(kind)s AND state = %(state)s AND not_before = held_back()
ORDER BY kind_id, state, not_before, priority, item_id LIMIT %(limit)s;

-- name: let_in
-- Admit held-back items: they wait like others.
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
-- Some of the items whose priority is to be lowered.
SELECT DISTINCT item_id FROM nearer ORDER BY item_id LIMIT %(limit)s;

-- name: take_wishes
-- Take the recorded priorities of these items, which the caller holds and is about to apply.
WITH taken AS (DELETE FROM nearer WHERE item_id = ANY (%(ids)s::bigint[]) RETURNING item_id, priority)
SELECT item_id, min(priority) AS priority FROM taken GROUP BY item_id;

-- name: draw_nearer
-- Lower the priority of items that the caller holds, at their places too.
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
-- Delete the recorded priorities of items that are gone.
DELETE FROM nearer WHERE item_id = ANY (%(ids)s::bigint[]) AND NOT EXISTS (SELECT FROM item WHERE id = item_id);

-- name: depths
-- The average depth of the items of a kind in each of these states, from a limited number in each.
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
-- Items of a kind whose leases have expired.
SELECT item.key, item.priority, lease.claimed_at
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = lease.state
WHERE lease.deadline < clock() AND item.kind_id = %(kind)s
ORDER BY lease.claimed_at, item.id LIMIT %(limit)s;
