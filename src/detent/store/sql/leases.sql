-- Claiming, renewing, releasing and rescuing work.

-- name: claim
-- Claim up to `limit` items that wait in `state`, shared fairly between the sources that have any, and between the
-- kinds of each, and put them under one lease. Within a kind: lowest priority number first, then oldest; items
-- that wait for a later time only once it has come. If the kinds have more items than fit, ties between them are
-- drawn by lot. `after_priority` and `after_id` say, per kind, where the scan begins.
--
-- An item that must run alone is claimed alone, when its turn comes; it runs alone if its worker has nothing else,
-- or once the worker says so. With `apart`, each item gets a lease of its own, which is renewed and lost by
-- itself.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
waiting AS MATERIALIZED (
    SELECT asked.*, kind.source_id
    FROM unnest(%(kinds)s::integer[], %(after_priorities)s::integer[], %(after_ids)s::bigint[])
         AS asked (kind_id, after_priority, after_id)
    CROSS JOIN moment
    JOIN kind ON kind.id = asked.kind_id
    JOIN source ON source.id = kind.source_id AND source.paused_at IS NULL
    WHERE EXISTS (SELECT FROM place
                  WHERE kind_id = asked.kind_id AND state = %(state)s AND not_before = '-infinity'
                    AND (priority, item_id) > (asked.after_priority, asked.after_id))
       OR EXISTS (SELECT FROM place
                  WHERE kind_id = asked.kind_id AND state = %(state)s
                    AND not_before > '-infinity' AND not_before <= moment.now)
),
line AS MATERIALIZED (
    SELECT waiting.*, random() AS turn,
           ceil(%(limit)s::float8 / (SELECT count(DISTINCT source_id) FROM waiting)
                                  / count(*) OVER (PARTITION BY source_id))::bigint AS share
    FROM waiting
),
picked AS MATERIALIZED (
    SELECT line.turn, found.*
    FROM line CROSS JOIN moment CROSS JOIN LATERAL (
        SELECT *, row_number() OVER (ORDER BY priority, item_id) AS rank FROM (
            SELECT * FROM (
                SELECT place.ctid AS spot, item_id, priority, alone, false AS put_off FROM place
                WHERE kind_id = line.kind_id AND state = %(state)s AND not_before = '-infinity'
                  AND (priority, item_id) > (line.after_priority, line.after_id)
                ORDER BY kind_id, state, not_before, priority, item_id
                LIMIT line.share FOR UPDATE SKIP LOCKED
            ) AS ready
            UNION ALL
            SELECT * FROM (
                SELECT place.ctid AS spot, item_id, priority, alone, true AS put_off FROM place
                WHERE kind_id = line.kind_id AND state = %(state)s
                  AND not_before > '-infinity' AND not_before <= moment.now
                ORDER BY kind_id, state, not_before, priority, item_id
                LIMIT line.share FOR UPDATE SKIP LOCKED
            ) AS due
        ) AS both_kinds
        ORDER BY priority, item_id LIMIT line.share
    ) AS found
),
head AS MATERIALIZED (SELECT item_id, alone FROM picked ORDER BY rank, turn LIMIT 1),
taken AS MATERIALIZED (
    SELECT picked.spot, picked.item_id, picked.put_off OR picked.alone AS put_off FROM picked CROSS JOIN head
    WHERE CASE WHEN head.alone THEN picked.item_id = head.item_id ELSE NOT picked.alone END
    ORDER BY picked.rank, picked.turn LIMIT %(limit)s
),
vacated AS (DELETE FROM place WHERE ctid = ANY (ARRAY(SELECT spot FROM taken))),
given AS (
    INSERT INTO lease (owner, claimed_at, deadline, duration, waited, state, back_via, back_to, back_again,
                       fail_to, fail_kind, max_attempts, suspect, alone, open, items)
    SELECT %(owner)s, moment.now, moment.now + %(duration)s, %(duration)s, %(state)s, %(working)s, %(back_via)s,
           %(back_to)s, %(back_again)s, %(fail_to)s, %(fail_kind)s, %(max_attempts)s, (SELECT alone FROM head),
           (SELECT alone FROM head) AND NOT EXISTS (SELECT FROM lease WHERE owner = %(owner)s),
           count(*), array_agg(taken.item_id)
    FROM taken CROSS JOIN moment GROUP BY moment.now, CASE WHEN %(apart)s THEN taken.item_id END
    RETURNING token, items
),
moved AS (
    UPDATE item SET state = %(working)s, since = moment.now, not_before = '-infinity',
                    token = given.token, attempt = least(attempt, 32766) + 1
    FROM moment, given
    WHERE item.id = ANY (given.items)
    RETURNING item.id, item.kind_id, item.key, item.priority, item.attempt, item.token, item.content_hash
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT counted.kind_id, change.state, change.count
    FROM (SELECT kind_id, count(*) AS count FROM moved GROUP BY kind_id) AS counted
    CROSS JOIN LATERAL (VALUES (%(state)s, -counted.count), (%(working)s, counted.count))
         AS change (state, count)
)
SELECT id, kind_id, key, priority, attempt, token, content_hash, (SELECT alone FROM head) AS alone,
       (SELECT bool_or(put_off) FROM taken) AS put_off,
       CASE WHEN (SELECT EXISTS (SELECT FROM checkpoint WHERE item_id = ANY (ARRAY(SELECT item_id FROM taken))))
            THEN (SELECT data FROM checkpoint WHERE item_id = moved.id) END AS checkpoint
FROM moved ORDER BY priority, id;

-- name: renew
-- Move the deadline of these leases ahead; leases that are not returned are lost.
WITH held AS MATERIALIZED (
    SELECT token FROM lease WHERE token = ANY (%(tokens)s::bigint[]) ORDER BY token FOR UPDATE
)
UPDATE lease SET deadline = clock() + duration
WHERE token = ANY (ARRAY(SELECT token FROM held))
RETURNING token;

-- name: settle
-- Move items out of work, each if it is still held under its token. An item whose content changed meanwhile goes
-- on to `again`, if there is such a state, with its attempts reset; its hash becomes the announced one or, if none
-- was announced, as for an item that only came nearer, the one that was worked on.
--
-- The lease is locked first: see rule 1 of the schema. If somebody settled under the lease after this statement's
-- snapshot was taken, it is `behind` and moves nothing: it would wait for items that are no longer its own,
-- against the order of locks. The next try in the same transaction sees everything, since the leases are locked by
-- then.
--
-- Items that go the same way are a slice of `ids`; `via` has the states on the way, separated by spaces. The
-- answer counts the moved items and names those that did not go as requested; if anything was not moved, it names
-- all that was.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
held AS MATERIALIZED (
    SELECT token, coalesce(stepped_at, claimed_at) AS began, CASE WHEN steps = 0 THEN waited END AS waited, owner, open
    FROM lease WHERE token = ANY (%(leases)s::bigint[]) ORDER BY token FOR UPDATE
),
behind AS MATERIALIZED (
    SELECT FROM lease AS seen LEFT JOIN held ON held.token = seen.token
    WHERE seen.token = ANY (%(leases)s::bigint[]) AND held.open IS DISTINCT FROM seen.open
),
way AS MATERIALIZED (
    SELECT moment.now, held.began, held.waited, held.owner, line.*
    FROM moment CROSS JOIN unnest(%(token)s::bigint[], %(first)s::integer[], %(last)s::integer[], %(state)s::text[],
                %(via)s::text[], %(to)s::text[], %(again)s::text[], %(tried)s::smallint[],
                %(attempt)s::smallint[], %(delay)s::float8[], %(hash)s::text[], %(reason)s::text[],
                %(keep_token)s::boolean[], %(alone)s::boolean[])
         AS line (token, first, last, state, via, "to", again, tried, attempt, delay, hash, reason,
                  keep_token, alone)
    JOIN held ON held.token = line.token
    WHERE NOT EXISTS (SELECT FROM behind)
),
moved AS (
    UPDATE item SET
        state = CASE WHEN changed AND way.again IS NOT NULL THEN way.again ELSE way."to" END,
        since = way.now,
        not_before = CASE WHEN changed AND way.again IS NOT NULL OR way.delay IS NULL THEN '-infinity'
                          ELSE way.now + make_interval(secs => way.delay) END,
        attempt = CASE WHEN changed AND way.again IS NOT NULL THEN 0 ELSE way.attempt END,
        content_hash = CASE WHEN changed AND content_hash IS NOT NULL THEN content_hash
                            ELSE coalesce(way.hash, content_hash) END,
        token = CASE WHEN way.keep_token THEN item.token END,
        changed = false
    FROM way
    WHERE item.id = ANY ((%(ids)s::bigint[])[way.first:way.last])
      AND item.token = way.token AND item.state = way.state
    RETURNING item.id, item.kind_id, item.priority, item.not_before, item.state AS final,
              item.attempt AS counted, way.attempt AS asked, way.token, way.state, way.via, way."to",
              way.began, way.waited, way.owner, way.reason, way.alone, way.tried AS attempt
),
placed AS (
    INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
    SELECT kind_id, final, not_before, priority, id, alone FROM moved
),
step AS (
    SELECT 1 AS number, id, began, token, attempt, waited, state AS from_state,
           coalesce(split_part(via, ' ', 1), "to") AS to_state, owner, reason FROM moved
    UNION ALL
    SELECT 1 + hop, id, NULL, token, attempt, NULL, passed[hop], passed[hop + 1], owner, reason
    FROM (SELECT moved.*, string_to_array(via, ' ') || "to" AS passed FROM moved WHERE via IS NOT NULL) AS far
    CROSS JOIN LATERAL generate_series(1, cardinality(passed) - 1) AS hop
    UNION ALL
    SELECT 32767, id, NULL, token, attempt, NULL, "to", final, owner, 'changed while being worked on'
    FROM moved WHERE final <> "to"
),
journaled AS (
    INSERT INTO journal (item_id, at, began, token, attempt, waited, from_state, to_state, owner, reason)
    SELECT step.id, moment.now, step.began, step.token, step.attempt, step.waited, step.from_state, step.to_state,
           step.owner, step.reason
    FROM step CROSS JOIN moment ORDER BY step.number
),
counted AS MATERIALIZED (
    SELECT token, kind_id, state, final, count(*) AS count FROM moved GROUP BY token, kind_id, state, final
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT kind_id, state, sum(count) FROM (
        SELECT kind_id, state, -count AS count FROM counted
        UNION ALL SELECT kind_id, final, count FROM counted
    ) AS change GROUP BY kind_id, state
),
settled AS MATERIALIZED (
    SELECT held.token, (held.open - sum(counted.count))::integer AS open
    FROM counted JOIN held ON held.token = counted.token GROUP BY held.token, held.open
),
closed AS (DELETE FROM lease USING settled WHERE lease.token = settled.token AND settled.open <= 0),
shrunk AS (
    UPDATE lease SET open = settled.open FROM settled WHERE lease.token = settled.token AND settled.open > 0
)
SELECT answer.*, moved.id, moved.final, moved.counted
FROM (SELECT EXISTS (SELECT FROM behind) AS behind, coalesce(sum(count), 0) AS moved FROM counted) AS answer
LEFT JOIN moved ON answer.moved < %(expected)s OR moved.final <> moved."to" OR moved.counted <> moved.asked;

-- name: step
-- Commit a step in the middle of work on items, each the only one of its lease: the item stays under the lease, in
-- the state that the step leads to, with its attempts reset. The lease stores the ways out of that state, and the
-- number of steps, so that a step that is sent twice is applied once.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
held AS MATERIALIZED (
    SELECT token, coalesce(stepped_at, claimed_at) AS began, CASE WHEN steps = 0 THEN waited END AS waited, owner, steps
    FROM lease WHERE token = ANY (%(tokens)s::bigint[]) ORDER BY token FOR UPDATE
),
line AS MATERIALIZED (
    SELECT moment.now, held.began, held.waited, held.owner, asked.*
    FROM moment CROSS JOIN unnest(
             %(tokens)s::bigint[], %(steps)s::integer[], %(ids)s::bigint[], %(states)s::text[], %(vias)s::text[],
             %(tos)s::text[], %(tried)s::smallint[], %(hashes)s::text[], %(notes)s::text[], %(back_vias)s::text[],
             %(back_tos)s::text[], %(back_agains)s::text[], %(fail_tos)s::text[], %(fail_kinds)s::text[])
         AS asked (token, step, id, state, via, "to", tried, hash, note, back_via, back_to, back_again, fail_to,
                   fail_kind)
    JOIN held ON held.token = asked.token AND held.steps = asked.step
),
moved AS (
    UPDATE item SET
        state = line."to",
        since = CASE WHEN line.via IS NULL AND line.state = line."to" THEN item.since ELSE line.now END,
        attempt = 1,
        content_hash = CASE WHEN changed AND content_hash IS NOT NULL THEN content_hash
                            ELSE coalesce(line.hash, content_hash) END
    FROM line
    WHERE item.id = line.id AND item.token = line.token AND item.state = line.state
    RETURNING item.kind_id, line.*
),
kept AS (
    UPDATE lease SET state = moved."to", back_via = moved.back_via, back_to = moved.back_to,
                     back_again = moved.back_again, fail_to = moved.fail_to, fail_kind = moved.fail_kind,
                     suspect = false, alone = false, steps = steps + 1, stepped_at = moved.now
    FROM moved WHERE lease.token = moved.token
),
journaled AS (
    INSERT INTO journal (item_id, at, began, token, attempt, waited, from_state, to_state, owner, reason)
    SELECT far.id, far.now, CASE WHEN hop = 1 THEN far.began END, far.token, far.tried,
           CASE WHEN hop = 1 THEN far.waited END, passed[hop], passed[hop + 1], far.owner,
           CASE WHEN hop = cardinality(passed) - 1 THEN far.note END
    FROM (
        SELECT moved.*, ARRAY[state] || string_to_array(coalesce(via, ''), ' ') || "to" AS passed FROM moved
    ) AS far
    CROSS JOIN LATERAL generate_series(1, cardinality(passed) - 1) AS hop
    ORDER BY far.id, hop
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT kind_id, state, sum(count) FROM (
        SELECT kind_id, state, -1 AS count FROM moved
        UNION ALL SELECT kind_id, "to", 1 FROM moved
    ) AS change GROUP BY kind_id, state HAVING sum(count) <> 0
)
SELECT id FROM moved;

-- name: unsettled
-- The present state of items that `settle` or `step` did not move.
SELECT item.id, item.token, item.state, coalesce(lease.steps, 0) AS steps
FROM item LEFT JOIN lease ON lease.token = item.token WHERE item.id = ANY (%(ids)s::bigint[]);

-- name: begin_alone
-- Mark the one item of a lease as worked on alone from now on.
UPDATE lease SET alone = true WHERE token = %(token)s;

-- name: overdue
-- One lease to rescue, if there is any: a look without a lock.
SELECT token FROM lease WHERE %(overdue)s AND deadline < clock() OR token = ANY (%(tokens)s::bigint[]) LIMIT 1;

-- name: lock_overdue
-- Lock the expired leases, if those are requested, and the named ones. The next statement sees everything that was
-- settled under them.
SELECT token FROM lease WHERE %(overdue)s AND deadline < clock() OR token = ANY (%(tokens)s::bigint[])
ORDER BY token LIMIT %(limit)s FOR UPDATE SKIP LOCKED;

-- name: attempts_held
-- The present attempts of the items held under these leases, and the attempts allowed: the cases that `rescue` is given
-- decisions for.
SELECT DISTINCT lease.max_attempts, item.attempt
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
JOIN item ON item.id = entry.item_id AND item.token = lease.token
WHERE lease.token = ANY (%(tokens)s::bigint[]);

-- name: rescue
-- Take work back from leases that the caller has locked: to where it waited, or to failure. The parameters say for each
-- case which it is, the attempts that count then, and whether the next attempt runs alone. A case is the number of the
-- attempt, the attempts allowed, whether the item was met alone or beside others that its worker had begun, and whether
-- it changed meanwhile. Changed items are processed again.
WITH moment AS MATERIALIZED (SELECT clock() AS now),
fate AS MATERIALIZED (
    SELECT line.* FROM unnest(%(max_attempts)s::smallint[], %(tried)s::smallint[], %(met_alone)s::boolean[],
                %(changed)s::boolean[], %(fails)s::boolean[], %(attempts)s::smallint[], %(alone)s::boolean[])
         AS line (max_attempts, tried, met_alone, anew, fails, counted, apart)
),
expired AS MATERIALIZED (DELETE FROM lease WHERE token = ANY (%(tokens)s::bigint[]) RETURNING *),
lost AS MATERIALIZED (
    SELECT expired.*,
           expired.alone AND NOT EXISTS (
               SELECT FROM lease AS beside
               WHERE beside.owner = expired.owner AND beside.token <> expired.token
                 AND (beside.alone OR NOT beside.suspect)
           ) AS met_alone
    FROM expired
),
input AS MATERIALIZED (
    SELECT lost.*, item.id AS item_id, fate.tried, fate.anew, fate.fails, fate.counted, fate.apart,
           format('worker %%s died or lost its lease while it held the item (attempt %%s of %%s)',
                  lost.owner, item.attempt, lost.max_attempts) AS reason
    FROM lost CROSS JOIN LATERAL unnest(lost.items) AS entry (item_id)
    JOIN item ON item.id = entry.item_id AND item.token = lost.token AND item.state = lost.state
    JOIN fate ON fate.max_attempts = lost.max_attempts AND fate.tried = item.attempt
             AND fate.met_alone = lost.met_alone AND fate.anew = item.changed
),
moved AS (
    UPDATE item SET
        state = CASE WHEN input.fails THEN input.fail_to WHEN input.anew THEN input.back_again ELSE input.back_to END,
        since = moment.now,
        not_before = '-infinity',
        attempt = input.counted,
        token = NULL,
        changed = false
    FROM input CROSS JOIN moment
    WHERE item.id = input.item_id
    RETURNING item.id, item.kind_id, item.priority, item.state AS final, input.tried, input.anew, input.fails,
              input.apart, input.token, input.waited, input.state, input.back_via, input.back_to, input.fail_to,
              input.fail_kind, input.owner, input.claimed_at, input.steps, input.stepped_at, input.reason
),
placed AS (
    INSERT INTO place (kind_id, state, not_before, priority, item_id, alone)
    SELECT kind_id, final, '-infinity', priority, id, apart FROM moved
),
failed AS (
    INSERT INTO failure (item_id, kind, trouble, state, message, at)
    SELECT moved.id, moved.fail_kind, 'worker_died', moved.state, moved.reason, moment.now
    FROM moved CROSS JOIN moment WHERE NOT moved.anew
    ON CONFLICT (item_id) DO UPDATE
    SET kind = excluded.kind, trouble = excluded.trouble, state = excluded.state,
        message = excluded.message, at = excluded.at
),
forgotten AS (DELETE FROM failure USING moved WHERE failure.item_id = moved.id AND moved.anew),
step AS (
    SELECT 0 AS number, id, claimed_at AS at, NULL::timestamptz AS began, token, tried, waited AS from_state,
           state AS to_state, owner, NULL AS reason FROM moved WHERE steps = 0
    UNION ALL
    SELECT 1, id, moment.now, coalesce(stepped_at, claimed_at), token, tried, state,
           CASE WHEN fails THEN fail_to ELSE coalesce(back_via, back_to) END, %(owner)s, reason
    FROM moved CROSS JOIN moment
    UNION ALL
    SELECT 2, id, moment.now, NULL, token, tried, back_via, back_to, %(owner)s, reason
    FROM moved CROSS JOIN moment WHERE NOT fails AND back_via IS NOT NULL
    UNION ALL
    SELECT 3, id, moment.now, NULL, token, tried, back_to, final, %(owner)s, 'changed while being worked on'
    FROM moved CROSS JOIN moment WHERE NOT fails AND final <> back_to
),
journaled AS (
    INSERT INTO journal (item_id, at, began, token, attempt, from_state, to_state, owner, reason)
    SELECT id, at, began, token, tried, from_state, to_state, owner, reason FROM step ORDER BY number
),
tallied AS (
    INSERT INTO tally (kind_id, state, count)
    SELECT kind_id, state, sum(count) FROM (
        SELECT kind_id, state, -1 AS count FROM moved
        UNION ALL SELECT kind_id, final, 1 FROM moved
    ) AS change GROUP BY kind_id, state
)
SELECT id, final, token FROM moved;

-- name: held_items
-- The items held under one token.
SELECT item.id, item.kind_id, item.key, item.priority, item.attempt, item.token, item.content_hash, lease.state,
       lease.steps,
       lease.suspect AS alone, EXISTS (SELECT FROM failure WHERE failure.item_id = item.id) AS put_off,
       checkpoint.data AS checkpoint
FROM lease CROSS JOIN LATERAL unnest(lease.items) AS entry (item_id)
JOIN item ON item.id = entry.item_id AND item.token = lease.token AND item.state = lease.state
LEFT JOIN checkpoint ON checkpoint.item_id = item.id
WHERE lease.token = %(token)s ORDER BY item.id;

-- name: leases_of
-- The leases of one owner.
SELECT token FROM lease WHERE owner = %(owner)s ORDER BY token;

-- name: workers
-- The holders of leases: each owner's number of leases and items, and nearest deadline.
SELECT owner, count(*)::integer AS leases, sum(open)::bigint AS items, min(deadline) AS deadline,
       min(claimed_at) AS since
FROM lease GROUP BY owner ORDER BY owner;
