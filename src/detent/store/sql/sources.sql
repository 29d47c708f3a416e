-- Sources, kinds and lifecycles: small tables that describe the items.

-- name: declare_source
-- Add a source unless it exists.
INSERT INTO source (name) VALUES (%(name)s)
ON CONFLICT (name) DO UPDATE SET removed_at = NULL, paused_at = NULL WHERE source.removed_at IS NOT NULL;

-- name: configure_source
-- Store the settings of a source of a registered type; no row if the source exists with another type.
INSERT INTO source (name, type, settings) VALUES (%(name)s, %(type)s, %(settings)s)
ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, type = excluded.type,
    removed_at = NULL, paused_at = CASE WHEN source.removed_at IS NULL THEN source.paused_at END
WHERE source.type = excluded.type OR source.removed_at IS NOT NULL
RETURNING name;

-- name: configured_sources
-- The sources of registered types.
SELECT name, type, settings FROM source WHERE type IS NOT NULL AND removed_at IS NULL ORDER BY name;

-- name: configured_source
-- One source of a registered type, also while it is being removed.
SELECT name, type, settings FROM source WHERE name = %(name)s AND type IS NOT NULL;

-- name: mark_imported
-- Record that a source was imported from a file and has no other type.
UPDATE source SET type = %(type)s WHERE name = %(name)s AND type IS NULL;

-- name: being_removed
-- A source that is being removed and still has items.
SELECT source.name FROM source WHERE name = %(name)s AND removed_at IS NOT NULL
   AND EXISTS (SELECT FROM kind JOIN item ON item.kind_id = kind.id WHERE kind.source_id = source.id);

-- name: removed_sources
-- Those of some sources that are being removed, or were removed and are still referred to.
SELECT name FROM source WHERE name = ANY (%(names)s::text[]) AND removed_at IS NOT NULL ORDER BY name;

-- name: declare_kind
-- Add a kind of item unless it exists; an existing one keeps its lifecycle.
INSERT INTO kind (source_id, label, lifecycle)
SELECT id, %(label)s, %(lifecycle)s FROM source WHERE name = %(source)s
ON CONFLICT (source_id, label) DO NOTHING;

-- name: lock_lifecycles
-- Declaring is rare, and done one at a time.
SELECT pg_advisory_xact_lock(%(lock)s);

-- name: hold_kinds
-- Keep the sources of some kinds from being dropped until this transaction ends; return the kinds that exist.
SELECT hold_kinds(%(kinds)s::integer[]) AS id;

-- name: lock_source
-- Wait for all who hold kinds of a source, and keep others away until this transaction ends.
SELECT lock_source(%(source)s);

-- name: keep_lifecycle
-- Store a lifecycle, replacing the one with its name.
INSERT INTO lifecycle (name, definition) VALUES (%(name)s, %(definition)s)
ON CONFLICT (name) DO UPDATE SET definition = excluded.definition;

-- name: lifecycles
-- The lifecycles that items follow.
SELECT name, definition, md5(definition::text) AS digest FROM lifecycle ORDER BY name;

-- name: kinds
-- All kinds of items, with their lifecycles; and in each row, the digests of all lifecycles.
SELECT kind.id, source.name AS source, kind.label, kind.lifecycle, source.paused_at IS NOT NULL AS paused,
       source.removed_at IS NOT NULL AS removed, kind.depth, kind.most, kind.most_state, kind.breadth,
       kind.version, (SELECT jsonb_object_agg(name, md5(definition::text)) FROM lifecycle) AS digests
FROM kind JOIN source ON source.id = kind.source_id ORDER BY source.name, kind.label;

-- name: sources
-- The sources.
SELECT name, added_at, paused_at FROM source
WHERE removed_at IS NULL OR EXISTS (SELECT FROM kind JOIN item ON item.kind_id = kind.id WHERE source_id = source.id)
ORDER BY name;

-- name: pause
-- Pause a source: none of its items are claimed.
UPDATE source SET paused_at = coalesce(paused_at, clock()) WHERE name = %(name)s RETURNING name;

-- name: resume
-- Resume a paused source, unless it is being removed.
UPDATE source SET paused_at = NULL WHERE name = %(name)s AND removed_at IS NULL RETURNING name;

-- name: language
-- The language of a source's texts.
SELECT language FROM source WHERE name = %(name)s;

-- name: languages
-- The languages whose texts this server can split into words.
SELECT cfgname::text AS name FROM pg_ts_config WHERE pg_ts_config_is_visible(oid) ORDER BY cfgname;

-- name: change_language
-- Change the language of a source's texts. A concurrent change to the same language waits, and changes nothing.
UPDATE source SET language = %(language)s WHERE name = %(name)s AND language <> %(language)s RETURNING id;

-- name: hold_nodes
-- Let nobody write a node until this transaction ends, so that no node is between its old number and a new one: a
-- writer that waits here sees, when it goes on, what this transaction wrote. Reading goes on.
LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE;

-- name: index_anew
-- Give all texts of a source new numbers, and tell the text index that the old ones are gone and the new ones
-- waiting.
WITH own AS MATERIALIZED (
    SELECT node.item_id, node.text_id
    FROM kind JOIN item ON item.kind_id = kind.id JOIN node ON node.item_id = item.id
    WHERE kind.source_id = %(source)s ORDER BY node.text_id
),
renewed AS (
    UPDATE node SET text_id = nextval('text_number') FROM own WHERE node.item_id = own.item_id
    RETURNING own.text_id AS before, node.text_id AS after
),
told AS (
    INSERT INTO text_change (text_id, gone)
    SELECT before, true FROM renewed UNION ALL SELECT after, false FROM renewed
)
SELECT count(*) AS count FROM renewed;
