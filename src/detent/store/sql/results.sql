-- What search shows of what it found.

-- name: results
-- Items as results, each with what it belongs to in the end: their names, and what a reader may open.
SELECT node.item_id, item.kind_id, item.key, node.title, node.properties, top.root_id, root_item.kind_id AS root_kind_id,
       root_item.key AS root_key, root.title AS root_title, root.properties AS root_properties
FROM unnest(%(ids)s::bigint[], %(roots)s::bigint[]) AS top (id, root_id)
JOIN node ON node.item_id = top.id
JOIN item ON item.id = node.item_id
JOIN node AS root ON root.item_id = top.root_id
JOIN item AS root_item ON root_item.id = root.item_id;

-- name: roots
-- What items belong to in the end.
WITH RECURSIVE ancestor AS (
    SELECT item_id AS id, item_id, parent_id, 0 AS depth FROM node WHERE item_id = ANY (%(ids)s::bigint[])
    UNION ALL
    SELECT ancestor.id, node.item_id, node.parent_id, ancestor.depth + 1
    FROM ancestor JOIN node ON node.item_id = ancestor.parent_id WHERE ancestor.depth < 8
)
SELECT DISTINCT ON (id) id, item_id AS root_id FROM ancestor ORDER BY id, depth DESC;

-- name: embedding_of
-- The text that an item was embedded from, and those of what belongs to it.
SELECT embedding.hash FROM embedding WHERE item_id = %(id)s AND hash IS NOT NULL
UNION ALL
SELECT embedding.hash FROM node JOIN embedding ON embedding.item_id = node.item_id
WHERE node.parent_id = %(id)s AND embedding.hash IS NOT NULL
LIMIT 1000;

-- name: suggestions
-- Nodes whose titles begin so, those first that belong to none.
SELECT found.* FROM (
    SELECT node.item_id, node.title, node.parent_id IS NOT NULL AS belongs, item.kind_id, item.key
    FROM node JOIN item ON item.id = node.item_id
    WHERE lower(left(node.title, 64)) LIKE %(pattern)s AND item.kind_id = ANY (%(kinds)s::integer[])
    ORDER BY lower(left(node.title, 64)) USING ~<~ LIMIT 1000
) AS found
ORDER BY belongs, length(title), title, key LIMIT %(limit)s;
