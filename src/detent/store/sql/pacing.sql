-- Pacing: when each service may be asked next.

-- name: take_turn
-- Takes the next free turn at a service, and says in how many seconds it is; takes none that is further away than `most`.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock()) + make_interval(secs => %(seconds)s)
WHERE pace.next_at <= clock() + make_interval(secs => %(most)s)
RETURNING extract(epoch FROM next_at - clock())::float8 - %(seconds)s AS seconds;

-- name: next_turn
-- In how many seconds the next turn at a service is free.
SELECT extract(epoch FROM next_at - clock())::float8 AS seconds FROM pace WHERE service = %(service)s;

-- name: hold_turns
-- Leaves a service alone for a while.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock() + make_interval(secs => %(seconds)s));
