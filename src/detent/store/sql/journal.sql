-- The journal: every move of every item, in monthly partitions.

-- name: history
-- The moves of one item, oldest first.
SELECT at, from_state, to_state, attempt, token, took, owner, reason FROM move
WHERE item_id = %(id)s ORDER BY id, part;

-- name: partitions
-- The partitions of the journal, with the first moment after each.
SELECT child.relname AS name,
       (regexp_match(pg_get_expr(child.relpartbound, child.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS until
FROM pg_inherits
JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
WHERE pg_inherits.inhparent = 'journal'::regclass
ORDER BY until NULLS LAST;

-- name: lock_partitions
-- One program at a time changes the partitions. Nobody else waits for this lock.
SELECT pg_advisory_xact_lock(%(lock)s);

-- name: wait_briefly
-- Make the following statements give up if they do not get their locks soon: every mover of items queues behind a
-- transaction that waits for a lock on the journal.
SET LOCAL lock_timeout = '2s';
