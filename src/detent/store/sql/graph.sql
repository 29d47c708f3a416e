-- What settling writes beside the state: nodes, references, aliases, checkpoints.

-- name: lock_mentions
-- Keeps whoever sweeps nodes that nothing refers to away from those that are being mentioned; mentioners share it.
SELECT pg_advisory_xact_lock_shared(%(lock)s);

-- name: lock_families
-- Locks the leases of items that are to be settled, and those under which what belongs to them is held.
SELECT token, state FROM lease
WHERE token = ANY (%(tokens)s::bigint[] || ARRAY(
    SELECT token FROM item WHERE id = ANY (%(ids)s::bigint[]) AND token IS NOT NULL
))
ORDER BY token FOR UPDATE;

-- name: descendants
-- What belongs to these items, and to what belongs to them, and so on, each once: it is not gone on from one of these,
-- which is begun with. An item has one parent, so what leads in a circle leads over one of them too. UNION would need a
-- table in memory, which is made as large as the planner believes the family to be: it believes in thousands of
-- millions, and making the table takes longer than all the rest.
WITH RECURSIVE family AS (
    SELECT item_id FROM node WHERE parent_id = ANY (%(ids)s::bigint[])
    UNION ALL
    SELECT node.item_id FROM family JOIN node ON node.parent_id = family.item_id
    WHERE family.item_id <> ALL (%(ids)s::bigint[])
)
SELECT item_id FROM family;

-- name: children
-- Items that are held, as they are now, and what they belong to.
SELECT item.id, item.kind_id, item.key, item.state, item.attempt, item.content_hash, item.token,
       node.item_id IS NOT NULL AS written, node.parent_id, node.position, node.edge, node.shared,
       embedding.hash AS embedded
FROM item LEFT JOIN node ON node.item_id = item.id LEFT JOIN embedding ON embedding.item_id = item.id
WHERE item.id = ANY (%(ids)s::bigint[]) ORDER BY item.id;

-- name: write_nodes
-- Writes the content of items, which are held, in place of what they had; what belongs to another still does. It tells
-- the text index of texts that are new or gone. Nobody else replaces a node meanwhile, but a mention may write one where
-- there was none: that one was not seen here, and so is told to nobody. Says if there is any; then it is to be done anew.
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
-- Puts children that are otherwise as they were where they are now.
UPDATE node SET parent_id = line.parent_id, position = line.position, edge = line.edge, shared = false
FROM unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(positions)s::integer[], %(edges)s::text[])
     AS line (item_id, parent_id, position, edge)
WHERE node.item_id = line.item_id;

-- name: drop_nodes
-- Forgets the content of items, which stay: they turned out to be other names of others, or to have none any more.
WITH dropped AS (DELETE FROM node WHERE item_id = ANY (%(ids)s::bigint[]) RETURNING text_id)
INSERT INTO text_change (text_id, gone) SELECT text_id, true FROM dropped;

-- name: drop_references
-- Forgets the links of items, before their new ones are written.
DELETE FROM reference WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: write_references
-- Writes links, whether or not their targets exist.
INSERT INTO reference (item_id, position, type, kind_id, key, properties)
SELECT line.* FROM unnest(%(ids)s::bigint[], %(positions)s::integer[], %(types)s::text[],
                          %(kinds)s::integer[], %(keys)s::text[], %(properties)s::jsonb[]) AS line;

-- name: add_references
-- Adds links of one type to those that an item has, unless it has them.
INSERT INTO reference (item_id, position, type, kind_id, key, properties)
SELECT %(id)s, coalesce((SELECT max(position) FROM reference WHERE item_id = %(id)s), -1) + line.number,
       %(type)s, %(kind)s, line.key, '{}'
FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS line (key, number)
WHERE NOT EXISTS (SELECT FROM reference AS known WHERE known.item_id = %(id)s AND known.type = %(type)s
                  AND known.kind_id = %(kind)s AND known.key = line.key);

-- name: write_checkpoints
-- Keeps how far items have come.
INSERT INTO checkpoint (item_id, data, at)
SELECT line.item_id, line.data, clock()
FROM unnest(%(ids)s::bigint[], %(data)s::jsonb[]) AS line (item_id, data)
ON CONFLICT (item_id) DO UPDATE SET data = excluded.data, at = excluded.at;

-- name: aliased
-- Whether any of these keys stands for another.
SELECT claim.key FROM unnest(%(kinds)s::integer[], %(keys)s::text[]) AS own (kind_id, key)
JOIN alias_claim AS claim ON claim.kind_id = own.kind_id AND claim.key = own.key AND claim.to_key IS NOT NULL LIMIT 1;

-- name: said
-- What items said about keys.
SELECT said_by, kind_id, key, said_key FROM alias_claim WHERE said_by = ANY (%(ids)s::bigint[]);

-- name: lock_aliases
-- Aliases are written by one at a time, last in its transaction.
SELECT lock_aliases();

-- name: drop_aliases
-- Forgets what these items said about other keys, and chooses anew what these keys stand for, which have content now.
SELECT drop_aliases(%(ids)s::bigint[], %(kinds)s::integer[], %(keys)s::text[]);

-- name: write_aliases
-- Writes what items say about keys.
SELECT write_aliases(%(kinds)s::integer[], %(keys)s::text[], %(to_keys)s::text[], %(ids)s::bigint[],
                     %(alone)s::boolean[]);

-- name: remove_items
-- Takes items, whose places are vacated and whose leases are seized, out of everything but their story. What they
-- said about other keys goes when the transaction ends.
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
-- The keys of a kind's items after this one, in order; not of those that belong to another item, or that many name.
SELECT item.key FROM item LEFT JOIN node ON node.item_id = item.id
WHERE item.kind_id = %(kind)s AND item.key > %(after)s AND node.parent_id IS NULL AND node.shared IS NOT TRUE
ORDER BY item.key LIMIT %(limit)s;

-- name: lock_mentions_alone
-- Keeps mentioners away while nodes that nothing refers to are swept, unless somebody mentions some right now. It
-- does not wait for them: later mentioners would have to wait behind it, as long as an import takes.
SELECT pg_try_advisory_xact_lock(%(lock)s) AS free;

-- name: unmentioned
-- Nodes that many may name, and that nobody names any more.
SELECT node.item_id FROM node JOIN item ON item.id = node.item_id
WHERE node.shared AND node.item_id > %(after)s
  AND NOT EXISTS (SELECT FROM reference WHERE kind_id = item.kind_id AND key = item.key)
  AND NOT EXISTS (
      SELECT FROM alias JOIN reference ON reference.kind_id = alias.kind_id AND reference.key = alias.key
      WHERE alias.kind_id = item.kind_id AND alias.to_key = item.key
  )
ORDER BY node.item_id LIMIT %(limit)s;

-- name: begin_removing
-- From now on nothing of a source is claimed, and it is no longer declared.
UPDATE source SET removed_at = coalesce(removed_at, clock()), paused_at = coalesce(paused_at, clock())
WHERE name = %(name)s RETURNING id;

-- name: items_to_remove
-- Some of the items that a source still has, as long as it is to be removed.
SELECT item.id FROM source JOIN kind ON kind.source_id = source.id CROSS JOIN LATERAL (
    SELECT id FROM item WHERE kind_id = kind.id ORDER BY kind_id, key LIMIT %(limit)s
) AS item
WHERE source.id = %(source)s AND source.removed_at IS NOT NULL LIMIT %(limit)s;

-- name: drop_source
-- The last step: what is left of a source that has no items any more, unless it has been declared again meanwhile. If
-- others refer to it, its name is kept for the day when it comes back.
WITH kinds AS MATERIALIZED (
    SELECT kind.id FROM source JOIN kind ON kind.source_id = source.id
    WHERE source.id = %(source)s AND source.removed_at IS NOT NULL
),
names AS (DELETE FROM alias_claim USING kinds WHERE alias_claim.kind_id = kinds.id),
counts AS (DELETE FROM tally USING kinds WHERE tally.kind_id = kinds.id)
DELETE FROM source WHERE id = %(source)s AND removed_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM kinds JOIN reference ON reference.kind_id = kinds.id);

-- name: write_mentions
-- Writes nodes that many may name, where there is none yet, whoever holds their items; what is there stays as it is.
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
-- What items refer to, in order; without the source where it is their own.
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
-- The items that have one of these texts, and where they are.
SELECT embedding.item_id, item.kind_id, item.state
FROM embedding JOIN item ON item.id = embedding.item_id
WHERE embedding.hash = ANY (%(hashes)s::uuid[]);

-- name: forget_embeddings
-- Forgets what items, which are held, were embedded with: they rest where nothing embeds them again.
DELETE FROM embedding WHERE item_id = ANY (%(ids)s::bigint[]);
