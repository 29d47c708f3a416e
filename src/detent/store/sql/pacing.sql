-- Pacing: when each service may be asked next.

-- name: take_turn
-- Takes the next free turn at a service, and says when and in how many seconds it is; takes none that is further away
-- than `most`, nor one of a service that is left alone for longer than `most_held`.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock()) + make_interval(secs => %(seconds)s)
WHERE pace.next_at <= clock() + make_interval(secs => %(most)s)
      AND (pace.held_until IS NULL OR pace.held_until <= clock() + make_interval(secs => %(most_held)s))
RETURNING next_at - make_interval(secs => %(seconds)s) AS at,
          extract(epoch FROM next_at - clock())::float8 - %(seconds)s AS seconds;

-- name: held_beyond
-- Whether a service is left alone for longer than until then.
SELECT held_until > %(at)s AS held FROM pace WHERE service = %(service)s;

-- name: next_turn
-- In how many seconds the next turn at a service is free, and why it is left alone, if it is.
SELECT extract(epoch FROM next_at - clock())::float8 AS seconds,
       CASE WHEN held_until > clock() THEN reason END AS reason
FROM pace WHERE service = %(service)s;

-- name: hold_turns
-- Leaves a service alone for a while, because of what it did.
INSERT INTO pace (service, next_at, held_until, reason)
SELECT %(service)s, until, until, %(reason)s FROM (SELECT clock() + make_interval(secs => %(seconds)s) AS until) AS held
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, excluded.next_at),
    held_until = greatest(pace.held_until, excluded.held_until),
    reason = CASE WHEN pace.held_until > excluded.held_until THEN pace.reason ELSE excluded.reason END;

-- name: held_services
-- The services that are left alone, until when, and why.
SELECT service, held_until, reason FROM pace WHERE held_until > clock() ORDER BY held_until, service;
