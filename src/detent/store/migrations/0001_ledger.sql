-- The ledger: sources, items and their states, leases, journal, tallies, checkpoints.
--
-- Three rules explain the shape.
--
-- 1. Who may move an item. An item at rest, or waiting for work, has exactly one row in `place`; an item
--    under way has none, and is named in a `lease`. Whoever deletes the place row, or shows the lease's
--    token, may move the item; nobody else. Every mover takes leases first (by token), places second (by
--    item) and items last, and its locks on sources and tables before any of these; so movers never deadlock.
-- 2. `item` is updated often, so no index covers a column that a move changes: each is a heap-only update that
--    touches no index. Items are found by state through `place`, whose rows are only ever inserted and deleted.
-- 3. Nothing is counted by scanning. Each transaction appends its change of each count to `tally`,
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

-- A transaction that drops a source, or sets bounds of its kinds, locks it; one that holds kinds shares the locks
-- of their sources, before any lock of rule 1, and only droppers and setters of bounds wait for that. The existing
-- kinds are read once the locks are held, and stay, with their bounds, until the transaction ends. An item has no
-- foreign key to its kind, which would be checked for each row: a transaction that writes rows of a kind holds the
-- kind first, unless an item that it holds keeps the kind there.
CREATE FUNCTION lock_source(number integer) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(233177088, number);
$$;
CREATE FUNCTION hold_kinds(numbers integer[]) RETURNS SETOF integer LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(233177088, named.source_id)
    FROM (SELECT DISTINCT source_id FROM kind WHERE id = ANY (numbers) ORDER BY source_id) AS named;
    RETURN QUERY SELECT id FROM kind WHERE id = ANY (numbers);
END $$;

-- `attempt` counts the failed claims of the present stage, and the current one. `changed` is a wish: the content
-- changed while a worker had the item, so it is processed again.
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

-- `alone`: the item was held by a worker that died, and is retried with nothing beside it.
CREATE TABLE place (
    kind_id     integer NOT NULL,
    state       text COLLATE "C" NOT NULL,
    not_before  timestamptz NOT NULL,
    priority    integer NOT NULL,
    item_id     bigint NOT NULL,
    alone       boolean NOT NULL DEFAULT false
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
CREATE INDEX place_order ON place (kind_id, state, not_before, priority, item_id);

-- If the number of a kind's items at rest is limited, items that are not admitted yet wait in this place. An item
-- is admitted if it is under way, rests in the state that counts, or waits without being held back. There is no
-- other way to be admitted; so no more items come to rest there than were admitted.
CREATE FUNCTION held_back() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT timestamptz '9999-01-01 00:00:00+00' $$;

-- Items that were found nearer than before, or whose finds count only now: a mover of items gives them this
-- priority later, and sends them back to work. The transaction that finds them cannot: it would have to wait for
-- the item's holder, which may be waiting for it.
CREATE TABLE nearer (
    item_id     bigint NOT NULL,
    priority    integer NOT NULL
);
CREATE INDEX nearer_item ON nearer (item_id);

-- Add the items of a kind that do not exist yet; returns their number, or null if the kind no longer exists.
-- Without states all begin in the initial one. Keys come sorted, so that concurrent adders never deadlock; if no
-- numbers are given, they are drawn in the order of the places, since items of one priority are claimed in the
-- order of their numbers.
--
-- Existing items are left out beforehand: a conflict with one would wait for its mover, which, if two articles are
-- settled that found each other, waits for this transaction. A key that somebody else adds at the same moment is
-- waited for, and then exists; ON CONFLICT would do the same, at a third more cost per item. Each key is looked up
-- once, and mostly in the index alone: articles name hundreds of known titles. Items beyond the kind's depth are
-- left out; if the number at rest is limited, new items that would wait for work are held back.
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

-- One lease per claim, however many items it covers: renewal costs the same for one item as for a thousand. The
-- moves that rescue makes are stored here as data, because the rescuer may be a program that does not know the
-- lifecycle; `back_again` is the target of an item whose content changed. `suspect`: its one item is to be tried
-- with nothing beside it; `alone`: it is, so that a worker that dies now dies of it. `open` counts the items not
-- settled yet; the lease goes with the last of them. `steps` counts the commits in the middle of the work on the
-- one item of a lease; the first of them writes the claim to the journal.
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

-- Work is written to the journal when it ends: a row with `waited` stands for two moves, the claim from that state
-- at the time `began`, and the item's way out of work. The claim of an item under way is read from its lease. The
-- view `move` has one row per move.
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

-- The present failure of an item, or its last one if it is to be retried. Success removes it.
CREATE TABLE failure (
    item_id     bigint PRIMARY KEY,
    kind        text COLLATE "C" NOT NULL,
    trouble     text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    message     text NOT NULL,
    at          timestamptz NOT NULL
);
CREATE INDEX failure_kind ON failure (kind, item_id);

-- The failed attempts of earlier rounds of an item that was sent back to the beginning after a failure, with its
-- present content. A stage's own count begins anew there; this one goes on, so that retrying has a limit.
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

-- The time of the next turn at each service, for all processes that share this database. There are few services,
-- so the rows are locked for a moment at a time.
CREATE TABLE pace (
    service     text COLLATE "C" PRIMARY KEY,
    next_at     timestamptz NOT NULL,
    held_until  timestamptz,
    reason      text
) WITH (fillfactor = 50);
COMMENT ON COLUMN pace.held_until IS 'Until when it is left alone, or was the last time; the reason is what it did.';

-- Requests to services with quotas, counted in sixtieths of a quota's window. A count expires one whole window
-- after the end of its sixtieth. Whoever counts has locked the service's row in `pace`.
CREATE TABLE quota (
    service     text COLLATE "C" NOT NULL,
    seconds     float8 NOT NULL,
    until       timestamptz NOT NULL,
    count       integer NOT NULL,
    PRIMARY KEY (service, seconds, until)
) WITH (fillfactor = 50);
COMMENT ON COLUMN quota.until IS 'The end of the part in which so many requests were made, or will be.';
