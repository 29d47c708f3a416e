-- Pacing: when each service may be asked next.

-- name: take_turn
-- Takes the next free turn at a service; says in how many seconds it is.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock()) + make_interval(secs => %(seconds)s)
RETURNING extract(epoch FROM next_at - clock())::float8 - %(seconds)s AS seconds;

-- name: hold_turns
-- Leaves a service alone for a while.
INSERT INTO pace (service, next_at) VALUES (%(service)s, clock() + make_interval(secs => %(seconds)s))
ON CONFLICT (service) DO UPDATE
SET next_at = greatest(pace.next_at, clock() + make_interval(secs => %(seconds)s));
