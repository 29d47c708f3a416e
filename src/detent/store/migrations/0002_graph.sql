-- The graph: nodes, references and aliases. An edge is not stored: it is a reference whose target has a node.
--
-- A reference names its target by kind and key, so it may be written before, after or while the target is, and is
-- an edge from the moment both exist: nothing has to be resolved, and so nothing can be resolved twice.

CREATE SEQUENCE text_number;

-- An item's content. `parent_id` is the item whose outcome wrote the node, if the node is not an item's own work;
-- `edge` is the type of the edge from there. `shared`: many items may name it, and it goes with the last that
-- does. `text_id` changes whenever the title or the text does: search knows a text by it.
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

-- Claims of items about other keys of their kind: that `key` stands for `said_key`. Several items may claim one
-- key, and the claim that counts does not depend on their order. A key with content of its own stands for nothing
-- else; otherwise an item's own claim about its key counts before those of others, and of theirs the one with the
-- first `said_key`. The others stay, in case that one is withdrawn. `to_key` is null if a claim does not count,
-- and otherwise the final target, over other aliases, so that a look-up is one step. In a cycle, `to_key` is
-- `said_key`: aliases have no content, so it leads nowhere.
CREATE TABLE alias_claim (
    kind_id     integer NOT NULL,
    key         text COLLATE "C" NOT NULL,
    to_key      text COLLATE "C" CHECK (to_key <> key),
    said_by     bigint NOT NULL,
    said_key    text COLLATE "C" NOT NULL CHECK (said_key <> key),
    PRIMARY KEY (kind_id, key, said_by)
);
CREATE INDEX alias_target ON alias_claim (kind_id, to_key);
CREATE INDEX alias_said_key ON alias_claim (kind_id, said_key);
CREATE INDEX alias_said_by ON alias_claim (said_by);

-- The writer of a claim does not see a node written at the same moment for its key; the node wins all the same.
CREATE VIEW alias AS SELECT kind_id, key, to_key, said_by, said_key FROM alias_claim
WHERE to_key IS NOT NULL AND NOT EXISTS (
    SELECT FROM item JOIN node ON node.item_id = item.id
    WHERE item.kind_id = alias_claim.kind_id AND item.key = alias_claim.key AND NOT node.shared
);
COMMENT ON VIEW alias IS 'The claims that count: what a key stands for, at most one for each.';

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

-- The origin of an item's embedding. `hash` is the hash of the text, by which the vector is found: items with the
-- same text share it. `content_hash` is the one that another program gave that did the embedding.
CREATE TABLE embedding (
    item_id      bigint PRIMARY KEY,
    provider     text COLLATE "C",
    model        text COLLATE "C",
    content_hash text COLLATE "C",
    hash         uuid
);
CREATE INDEX embedding_hash ON embedding (hash) WHERE hash IS NOT NULL;
CREATE INDEX node_shared ON node (item_id) WHERE shared;

-- Aliases are written and deleted by one transaction at a time, as its last action: so writers of parts of one
-- chain see each other, and a transaction that waits here holds nothing that the other still needs.
CREATE FUNCTION lock_aliases() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(3732809478);
$$;

-- Resolve a key, and all that leads over it, to its present target. The claims decide, not their order. The caller
-- holds the lock on aliases. It goes step by step, since a recursive query may be planned for a small table, and
-- would then read all of a large one.
CREATE FUNCTION turn_aliases(of_kind integer, this_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target text := this_key;
    following text;
    way text[] := '{}';
    led text[] := ARRAY[this_key];
    more text[] := led;
BEGIN
    WHILE target IS NOT NULL LOOP
        SELECT said_key INTO following FROM alias WHERE kind_id = of_kind AND key = target;
        EXIT WHEN NOT FOUND;
        way := way || target;
        target := CASE WHEN following <> ALL (way) THEN following END;  -- none, in a cycle
    END LOOP;
    WHILE more IS NOT NULL LOOP
        SELECT array_agg(key) INTO more FROM alias
        WHERE kind_id = of_kind AND said_key = ANY (more) AND key <> ALL (led);
        led := led || more;
    END LOOP;
    UPDATE alias_claim SET to_key = coalesce(target, said_key)
    WHERE kind_id = of_kind AND key = ANY (led) AND to_key <> coalesce(target, said_key);
END $$;

-- Let the first claim on a key count, if there is any. The caller holds the lock on aliases.
CREATE FUNCTION choose_alias(of_kind integer, this_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own bigint;
    chosen bigint;
BEGIN
    SELECT id INTO own FROM item WHERE kind_id = of_kind AND key = this_key;
    IF EXISTS (SELECT FROM node WHERE item_id = own AND NOT shared) THEN
        DELETE FROM alias_claim WHERE kind_id = of_kind AND key = this_key AND said_by = own;
    ELSE
        SELECT said_by INTO chosen FROM alias_claim WHERE kind_id = of_kind AND key = this_key
        ORDER BY (said_by = own) IS TRUE DESC, said_key, said_by LIMIT 1;
    END IF;
    UPDATE alias_claim SET to_key = CASE WHEN said_by = chosen THEN said_key END
    WHERE kind_id = of_kind AND key = this_key AND (to_key IS NULL) = ((said_by = chosen) IS TRUE);
    PERFORM turn_aliases(of_kind, this_key);
END $$;

-- Write another key of an item. The caller holds the lock on aliases.
CREATE FUNCTION write_alias(of_kind integer, this_key text, that_key text, by_item bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF that_key = this_key THEN
        RETURN;
    END IF;
    INSERT INTO alias_claim (kind_id, key, said_by, said_key) VALUES (of_kind, this_key, by_item, that_key)
    ON CONFLICT (kind_id, key, said_by) DO UPDATE SET to_key = NULL, said_key = excluded.said_key;
    PERFORM choose_alias(of_kind, this_key);
END $$;

-- Write items' claims about keys. Nearly all of them are `alone`: nothing else in these lines involves their two
-- keys. If no earlier claim involves either, they count as they are; the others are written one by one. The caller
-- holds the lock on aliases.
CREATE FUNCTION write_aliases(kinds integer[], keys text[], to_keys text[], ids bigint[], are_alone boolean[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO alias_claim (kind_id, key, to_key, said_by, said_key)
    SELECT line.kind_id, line.key, line.to_key, line.said_by, line.to_key
    FROM unnest(kinds, keys, to_keys, ids, are_alone) AS line (kind_id, key, to_key, said_by, alone)
    WHERE line.alone
      AND NOT EXISTS (SELECT FROM alias_claim WHERE kind_id = line.kind_id AND key IN (line.key, line.to_key))
      AND NOT EXISTS (SELECT FROM alias_claim WHERE kind_id = line.kind_id AND said_key = line.key)
      AND NOT EXISTS (SELECT FROM item JOIN node ON node.item_id = item.id
                      WHERE item.kind_id = line.kind_id AND item.key = line.key);
    PERFORM write_alias(line.kind_id, line.key, line.to_key, line.said_by)
    FROM unnest(kinds, keys, to_keys, ids) AS line (kind_id, key, to_key, said_by)
    WHERE NOT EXISTS (
        SELECT FROM alias_claim WHERE kind_id = line.kind_id AND key = line.key AND said_by = line.said_by
                                  AND said_key = line.to_key AND to_key IS NOT NULL
    );
END $$;

-- Delete items' claims about other keys, and resolve these keys anew. The caller holds the lock on aliases.
CREATE FUNCTION drop_aliases(items bigint[], kinds integer[], keys text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone_kinds integer[];
    gone_keys text[];
BEGIN
    WITH dropped AS (DELETE FROM alias_claim WHERE said_by = ANY (items) RETURNING kind_id, key)
    SELECT array_agg(kind_id), array_agg(key) INTO gone_kinds, gone_keys FROM dropped;
    PERFORM choose_alias(changed.kind_id, changed.key) FROM (
        SELECT * FROM unnest(gone_kinds, gone_keys)
        UNION
        SELECT own.kind_id, own.key FROM unnest(kinds, keys) AS own (kind_id, key)
        WHERE EXISTS (SELECT FROM alias_claim WHERE kind_id = own.kind_id AND key = own.key)
    ) AS changed (kind_id, key);
END $$;

-- An item's claims are deleted with it, and its own key may then stand for another. This waits for the end of the
-- transaction, since a transaction that removes an item may have more to write, and the lock on aliases comes
-- last.
CREATE FUNCTION forget_said() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM alias_claim WHERE said_by = OLD.id)
       OR EXISTS (SELECT FROM alias_claim WHERE kind_id = OLD.kind_id AND key = OLD.key) THEN
        PERFORM lock_aliases();
        PERFORM drop_aliases(ARRAY[OLD.id], ARRAY[OLD.kind_id], ARRAY[OLD.key]);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER item_forget_said AFTER DELETE ON item DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION forget_said();
