-- The data that search shows about its results.

-- name: results
-- Items as results, each with its top-level node: their names, and the properties that a reader may open.
SELECT node.item_id, item.kind_id, item.key, node.title, node.properties, top.root_id, root_item.kind_id AS root_kind_id,
       root_item.key AS root_key, root.title AS root_title, root.properties AS root_properties,
       root_item.state AS root_state
FROM unnest(%(ids)s::bigint[], %(roots)s::bigint[]) AS top (id, root_id)
JOIN node ON node.item_id = top.id
JOIN item ON item.id = node.item_id
JOIN node AS root ON root.item_id = top.root_id
JOIN item AS root_item ON root_item.id = root.item_id;

-- name: roots
-- The top-level nodes of items.
WITH RECURSIVE ancestor AS (
    SELECT item_id AS id, item_id, parent_id, 0 AS depth FROM node WHERE item_id = ANY (%(ids)s::bigint[])
    UNION ALL
    SELECT ancestor.id, node.item_id, node.parent_id, ancestor.depth + 1
    FROM ancestor JOIN node ON node.item_id = ancestor.parent_id WHERE ancestor.depth < 8
)
SELECT DISTINCT ON (id) id, item_id AS root_id FROM ancestor ORDER BY id, depth DESC;

-- name: titled
-- Top-level nodes with exactly this title or alias, ignoring case. For each, its first text: its own, or that of
-- the first node that belongs to it and has one; nodes without text are left out. With `allowed`, only those items
-- are found.
WITH called AS (
    SELECT node.item_id, node.text <> '' AS says FROM node JOIN item ON item.id = node.item_id
    WHERE node.parent_id IS NULL AND lower(left(node.title, 64)) = lower(left(%(title)s::text, 64))
      AND lower(node.title) = lower(%(title)s::text) AND item.kind_id = ANY (%(kinds)s::integer[])
    UNION
    SELECT node.item_id, node.text <> '' FROM alias
    JOIN item ON item.kind_id = alias.kind_id AND item.key = alias.to_key
    JOIN node ON node.item_id = item.id
    WHERE alias.kind_id = ANY (%(kinds)s::integer[]) AND alias.key = %(title)s::text
)
SELECT said.item_id AS id
FROM called CROSS JOIN LATERAL (
    SELECT * FROM (
        SELECT called.item_id, -1 AS position WHERE called.says
        UNION ALL
        SELECT child.item_id, child.position FROM node AS child
        WHERE child.parent_id = called.item_id AND child.text <> '' AND NOT called.says
    ) AS saying
    WHERE %(allowed)s::bigint[] IS NULL OR item_id = ANY (%(allowed)s::bigint[])
    ORDER BY position LIMIT 1
) AS said
ORDER BY called.item_id LIMIT %(limit)s;

-- name: embedding_of
-- The text that an item was embedded from, and those of the items that belong to it.
WITH RECURSIVE family AS (
    SELECT %(id)s::bigint AS item_id
    UNION ALL
    SELECT node.item_id FROM family JOIN node ON node.parent_id = family.item_id WHERE node.item_id <> %(id)s::bigint
),
member AS (SELECT item_id FROM family LIMIT 1000)
SELECT embedding.item_id = %(id)s AS own, embedding.hash
FROM member JOIN embedding ON embedding.item_id = member.item_id
WHERE embedding.hash IS NOT NULL;

-- name: suggestions
-- Titles that begin with this text, each once, with a node that has it: top-level nodes first, and passages only
-- if there are not enough. The bounds are compared byte by byte, as in the indexes.
WITH standing AS MATERIALIZED (
    SELECT node.title, item.kind_id, item.key
    FROM node JOIN item ON item.id = node.item_id
    WHERE node.parent_id IS NULL AND item.kind_id = ANY (%(kinds)s::integer[])
      AND lower(left(node.title, 64)) ~>=~ lower(left(%(typed)s::text, 64))
      AND lower(left(node.title, 64)) ~<=~ (lower(left(%(typed)s::text, 64)) || chr(1114111))
    ORDER BY lower(left(node.title, 64)) USING ~<~ LIMIT 1000
),
passage AS MATERIALIZED (
    SELECT node.title, item.kind_id, item.key
    FROM node JOIN item ON item.id = node.item_id
    WHERE node.parent_id IS NOT NULL AND item.kind_id = ANY (%(kinds)s::integer[])
      AND lower(left(node.title, 64)) ~>=~ lower(left(%(typed)s::text, 64))
      AND lower(left(node.title, 64)) ~<=~ (lower(left(%(typed)s::text, 64)) || chr(1114111))
      AND (SELECT count(DISTINCT title) FROM standing) < %(limit)s
    ORDER BY lower(left(node.title, 64)) USING ~<~ LIMIT 1000
),
titled AS (
    SELECT DISTINCT ON (title) title, belongs, kind_id, key
    FROM (SELECT false AS belongs, * FROM standing UNION ALL SELECT true, * FROM passage) AS found
    ORDER BY title, belongs, length(key), key
)
SELECT title, kind_id, key FROM titled ORDER BY belongs, length(title), title LIMIT %(limit)s;

-- name: unknown_categories
-- Those of these keys that are no category: no item has it, nothing refers to it, and it is no alias.
SELECT asked.key FROM unnest(%(keys)s::text[]) AS asked (key)
WHERE NOT EXISTS (SELECT FROM item WHERE item.kind_id = ANY (%(kinds)s::integer[]) AND item.key = asked.key)
  AND NOT EXISTS (SELECT FROM reference
                  WHERE reference.kind_id = ANY (%(kinds)s::integer[]) AND reference.key = asked.key)
  AND NOT EXISTS (SELECT FROM alias WHERE alias.kind_id = ANY (%(kinds)s::integer[]) AND alias.key = asked.key);

-- name: similar_categories
-- Keys for a suggestion: some with the same beginning, and some of all, which are all where there are few.
SELECT item.key FROM unnest(%(kinds)s::integer[]) AS kind (id) CROSS JOIN LATERAL (
    (SELECT key FROM item WHERE kind_id = kind.id AND key >= %(start)s AND key < %(end)s ORDER BY key LIMIT 500)
    UNION
    (SELECT key FROM item WHERE kind_id = kind.id ORDER BY key LIMIT 500)
) AS item;
