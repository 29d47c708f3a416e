-- Vectors: models, their parts, their writers, and the nearest items.
--
-- A part is a table created at run time. Statements that name one have {part} in its place, and are composed by
-- `vectors/tables.py`; the others are used as they are.

-- name: models
-- Every model there ever was, oldest first.
SELECT id, provider, name, dimensions, role FROM model ORDER BY id;

-- name: lock_models
-- One program at a time changes the roles of models. Reading and writing vectors goes on.
LOCK TABLE model IN SHARE ROW EXCLUSIVE MODE;

-- name: keep_model
-- Give a model its role, whether it is new or registered again.
INSERT INTO model (provider, name, dimensions, role)
VALUES (%(provider)s, %(name)s, %(dimensions)s, %(role)s)
ON CONFLICT (provider, name, dimensions) DO UPDATE SET role = excluded.role
RETURNING id, provider, name, dimensions, role;

-- name: retire_model
-- Retire a model: its parts are no longer listed.
WITH retired AS (
    UPDATE model SET role = 'former', generation = generation + 1 WHERE id = %(model)s RETURNING id
)
DELETE FROM vector_part WHERE model_id IN (SELECT id FROM retired);

-- name: set_aside_model
-- Retire a model, but keep its parts listed until the current one has a vector of every text that was embedded
-- with it.
UPDATE model SET role = 'former', generation = generation + 1 WHERE id = %(model)s;

-- name: set_aside
-- Retired models with listed parts: the current model may lack vectors of texts that they have.
SELECT DISTINCT model.id FROM model JOIN vector_part AS part ON part.model_id = model.id WHERE model.role = 'former';

-- name: promote_model
-- Make the next model the current one.
UPDATE model SET role = 'current' WHERE id = %(model)s AND role = 'next' RETURNING id;

-- name: vector_list
-- A model's role, and its parts, listed and existing: one row for each part, or one without.
SELECT model.role AS model_role, model.generation, part.id, part.name, part.role, part.count,
       to_regclass(part.name) IS NOT NULL AS present,
       EXISTS (SELECT FROM pg_index
               JOIN pg_class ON pg_class.oid = pg_index.indexrelid
               JOIN pg_am ON pg_am.oid = pg_class.relam
               WHERE pg_index.indrelid = to_regclass(part.name) AND pg_am.amname = 'hnsw'
                 AND pg_index.indisvalid AND pg_index.indisready) AS indexed
FROM model LEFT JOIN vector_part AS part ON part.model_id = model.id
WHERE model.id = %(model)s ORDER BY part.id;

-- name: next_generation
-- Give the list of the model's parts a new generation with this transaction; no row if the model was retired.
UPDATE model SET generation = generation + 1 WHERE id = %(model)s AND role <> 'former' RETURNING generation;

-- name: list_part
-- List a new part.
INSERT INTO vector_part (model_id, role, count) VALUES (%(model)s, %(role)s, %(count)s) RETURNING id, name;

-- name: turn_parts
-- Change the role of parts.
UPDATE vector_part SET role = %(role)s WHERE id = ANY(%(parts)s::integer[]);

-- name: count_part
-- Record the number of vectors in a part's index.
UPDATE vector_part SET count = %(count)s WHERE id = %(part)s;

-- name: unlist_parts
-- Remove parts that are no longer used from the list. Their tables are dropped when nobody can be reading them any
-- more.
DELETE FROM vector_part WHERE id = ANY(%(parts)s::integer[]);

-- name: stray_parts
-- Tables of vectors that are not listed, and the present generation of their model.
SELECT pg_class.relname AS name, model.id AS model_id, model.generation
FROM pg_class
JOIN model ON model.id = split_part(pg_class.relname, '_', 2)::integer
WHERE pg_class.relnamespace = 'detent'::regnamespace AND pg_class.relkind = 'r'
  AND pg_class.relname ~ '^vector_[0-9]{1,5}_[0-9]+$'
  AND NOT EXISTS (SELECT FROM vector_part WHERE vector_part.name = pg_class.relname)
ORDER BY 1;

-- name: announce_writer
-- Announce a writer to this model, by this generation of the list, until its transaction ends. Only a switch to
-- another model waits for it.
SELECT pg_advisory_xact_lock_shared(%(writers)s::integer, %(generation)s::integer);

-- name: exclude_writers
-- Keep writers by this generation of the list away from this model until this transaction ends.
SELECT pg_advisory_xact_lock(%(writers)s::integer, %(generation)s::integer);

-- name: earlier_writers
-- The number of transactions that write to the model by an earlier list.
SELECT count(*) AS count FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = %(writers)s::bigint::oid AND objid < %(generation)s::bigint::oid;

-- name: lock_merging
-- One merge at a time: building an index takes much memory.
SELECT pg_try_advisory_xact_lock(%(lock)s) AS locked;

-- name: wait_shortly
-- Make the following statements give up if they do not get their locks at once, sooner than a deadlock would be
-- detected.
SET LOCAL lock_timeout = '500ms';

-- name: note_search
-- Record that a model's vectors are searched.
INSERT INTO search (model_id, last_at) VALUES (%(model)s, clock())
ON CONFLICT (model_id) DO UPDATE SET last_at = excluded.last_at
WHERE search.last_at < excluded.last_at - interval '5 minutes';

-- name: is_searched
-- True if a model's vectors were searched in the last days.
SELECT EXISTS (
    SELECT FROM search WHERE model_id = %(model)s AND last_at > clock() - interval '7 days'
) AS searched;

-- name: halfvec_type
-- The number of the vector type, which differs between databases.
SELECT 'halfvec'::regtype::oid AS oid;

-- name: make_part
-- Create the table of a part.
CREATE TABLE {part} (hash uuid PRIMARY KEY, vector halfvec({dimensions}) NOT NULL);

-- name: store_part_plain
-- Store vectors in the row itself, however long they are: each one is read on the way to the nearest.
ALTER TABLE {part} ALTER vector SET STORAGE PLAIN;

-- name: drop_part
-- Drop the table of an unused part.
DROP TABLE IF EXISTS {part};

-- name: drop_part_index
-- Drop the remains of an unusable index.
DROP INDEX IF EXISTS {index};

-- name: index_part
-- Create the index by which a part is searched.
CREATE INDEX {index} ON {part} USING hnsw (vector halfvec_cosine_ops) WITH (m = {links}, ef_construction = {candidates});

-- name: analyze_part
-- Update the planner's statistics of a part.
ANALYZE {part};

-- name: build_memory
-- The memory for building an index, in bytes: 1 GB, but at most a quarter of the cache that the server counts on,
-- unless its own setting is larger.
SELECT greatest(pg_size_bytes(current_setting('maintenance_work_mem')),
                least(pg_size_bytes(current_setting('effective_cache_size')) / 4, 1073741824)) AS bytes;

-- name: set_build
-- Set the memory for building an index to what it needs and may have, and the number of parallel workers. With
-- workers, the memory is allocated at once, so it is no more than needed.
SELECT set_config('maintenance_work_mem', greatest(67108864, least(%(needed)s::bigint, greatest(
           pg_size_bytes(current_setting('maintenance_work_mem')),
           least(pg_size_bytes(current_setting('effective_cache_size')) / 4, 1073741824)
       ))) / 1024 || 'kB', true) AS memory,
       set_config('max_parallel_maintenance_workers', CASE WHEN %(workers)s = 0 THEN 0 ELSE greatest(
           current_setting('max_parallel_maintenance_workers')::integer, %(workers)s
       ) END::text, true) AS workers;

-- name: set_build_alone
-- Build an index with one process.
SET LOCAL max_parallel_maintenance_workers = 0;

-- name: count_vectors
-- The number of vectors in a part, counted up to the limit.
SELECT count(*) AS count FROM (SELECT FROM {part} LIMIT %(limit)s) AS counted;

-- name: sample_part
-- A sample of vectors from all over a part: their number, and the number still referred to.
SELECT count(*) AS count,
       count(*) FILTER (WHERE EXISTS (SELECT FROM embedding WHERE embedding.hash = sampled.hash)) AS used
FROM (SELECT hash FROM {part} TABLESAMPLE SYSTEM ({percent}) LIMIT 2000) AS sampled;

-- name: write_vectors
-- Write sorted vectors to the fresh part, except those that another part has and that stay.
INSERT INTO {part} (hash, vector)
SELECT line.hash, line.vector
FROM unnest(%(hashes)s::uuid[], %(vectors)s::halfvec[]) AS line (hash, vector)
WHERE {absent}
ON CONFLICT DO NOTHING;

-- name: rescue_vectors
-- Copy vectors from a part that is leaving to the fresh one.
INSERT INTO {part} (hash, vector)
SELECT leaving.hash, leaving.vector
FROM unnest(%(hashes)s::uuid[]) AS line (hash)
JOIN {leaving} AS leaving ON leaving.hash = line.hash
WHERE {absent}
ON CONFLICT DO NOTHING;

-- name: copy_vectors
-- Write vectors to the fresh part at full speed.
COPY {part} (hash, vector) FROM STDIN (FORMAT BINARY);

-- name: gather_vectors
-- Copy the vectors that are still referred to from a part that is leaving.
INSERT INTO {part} (hash, vector)
SELECT leaving.hash, leaving.vector FROM {leaving} AS leaving
WHERE EXISTS (SELECT FROM embedding WHERE embedding.hash = leaving.hash)
ON CONFLICT DO NOTHING;

-- name: absent_from_part
-- A condition: the line's vector is not in this part.
NOT EXISTS (SELECT FROM {part} AS part WHERE part.hash = line.hash);

-- name: known_in_part
-- The hashes among these that a part has.
SELECT line.hash FROM unnest(%(hashes)s::uuid[]) AS line (hash) JOIN {part} AS part ON part.hash = line.hash;

-- name: vector_in_part
-- One vector.
SELECT part.vector FROM {part} AS part WHERE part.hash = %(hash)s;

-- name: missing_vectors
-- Texts without a vector of a model, in the order of their hashes.
SELECT DISTINCT line.hash FROM embedding AS line
WHERE line.hash > %(after)s AND {absent}
ORDER BY line.hash LIMIT %(limit)s;

-- name: count_items
-- The approximate number of items of these kinds: enough to choose a way to search.
SELECT coalesce(sum(count), 0)::bigint AS count FROM tally WHERE kind_id = ANY(%(kinds)s::integer[]);

-- name: set_search
-- Ask an index for this many candidates at a time, and for more until enough pass the filter. Results that an
-- index gives in order are not sorted instead, however few the planner expects to pass.
SELECT set_config('hnsw.ef_search', %(candidates)s::text, true) AS candidates,
       set_config('hnsw.iterative_scan', 'relaxed_order', true) AS goes_on,
       set_config('hnsw.max_scan_tuples', %(most)s::text, true) AS most,
       set_config('hnsw.scan_mem_multiplier', '4', true) AS memory,
       set_config('enable_sort', 'off', true) AS sorts;

-- name: allow_any_plan
-- For statements that read whole tables.
SELECT set_config('enable_seqscan', 'on', true) AS scans,
       set_config('enable_hashjoin', 'on', true) AS hash_joins,
       set_config('enable_mergejoin', 'on', true) AS merge_joins,
       set_config('enable_sort', 'on', true) AS sorts;

-- name: nearest
-- The nearest of the parts' results. A vector in two parts, because it was written during a merge, is returned
-- once.
SELECT item_id, hash, min(distance) AS distance FROM ({near}) AS near
GROUP BY item_id, hash ORDER BY min(distance), item_id LIMIT %(limit)s;

-- name: nearest_among
-- The nearest of few items, all of them compared.
WITH wanted AS MATERIALIZED (
    SELECT embedding.item_id, embedding.hash FROM embedding
    WHERE embedding.hash IS NOT NULL AND {filter}
)
SELECT item_id, hash, min(distance) AS distance FROM ({near}) AS near
GROUP BY item_id, hash ORDER BY min(distance), item_id LIMIT %(limit)s;

-- name: near_by_index
-- The nearest of one part, by its index.
(SELECT embedding.item_id, part.hash, part.vector <=> %(vector)s::halfvec AS distance
 FROM {part} AS part JOIN embedding ON embedding.hash = part.hash
 WHERE {filter}
 ORDER BY part.vector <=> %(vector)s::halfvec LIMIT %(limit)s);

-- name: near_by_scan
-- The nearest of one part, all of it compared: sorted first, so that only the near ones are looked up. Vectors
-- farther than others already found are left out.
(SELECT embedding.item_id, sorted.hash, sorted.distance
 FROM (SELECT part.hash, part.vector <=> %(vector)s::halfvec AS distance FROM {part} AS part
       WHERE part.vector <=> %(vector)s::halfvec <= %(farthest)s
       ORDER BY 2 OFFSET 0) AS sorted
 JOIN embedding ON embedding.hash = sorted.hash
 WHERE {filter}
 ORDER BY sorted.distance LIMIT %(limit)s);

-- name: near_among
-- The distances of the wanted vectors that one part has.
SELECT wanted.item_id, wanted.hash, part.vector <=> %(vector)s::halfvec AS distance
FROM wanted JOIN {part} AS part ON part.hash = wanted.hash;

-- name: of_kinds
-- A filter: items of these kinds, used to look the items up.
embedding.item_id IN (SELECT item.id FROM item WHERE item.kind_id = ANY(%(kinds)s::integer[]));

-- name: of_kinds_each
-- A filter: items of these kinds, checked for each candidate.
(SELECT item.kind_id FROM item WHERE item.id = embedding.item_id) = ANY(%(kinds)s::integer[]);

-- name: of_allowed
-- A filter: these items, few of them.
embedding.item_id = ANY(%(allowed)s::bigint[]);

-- name: of_allowed_each
-- A filter: these items, many of them, checked for each candidate. As half of an OR it is never turned into a
-- join, and the planner does not weigh each number.
(embedding.item_id IN (SELECT unnest(%(allowed)s::bigint[])) OR false);

-- name: part_sizes
-- The sizes of the tables and indexes of a model's parts, in bytes.
SELECT part.id, coalesce(pg_table_size(to_regclass(part.name)), 0) AS table_bytes,
       coalesce(pg_indexes_size(to_regclass(part.name)), 0) AS index_bytes
FROM vector_part AS part WHERE part.model_id = %(model)s ORDER BY part.id;
