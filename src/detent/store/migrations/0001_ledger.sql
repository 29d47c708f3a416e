-- The ledger: sources, items and their states, leases, journal, tallies, checkpoints.
--
-- Three rules explain the shape.
--
-- 1. Who may move an item. An item at rest, or waiting for work, has exactly one row in `place`; an item
--    under way has none, and is named in a `lease`. Whoever deletes the place row, or shows the lease's
--    token, may move the item; nobody else. Every mover takes leases first (by token), places second (by
--    item) and items last, and its locks on sources and tables before any of these; so movers never wait
--    for each other in a circle.
-- 2. `item` is updated often, so no index covers a column that a move changes: each is a heap-only update that
--    touches no index. What must be found by state is found through `place`, which is only ever inserted
--    and deleted.
-- 3. Nothing is counted by scanning. Each transaction appends to `tally` by how much it changed each count,
--    so that writers never wait for a counter; a count is the sum, and the rows are folded now and then.

CREATE FUNCTION clock() RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT coalesce(nullif(current_setting('detent.now', true), '')::timestamptz, now()) $$;
COMMENT ON FUNCTION clock() IS 'The only clock. Tests set detent.now; otherwise it is the transaction''s time.';

CREATE TABLE lifecycle (
    name        text PRIMARY KEY,
    definition  jsonb NOT NULL
);

CREATE TABLE source (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
    type        text COLLATE "C",
    settings    jsonb NOT NULL DEFAULT '{}',
    paused_at   timestamptz,
    removed_at  timestamptz,
    added_at    timestamptz NOT NULL DEFAULT clock()
);
COMMENT ON COLUMN source.type IS
    'What Detent itself works on, by these settings, or `imported`; null where a module declares it.';
COMMENT ON COLUMN source.removed_at IS 'It is being removed, in steps; nothing of it is claimed any more.';

-- A kind is what items of one source and label have in common: their lifecycle, and how far they are followed.
CREATE TABLE kind (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_id   integer NOT NULL REFERENCES source ON DELETE CASCADE,
    label       text COLLATE "C" NOT NULL CHECK (label <> ''),
    lifecycle   text NOT NULL REFERENCES lifecycle,
    depth       integer,
    most        integer,
    most_state  text COLLATE "C",
    breadth     integer,
    version     text COLLATE "C",
    UNIQUE (source_id, label)
);
COMMENT ON COLUMN kind.depth IS 'Items with a greater priority are not added; null for any.';
COMMENT ON COLUMN kind.most IS 'How many items may come to rest in most_state; null for any number.';
COMMENT ON COLUMN kind.breadth IS 'Of what one item finds deeper than itself, how many count; null for all.';
COMMENT ON COLUMN kind.version IS 'What its items are made by; when it changes, all that were done are made again.';

-- Whoever drops a source, or sets bounds of its kinds, locks it; whoever holds kinds shares the locks of their sources,
-- before any lock of rule 1, and nobody waits for that but who drops one or sets bounds. The kinds that are there are
-- looked up when the locks are had, and stay, with their bounds, until the transaction ends.
-- An item has no foreign key to its kind, which would be looked up for each: who writes rows of a kind that no item in
-- its hands keeps there holds it first.
CREATE FUNCTION lock_source(number integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(233177088, number);
$$;
CREATE FUNCTION hold_kinds(numbers integer[]) RETURNS SETOF integer LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(233177088, named.source_id)
    FROM (SELECT DISTINCT source_id FROM kind WHERE id = ANY (numbers) ORDER BY source_id) AS named;
    RETURN QUERY SELECT id FROM kind WHERE id = ANY (numbers);
END $$;

-- `attempt` counts the claims of the present stage that ended badly, and the one under way.
-- `changed` is a wish: the content changed while a worker had the item, so it goes round again.
CREATE TABLE item (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind_id      integer NOT NULL,
    priority     integer NOT NULL DEFAULT 0,
    state        text COLLATE "C" NOT NULL CHECK (state <> ''),
    since        timestamptz NOT NULL,
    not_before   timestamptz NOT NULL DEFAULT '-infinity',
    added_at     timestamptz NOT NULL,
    token        bigint,
    attempt      smallint NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    changed      boolean NOT NULL DEFAULT false,
    key          text COLLATE "C" NOT NULL,
    content_hash text COLLATE "C",
    CONSTRAINT item_key UNIQUE (kind_id, key) INCLUDE (id, priority)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- `alone`: the item was held by a worker that died, and is tried again with nothing beside it.
CREATE TABLE place (
    kind_id     integer NOT NULL,
    state       text COLLATE "C" NOT NULL,
    not_before  timestamptz NOT NULL,
    priority    integer NOT NULL,
    item_id     bigint NOT NULL,
    alone       boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
CREATE INDEX place_order ON place (kind_id, state, not_before, priority, item_id);

-- Where at most so many items of a kind may come to rest, those wait until they are let in, in this place, that are
-- not in yet. Those are in that are under way, that rest in the state that counts, or that wait without being held back.
-- An item comes in by being let in, and never otherwise; so no more come to rest there than were let in.
CREATE FUNCTION held_back() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT timestamptz '9999-01-01 00:00:00+00' $$;

-- Items that were found nearer than they were known to be, or whose finds count only now: somebody who moves items is to
-- give them that priority, and to send them round again. Who finds them cannot: it would have to wait for whoever has
-- them at that moment, who may be waiting for it.
CREATE TABLE nearer (
    item_id     bigint NOT NULL,
    priority    integer NOT NULL
);
CREATE INDEX nearer_item ON nearer (item_id);

-- Adds the items of a kind that are not there yet; returns how many that were, or null if there is no such kind any
-- more. Without states all begin in the initial one. Keys come sorted, so that concurrent adders never wait in a circle;
-- if no numbers are given, they are drawn in the order of the places, since items of one priority are claimed in the
-- order of their numbers. Those that are there are left out beforehand: a conflict with one would wait for whoever moves
-- it, who, if two articles are settled that found each other, waits for this one. A key that somebody else adds at the
-- same moment is waited for, and then it is there; ON CONFLICT would do the same, and costs each item a third more.
-- Each key is looked up once, and mostly in the index alone: articles name hundreds of titles that are known. What is
-- beyond the kind's depth is left out; where at most so many may come to rest, those that are to wait for work are
-- held back.
CREATE FUNCTION add_items(kind integer, initial text, waiting text[], keys text[], places integer[], numbers bigint[],
                          states text[], priorities integer[], hashes text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    added_count bigint;
    bounds record;
BEGIN
    PERFORM FROM hold_kinds(ARRAY[kind]);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT bounded.depth, bounded.most INTO bounds FROM kind AS bounded WHERE bounded.id = add_items.kind;
    FOR attempt IN 1..1000 LOOP
        BEGIN
            WITH moment AS MATERIALIZED (SELECT clock() AS now),
            line AS MATERIALIZED (
                SELECT asked.*, known.id AS known_id, known.priority AS known_priority
                FROM unnest(array_fill(kind, ARRAY[cardinality(keys)]), keys, places, numbers, states, priorities, hashes)
                     AS asked (kind_id, key, place, number, state, priority, hash)
                LEFT JOIN LATERAL (
                    SELECT item.id, item.priority FROM item
                    WHERE item.kind_id = asked.kind_id AND item.key = asked.key LIMIT 1
                ) AS known ON true
            ),
            drawn AS (
                INSERT INTO nearer (item_id, priority)
                SELECT known_id, coalesce(priority, 0) FROM line
                WHERE bounds.depth IS NOT NULL AND known_priority > coalesce(priority, 0)
            ),
            fresh AS MATERIALIZED (
                SELECT coalesce(ordered.number, nextval('item_id_seq')) AS id, ordered.* FROM (
                    SELECT line.* FROM line
                    WHERE line.known_id IS NULL AND coalesce(line.priority <= bounds.depth, true)
                    ORDER BY line.place
                ) AS ordered
            ),
            added AS (
                INSERT INTO item (id, kind_id, key, state, priority, content_hash, since, added_at, not_before)
                OVERRIDING SYSTEM VALUE
                SELECT fresh.id, fresh.kind_id, fresh.key, coalesce(fresh.state, initial), coalesce(fresh.priority, 0),
                       fresh.hash, moment.now, moment.now,
                       CASE WHEN bounds.most IS NOT NULL AND coalesce(fresh.state, initial) = ANY (waiting)
                            THEN held_back() ELSE '-infinity' END
                FROM fresh CROSS JOIN moment
                ORDER BY fresh.key COLLATE "C"
                RETURNING id, kind_id, state, priority, not_before
            ),
            placed AS (
                INSERT INTO place (kind_id, state, not_before, priority, item_id)
                SELECT kind_id, state, not_before, priority, id FROM added
            ),
            tallied AS (
                INSERT INTO tally (kind_id, state, count)
                SELECT kind_id, state, count(*) FROM added GROUP BY kind_id, state
            )
            SELECT count(*) INTO added_count FROM added;
            RETURN added_count;
        EXCEPTION WHEN unique_violation THEN
            IF attempt = 1000 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END $$;

-- One lease per claim, however many items it covers: renewal costs the same for one item as for a thousand.
-- The moves that rescue makes are kept here as data, because the rescuer may be a program that does not
-- know the lifecycle; `back_again` is where an item goes whose content changed. `suspect`: its one item is to
-- be tried with nothing beside it; `alone`: it is, so that a worker that dies now dies of it. `open` counts the
-- items not settled yet; the lease goes with the last of them. `steps` counts the commits in the middle of the work on
-- the one item of a lease; the first of them tells the claim to the journal.
CREATE TABLE lease (
    token        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner        text NOT NULL,
    claimed_at   timestamptz NOT NULL,
    deadline     timestamptz NOT NULL,
    duration     interval NOT NULL,
    waited       text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL,
    back_via     text COLLATE "C",
    back_to      text COLLATE "C" NOT NULL,
    back_again   text COLLATE "C" NOT NULL,
    fail_to      text COLLATE "C" NOT NULL,
    fail_kind    text NOT NULL,
    max_attempts smallint NOT NULL,
    suspect      boolean NOT NULL,
    alone        boolean NOT NULL,
    open         integer NOT NULL,
    items        bigint[] NOT NULL,
    steps        integer NOT NULL DEFAULT 0,
    stepped_at   timestamptz
) WITH (fillfactor = 50);
ALTER TABLE lease ALTER items SET STORAGE EXTERNAL;

-- Work is told when it ends: a row with `waited` tells two moves, the claim from that state at the time `began`,
-- and how the item left work. Of an item under way, its lease tells the claim. The view `move` has one row each.
CREATE TABLE journal (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    item_id     bigint NOT NULL,
    at          timestamptz NOT NULL,
    began       timestamptz,
    token       bigint,
    attempt     smallint NOT NULL,
    waited      text COLLATE "C",
    from_state  text COLLATE "C" NOT NULL,
    to_state    text COLLATE "C" NOT NULL,
    owner       text NOT NULL,
    reason      text
) PARTITION BY RANGE (at);
CREATE INDEX journal_story ON journal (item_id, id);
CREATE TABLE journal_other PARTITION OF journal DEFAULT;

CREATE VIEW move AS
SELECT item_id, id, 1 AS part, began AS at, waited AS from_state, from_state AS to_state, attempt, token,
       NULL::interval AS took, owner, NULL::text AS reason
FROM journal WHERE waited IS NOT NULL
UNION ALL
SELECT item_id, id, 2, at, from_state, to_state, attempt, token, at - began, owner, reason
FROM journal
UNION ALL
SELECT item.id, 9223372036854775807, 1, lease.claimed_at, lease.waited, lease.state, item.attempt, item.token,
       NULL, lease.owner, NULL
FROM item JOIN lease ON lease.token = item.token AND lease.state = item.state AND lease.steps = 0;
COMMENT ON VIEW move IS 'Every move of every item. Those of one item are in the order of id and part.';

CREATE TABLE tally (
    kind_id     integer NOT NULL,
    state       text COLLATE "C" NOT NULL,
    count       bigint NOT NULL
);

-- Why an item failed, or last failed if it is to be tried again. Success removes it.
CREATE TABLE failure (
    item_id     bigint PRIMARY KEY,
    kind        text COLLATE "C" NOT NULL,
    trouble     text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    message     text NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX failure_kind ON failure (kind, item_id);

-- The failed attempts of earlier rounds of an item that was sent back to the beginning after a failure, with
-- the content it has. A stage's own count begins anew there; this one goes on, so that retrying has a limit.
CREATE TABLE retried (
    item_id      bigint PRIMARY KEY,
    count        integer NOT NULL CHECK (count > 0),
    content_hash text COLLATE "C"
);

CREATE TABLE checkpoint (
    item_id     bigint PRIMARY KEY,
    data        jsonb NOT NULL,
    at          timestamptz NOT NULL
);

-- When each service may be asked next, by whoever shares this database. There are few services, so the rows are locked for
-- a moment at a time.
CREATE TABLE pace (
    service     text COLLATE "C" PRIMARY KEY,
    next_at     timestamptz NOT NULL,
    held_until  timestamptz,
    reason      text
) WITH (fillfactor = 50);
COMMENT ON COLUMN pace.held_until IS 'Until when it is left alone, or was the last time; the reason is what it did.';

-- Requests to services that allow so many in so many seconds, in sixty parts of that time. A part counts until the
-- whole time has passed since it ended. Who counts has locked the row of the service in pace.
CREATE TABLE quota (
    service     text COLLATE "C" NOT NULL,
    seconds     float8 NOT NULL,
    until       timestamptz NOT NULL,
    count       integer NOT NULL,
    PRIMARY KEY (service, seconds, until)
) WITH (fillfactor = 50);
COMMENT ON COLUMN quota.until IS 'The end of the part in which so many requests were made, or will be.';
