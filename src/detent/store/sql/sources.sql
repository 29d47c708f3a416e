-- Sources, kinds and lifecycles: small tables that say what the items are.

-- name: declare_source
-- Makes sure that a source exists.
INSERT INTO source (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING;

-- name: declare_kind
-- Makes sure that a source's label exists; one that does keeps its lifecycle.
INSERT INTO kind (source_id, label, lifecycle)
SELECT id, %(label)s, %(lifecycle)s FROM source WHERE name = %(source)s
ON CONFLICT (source_id, label) DO NOTHING;

-- name: lock_lifecycles
-- Declaring is rare, and one at a time.
SELECT pg_advisory_xact_lock(%(lock)s);

-- name: keep_lifecycle
-- Keeps a lifecycle, in place of the one of that name.
INSERT INTO lifecycle (name, definition) VALUES (%(name)s, %(definition)s)
ON CONFLICT (name) DO UPDATE SET definition = excluded.definition;

-- name: lifecycles
-- The lifecycles that items follow.
SELECT name, definition FROM lifecycle ORDER BY name;

-- name: kinds
-- Every source's labels, with their lifecycles.
SELECT kind.id, source.name AS source, kind.label, kind.lifecycle, source.paused_at IS NOT NULL AS paused
FROM kind JOIN source ON source.id = kind.source_id ORDER BY source.name, kind.label;

-- name: sources
-- The sources.
SELECT name, added_at, paused_at FROM source ORDER BY name;

-- name: pause
-- Lets nothing more of a source be claimed.
UPDATE source SET paused_at = coalesce(paused_at, clock()) WHERE name = %(name)s RETURNING name;

-- name: resume
-- Lets a source be worked on again.
UPDATE source SET paused_at = NULL WHERE name = %(name)s RETURNING name;
