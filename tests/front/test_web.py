"""The JSON interface of `leafwise web`: what it tells of games, positions, players and searches, and what it refuses."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from front.web_server import LOOPBACK, serving

from leafwise.envs import registry
from leafwise.envs.core.play.gamefile import read_games

START = ".../.../..."
TRAP = "...1.../......./......./......./......./......./...2..."
COURSE = {f"course:{name}" for name in ("is", "ais", "ocls", "easy", "medium", "hard")}
THREES = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    (runs / "empty").mkdir()
    with serving(LEAFWISE_WEB_RUNS=str(runs)) as client:
        yield client


def test_games_are_listed_and_a_query_asks_the_same(client):
    status, _, body = client.send("GET", "/api/games")
    games = {one["game"]: one for one in json.loads(body)["games"]}
    assert status == 200
    assert set(games) == set(registry.games())
    assert games["trilobite"]["ids"]["Trilobite7x6"] == {"board": "7x6", "k": 4}
    _, _, wrong = client.send("GET", "/api/state?game=cassis&moves=0-1")
    assert json.loads(wrong)["error"].startswith("expected JSON in 'moves', got none: ")
    _, _, body = client.send("GET", "/api/state?game=cassis&options=%7B%22n%22%3A5%7D&moves=%5B%220-1%22%5D")
    state = client.ask("/api/state", game="cassis", options={"n": 5}, moves=["0-1"], svg=True)
    assert state.pop("svg").startswith("<svg")
    assert json.loads(body) == state


@pytest.mark.parametrize(
    ("game", "options", "programs", "has_solver"),
    [
        ("trilobite", {}, {"minimax"}, True),
        ("trilobite", {"board": "4x3"}, set(), True),  # on a larger board it would walk through the whole game
        ("threes", {}, {"threesus", "nneonneo"}, False),
        ("trap", {}, COURSE, False),
        ("trap", {"size": 3}, COURSE, True),
    ],
)
def test_a_game_lists_its_leaves_its_programs_and_its_solver(client, game, options, programs, has_solver):
    answer = client.ask("/api/game", game=game, options=options)
    names = {one["name"] for one in answer["opponents"]}
    others = {name for name in names if not name.startswith(("search:", "level:"))}
    assert others == programs | {"random"} | ({"solver"} if has_solver else set())
    assert answer["has_solver"] == has_solver
    if options == {"board": "4x3"}:
        assert answer["option_values"] == {"board": "4x3", "k": 3}
        leaf = {"name": "lines", "title": "hand-made: lines", "unit": None, "no_unit": ""}
        assert answer["leaves"] == [leaf], "no network ships for this variant"
        assert {"level:easy", "search:lines,seconds=0.1"} <= names


def test_steps_are_played_by_name_and_chance_is_drawn_or_told(client):
    answer = client.ask("/api/state", game="trilobite", moves=["2", "2", "1"])
    assert [step["player"] for step in answer["steps"]] == [1, 2, 1]
    assert answer["text"] == answer["steps"][-1]["text"] == ".../.o./xx."
    assert (answer["player"], answer["over"], answer["actions"]) == (2, False, ["1", "2", "3"])
    over = client.ask("/api/state", game="trilobite", text=answer["text"], moves=["1", "3"])
    assert (over["over"], over["result"], over["player"]) == (True, "player 1 wins", None)
    drawn = client.ask("/api/state", game="threes", text=THREES, moves=["left"], seed=3)
    assert [step["player"] for step in drawn["steps"]] == [1, "chance", "chance"]
    entering = drawn["steps"][1]
    assert sum(entering["odds"].values()) == pytest.approx(1)
    assert entering["odds"][entering["name"]] == pytest.approx(entering["probability"])
    again = client.ask("/api/state", game="threes", text=THREES, moves=["left"], seed=3)
    assert again["text"] == drawn["text"]
    waiting = client.ask("/api/state", game="threes", text=THREES, moves=["left"])
    assert waiting["player"] == "chance"
    assert {one["name"]: one["probability"] for one in waiting["outcomes"]} == entering["odds"]
    names = [step["name"] for step in drawn["steps"]]
    assert client.ask("/api/state", game="threes", text=THREES, moves=names)["text"] == drawn["text"]


def test_players_move(client):
    won = client.ask("/api/state", game="trilobite", moves=["1", "2", "1", "2"])["text"]
    for player in ("minimax", "solver"):
        assert client.ask("/api/move", game="trilobite", text=won, player=player)["action"] == "1"
    drawn = {"game": "trilobite", "text": START, "player": "random"}
    moves = [client.ask("/api/move", **drawn, seed=k)["action"] for k in (1, 1, 2, 3)]
    assert moves[0] == moves[1]
    assert len(set(moves)) > 1
    names, data = zip(*client.events("/api/move", **drawn | {"player": "search:lines,seconds=0.01"}), strict=True)
    assert (names[-2:], {*data[:-2]}) == (("answer", "done"), {"loading", "working"}), (
        "any answer is streamed where asked"
    )


def test_an_analysis_deepens_until_its_time_is_up(client):
    events = client.events("/api/analyse", game="trilobite", text=START, leaf="lines", seconds=1.5)
    answers = [data for name, data in events if name == "answer"]
    assert events[-1] == ("done", True)
    depths = [answer["depth"] for answer in answers]
    assert depths == sorted(depths)
    assert len(answers) > 1, "told more than once"
    last = answers[-1]
    assert 0 < answers[0]["seconds"] < last["seconds"] < 20
    assert set(last["action_values"]) == set(last["worths"]) == {"1", "2", "3"}
    assert last["value"] == max(last["action_values"].values())
    assert last["line"][0] == last["best_actions"][0]
    assert (last["unit"], last["action_values_in_unit"]) == (None, None)


def test_values_are_in_units_where_they_are_known(client):
    last = client.answers("/api/analyse", game="trilobite", text=START, seconds=0.1)[-1]
    assert last["unit"].startswith("chance to win")
    assert (last["leaf"], last["worth"]) == ("learned", f"{100 * last['value_in_unit']:.2f} %")  # as the page names it
    rules = {"game": "trap", "options": {"size": 5, "max_turns": 20}}
    why = "no unit: the network was measured with the usual rules, not with max_turns=20"
    leaf = client.ask("/api/game", **rules)["leaves"][0]
    assert (leaf["unit"], leaf["no_unit"]) == (None, why)
    text = client.ask("/api/state", **rules)["text"]
    last = client.answers("/api/analyse", **rules, text=text, seconds=0.1)[-1]
    assert (last["unit"], last["value_in_unit"], last["no_unit"]) == (None, None, why)
    assert "%" not in last["worth"]


def test_a_solver_answers_exactly_or_tells_what_it_knows(client):
    (solution,) = client.answers("/api/solve", game="trilobite", text=".../oo./xx.", seconds=20)
    assert (solution["complete"], solution["value"], solution["best_actions"]) == (True, 1, ["3"])
    wide = {"game": "trilobite", "options": {"board": "7x6", "k": 4}}
    (solution,) = client.answers("/api/solve", **wide, text=client.ask("/api/state", **wide)["text"], seconds=0.1)
    assert not solution["complete"], "it was stopped, and tells so"


def test_a_game_is_written_and_read(client):
    moves = client.ask("/api/state", game="threes", text=THREES, moves=["left"], seed=3)["steps"]
    names = [step["name"] for step in moves]
    file = client.ask("/api/record", game="threes", text=THREES, moves=names, players=["human"])["file"]
    (record,) = read_games(file)
    assert str(record.states[-1]) == moves[-1]["text"]
    (record,) = client.ask("/api/read", file=file)["games"]
    assert [step["text"] for step in record["steps"]] == [step["text"] for step in moves]
    assert (record["first"], record["players"], record["result"]) == (THREES, ["human"], None)


def test_a_review_tells_what_moves_gave_away(client):
    file = '[Game "trilobite"]\n1. 1\n2. 3\n3. 1\n4. 3\n5. 2\n'  # the players leave lines open
    head, *moves = client.answers("/api/review", file=file, seconds=0.2)
    assert (head["moves"], head["is_chance"]) == (5, True)
    assert [one["played"] for one in moves] == ["1", "3", "1", "3", "2"]
    assert moves[2]["loss_in_unit"] == pytest.approx(moves[2]["best_value_in_unit"] - moves[2]["value_in_unit"])
    assert moves[4]["blunder"], "1 would have won"
    head, *moves = client.answers("/api/review", file=file, seconds=0.05, leaf="lines")
    assert head["unit"] is None
    assert not any(one["blunder"] for one in moves)


def test_several_pages_are_answered_at_once(client):
    request = {"game": "trilobite", "text": START, "leaf": "lines", "seconds": 0.3}
    with ThreadPoolExecutor(4) as threads:
        pages = [threads.submit(client.events, "/api/analyse", **request) for _ in range(4)]
        assert client.ask("/api/state", game="trilobite")["text"] == START  # a click meanwhile
    assert [page.result()[-1] for page in pages] == 4 * [("done", True)]


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        ("state", {}, "expected a request like game, [options], [text], [moves], [seed], [svg]: Object missing"),
        ("state", {"game": "chess"}, "'chess'"),
        ("state", {"game": "trilobite", "options": {"bord": "7x6"}}, "expected options among (board, k), got 'bord'"),
        ("state", {"game": "trilobite", "options": {"board": 7}}, "expected board as 3x3 to 8x7"),
        ("state", {"game": "trilobite", "text": "x"}, "expected 3 rows"),
        ("state", {"game": "trilobite", "moves": ["2", "9"]}, "expected an action among 1, 2, 3, got '9' as step 2"),
        ("state", {"game": "trilobite", "seed": -1}, "expected a request like"),
        ("state", {"game": "trilobite", "more": 1}, "unknown field `more`"),
        ("move", {"game": "trilobite", "text": START, "player": "course:/etc/passwd"}, "expected a player among"),
        ("move", {"game": "trap", "text": TRAP, "player": "course:/home/me/PlayerAI.py"}, "expected a player among"),
        ("move", {"game": "trilobite", "text": "xo./xo./xo.", "player": "random"}, "expected"),
        ("record", {"game": "trilobite", "players": ["a"]}, "expected the names of 2 players, got 1"),
        ("read", {"file": "[Game"}, "line 1: expected"),
        ("read", {"file": '[Game "trap"]\n[Options {"self": 1}]\n1. N'}, "line 2: trap: expected options among (size"),
        ("state", {"game": "trap", "options": {"name": 1}}, "trap: expected options among (size"),
        ("state", {"game": "trap", "options": {"self": 1}}, "trap: expected options among (size"),
        (
            "game",
            {"game": "starship", "options": {"hull": "/proc/kmsg"}},
            "expected hull in run lengths or rows of text",
        ),
        ("read", {"file": '[Game "starship"]\n[Options {"parameters": "/proc/kmsg"}]'}, "expected parameters in JSON"),
    ],
)
def test_a_wrong_request_gets_one_line(client, path, fields, message):
    status, reply = client.post(f"/api/{path}", **fields)
    assert status == 400
    assert message in reply["error"]
    assert "\n" not in reply["error"]


@pytest.mark.parametrize(
    "leaf", ["/etc/passwd", "run:../secret", "run:empty", "sb3:model.zip", "hf://a/b", "../threes"]
)
def test_no_file_is_read_that_is_not_listed(client, leaf):
    events = client.events("/api/analyse", game="trilobite", text=START, leaf=leaf, seconds=0.1)
    assert events[-1][0] == "error"
    assert events[-1][1]["error"].startswith("expected a leaf among best, learned, lines, got")
    assert events[-1][1]["status"] == 400


def test_no_file_outside_the_page_is_served(client):
    for path in ("/../app.py", "/..%2fapp.py", "/%2e%2e/%2e%2e/pyproject.toml", "/static/app.js", "/api/none"):
        status, _, body = client.send("GET", path)
        assert status in (400, 404)
        assert "error" in json.loads(body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://{host}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_only_its_own_pages_are_answered(client, headers, status):
    host = f"{LOOPBACK}:{client.port}"
    filled = {name: value.format(host=host, port=client.port) for name, value in headers.items()}
    got, _, body = client.send("GET", "/api/games", headers=filled)
    assert got == status
    assert status == 200 or json.loads(body)["error"].startswith("expected a")
