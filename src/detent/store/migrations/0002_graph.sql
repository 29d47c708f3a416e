-- The graph: nodes, references and aliases. An edge is not stored: it is a reference whose target has a node.
--
-- A reference names its target by kind and key, so it may be written before, after or while the target is, and is
-- an edge from the moment both are there: nothing has to be resolved, and so nothing can be resolved twice.

CREATE SEQUENCE text_number;

-- An item's content. `parent_id` is the item that brought it with its own outcome, if it was not worked on for
-- itself; `edge` is the type of the edge from there. `shared`: many may name it, and it goes with the last that
-- does. `text_id` is another number whenever the title or the text is another: what search knows a text by.
CREATE TABLE node (
    item_id      bigint PRIMARY KEY,
    parent_id    bigint,
    position     integer,
    edge         text COLLATE "C",
    shared       boolean NOT NULL DEFAULT false,
    text_id      bigint NOT NULL DEFAULT nextval('text_number'),
    title        text NOT NULL,
    text         text NOT NULL,
    properties   jsonb NOT NULL,
    content_hash text COLLATE "C",
    written_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX node_text ON node (text_id);
CREATE INDEX node_parent ON node (parent_id, position) WHERE parent_id IS NOT NULL;

CREATE TABLE reference (
    item_id     bigint NOT NULL,
    position    integer NOT NULL,
    type        text COLLATE "C" NOT NULL,
    kind_id     integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    properties  jsonb NOT NULL,
    PRIMARY KEY (item_id, position)
);
CREATE INDEX reference_target ON reference (kind_id, key, item_id);

-- Another key of an item of the same kind. `to_key` is never an alias itself: who writes one follows it, and turns
-- those that led to this key, so that looking one up is one step. `said_by` is the item whose outcome said it.
CREATE TABLE alias (
    kind_id     integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    to_key      text COLLATE "C" NOT NULL CHECK (to_key <> key),
    said_by     bigint NOT NULL,
    PRIMARY KEY (kind_id, key)
);
CREATE INDEX alias_target ON alias (kind_id, to_key);
CREATE INDEX alias_said_by ON alias (said_by);

-- `position` orders the edges of one node: its references first, as they were given, then its children.
CREATE VIEW edge AS
SELECT reference.item_id AS from_id, reference.type, item.id AS to_id, reference.position, reference.properties
FROM reference
LEFT JOIN alias ON alias.kind_id = reference.kind_id AND alias.key = reference.key
JOIN item ON item.kind_id = reference.kind_id AND item.key = coalesce(alias.to_key, reference.key)
JOIN node ON node.item_id = item.id
UNION ALL
SELECT child.parent_id, child.edge, child.item_id, 1000000 + child.position, '{}'::jsonb
FROM node AS child JOIN node AS parent ON parent.item_id = child.parent_id
WHERE child.parent_id IS NOT NULL AND child.edge IS NOT NULL;
COMMENT ON VIEW edge IS 'Every edge. A reference that is not here waits for its target.';

-- What an item's embedding was made with and from. `hash` is that of the text, by which the vector is found: items
-- with the same text share it. `content_hash` is what somebody else said who embedded it.
CREATE TABLE embedding (
    item_id      bigint PRIMARY KEY,
    provider     text COLLATE "C",
    model        text COLLATE "C",
    content_hash text COLLATE "C",
    hash         uuid
);
CREATE INDEX embedding_hash ON embedding (hash) WHERE hash IS NOT NULL;
CREATE INDEX node_shared ON node (item_id) WHERE shared;

-- Writes another key of an item, so that it leads to what is no alias itself. The caller holds the lock on aliases,
-- which makes writers of a chain's parts see each other. A loop leads nowhere, and is not written.
CREATE FUNCTION write_alias(of_kind integer, this_key text, that_key text, by_item bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target text := coalesce((SELECT to_key FROM alias WHERE kind_id = of_kind AND key = that_key), that_key);
BEGIN
    IF target = this_key THEN
        RETURN;
    END IF;
    INSERT INTO alias (kind_id, key, to_key, said_by) VALUES (of_kind, this_key, target, by_item)
    ON CONFLICT (kind_id, key) DO UPDATE SET to_key = excluded.to_key, said_by = excluded.said_by;
    UPDATE alias SET to_key = target WHERE kind_id = of_kind AND to_key = this_key;
END $$;
