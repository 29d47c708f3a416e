"""The ledger does what a simple model of it does."""

import pytest
from tests.store.ledger import ledger_model


@pytest.mark.timeout(900)  # a failure is first made small, which takes up to five minutes
def test_the_ledger_and_a_simple_model_of_it_agree_after_every_step(database: str) -> None:
    ledger_model.run(database, examples=25)
    assert ledger_model.Ledger.steps > 300
