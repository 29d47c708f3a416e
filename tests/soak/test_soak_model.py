"""The ledger does what a simple model of it does, however long it is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.store.ledger import ledger_model

if TYPE_CHECKING:
    from tests.soak.conftest import Budget


def test_the_ledger_and_a_simple_model_of_it_agree_after_every_step(database: str, budget: Budget) -> None:
    for _ in budget.seeds():
        ledger_model.run(database, examples=10)
