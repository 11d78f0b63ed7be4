"""Building a ship as a single-player game: chance draws the hull and the requests, the builder places each part.

A decision places the current request: action `(rotation * grid + y) * grid + x`, its footprint's top-left cell. The request and
the two after it are in sight, as far as they belong to the running stage. A request without a legal place is skipped. Armour
and the extra doors need no decision, as in the generator. Requests and rules are the generator's too: its choices
(`heuristic_builder.HandBuilder`) on the stream of a seed give its ship of that seed.

The return is the potential: the quality of the unfinished ship, missing terms 0. It is 0 at the start and equals the quality at
the end, which is 0 if a stage fell short of its minimum. Such a failure ends the game.

`settle` takes a row to the next decision, the next draw or the end. It does what the generator's `run_phase` does, one request
at a time, so that every builder gets the same requests.

Chance decides the hull, by the digits of a number of 64 bits; each stage's target; each request. The row no longer holds the
number once the hull stands, so no request can be computed from it. `sample_outcome` draws what the generator draws: on a new
stream of key `seed` the hull, targets and requests of attempt 0 at that seed. The stream's counter holds the number of the ship
(high 32 bits), of the stage (8 bits), and how many numbers of that stage's request stream are used (24 bits). A stream that is
already past what a row needs continues with its next ship.
"""

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.contract.stream import GOLDEN, mix
from leafwise.envs.starship import generator
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ONE, ZERO, copy_words, load_planes, lowest, open_hull
from leafwise.envs.starship.catalogue import CLEAR, ROTATIONS
from leafwise.envs.starship.generator import draw_entry, draw_target, open_streams, weight_of, weight_sums
from leafwise.envs.starship.placing import find_anchors, has_place, leaves_ways
from leafwise.envs.starship.quality import potential

DRAW_HULL, DRAW_TARGET, DRAW_REQUEST, DECISION, OVER = range(5)
"""Values of the TURN word: chance draws a digit of the hull's number, a stage's target or a request; the builder acts; the ship
is finished.
"""


@jit(inline=True)
def current_request(S, i):
    """Returns the placing stage that runs and its current request, -1 if none is in sight."""
    return np.int64(S[i, at.PHASE]), np.int64(S[i, at.QUEUE]) - 1


@jit
def fill_preview(S, j, T, stage):
    """Fills the preview if the stage can make one request only; returns whether it is full."""
    only = -1
    for entry in range(12):
        if weight_of(T, stage, entry) > 0:
            only = entry if only == -1 else -2
    for k in range(at.PREVIEW):
        if S[j, at.QUEUE + k] == 0:
            if only < 0:
                return False
            S[j, at.QUEUE + k] = only + 1
    return True


@jit
def drop_request(S, j):
    """Removes the first request of the preview."""
    for k in range(at.PREVIEW - 1):
        S[j, at.QUEUE + k] = S[j, at.QUEUE + k + 1]
    S[j, at.QUEUE + at.PREVIEW - 1] = 0


@jit
def next_phase(S, j, T, stage):
    """Runs the stages without decisions that follow a placing stage (0: the hull).

    Returns the next placing stage, or 0 after the last.
    """
    for n in range(T.turn_of[stage] + 1 if stage > 0 else 0, T.order.shape[0]):
        following = T.order[n]
        if T.kinds[following, 0] >= 0:
            return following
        if T.base[following] not in at.HULL_STAGES:
            generator.run_closing_stage(S, j, T, following)
    return 0


@jit
def open_ship(S, j, T):
    """Runs the other stages of the hull on plane HULL, and opens the hull in row `j`."""
    for n in range(T.order.shape[0]):
        if T.base[T.order[n]] not in at.HULL_STAGES:
            break
        generator.shape_hull(T, T.order[n])
    open_hull(S, j, T)


@jit
def open_given(S, j, T):
    """Starts row `j`, which is empty, with the given hull, if there is one."""
    given = ZERO
    for row in range(T.hull.shape[0]):
        given |= T.hull[row]
    if given != ZERO:
        copy_words(T.hull, T.planes[at.HULL])
        open_ship(S, j, T)
        settle(S, j, T)


@jit
def open_phase(S, j, T, stage):
    """Starts a placing stage in row `j`; a target that is not random is set at once."""
    generator.forget_requests(S, j)
    S[j, at.PHASE] = stage
    if T.stages[stage, at.LOW] == T.stages[stage, at.HIGH]:
        S[j, at.TARGET + stage] = T.stages[stage, at.LOW]


@jit
def finish(S, j):
    """Ends the game; the PHASE word keeps the stage in which it ended."""
    generator.forget_requests(S, j)
    S[j, at.TURN] = OVER


@jit
def settle(S, j, T):
    """Takes row `j`, whose planes must be loaded, to the next decision, draw or end.

    A stage that falls short of its minimum ends the game, since the ship can no longer become valid.
    """
    while True:
        # A stage that is over: the next one, or the end
        stage = np.int64(S[j, at.PHASE])
        if stage == 0 or (S[j, at.TARGET + stage] > 0 and generator.phase_over(S, j, T, stage)):
            if stage > 0:
                generator.note_failure(S, j, T, stage)
            following = next_phase(S, j, T, stage) if S[j, at.REASONS] == 0 else 0
            if following == 0:
                finish(S, j)
                return
            open_phase(S, j, T, following)
            continue
        # What chance still has to draw
        if S[j, at.TARGET + stage] == 0:
            S[j, at.TURN] = DRAW_TARGET
            return
        full = fill_preview(S, j, T, stage)
        if S[j, at.QUEUE] == 0:
            S[j, at.TURN] = DRAW_REQUEST
            return
        # The first request, which is skipped if it has no legal place
        entry = np.int64(S[j, at.QUEUE]) - 1
        if generator.entry_usable(S, j, T, stage, entry):
            if has_place(T, stage, entry):
                S[j, at.TURN] = DECISION if full else DRAW_REQUEST
                return
            S[j, at.EXHAUSTED] |= np.uint16(1 << entry)
        S[j, at.SKIPS] += np.uint16(1)
        drop_request(S, j)


@jit
def find_places(S, i, T):
    """Sets `T.places` to the legal places of the current request, unless they are already those of row `i`."""
    # One row is asked several times in a step
    different = np.uint16(0)
    for word in range(T.placed.shape[0]):
        different |= T.placed[word] ^ S[i, word]
    if different == 0:
        return
    # Where footprint, lane and door are legal, by rotation
    load_planes(S, i, T)
    copy_words(S[i], T.placed)
    T.places[:] = ZERO
    stage, entry = current_request(S, i)
    part, facing = T.kinds[stage, entry // 4], entry % 4
    turned = T.facts[part, CLEAR] == 0
    for r in range(0 if turned else facing, T.facts[part, ROTATIONS] if turned else facing + 1):
        find_anchors(T, part, r)
        copy_words(T.planes[at.ANCHORS], T.places[r])
    # Whether the crew's ways stay open, once for each block of cells, for all rotations that cover it
    square = T.size[part, 0, 0] == T.size[part, 0, 1]
    for first in range(1 if square else 2):
        for row in range(1, T.grid + 1):
            left, good = ZERO, ZERO
            for r in range(first, T.places.shape[0], 1 if square else 2):
                left |= T.places[r, row]
            while left != ZERO:
                if leaves_ways(T, stage, part, first, lowest(left), row - 1):
                    good |= left & (~left + ONE)
                left &= left - ONE
            for r in range(first, T.places.shape[0], 1 if square else 2):
                T.places[r, row] &= good


@jit
def write_places(S, i, A, T):
    """Writes the legal places of the current request to `A`, ascending; returns how many there are."""
    find_places(S, i, T)
    count = 0
    for r in range(T.places.shape[0]):
        for y in range(T.grid):
            left = T.places[r, y + 1]
            while left != ZERO:
                A[count] = (r * T.grid + y) * T.grid + lowest(left)
                left &= left - ONE
                count += 1
    return count


@jit
def take_place(S, j, T, place):
    """Places the current request of row `j` and takes the row to the next decision, draw or end."""
    load_planes(S, j, T)
    stage, entry = current_request(S, j)
    generator.put_request(S, j, T, stage, entry, place)
    drop_request(S, j)
    settle(S, j, T)


u64 = np.uint64
FOUR, SIXTEEN, FIFTEEN, HALF = u64(4), u64(16), u64(15), u64(32)
LOW_HALF = u64(0xFFFFFFFF)
HULL_DIGITS = 16
"""The hexadecimal digits of a hull's number."""
STAGE_SHIFT, LAST_DRAW = 24, (1 << 24) - 1


@jit
def take(S, j, T, drawn):
    """Writes what chance drew: a digit of the hull's number, a target or a request; a request without a legal place is skipped.

    The row goes on to the next draw or decision.
    """
    turn, known = S[j, at.TURN], np.int64(0)
    if turn == DRAW_HULL:
        k = np.int64(S[j, at.DIGITS])
        S[j, at.KEY + k // 4] = (np.int64(S[j, at.KEY + k // 4]) << 4) | drawn
        known = (k + 1) % HULL_DIGITS
        S[j, at.DIGITS] = known
        if known == 0:  # with the last digit the hull is drawn, and the row loses the number
            number = ZERO
            for word in range(at.KEY, at.KEY + HULL_DIGITS // 4):
                number = (number << SIXTEEN) | u64(S[j, word])
                S[j, word] = 0
            open_streams(T, number, 0, at.STAGE_SHAPE)
            open_ship(S, j, T)
    elif turn == DRAW_TARGET:
        S[j, at.TARGET + np.int64(S[j, at.PHASE])] = drawn
    else:
        while S[j, at.QUEUE + known] != 0:
            known += 1
        S[j, at.QUEUE + known] = drawn + 1
        if known == at.PREVIEW - 1:
            S[j, at.TURN] = DECISION
    if known == 0:
        load_planes(S, j, T)
        settle(S, j, T)


@jit
def same_header(S, i, j):
    """Returns whether two rows after the same draw are equal; the board follows from the header."""
    for word in range(at.HEADER):  # noqa: SIM110 (compiled code has no generators)
        if S[i, word] != S[j, word]:
            return False
    return True


@jit
def write_outcomes(S, j, P, o, T):
    """Writes the outcomes of a draw and their probabilities; returns how many there are.

    Requests that are skipped can lead to the same row: they are one outcome.
    """
    turn, phase, count = S[j, at.TURN], np.int64(S[j, at.PHASE]), 0
    if turn != DRAW_REQUEST:  # all digits and all targets have the same probability
        low = 0 if turn == DRAW_HULL else T.stages[phase, at.LOW]
        span = 16 if turn == DRAW_HULL else T.stages[phase, at.HIGH] - low + 1
        for k in range(span):
            copy_row(S, j, o + u64(k))
            take(S, o + u64(k), T, low + k)
            P[o + u64(k)] = 1.0 / span
        return span
    kinds, facings = weight_sums(T, phase)
    for entry in range(12):
        weight = weight_of(T, phase, entry)
        if weight > 0:
            outcome, same = o + u64(count), o
            copy_row(S, j, outcome)
            take(S, outcome, T, entry)
            while same < outcome and not same_header(S, same, outcome):
                same += u64(1)
            if same == outcome:
                P[outcome] = 0.0
                count += 1
            P[same] += weight / (kinds * facings)
    return count


@jit
def seek(R, first, last):
    """Moves the stream to position `first` of its ship, unless it is already between `first` and `last`.

    A stream past `last` moves to its next ship.
    """
    position = np.int64(R[1] & LOW_HALF)
    if position > last:
        R[1] = ((R[1] >> HALF) + u64(1)) << HALF
        position = np.int64(0)
    R[1] = (R[1] & ~LOW_HALF) | u64(max(position, first))


@jit
def ship_seed(R):
    """Returns the seed of the ship that the stream is at; for the first one it is the stream's key."""
    ship = R[1] >> HALF
    return R[0] if ship == ZERO else mix(R[0] + ship * GOLDEN)


@jit
def draw_outcome(S, j, R, T):
    """Draws one digit, target or request in row `j`, as the generator does."""
    turn, phase = S[j, at.TURN], np.int64(S[j, at.PHASE])
    start = (T.turn_of[phase] + 1) << STAGE_SHIFT  # not used for the hull, whose phase is 0
    if turn == DRAW_HULL:
        k = np.int64(S[j, at.DIGITS])
        seek(R, k, k)
        drawn = np.int64((ship_seed(R) >> u64(60 - 4 * k)) & FIFTEEN)
    else:
        if turn == DRAW_TARGET:
            seek(R, start, start)
        else:
            seek(R, start + 1, start + LAST_DRAW)
        open_streams(T, ship_seed(R), 0, phase)
        T.request[1] = R[1] & u64(LAST_DRAW)
        if turn == DRAW_TARGET:
            drawn = draw_target(T, phase)
        else:
            drawn = draw_entry(T, phase)
    R[1] += u64(1)
    take(S, j, T, drawn)


@jit(inline_source=True)
def chance_outcomes(S, j, P, o, T):
    """Writes the outcomes of a draw and their probabilities; returns how many there are."""
    return write_outcomes(S, j, P, o, T.ship)


@jit(inline_source=True)
def sample_outcome(S, j, R, T):
    """Draws one digit, target or request in row `j`, as the generator does."""
    draw_outcome(S, j, R, T.ship)


CHANCE_STAGES = ("decision", "hull", "target", "request")
"""The contract's stages: whether a decision or which draw comes next. Everywhere else in this room a stage is one of the
source's 14.
"""


@jit
def initial_state(S, i, T):
    """Writes the start: no hull yet, or the given hull and its first decision."""
    for word in range(S.shape[1]):
        S[i, word] = 0
    open_given(S, i, T.ship)


@jit(inline=True)
def current_player(S, i, T):
    """Returns 0 at a decision, CHANCE at a draw, TERMINAL at the end."""
    turn = S[i, at.TURN]
    if turn == DECISION:
        return 0
    return TERMINAL if turn == OVER else CHANCE


@jit(inline=True)
def stage(S, i, T):
    """Returns the contract's stage as an index into CHANCE_STAGES; 0 at the end."""
    turn = np.int64(S[i, at.TURN])
    return turn + 1 if DRAW_HULL <= turn <= DRAW_REQUEST else 0


@jit(inline_source=True)
def legal_actions(S, i, A, T):
    """Writes the legal places of the current request to `A`, ascending; returns how many there are."""
    return write_places(S, i, A, T.ship)


@jit(inline_source=True)
def apply_action(S, i, a, j, T):
    """Copies row `i` to row `j` and places the current request in it."""
    copy_row(S, i, j)
    take_place(S, j, T.ship, np.int64(a))


@jit(inline_source=True)
def returns(S, i, T):
    """Returns the potential, which at the end is the quality."""
    return potential(S, i, T.ship)


@jit(inline_source=True)
def final_quality(S, i, j, k, T):
    """Returns the reward "terminal": the quality once the ship is finished, else 0."""
    return potential(S, k, T.ship) if S[k, at.TURN] == OVER else 0.0
