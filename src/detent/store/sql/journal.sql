-- The journal: every move of every item, in monthly partitions.

-- name: history
-- One item's story, oldest first.
SELECT at, from_state, to_state, attempt, token, took, owner, reason FROM journal
WHERE item_id = %(id)s ORDER BY item_id, id;

-- name: partitions
-- The partitions of the journal, with the first moment after each.
SELECT child.relname AS name,
       (regexp_match(pg_get_expr(child.relpartbound, child.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz AS until
FROM pg_inherits
JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid
WHERE pg_inherits.inhparent = 'journal'::regclass
ORDER BY until NULLS LAST;
