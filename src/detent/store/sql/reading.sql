-- Reading the graph: neighbours a page at a time, levels of a walk, the edges among some nodes.
--
-- A node is known by its own key, unless that is an alias of another, and by the aliases that lead to it. Its
-- incoming edges are the references to any of these keys; so reading against the direction of edges never scans.

-- name: find_nodes
-- The nodes of some kinds that are known by this key.
SELECT item.id, item.kind_id, item.key, node.title
FROM kind
LEFT JOIN alias ON alias.kind_id = kind.id AND alias.key = %(key)s
JOIN item ON item.kind_id = kind.id AND item.key = coalesce(alias.to_key, %(key)s)
JOIN node ON node.item_id = item.id
WHERE kind.id = ANY (%(kinds)s::integer[]) ORDER BY item.id;

-- name: named_nodes
-- Nodes by number, with their names.
SELECT item.id, item.kind_id, item.key, node.title
FROM item JOIN node ON node.item_id = item.id WHERE item.id = ANY (%(ids)s::bigint[]);

-- name: node_content
-- The full content of one node.
SELECT item.id, item.kind_id, item.key, item.state, node.parent_id, node.position, node.edge, node.shared, node.title,
       node.text, node.properties, node.content_hash, node.written_at
FROM item JOIN node ON node.item_id = item.id WHERE item.id = %(id)s;

-- name: other_keys
-- The aliases of a node.
SELECT alias.key FROM item JOIN alias ON alias.kind_id = item.kind_id AND alias.to_key = item.key
WHERE item.id = %(id)s ORDER BY alias.key LIMIT %(limit)s;

-- name: references_out
-- A page of the targets of a node's references, in the order they were given.
SELECT reference.position, ''::text AS name, reference.type, reference.properties,
       target.id, target.kind_id, target.key, node.title
FROM reference
LEFT JOIN alias ON alias.kind_id = reference.kind_id AND alias.key = reference.key
JOIN item AS target ON target.kind_id = reference.kind_id AND target.key = coalesce(alias.to_key, reference.key)
JOIN node ON node.item_id = target.id
WHERE reference.item_id = %(id)s AND reference.position > %(position)s
  AND (%(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[]))
  AND (%(kinds)s::integer[] IS NULL OR reference.kind_id = ANY (%(kinds)s::integer[]))
ORDER BY reference.item_id, reference.position LIMIT %(limit)s;

-- name: texts
-- The text of a node, followed by the texts of the nodes that belong to it, in order.
SELECT title, text FROM node WHERE (item_id = %(id)s OR parent_id = %(id)s) AND text <> ''
ORDER BY item_id <> %(id)s, position, item_id;

-- name: children_out
-- A page of a node's children, in order.
SELECT child.position, ''::text AS name, child.edge AS type, '{}'::jsonb AS properties,
       item.id, item.kind_id, item.key, child.title
FROM node AS child JOIN item ON item.id = child.item_id
WHERE child.parent_id = %(id)s AND child.edge IS NOT NULL
  AND (child.position, child.item_id) > (%(position)s, %(other)s)
  AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
  AND (%(kinds)s::integer[] IS NULL OR item.kind_id = ANY (%(kinds)s::integer[]))
ORDER BY child.position, child.item_id LIMIT %(limit)s;

-- name: references_in
-- A page of the nodes that refer to a node, first by its own key, then by its aliases.
SELECT link.position, name.key AS name, link.type, link.properties, link.id, link.kind_id, link.key, link.title
FROM item AS here
CROSS JOIN LATERAL (
    SELECT 0 AS rank, here.key
    WHERE NOT EXISTS (SELECT FROM alias WHERE alias.kind_id = here.kind_id AND alias.key = here.key)
    UNION ALL
    SELECT 1, alias.key FROM alias WHERE alias.kind_id = here.kind_id AND alias.to_key = here.key
    ORDER BY 1, 2
) AS name
CROSS JOIN LATERAL (
    SELECT reference.position, reference.type, reference.properties, origin.id, origin.kind_id, origin.key, node.title
    FROM reference
    JOIN item AS origin ON origin.id = reference.item_id
    JOIN node ON node.item_id = origin.id
    WHERE reference.kind_id = here.kind_id AND reference.key = name.key
      AND reference.item_id >= CASE WHEN name.key = %(name)s THEN %(other)s ELSE 0 END
      AND (name.key <> %(name)s OR (reference.item_id, reference.position) > (%(other)s, %(position)s))
      AND (%(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[]))
      AND (%(kinds)s::integer[] IS NULL OR origin.kind_id = ANY (%(kinds)s::integer[]))
    ORDER BY reference.item_id, reference.position LIMIT %(limit)s
) AS link
WHERE here.id = %(id)s
  AND (%(name)s = '' OR (name.rank, name.key) >= (CASE WHEN %(name)s = here.key THEN 0 ELSE 1 END, %(name)s))
ORDER BY name.rank, name.key, link.id, link.position LIMIT %(limit)s;

-- name: parent_in
-- The parent of a node.
SELECT child.position, ''::text AS name, child.edge AS type, '{}'::jsonb AS properties,
       parent.item_id AS id, item.kind_id, item.key, parent.title
FROM node AS child
JOIN node AS parent ON parent.item_id = child.parent_id
JOIN item ON item.id = parent.item_id
WHERE child.item_id = %(id)s AND child.edge IS NOT NULL
  AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
  AND (%(kinds)s::integer[] IS NULL OR item.kind_id = ANY (%(kinds)s::integer[]))
LIMIT %(limit)s;

-- name: step_out
-- One level of a walk along the edges. It is read through a cursor, and only as far as the walk needs it.
SELECT start.id AS at_id, next.id
FROM unnest(%(ids)s::bigint[]) AS start (id)
CROSS JOIN LATERAL (
    SELECT target.id, target.kind_id
    FROM reference
    LEFT JOIN alias ON alias.kind_id = reference.kind_id AND alias.key = reference.key
    JOIN item AS target ON target.kind_id = reference.kind_id AND target.key = coalesce(alias.to_key, reference.key)
    JOIN node ON node.item_id = target.id
    WHERE reference.item_id = start.id
      AND (%(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[]))
    UNION ALL
    SELECT item.id, item.kind_id
    FROM node AS child JOIN item ON item.id = child.item_id
    WHERE child.parent_id = start.id AND child.edge IS NOT NULL
      AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
) AS next
WHERE %(kinds)s::integer[] IS NULL OR next.kind_id = ANY (%(kinds)s::integer[]) OR next.id = %(goal)s;

-- name: step_in
-- One level of a walk against the edges, read in the same way.
SELECT start.id AS at_id, next.id
FROM unnest(%(ids)s::bigint[]) AS start (id)
JOIN item AS here ON here.id = start.id
CROSS JOIN LATERAL (
    SELECT origin.id, origin.kind_id
    FROM (
        SELECT here.key
        WHERE NOT EXISTS (SELECT FROM alias WHERE alias.kind_id = here.kind_id AND alias.key = here.key)
        UNION ALL
        SELECT alias.key FROM alias WHERE alias.kind_id = here.kind_id AND alias.to_key = here.key
    ) AS name
    JOIN reference ON reference.kind_id = here.kind_id AND reference.key = name.key
    JOIN item AS origin ON origin.id = reference.item_id
    JOIN node ON node.item_id = origin.id
    WHERE %(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[])
    UNION ALL
    SELECT item.id, item.kind_id
    FROM node AS child
    JOIN node AS parent ON parent.item_id = child.parent_id
    JOIN item ON item.id = parent.item_id
    WHERE child.item_id = start.id AND child.edge IS NOT NULL
      AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
) AS next
WHERE %(kinds)s::integer[] IS NULL OR next.kind_id = ANY (%(kinds)s::integer[]) OR next.id = %(goal)s;

-- name: edges_among
-- The edges among some nodes. A reference is looked up by its target and its owner, so that a node with a hundred
-- thousand edges costs no more than the edges requested.
SELECT link.item_id AS from_id, link.type, here.id AS to_id, link.position, link.properties
FROM unnest(%(ids)s::bigint[]) AS asked (id)
JOIN item AS here ON here.id = asked.id
CROSS JOIN LATERAL (
    SELECT here.key
    WHERE NOT EXISTS (SELECT FROM alias WHERE alias.kind_id = here.kind_id AND alias.key = here.key)
    UNION ALL
    SELECT alias.key FROM alias WHERE alias.kind_id = here.kind_id AND alias.to_key = here.key
) AS name
CROSS JOIN LATERAL (
    SELECT reference.item_id, reference.type, reference.position, reference.properties FROM reference
    WHERE reference.kind_id = here.kind_id AND reference.key = name.key AND reference.item_id = ANY (%(ids)s::bigint[])
      AND (%(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[]))
) AS link
UNION ALL
SELECT child.parent_id, child.edge, child.item_id, 1000000 + child.position, '{}'::jsonb
FROM unnest(%(ids)s::bigint[]) AS asked (id)
JOIN node AS child ON child.item_id = asked.id AND child.parent_id = ANY (%(ids)s::bigint[])
WHERE child.edge IS NOT NULL AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
LIMIT %(limit)s;

-- name: first_edges
-- The first edge of each pair of nodes that leads from the one to the other, if there is any.
SELECT step.from_id, first.type, step.to_id, first.properties
FROM unnest(%(froms)s::bigint[], %(tos)s::bigint[]) AS step (from_id, to_id)
JOIN item AS here ON here.id = step.to_id
CROSS JOIN LATERAL (
    SELECT reference.position, reference.type, reference.properties
    FROM (
        SELECT here.key
        WHERE NOT EXISTS (SELECT FROM alias WHERE alias.kind_id = here.kind_id AND alias.key = here.key)
        UNION ALL
        SELECT alias.key FROM alias WHERE alias.kind_id = here.kind_id AND alias.to_key = here.key
    ) AS name
    JOIN reference ON reference.kind_id = here.kind_id AND reference.key = name.key
                  AND reference.item_id = step.from_id
    WHERE %(types)s::text[] IS NULL OR reference.type = ANY (%(types)s::text[])
    UNION ALL
    SELECT 1000000 + child.position, child.edge, '{}'::jsonb FROM node AS child
    WHERE child.item_id = step.to_id AND child.parent_id = step.from_id AND child.edge IS NOT NULL
      AND (%(types)s::text[] IS NULL OR child.edge = ANY (%(types)s::text[]))
    ORDER BY 1 LIMIT 1
) AS first;
