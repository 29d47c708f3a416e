-- Counts per kind and state, updated by every transaction that moves items.

-- name: count
-- The number of items of each kind in each state.
SELECT kind_id, state, sum(count)::bigint AS count FROM tally
GROUP BY kind_id, state HAVING sum(count) <> 0;

-- name: fold
-- Replace the tally's rows by one per kind and state, if there are many. If another process is folding, do
-- nothing.
WITH folder AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock)s) AND (SELECT count(*) FROM tally) > %(many)s AS folding
),
taken AS (DELETE FROM tally WHERE (SELECT folding FROM folder) RETURNING kind_id, state, count)
INSERT INTO tally (kind_id, state, count)
SELECT kind_id, state, sum(count) FROM taken GROUP BY kind_id, state HAVING sum(count) <> 0;

-- name: miscounts
-- Differences between the tally and the items. This scans all items.
SELECT coalesce(true_count.kind_id, tallied.kind_id) AS kind_id,
       coalesce(true_count.state, tallied.state) AS state,
       coalesce(tallied.count, 0)::bigint AS tallied, coalesce(true_count.count, 0)::bigint AS counted
FROM (SELECT kind_id, state, count(*) AS count FROM item GROUP BY kind_id, state) AS true_count
FULL JOIN (SELECT kind_id, state, sum(count) AS count FROM tally GROUP BY kind_id, state) AS tallied
       ON tallied.kind_id = true_count.kind_id AND tallied.state = true_count.state
WHERE coalesce(tallied.count, 0) <> coalesce(true_count.count, 0)
ORDER BY 1, 2;

-- name: lock_repair
-- One repair at a time. Movers of items are not blocked, and this takes no snapshot yet.
LOCK TABLE tally IN SHARE UPDATE EXCLUSIVE MODE;

-- name: one_moment
-- The rest of the transaction sees the database at one moment, in which counts and places must agree.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: correct
-- Append the missing counts to the tally. This scans all items.
INSERT INTO tally (kind_id, state, count)
SELECT kind_id, state, sum(count) FROM (
    SELECT kind_id, state, count(*) AS count FROM item GROUP BY kind_id, state
    UNION ALL SELECT kind_id, state, -sum(count) FROM tally GROUP BY kind_id, state
) AS difference GROUP BY kind_id, state HAVING sum(count) <> 0;

-- name: misplaced
-- Items that have neither a place nor a lease, places without their item, and items that have both: there must be
-- none. This scans everything.
SELECT coalesce(item.id, place.item_id) AS item_id, item.state, place.state AS place_state,
       lease.token IS NOT NULL AS leased
FROM item
FULL JOIN place ON place.item_id = item.id
LEFT JOIN lease ON lease.token = item.token AND lease.state = item.state AND item.id = ANY (lease.items)
WHERE item.id IS NULL
   OR (place.item_id IS NULL) = (lease.token IS NULL)
   OR place.state <> item.state OR place.priority <> item.priority
   OR place.not_before <> item.not_before OR place.kind_id <> item.kind_id
LIMIT 100;

-- name: doubly_placed
-- Items with two places: there must be none.
SELECT item_id, count(*) AS places FROM place GROUP BY item_id HAVING count(*) > 1 LIMIT 100;

-- name: misheld
-- Leases whose count differs from the number of items they hold: there must be none.
SELECT lease.token, lease.open, count(item.id)::integer AS held
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
LEFT JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = lease.state
GROUP BY lease.token, lease.open HAVING count(item.id) <> lease.open LIMIT 100;

-- name: drop_misplaced
-- Delete the places of items that do not exist, are in another state, or are held by a worker.
DELETE FROM place WHERE ctid = ANY (ARRAY(
    SELECT place.ctid FROM place
    LEFT JOIN item ON item.id = place.item_id AND item.kind_id = place.kind_id AND item.state = place.state
                  AND item.not_before = place.not_before AND item.priority = place.priority
    LEFT JOIN lease ON lease.token = item.token AND lease.state = item.state
    WHERE item.id IS NULL OR lease.token IS NOT NULL
));

-- name: replace
-- Add the missing places of items at rest.
INSERT INTO place (kind_id, state, not_before, priority, item_id)
SELECT item.kind_id, item.state, item.not_before, item.priority, item.id
FROM unnest(%(kinds)s::integer[], %(states)s::text[]) AS resting (kind_id, state)
JOIN item ON item.kind_id = resting.kind_id AND item.state = resting.state
LEFT JOIN place ON place.item_id = item.id
WHERE place.item_id IS NULL;

-- name: lease_strays
-- Put items that are under way but named by no lease under an expired one, for rescue to find.
WITH stray AS MATERIALIZED (
    SELECT item.id, way.* FROM unnest(%(kinds)s::integer[], %(states)s::text[], %(back_vias)s::text[],
                                      %(back_tos)s::text[], %(back_agains)s::text[], %(fail_tos)s::text[],
                                      %(fail_kinds)s::text[])
         AS way (kind_id, state, back_via, back_to, back_again, fail_to, fail_kind)
    JOIN item ON item.kind_id = way.kind_id AND item.state = way.state
    LEFT JOIN lease ON lease.token = item.token AND lease.state = item.state AND item.id = ANY (lease.items)
    WHERE lease.token IS NULL
),
given AS (
    INSERT INTO lease (owner, claimed_at, deadline, duration, waited, state, back_via, back_to, back_again,
                       fail_to, fail_kind, max_attempts, suspect, alone, open, items)
    SELECT 'unknown', clock(), clock() - interval '1 second', '0', back_to, state, back_via, back_to, back_again,
           fail_to, fail_kind, 32767, false, false, count(*), array_agg(id)
    FROM stray GROUP BY kind_id, state, back_via, back_to, back_again, fail_to, fail_kind
    RETURNING token, items
)
UPDATE item SET token = given.token FROM given WHERE item.id = ANY (given.items);

-- name: next_wake
-- The number of items of these kinds and states that wait for a later time, the time when the first is due, and
-- the seconds until then.
SELECT count(*)::bigint AS count, min(not_before) AS first,
       extract(epoch FROM min(not_before) - clock())::float8 AS seconds
FROM unnest(%(kinds)s::integer[], %(states)s::text[]) AS asked (kind_id, state)
CROSS JOIN LATERAL (
    SELECT place.not_before FROM place
    WHERE place.kind_id = asked.kind_id AND place.state = asked.state
      AND place.not_before > clock() AND place.not_before < held_back()
) AS later;

-- name: reasons_to_wait
-- The failure of the first item to be retried in each of these kinds and states, in the order of their times.
SELECT failure.message
FROM unnest(%(kinds)s::integer[], %(states)s::text[]) AS asked (kind_id, state)
CROSS JOIN LATERAL (
    SELECT place.not_before, place.item_id FROM place
    WHERE place.kind_id = asked.kind_id AND place.state = asked.state
      AND place.not_before > clock() AND place.not_before < held_back()
    ORDER BY place.kind_id, place.state, place.not_before, place.priority, place.item_id LIMIT 1
) AS first
JOIN failure ON failure.item_id = first.item_id
ORDER BY first.not_before, first.item_id;
