-- The graph as a whole: its digest, export and import.

-- name: digest_nodes
-- The sum of the hashes of all nodes: the same for the same nodes, whatever their order, numbers and times. The
-- name of the requested source is left out, so that the same content has the same sum.
SELECT count(*) AS count, coalesce(sum(word.high), 0)::text AS high, coalesce(sum(word.low), 0)::text AS low
FROM node
JOIN item ON item.id = node.item_id
JOIN kind ON kind.id = item.kind_id
JOIN source ON source.id = kind.source_id
LEFT JOIN item AS owner ON owner.id = node.parent_id
LEFT JOIN kind AS owner_kind ON owner_kind.id = owner.kind_id
LEFT JOIN source AS owner_source ON owner_source.id = owner_kind.source_id
CROSS JOIN LATERAL (SELECT encode(sha256(convert_to(jsonb_build_array(
    'node', nullif(source.name, %(source)s), kind.label, item.key, node.title,
    encode(sha256(convert_to(node.text, 'UTF8')), 'hex'), node.properties, node.content_hash,
    nullif(owner_source.name, %(source)s), owner_kind.label, owner.key, node.position, node.edge, node.shared
)::text, 'UTF8')), 'hex') AS hash) AS said
CROSS JOIN LATERAL (SELECT ('x' || left(hash, 16))::bit(64)::bigint AS high,
                           ('x' || substr(hash, 17, 16))::bit(64)::bigint AS low) AS word
WHERE %(source)s::text IS NULL OR source.name = %(source)s;

-- name: digest_references
-- The same sum over all references as they were written, whether or not their targets exist.
SELECT count(*) AS count, coalesce(sum(word.high), 0)::text AS high, coalesce(sum(word.low), 0)::text AS low
FROM reference
JOIN item ON item.id = reference.item_id
JOIN kind ON kind.id = item.kind_id
JOIN source ON source.id = kind.source_id
JOIN kind AS target_kind ON target_kind.id = reference.kind_id
JOIN source AS target_source ON target_source.id = target_kind.source_id
CROSS JOIN LATERAL (SELECT encode(sha256(convert_to(jsonb_build_array(
    'reference', nullif(source.name, %(source)s), kind.label, item.key, reference.position, reference.type,
    nullif(target_source.name, %(source)s), target_kind.label, reference.key, reference.properties
)::text, 'UTF8')), 'hex') AS hash) AS said
CROSS JOIN LATERAL (SELECT ('x' || left(hash, 16))::bit(64)::bigint AS high,
                           ('x' || substr(hash, 17, 16))::bit(64)::bigint AS low) AS word
WHERE %(source)s::text IS NULL OR source.name = %(source)s;

-- name: digest_aliases
-- The same sum over all aliases as they were claimed.
SELECT count(*) AS count, coalesce(sum(word.high), 0)::text AS high, coalesce(sum(word.low), 0)::text AS low
FROM alias_claim AS alias
JOIN kind ON kind.id = alias.kind_id
JOIN source ON source.id = kind.source_id
CROSS JOIN LATERAL (SELECT encode(sha256(convert_to(jsonb_build_array(
    'alias', nullif(source.name, %(source)s), kind.label, alias.key, alias.said_key
)::text, 'UTF8')), 'hex') AS hash) AS said
CROSS JOIN LATERAL (SELECT ('x' || left(hash, 16))::bit(64)::bigint AS high,
                           ('x' || substr(hash, 17, 16))::bit(64)::bigint AS low) AS word
WHERE %(source)s::text IS NULL OR source.name = %(source)s;

-- name: count_edges
-- The number of edges that begin at nodes.
SELECT count(*) AS count
FROM edge
JOIN node ON node.item_id = edge.from_id
JOIN item ON item.id = edge.from_id
JOIN kind ON kind.id = item.kind_id
JOIN source ON source.id = kind.source_id
WHERE %(source)s::text IS NULL OR source.name = %(source)s;

-- name: dump_counts
-- The amount of data to export.
SELECT (SELECT count(*) FROM item JOIN kind ON kind.id = item.kind_id
        WHERE kind.id = ANY (%(kinds)s::integer[])) AS items,
       (SELECT count(*) FROM alias_claim AS alias WHERE alias.kind_id = ANY (%(kinds)s::integer[])) AS aliases;

-- name: dump_referred
-- The kinds that items of some kinds refer to.
SELECT DISTINCT reference.kind_id
FROM item JOIN reference ON reference.item_id = item.id
WHERE item.kind_id = ANY (%(kinds)s::integer[]);

-- name: dump_lifecycles
-- The lifecycles that some kinds follow.
SELECT json_build_object('record', 'lifecycle', 'definition', lifecycle.definition)::text
FROM lifecycle
WHERE EXISTS (SELECT FROM kind WHERE kind.lifecycle = lifecycle.name AND kind.id = ANY (%(kinds)s::integer[]))
ORDER BY lifecycle.name;

-- name: dump_kinds
-- The exported kinds, and those that they refer to.
SELECT json_build_object('record', 'kind', 'source', source.name, 'label', kind.label, 'lifecycle', kind.lifecycle,
                         'language', source.language)::text
FROM kind JOIN source ON source.id = kind.source_id
WHERE kind.id = ANY (%(kinds)s::integer[])
ORDER BY source.name, kind.label;

-- name: dump_items
-- Items with everything that belongs to them, in the order in which they were added: owners come before their
-- parts.
SELECT json_build_object(
    'record', 'item', 'source', source.name, 'label', kind.label, 'key', item.key,
    'state', item.state, 'priority', item.priority, 'content_hash', item.content_hash,
    'node', CASE WHEN node.item_id IS NOT NULL THEN json_build_object(
        'title', node.title, 'text', node.text, 'properties', node.properties, 'content_hash', node.content_hash,
        'shared', node.shared, 'position', node.position, 'edge', node.edge,
        'parent', CASE WHEN owner.id IS NOT NULL THEN
            json_build_object('source', owner_source.name, 'label', owner_kind.label, 'key', owner.key) END
    ) END,
    'references', (
        SELECT json_agg(json_build_object(
            'type', reference.type, 'source', target_source.name, 'label', target_kind.label, 'key', reference.key,
            'position', reference.position, 'properties', reference.properties
        ) ORDER BY reference.position)
        FROM reference
        JOIN kind AS target_kind ON target_kind.id = reference.kind_id
        JOIN source AS target_source ON target_source.id = target_kind.source_id
        WHERE reference.item_id = item.id
    ),
    'failure', CASE WHEN failure.item_id IS NOT NULL THEN json_build_object(
        'kind', failure.kind, 'trouble', failure.trouble, 'state', failure.state, 'message', failure.message
    ) END,
    'checkpoint', checkpoint.data
)::text
FROM item
JOIN kind ON kind.id = item.kind_id
JOIN source ON source.id = kind.source_id
LEFT JOIN node ON node.item_id = item.id
LEFT JOIN item AS owner ON owner.id = node.parent_id
LEFT JOIN kind AS owner_kind ON owner_kind.id = owner.kind_id
LEFT JOIN source AS owner_source ON owner_source.id = owner_kind.source_id
LEFT JOIN failure ON failure.item_id = item.id
LEFT JOIN checkpoint ON checkpoint.item_id = item.id
WHERE kind.id = ANY (%(kinds)s::integer[])
ORDER BY item.id;

-- name: dump_aliases
-- Aliases as they were claimed, with the items that claim them.
SELECT json_build_object(
    'record', 'alias', 'source', source.name, 'label', kind.label, 'key', alias.key, 'to', alias.said_key,
    'said_by', CASE WHEN teller.id IS NOT NULL THEN
        json_build_object('source', teller_source.name, 'label', teller_kind.label, 'key', teller.key) END
)::text
FROM alias_claim AS alias
JOIN kind ON kind.id = alias.kind_id
JOIN source ON source.id = kind.source_id
LEFT JOIN item AS teller ON teller.id = alias.said_by
LEFT JOIN kind AS teller_kind ON teller_kind.id = teller.kind_id
LEFT JOIN source AS teller_source ON teller_source.id = teller_kind.source_id
WHERE kind.id = ANY (%(kinds)s::integer[])
ORDER BY alias.kind_id, alias.key, alias.said_key, alias.said_by;

-- name: dump_nodes
-- Nodes, for other programs.
SELECT json_build_object(
    'id', item.id, 'source', source.name, 'label', kind.label, 'key', item.key, 'state', item.state,
    'title', node.title, 'text', node.text, 'properties', node.properties, 'content_hash', node.content_hash,
    'parent_id', node.parent_id, 'shared', node.shared
)::text
FROM item
JOIN kind ON kind.id = item.kind_id
JOIN source ON source.id = kind.source_id
JOIN node ON node.item_id = item.id
WHERE kind.id = ANY (%(kinds)s::integer[])
ORDER BY item.id;

-- name: dump_edges
-- Edges between exported nodes, for other programs.
SELECT json_build_object('from_id', edge.from_id, 'type', edge.type, 'to_id', edge.to_id, 'position', edge.position,
                         'properties', edge.properties)::text
FROM edge
JOIN item AS origin ON origin.id = edge.from_id AND origin.kind_id = ANY (%(kinds)s::integer[])
JOIN node ON node.item_id = origin.id
JOIN item AS target ON target.id = edge.to_id AND target.kind_id = ANY (%(kinds)s::integer[]);

-- name: new_items
-- Numbers for items that are about to be written.
SELECT string_agg(nextval('item_id_seq')::text, ',') AS numbers FROM generate_series(1, %(count)s);

-- name: new_texts
-- Numbers for texts that are about to be written.
SELECT string_agg(nextval('text_number')::text, ',') AS numbers FROM generate_series(1, %(count)s);

-- name: moment
-- The time.
SELECT clock()::text AS now;

-- name: kept_texts
-- The content that is about to be replaced: the numbers and hashes of texts, and whether they are embedded.
SELECT node.item_id, node.text_id, sha256(convert_to(node.title, 'UTF8')) AS title,
       sha256(convert_to(node.text, 'UTF8')) AS text,
       EXISTS (SELECT FROM embedding WHERE embedding.item_id = node.item_id) AS embedded
FROM node WHERE node.item_id = ANY (%(ids)s::bigint[]);

-- name: clear_items
-- Delete everything that belongs to held items, before it is written anew.
WITH nodes AS (DELETE FROM node WHERE item_id = ANY (%(ids)s::bigint[])),
links AS (DELETE FROM reference WHERE item_id = ANY (%(ids)s::bigint[])),
embeddings AS (DELETE FROM embedding WHERE item_id = ANY (%(changed)s::bigint[])),
failures AS (DELETE FROM failure WHERE item_id = ANY (%(ids)s::bigint[])),
retries AS (DELETE FROM retried WHERE item_id = ANY (%(ids)s::bigint[])),
checkpoints AS (DELETE FROM checkpoint WHERE item_id = ANY (%(ids)s::bigint[]))
SELECT;

-- name: put_items
-- Put items whose places are vacated and whose leases are seized into the states of a file.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
line AS MATERIALIZED (
    SELECT line.*, item.kind_id, item.state AS before
    FROM unnest(%(ids)s::bigint[], %(states)s::text[], %(priorities)s::integer[], %(hashes)s::text[],
                %(not_before)s::timestamptz[])
         AS line (id, state, priority, hash, not_before)
    JOIN item ON item.id = line.id
),
moved AS (
    UPDATE item SET
        state = line.state, since = CASE WHEN item.state = line.state THEN item.since ELSE moment.now END,
        not_before = line.not_before, attempt = 0, priority = line.priority, content_hash = line.hash, token = NULL,
        changed = false
    FROM line CROSS JOIN moment WHERE item.id = line.id
),
placed AS (
    INSERT INTO place (kind_id, state, not_before, priority, item_id)
    SELECT kind_id, state, not_before, priority, id FROM line
),
journaled AS (
    INSERT INTO journal (item_id, at, from_state, to_state, attempt, owner, reason)
    SELECT line.id, moment.now, line.before, line.state, 0, %(owner)s, 'imported'
    FROM line CROSS JOIN moment WHERE line.before <> line.state
)
INSERT INTO tally (kind_id, state, count)
SELECT kind_id, state, sum(count) FROM (
    SELECT kind_id, before AS state, -1 AS count FROM line
    UNION ALL SELECT kind_id, state, 1 FROM line
) AS change GROUP BY kind_id, state HAVING sum(count) <> 0;

-- name: count_new
-- Count items that were written.
INSERT INTO tally (kind_id, state, count)
SELECT * FROM unnest(%(kinds)s::integer[], %(states)s::text[], %(counts)s::bigint[]);

-- name: set_parents
-- Set the parents of nodes that were imported before them.
UPDATE node SET parent_id = line.parent_id
FROM unnest(%(ids)s::bigint[], %(parents)s::bigint[]) AS line (item_id, parent_id)
WHERE node.item_id = line.item_id;

-- name: set_language
-- Set the language of a source's texts.
UPDATE source SET language = %(language)s WHERE name = %(name)s;

-- name: any_aliases
-- One alias of these kinds, if there is any.
SELECT key FROM alias_claim WHERE kind_id = ANY (%(kinds)s::integer[]) LIMIT 1;

-- name: keep_mentions
-- Keep sweepers of unreferenced nodes away, over several transactions.
SELECT pg_advisory_lock_shared(%(lock)s);

-- name: release_mentions
-- Let unreferenced nodes be swept again.
SELECT pg_advisory_unlock_shared(%(lock)s);
