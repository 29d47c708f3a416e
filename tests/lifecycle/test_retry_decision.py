"""After a failure: again, and when, or never."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from detent.lifecycle import Again, GiveUp, RetryPolicy, Trouble, decide, retry_after_seconds
from detent.lifecycle.retry import LONGEST_WAIT_SECONDS

NOW = datetime(2025, 11, 15, 8, 0, tzinfo=UTC)
YEAR = LONGEST_WAIT_SECONDS

transient = st.sampled_from([trouble for trouble in Trouble if trouble.transient])
permanent = st.sampled_from([trouble for trouble in Trouble if not trouble.transient])
attempts = st.integers(min_value=1, max_value=10_000)
jitters = st.floats(min_value=0, max_value=1)
waits = st.none() | st.floats(min_value=0, max_value=YEAR)
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(min_value=1, max_value=10_000),
    base_seconds=st.floats(min_value=0, max_value=1e6),
    ceiling_seconds=st.floats(min_value=0, max_value=1e6),
)


class TestDeciding:
    @given(permanent, attempts, policies, waits, jitters)
    def test_permanent_trouble_gives_up_at_once(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy, wait: float | None, jitter: float
    ) -> None:
        decision = decide(trouble, attempt, policy, retry_after=wait, jitter=jitter)
        assert decision == GiveUp(f"{trouble.value} is permanent")

    @given(transient, attempts, policies, waits, jitters)
    def test_transient_trouble_is_tried_again_up_to_the_limit_and_never_beyond(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy, wait: float | None, jitter: float
    ) -> None:
        decision = decide(trouble, attempt, policy, retry_after=wait, jitter=jitter)
        assert isinstance(decision, Again) == (attempt < policy.max_attempts)

    @given(transient, attempts, policies, st.floats(min_value=0, max_value=YEAR), jitters)
    def test_nothing_is_tried_before_retry_after(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy, wait: float, jitter: float
    ) -> None:
        decision = decide(trouble, attempt, policy, retry_after=wait, jitter=jitter)
        assert isinstance(decision, GiveUp) or decision.delay_seconds >= wait

    @given(transient, attempts, policies, waits)
    def test_a_short_retry_after_does_not_shorten_the_delay(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy, wait: float | None
    ) -> None:
        alone = decide(trouble, attempt, policy)
        asked = decide(trouble, attempt, policy, retry_after=wait)
        if isinstance(alone, Again):
            assert isinstance(asked, Again)
            assert asked.delay_seconds == max(alone.delay_seconds, wait or 0)

    @given(transient, attempts, policies)
    def test_without_jitter_the_delay_grows_up_to_the_ceiling(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy
    ) -> None:
        assume(attempt + 1 < policy.max_attempts)
        now, later = (decide(trouble, each, policy) for each in (attempt, attempt + 1))
        assert isinstance(now, Again) and isinstance(later, Again)
        assert 0 <= now.delay_seconds <= later.delay_seconds <= policy.ceiling_seconds

    @given(transient, attempts, policies, jitters)
    def test_jitter_lengthens_the_delay_by_a_half_at_most(
        self, trouble: Trouble, attempt: int, policy: RetryPolicy, jitter: float
    ) -> None:
        steady = decide(trouble, attempt, policy)
        shaken = decide(trouble, attempt, policy, jitter=jitter)
        if isinstance(steady, Again):
            assert isinstance(shaken, Again)
            assert steady.delay_seconds <= shaken.delay_seconds <= steady.delay_seconds * 1.5

    @given(transient, jitters, jitters)
    def test_items_that_failed_together_do_not_come_back_together(
        self, trouble: Trouble, one: float, other: float
    ) -> None:
        assume(abs(one - other) > 0.01)
        assert decide(trouble, 1, RetryPolicy(), jitter=one) != decide(trouble, 1, RetryPolicy(), jitter=other)

    def test_the_delays_are_those_of_the_documents(self) -> None:
        policy = RetryPolicy(max_attempts=5)
        delays = [decide(Trouble.TIMEOUT, attempt, policy) for attempt in (1, 2, 3, 4)]
        assert delays == [Again(2.0), Again(4.0), Again(8.0), Again(16.0)]

    def test_three_attempts_are_made_unless_another_limit_is_given(self) -> None:
        decisions = [decide(Trouble.SERVER, attempt, RetryPolicy()) for attempt in (1, 2, 3)]
        assert decisions == [Again(2.0), Again(4.0), GiveUp("3 of 3 attempts failed")]

    def test_an_item_that_kills_its_worker_is_given_up_in_the_end(self) -> None:
        assert decide(Trouble.DIED, 3, RetryPolicy()) == GiveUp("3 of 3 attempts failed")

    def test_retry_after_goes_beyond_the_ceiling(self) -> None:
        policy = RetryPolicy(ceiling_seconds=10)
        assert decide(Trouble.RATE_LIMITED, 1, policy, retry_after=86_400) == Again(86_400)

    @pytest.mark.parametrize("wait", [1e20, float("inf")])
    def test_no_wait_is_so_long_that_no_date_could_tell_its_end(self, wait: float) -> None:
        decision = decide(Trouble.RATE_LIMITED, 1, RetryPolicy(), retry_after=wait)
        assert decision == Again(YEAR)

    @pytest.mark.parametrize("wait", [-5.0, float("nan")])
    def test_a_wait_that_makes_no_sense_does_not_count(self, wait: float) -> None:
        assert decide(Trouble.RATE_LIMITED, 1, RetryPolicy(), retry_after=wait) == Again(2.0)


class TestReadingRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            pytest.param("120", 120.0, id="seconds"),
            pytest.param("  7 ", 7.0, id="blanks around"),
            pytest.param("0", 0.0, id="zero"),
            pytest.param("1.5", 1.5, id="a fraction, which some services send"),
            pytest.param("Sat, 15 Nov 2025 08:01:30 GMT", 90.0, id="a date"),
            pytest.param("Saturday, 15-Nov-25 08:01:30 GMT", 90.0, id="a date as in RFC 850"),
            pytest.param("Sat Nov 15 08:01:30 2025", 90.0, id="a date as of asctime, which means GMT"),
            pytest.param("Sat, 15 Nov 2025 10:01:30 +0200", 90.0, id="a date in another zone"),
            pytest.param("Fri, 14 Nov 2025 08:00:00 GMT", 0.0, id="a date in the past"),
            pytest.param("99999999999999999999", YEAR, id="huge"),
            pytest.param("9" * 400, YEAR, id="beyond any float"),
            pytest.param("Fri, 31 Dec 9999 23:59:59 GMT", YEAR, id="a date beyond any patience"),
        ],
    )
    def test_what_names_a_time_is_read(self, header: str, seconds: float) -> None:
        assert retry_after_seconds(header, NOW) == seconds

    @pytest.mark.parametrize(
        "header",
        [
            None,
            "",
            "   ",
            "soon",
            "-5",
            "1e3",
            "inf",
            "nan",
            ".",
            "1.2.3",
            "²",
            "٣",
            "Sat, 15 Nov 99999999999999999999 08:00:00 GMT",
            "Sat, 15 Nov 2025 08:00:00 +99999999999999999999",
            "Sat, 15 Nov 2025 25:61:00 GMT",
        ],
    )
    def test_what_names_no_time_is_none(self, header: str | None) -> None:
        assert retry_after_seconds(header, NOW) is None

    @given(st.integers(min_value=0, max_value=365 * 86_400))
    def test_seconds_and_the_date_that_they_lead_to_mean_the_same(self, seconds: int) -> None:
        date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
        assert retry_after_seconds(str(seconds), NOW) == retry_after_seconds(date, NOW) == seconds

    @settings(deadline=None)
    @given(st.text() | st.from_regex(r"\w{3}, \d+ (Nov|Feb) \d+ \d+:\d+:\d+ ([+-]\d+|GMT|EST|)", fullmatch=True))
    def test_no_header_is_too_strange_to_be_read_or_ignored(self, header: str) -> None:
        seconds = retry_after_seconds(header, NOW)
        assert seconds is None or 0 <= seconds <= YEAR
