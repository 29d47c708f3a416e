-- Pacing: the next turn of each service.

-- name: take_turn
-- Take the next free turn at a service, and return its time and the seconds until then; take none that is further
-- away than `most`, nor one of a service that is left alone for longer than `most_held`.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock()) + make_interval(secs => %(seconds)s)
WHERE pace.next_at <= clock() + make_interval(secs => %(most)s)
      AND (pace.held_until IS NULL OR pace.held_until <= clock() + make_interval(secs => %(most_held)s))
RETURNING next_at - make_interval(secs => %(seconds)s) AS at,
          extract(epoch FROM next_at - clock())::float8 - %(seconds)s AS seconds;

-- name: lock_pace
-- Lock a service's row, so that the statements after this one see every request that was counted.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock())
ON CONFLICT (service) DO UPDATE SET next_at = pace.next_at;

-- name: next_within_quotas
-- The seconds until a request is within all of these quotas, and the quota that allows it last; no row if it is
-- now.
WITH spent AS (
    SELECT line.requests, line.seconds, quota.until + make_interval(secs => line.seconds) AS free,
           sum(quota.count) OVER (PARTITION BY line.requests, line.seconds ORDER BY quota.until DESC) AS later
    FROM unnest(%(requests)s::integer[], %(seconds)s::float8[]) AS line (requests, seconds)
    JOIN quota ON quota.service = %(service)s AND quota.seconds = line.seconds
              AND quota.until > clock() - make_interval(secs => line.seconds)
)
SELECT requests, seconds, extract(epoch FROM free - clock())::float8 AS wait
FROM spent WHERE later >= requests ORDER BY free DESC LIMIT 1;

-- name: put_off_turns
-- Leave a service without turns for this long.
UPDATE pace SET next_at = greatest(next_at, clock() + make_interval(secs => %(wait)s)) WHERE service = %(service)s;

-- name: spend_quotas
-- Count a request at this time, in a sixtieth of each quota's window, and delete counts that have expired.
WITH forgotten AS (
    DELETE FROM quota WHERE service = %(service)s AND until <= clock() - make_interval(secs => seconds)
)
INSERT INTO quota (service, seconds, until, count)
SELECT %(service)s, seconds, date_bin(part, %(at)s, '2000-01-01Z') + part, 1
FROM unnest(%(seconds)s::float8[]) AS line (seconds)
CROSS JOIN LATERAL (SELECT make_interval(secs => seconds / 60) AS part) AS sixtieth
ON CONFLICT (service, seconds, until) DO UPDATE SET count = quota.count + 1;

-- name: held_beyond
-- True if a service is left alone beyond this time.
SELECT held_until > %(at)s AS held FROM pace WHERE service = %(service)s;

-- name: next_turn
-- The seconds until the next free turn at a service, and the reason if it is left alone.
SELECT extract(epoch FROM next_at - clock())::float8 AS seconds,
       CASE WHEN held_until > clock() THEN reason END AS reason
FROM pace WHERE service = %(service)s;

-- name: hold_turns
-- Leave a service alone for a while, because of its answer.
INSERT INTO pace (service, next_at, held_until, reason)
SELECT %(service)s, until, until, %(reason)s FROM (SELECT clock() + make_interval(secs => %(seconds)s) AS until) AS held
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, excluded.next_at),
    held_until = greatest(pace.held_until, excluded.held_until),
    reason = CASE WHEN pace.held_until > excluded.held_until THEN pace.reason ELSE excluded.reason END;

-- name: held_services
-- The services that are left alone, the end of that time, and the reason.
SELECT service, held_until, reason FROM pace WHERE held_until > clock() ORDER BY held_until, service;
