-- Data that settling writes beside the state: nodes, references, aliases, checkpoints.

-- name: lock_mentions
-- Keep sweepers of unreferenced nodes away from the nodes being mentioned; mentioners share the lock.
SELECT pg_advisory_xact_lock_shared(%(lock)s);

-- name: lock_families
-- Lock the leases of items to be settled, and of the items that belong to them.
SELECT token, state FROM lease
WHERE token = ANY (%(tokens)s::bigint[] || ARRAY(
    SELECT token FROM item WHERE id = ANY (%(ids)s::bigint[]) AND token IS NOT NULL
))
ORDER BY token FOR UPDATE;

-- name: descendants
-- Items that belong to these items, directly or not, each once. The walk does not continue from a starting item
-- that it meets again. An item has one parent, so every cycle contains a starting item. UNION would need a hash
-- table as large as the planner's estimate of the family: it estimates thousands of millions, and allocating the
-- table takes longer than everything else.
WITH RECURSIVE family AS (
    SELECT item_id FROM node WHERE parent_id = ANY (%(ids)s::bigint[])
    UNION ALL
    SELECT node.item_id FROM family JOIN node ON node.parent_id = family.item_id
    WHERE family.item_id <> ALL (%(ids)s::bigint[])
)
SELECT item_id FROM family;

-- name: children
-- Held items in their present state, with the item they belong to.
SELECT item.id, item.kind_id, item.key, item.state, item.attempt, item.content_hash, item.token,
       node.item_id IS NOT NULL AS written, node.parent_id, node.position, node.edge, node.shared,
       embedding.hash AS embedded
FROM item LEFT JOIN node ON node.item_id = item.id LEFT JOIN embedding ON embedding.item_id = item.id
WHERE item.id = ANY (%(ids)s::bigint[]) ORDER BY item.id;

-- name: write_nodes
-- Write the content of held items in place of earlier content, and tell the text index about new and gone texts. A
-- node without a new parent keeps the one it has. Nobody else replaces a node meanwhile, but a mention may write
-- one where there was none: this statement does not see that node, and so does not tell the index about it.
-- Returns True if there is any such node; then the write must be repeated.
WITH line AS MATERIALIZED (
    SELECT * FROM unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(positions)s::integer[], %(edges)s::text[],
                         %(titles)s::text[], %(texts)s::text[], %(properties)s::jsonb[], %(hashes)s::text[])
         AS line (item_id, parent_id, position, edge, title, text, properties, hash)
),
before AS MATERIALIZED (
    SELECT node.item_id, node.text_id FROM line JOIN node ON node.item_id = line.item_id
    WHERE node.title <> line.title OR node.text <> line.text
),
written AS (
    INSERT INTO node (item_id, parent_id, position, edge, title, text, properties, content_hash, written_at)
    SELECT item_id, parent_id, position, edge, title, text, properties, hash, clock() FROM line
    ON CONFLICT (item_id) DO UPDATE
    SET parent_id = coalesce(excluded.parent_id, node.parent_id),
        position = CASE WHEN excluded.parent_id IS NULL THEN node.position ELSE excluded.position END,
        edge = CASE WHEN excluded.parent_id IS NULL THEN node.edge ELSE excluded.edge END,
        shared = false, title = excluded.title, text = excluded.text, properties = excluded.properties,
        content_hash = excluded.content_hash, written_at = excluded.written_at,
        text_id = CASE WHEN node.title <> excluded.title OR node.text <> excluded.text THEN excluded.text_id
                       ELSE node.text_id END
    RETURNING item_id, text_id, xmax <> 0 AS replaced
),
told AS (
    INSERT INTO text_change (text_id, gone)
    SELECT text_id, true FROM before
    UNION ALL
    SELECT written.text_id, false FROM written
    WHERE NOT EXISTS (SELECT FROM node WHERE node.text_id = written.text_id)
)
SELECT item_id FROM written
WHERE replaced AND NOT EXISTS (SELECT FROM node WHERE node.item_id = written.item_id) LIMIT 1;

-- name: place_children
-- Move children that are otherwise unchanged to their present positions.
UPDATE node SET parent_id = line.parent_id, position = line.position, edge = line.edge, shared = false
FROM unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(positions)s::integer[], %(edges)s::text[])
     AS line (item_id, parent_id, position, edge)
WHERE node.item_id = line.item_id;

-- name: drop_nodes
-- Delete the content of items that stay: they are only other names of other items, or have no content any more.
WITH dropped AS (DELETE FROM node WHERE item_id = ANY (%(ids)s::bigint[]) RETURNING text_id)
INSERT INTO text_change (text_id, gone) SELECT text_id, true FROM dropped;

-- name: drop_references
-- Delete the links of items, before their new ones are written.
DELETE FROM reference WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: write_references
-- Write links, whether or not their targets exist.
INSERT INTO reference (item_id, position, type, kind_id, key, properties)
SELECT line.* FROM unnest(%(ids)s::bigint[], %(positions)s::integer[], %(types)s::text[],
                          %(kinds)s::integer[], %(keys)s::text[], %(properties)s::jsonb[]) AS line;

-- name: add_references
-- Add links of one type to an item, unless it has them.
INSERT INTO reference (item_id, position, type, kind_id, key, properties)
SELECT %(id)s, coalesce((SELECT max(position) FROM reference WHERE item_id = %(id)s), -1) + line.number,
       %(type)s, %(kind)s, line.key, '{}'
FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS line (key, number)
WHERE NOT EXISTS (SELECT FROM reference AS known WHERE known.item_id = %(id)s AND known.type = %(type)s
                  AND known.kind_id = %(kind)s AND known.key = line.key);

-- name: write_checkpoints
-- Write the checkpoints of items.
INSERT INTO checkpoint (item_id, data, at)
SELECT line.item_id, line.data, clock()
FROM unnest(%(ids)s::bigint[], %(data)s::jsonb[]) AS line (item_id, data)
ON CONFLICT (item_id) DO UPDATE SET data = excluded.data, at = excluded.at;

-- name: aliased
-- One of these keys that stands for another key, if there is any.
SELECT claim.key FROM unnest(%(kinds)s::integer[], %(keys)s::text[]) AS own (kind_id, key)
JOIN alias_claim AS claim ON claim.kind_id = own.kind_id AND claim.key = own.key AND claim.to_key IS NOT NULL LIMIT 1;

-- name: said
-- The items' claims about keys.
SELECT said_by, kind_id, key, said_key FROM alias_claim WHERE said_by = ANY (%(ids)s::bigint[]);

-- name: lock_aliases
-- Aliases are written by one transaction at a time, as its last action.
SELECT lock_aliases();

-- name: drop_aliases
-- Delete these items' claims about other keys, and resolve these keys anew, because they have content now.
SELECT drop_aliases(%(ids)s::bigint[], %(kinds)s::integer[], %(keys)s::text[]);

-- name: write_aliases
-- Write the items' claims about keys.
SELECT write_aliases(%(kinds)s::integer[], %(keys)s::text[], %(to_keys)s::text[], %(ids)s::bigint[],
                     %(alone)s::boolean[]);

-- name: remove_items
-- Delete items whose places are vacated and whose leases are seized; only their journal stays. Their claims about
-- other keys are deleted when the transaction ends.
WITH removed AS (DELETE FROM item WHERE id = ANY (%(ids)s::bigint[]) RETURNING kind_id, state),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT kind_id, state, -count(*) FROM removed GROUP BY kind_id, state
),
nodes AS (DELETE FROM node WHERE item_id = ANY (%(ids)s::bigint[]) RETURNING text_id),
changed AS (INSERT INTO text_change (text_id, gone) SELECT text_id, true FROM nodes),
links AS (DELETE FROM reference WHERE item_id = ANY (%(ids)s::bigint[])),
embeddings AS (DELETE FROM embedding WHERE item_id = ANY (%(ids)s::bigint[])),
failures AS (DELETE FROM failure WHERE item_id = ANY (%(ids)s::bigint[])),
checkpoints AS (DELETE FROM checkpoint WHERE item_id = ANY (%(ids)s::bigint[])),
retries AS (DELETE FROM retried WHERE item_id = ANY (%(ids)s::bigint[]))
SELECT count(*) AS count FROM removed;

-- name: own_keys
-- The keys of a kind's items after this one, in order, without items that belong to another item and shared nodes.
SELECT item.key FROM item LEFT JOIN node ON node.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.key > %(after)s AND node.parent_id IS NULL AND node.shared IS NOT TRUE
ORDER BY item.key LIMIT %(limit)s;

-- name: lock_mentions_alone
-- Keep mentioners away while unreferenced nodes are swept, unless somebody is mentioning nodes right now. It does
-- not wait for them: later mentioners would queue behind it, for as long as an import takes.
SELECT pg_try_advisory_xact_lock(%(lock)s) AS free;

-- name: unmentioned
-- Shared nodes that nothing refers to any more.
SELECT node.item_id FROM node JOIN item ON item.id = node.item_id
WHERE node.shared AND node.item_id > %(after)s
  AND NOT EXISTS (SELECT FROM reference WHERE kind_id = item.kind_id AND key = item.key)
  AND NOT EXISTS (
      SELECT FROM alias JOIN reference ON reference.kind_id = alias.kind_id AND reference.key = alias.key
      WHERE alias.kind_id = item.kind_id AND alias.to_key = item.key
  )
ORDER BY node.item_id LIMIT %(limit)s;

-- name: begin_removing
-- Begin to remove a source: none of its items are claimed, and it is no longer declared.
UPDATE source SET removed_at = coalesce(removed_at, clock()), paused_at = coalesce(paused_at, clock())
WHERE name = %(name)s RETURNING id;

-- name: items_to_remove
-- Some of the items that a source still has, while it is being removed.
SELECT item.id FROM source JOIN kind ON kind.source_id = source.id CROSS JOIN LATERAL (
    SELECT id FROM item WHERE kind_id = kind.id ORDER BY kind_id, key LIMIT %(limit)s
) AS item
WHERE source.id = %(source)s AND source.removed_at IS NOT NULL LIMIT %(limit)s;

-- name: drop_source
-- The last step: delete the remains of a source without items, unless it has been declared again meanwhile. If
-- others refer to it, its name is kept in case it comes back.
WITH kinds AS MATERIALIZED (
    SELECT kind.id FROM source JOIN kind ON kind.source_id = source.id
    WHERE source.id = %(source)s AND source.removed_at IS NOT NULL
),
names AS (DELETE FROM alias_claim USING kinds WHERE alias_claim.kind_id = kinds.id),
counts AS (DELETE FROM tally USING kinds WHERE tally.kind_id = kinds.id)
DELETE FROM source WHERE id = %(source)s AND removed_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM kinds JOIN reference ON reference.kind_id = kinds.id);

-- name: write_mentions
-- Write shared nodes where there is none yet, whoever holds their items; existing nodes stay as they are.
WITH written AS (
    INSERT INTO node (item_id, shared, title, text, properties, content_hash, written_at)
    SELECT line.item_id, true, line.title, line.text, line.properties, line.hash, clock()
    FROM unnest(%(ids)s::bigint[], %(titles)s::text[], %(texts)s::text[], %(properties)s::jsonb[], %(hashes)s::text[])
         AS line (item_id, title, text, properties, hash)
    WHERE NOT EXISTS (SELECT FROM node WHERE node.item_id = line.item_id)
    ON CONFLICT (item_id) DO NOTHING
    RETURNING text_id, title <> '' OR text <> '' AS has_words
)
INSERT INTO text_change (text_id, gone) SELECT text_id, false FROM written WHERE has_words;

-- name: read_nodes
-- The content of items.
SELECT item_id, title, text, properties, content_hash FROM node WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: read_links
-- The references of items, in order, without the source where it is their own.
SELECT reference.item_id, reference.type, kind.label, reference.key, reference.properties,
       CASE WHEN kind.source_id <> own.source_id THEN source.name END AS source
FROM reference
JOIN kind ON kind.id = reference.kind_id
JOIN source ON source.id = kind.source_id
JOIN item ON item.id = reference.item_id
JOIN kind AS own ON own.id = item.kind_id
WHERE reference.item_id = ANY (%(ids)s::bigint[])
ORDER BY reference.item_id, reference.position;

-- name: read_texts
-- The texts of items as they are embedded, with titles that are more than names.
SELECT item_id, CASE WHEN properties ? 'untitled' THEN '' ELSE title END AS title, text
FROM node WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: embedded_items
-- The items that have one of these texts, and their states.
SELECT embedding.item_id, item.kind_id, item.state
FROM embedding JOIN item ON item.id = embedding.item_id
WHERE embedding.hash = ANY (%(hashes)s::uuid[]);

-- name: forget_embeddings
-- Delete the embeddings of held items that rest where nothing embeds them again.
DELETE FROM embedding WHERE item_id = ANY (%(ids)s::bigint[]);
