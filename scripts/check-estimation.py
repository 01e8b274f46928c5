#!/usr/bin/env python3
"""Computes the figures that the tests of the crate `estimation` expect, from their definitions.

Run it with numpy and scipy: python3 scripts/check-estimation.py
"""

import numpy as np
from scipy.stats import chi2


def difference(changed, expected, probability, hosts, lacking, pages, expected_sum):
    y, p, w = np.array(changed, float), np.array(expected), 1 / np.array(probability)
    d = y - p
    mean = np.average(d, weights=w)
    n = len(y)
    variance = (1 - n / pages) * n / (n - 1) * np.sum((w * (d - mean)) ** 2) / w.sum() ** 2
    value = expected_sum / pages + mean
    if lacking:
        missing = sum(1 / q for _, q in lacking)
        share = missing / (missing + w.sum())
        names = sorted(set(hosts))
        sums = [np.sum((w * (d - mean))[np.array(hosts) == name]) for name in names]
        count = len(names)
        variance += share * count / (count - 1) * np.sum(np.square(sums)) / w.sum() ** 2
        total = w.sum() + missing
        low = expected_sum / pages + (np.sum(w * d) + sum((0 - e) / q for e, q in lacking)) / total
        high = expected_sum / pages + (np.sum(w * d) + sum((1 - e) / q for e, q in lacking)) / total
        return variance, low, high
    return value, variance


def half_width(n, sigma, alpha, best=5000):
    spread = -2 * np.log(alpha)
    rho2 = (spread + np.log(spread) + 1) / best
    return sigma * np.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * np.log(np.sqrt(n * rho2 + 1) / alpha))


def psi(before, now):
    a, b = np.array(before, float) + 0.5, np.array(now, float) + 0.5
    a, b = a / a.sum(), b / b.sum()
    return np.sum((a - b) * np.log(a / b))


def course(law, states, cycles):
    """The probabilities of each state and number of changes after some cycles."""
    chance, begin, end = law
    table = np.zeros((2, cycles + 1))
    table[:, 0] = states
    for _ in range(cycles):
        off = table[0] * (1 - begin) + table[1] * end
        on = table[0] * begin + table[1] * (1 - end)
        changed = np.concatenate([[0], on[:-1]]) * chance
        table = np.array([off, on * (1 - chance) + changed])
    return table


def laws():
    """Of two laws, the quotient of the likelihoods of the same visits; and the changes behind those of the second."""
    rate = np.exp(np.linspace(np.log(1e-4), np.log(3.0), 32))[20]
    likelihoods = []
    for law in [(1 - np.exp(-rate), 1.0, 0.0), (0.95, 1 / 21, 1 / 5)]:
        chance, begin, end = law
        usual = np.array([end, begin]) / (begin + end)
        likelihood, behind = 1.0, 0.0
        for cycles, changed, count in [(3, 1, 2), (1, 0, 4), (30, 1, 1), (7, 0, 1)]:
            unchanged = course(law, usual, cycles)[:, 0].sum()
            likelihood *= (1 - unchanged if changed else unchanged) ** count
        states = usual
        for cycles, changed in [(2, 1), (3, 0), (1, 1), (4, 1)]:
            table = course(law, states, cycles)
            if changed:
                table[:, 0] = 0
            else:
                table[:, 1:] = 0
            likelihood *= table.sum()
            if changed:
                behind += (table.sum(axis=0) @ np.arange(cycles + 1)) / table.sum()
            states = table.sum(axis=1) / table.sum()
        likelihoods.append(likelihood)
    return likelihoods[1] / likelihoods[0], behind


if __name__ == "__main__":
    changed, expected = [1, 0, 0, 1, 0], [0.5, 0.25, 0.1, 0.2, 0.4]
    unequal, hosts = [0.1, 0.05, 0.02, 0.04, 0.2], [0, 1, 2, 0, 1]
    show = lambda name, *values: print(name, *(f"{value:.17g}" for value in values))
    show("EQUAL", *difference(changed, expected, [0.05] * 5, hosts, [], 100, 31.5))
    show("UNEQUAL", *difference(changed, expected, unequal, hosts, [], 100, 31.5))
    show("LACKING", *difference(changed, expected, unequal, hosts, [(0.3, 0.05)] * 2, 100, 31.5))
    show("WIDTHS", *(half_width(n, 0.5, 0.05) for n in (100.0, 5000.0, 1e6)))
    show("STABILITY", psi([10, 20, 30, 0], [30, 20, 10, 0]))
    show("BEYOND", *(chi2.isf(0.0005, freedom) for freedom in (1, 3, 9)))
    show("LAWS", *laws())
