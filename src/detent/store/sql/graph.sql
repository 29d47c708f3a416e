-- What settling writes beside the state: nodes, references, checkpoints.

-- name: write_nodes
-- Writes the content of items, in place of what they had.
INSERT INTO node (item_id, title, text, properties, content_hash, written_at)
SELECT line.item_id, line.title, line.text, line.properties, line.hash, clock()
FROM unnest(%(ids)s::bigint[], %(titles)s::text[], %(texts)s::text[], %(properties)s::jsonb[],
            %(hashes)s::text[]) AS line (item_id, title, text, properties, hash)
ON CONFLICT (item_id) DO UPDATE
SET title = excluded.title, text = excluded.text, properties = excluded.properties,
    content_hash = excluded.content_hash, written_at = excluded.written_at;

-- name: drop_references
-- Forgets the links of items, before their new ones are written.
DELETE FROM reference WHERE item_id = ANY (%(ids)s::bigint[]);

-- name: write_references
-- Writes links, whether or not their targets exist.
INSERT INTO reference (item_id, position, type, kind_id, key, properties)
SELECT line.* FROM unnest(%(ids)s::bigint[], %(positions)s::integer[], %(types)s::text[],
                          %(kinds)s::integer[], %(keys)s::text[], %(properties)s::jsonb[]) AS line;

-- name: write_checkpoints
-- Keeps how far items have come.
INSERT INTO checkpoint (item_id, data, at)
SELECT line.item_id, line.data, clock()
FROM unnest(%(ids)s::bigint[], %(data)s::jsonb[]) AS line (item_id, data)
ON CONFLICT (item_id) DO UPDATE SET data = excluded.data, at = excluded.at;
