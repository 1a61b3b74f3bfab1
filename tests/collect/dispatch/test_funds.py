"""The money of several shards: never above the limit, whatever they ask for and whoever is lost."""

import random

from hypothesis import given
from hypothesis import strategies as st

from collect.dispatch.funds import Funds
from collect.execute.budget import BudgetNeed


class Spender:
    """A shard as the budget of a process has it: it begins what fits its grant."""

    def __init__(self, number, spent, rng):
        self.number, self.spent, self.logged, self.rng = number, spent, spent, rng
        self.granted, self.reserved = 0, []
        self.price = rng.randint(1, 40)

    def need(self):
        fits = self.spent + sum(self.reserved) + self.price <= self.granted
        required = 0 if fits else self.spent + sum(self.reserved) + self.price
        return BudgetNeed(self.spent, sum(self.reserved), required, self.price)

    def step(self):
        while (
            self.spent + sum(self.reserved) + self.price <= self.granted and self.rng.random() < 0.7
        ):
            self.reserved.append(self.price)
        while self.reserved and self.rng.random() < 0.5:
            self.spent += self.rng.randint(0, self.reserved.pop())
            if self.rng.random() < 0.8:
                self.logged = self.spent


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 2_000))
def test_what_all_shards_have_spent_and_promised_never_goes_beyond_the_limit(seed, n_shards, cap):
    rng = random.Random(seed)
    spenders = [Spender(number, rng.randint(0, 20), rng) for number in range(n_shards)]
    cap += sum(one.spent for one in spenders)
    funds = Funds(cap, {one.number: one.spent for one in spenders})
    gone = 0
    for _ in range(300):
        one = rng.choice(spenders)
        granted = funds.grant(one.number, one.need(), at_once=4, n_shards=len(spenders))
        if granted is not None:
            assert granted > one.granted
            one.granted = granted
        one.step()
        if rng.random() < 0.02:  # its process dies: what is in flight may have cost all of it
            really = one.spent + sum(one.reserved)
            gone += really - one.logged
            assert funds.lose(one.number, one.logged) >= really - one.logged
            one.spent = one.granted = one.logged
            one.reserved = []
        elif rng.random() < 0.02 and not one.reserved:
            one.logged = one.spent
            funds.settle(one.number, one.spent)
            one.granted = one.spent
        assert gone + sum(each.spent + sum(each.reserved) for each in spenders) <= cap
    assert funds.left >= 0


def test_one_shard_alone_can_spend_all_of_it():
    rng = random.Random(1)
    one = Spender(1, 0, rng)
    funds = Funds(1_000, {1: 0})
    for _ in range(1_000):
        granted = funds.grant(1, one.need(), at_once=4, n_shards=1)
        one.granted = granted or one.granted
        one.step()

    assert not one.reserved or funds.left < one.price
    assert funds.is_starved(1, BudgetNeed(one.granted, 0, one.granted + one.price, one.price))
    assert 1_000 - one.granted < one.price


def test_who_waits_for_more_than_is_left_is_starved_only_with_nothing_in_flight():
    funds = Funds(100, {1: 0, 2: 0})
    assert funds.grant(1, BudgetNeed(0, 0, 60, 60), at_once=1, n_shards=2) == 60

    assert funds.grant(2, BudgetNeed(0, 0, 60, 60), at_once=1, n_shards=2) is None
    assert funds.is_starved(2, BudgetNeed(0, 0, 60, 60))
    assert not funds.is_starved(2, BudgetNeed(0, 10, 70, 60)), "what it gives back may be enough"
    funds.settle(1, 30)
    assert funds.grant(2, BudgetNeed(0, 0, 60, 60), at_once=1, n_shards=1) == 70
