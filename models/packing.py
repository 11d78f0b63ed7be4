"""N-tuple networks with entries of 16 bits: made from those that were trained, and made faster to play with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.models.boards import spread
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.ntuple_functions import features

MOST = 32767
"""Largest entry."""


def quantised(network: NTupleNetwork, step: float) -> NTupleNetwork:
    """Returns a network of float32 with entries of int16, rounded to multiples of `step`, in the unit of the values.

    A table with entries beyond 32,767 steps gets the coarser step that holds them. Raises ValueError for a step of 0.
    """
    if not step > 0 or network.packed:
        raise UserError(f"quantised: expected a network of float32 and a step above 0, got step {step!r}")
    shape, sizes = network.shape, network.shape.sizes(network.game)
    starts = np.cumsum([0, *sizes])
    table = np.zeros(network.weights.table.shape, dtype=np.int16)
    scales = []
    for t, start in enumerate(starts[:-1]):
        parts = [slice(start + k * starts[-1], starts[t + 1] + k * starts[-1]) for k in range(shape.copies)]
        largest = max(float(np.abs(network.weights.table[p]).max(initial=0.0)) for p in parts)
        scales.append(float(np.float32(max(step, largest / MOST))))
        for part in parts:
            table[part] = np.clip(np.rint(network.weights.table[part] / scales[-1]), -MOST, MOST)
    return NTupleNetwork.create(network.game, shape, table, scales)


def restored(network: NTupleNetwork) -> NTupleNetwork:
    """Returns a network of int16 with entries of float32, to be trained on; one of float32 as it is."""
    if not network.packed:
        return network
    units = np.repeat(network.weights.scales, network.shape.sizes(network.game))
    table = network.weights.table * np.tile(units, network.shape.copies)
    return NTupleNetwork.create(network.game, network.shape, table)


def merged(network: NTupleNetwork, *, in_place: bool = False) -> NTupleNetwork:
    """Returns a network of equal values that adds each tuple whose cells all belong to another one to that one's table.

    It takes fewer look-ups, but its tables are full of entries that training has not seen: to be played with, not trained or
    packed. Tables stay apart where their units differ or their sums might not fit; a network of float32, whose sums would be
    rounded otherwise, is returned as it is. `in_place` uses up the network's own table, which may be of hundreds of MB.
    """
    tuples, values = network.shape.tuples, features(network.game).values
    if not network.packed or len(set(tuples)) < len(tuples):
        return network
    units = dict(zip(tuples, network.weights.scales, strict=False))
    if not in_place:
        weights = network.weights._replace(table=network.weights.table.copy())
        network = replace(network, weights=weights)
    stages = [network.tables(k) for k in range(network.shape.copies)]
    most = {t: max(max(int(tables[t].max()), -int(tables[t].min())) for tables in stages) for t in tuples}
    kept = list(tuples)
    for t in sorted(tuples, key=len):
        fits = [u for u in kept if set(t) < set(u) and units[t] == units[u] and most[t] + most[u] <= MOST]
        if fits:
            kept.remove(t)
            most[fits[0]] += most[t]
            for tables in stages:
                wide = tables[fits[0]].reshape((values,) * len(fits[0]))
                np.add(wide, spread(tables[t], t, fits[0], values), out=wide)
    names: list[tuple[int, ...] | str] = [*kept, *(network.shape.small or ())]
    table, end = network.weights.table, 0
    for tables in stages:  # those that are kept move together
        for name in names:
            start, end = end, end + len(tables[name])
            table[start:end] = tables[name]
    scales = [float(units[t]) for t in kept] + [float(s) for s in network.weights.scales[len(tuples) :]]
    return NTupleNetwork.create(network.game, replace(network.shape, tuples=tuple(kept)), table[:end], scales)
