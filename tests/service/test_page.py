"""The page without a browser: logging in, roles, forms from elsewhere, what a script follows."""

import json
import re

import pytest

from tests.service.page_site import XSS, api, form_token, played, request

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'"
)


@pytest.fixture
def service(page_service):
    return page_service


def sent(service, path, **fields):
    """Send a form as the page does."""
    return request(service, "POST", path, {"form_token": form_token(service)} | fields)


def test_without_a_token_there_is_only_the_login(service):
    for path in ("/", "/new", "/studies/pricing", "/studies/pricing/export", "/studies/none"):
        status, headers, _ = request(service, "GET", path, token=False)
        assert status == 303
        assert headers["location"].startswith("/login")
    assert request(service, "GET", "/login", token=False)[0] == 200
    status, _, text = request(service, "POST", "/login", {"token": "pm_x"}, token=False)
    assert status == 401
    assert "The token is not valid" in text


def test_a_login_gives_a_cookie_that_no_script_reads(service):
    fields = {"token": service.token, "next": "/studies/pricing"}
    status, headers, _ = request(service, "POST", "/login", fields, token=False)
    assert (status, headers["location"]) == (303, "/studies/pricing")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    for away in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:x"):
        fields = {"token": service.token, "next": away}
        assert request(service, "POST", "/login", fields, token=False)[1]["location"] == "/"


def test_every_answer_forbids_what_is_not_this_servers(service):
    for path in ("/", "/login", "/new", "/studies/pricing", "/studies/none", "/static/page.js"):
        _, headers, _ = request(service, "GET", path)
        assert headers["content-security-policy"].startswith(POLICY)
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] != "no-referrer", "forms would have the origin null"


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/new", "/new?from=file", "/new?from=name", "/new?from=name&game=survey"),
        *("/new?rows=4&columns=5", "/studies/pricing", "/studies/pricing?show=open"),
        *("/studies/pricing?show=answered&after=3", "/studies/pricing?action=$2&since=2026-01-01"),
        *("/studies/pricing?before=10", "/studies/pricing/change", "/studies/pricing/history"),
        *(
            "/studies/pricing/decisions/7",
            "/studies/apple_tasting",
            "/studies/apple_tasting?context=x&before=y",
        ),
    ],
)
def test_pages_are_shown(service, path):
    status, _, text = request(service, "GET", path)
    assert status == 200
    assert text.count("<main") == 1
    assert not re.search(r"\sstyle=|\son[a-z]+=\"|{{|{%", text)
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'\s(?:for|aria-labelledby)="([^"]*)"', text):
        assert target in ids
    for field in re.findall(r"<(?:input|select|textarea)[^>]*>", text):
        labelled = re.search(r'type="hidden"|aria-label=|type="checkbox"', field)
        named = re.search(r'\sid="([^"]*)"', field)
        assert labelled or (named and f'for="{named[1]}"' in text), field


def test_decisions_are_found_on_the_page(service):
    def numbers(query):
        text = request(service, "GET", f"/studies/pricing?{query}")[2]
        return [int(own) for own in re.findall(r"<tr><td>(\d+)</td><td class=.left", text)]

    every = numbers("")
    assert every == sorted(every, reverse=True)
    assert len(every) == 25
    assert numbers(f"before={every[-1]}") == list(range(every[-1] - 1, -1, -1))[:25]
    assert numbers(f"after={every[-1] - 1}") == every
    assert numbers("show=cancelled") == numbers("until=2001-01-01") == []
    dear, cheap = (set(numbers(f"action=%24{price}&show=answered")) for price in (2, 1))
    assert dear & set(every) or cheap & set(every)
    assert not dear & cheap
    text = request(service, "GET", "/studies/pricing?since=noon")[2]
    assert "Since must be seconds since 1970 or a date such as 2026-05-01" in text


def test_what_is_not_there(service):
    for path in ("/studies/none", "/studies/pricing/decisions/none", "/static/none.js"):
        status, _, text = request(service, "GET", path)
        assert status == 404
        assert "<h1>" in text
    assert request(service, "GET", "/new?from=name&game=none")[0] == 422
    assert request(service, "GET", "/studies/pricing/export?what=x")[0] == 422


def test_a_form_from_elsewhere_changes_nothing(service):
    before = service.engine.hosted("pricing").version
    path, fields = "/studies/pricing/ask", {"form_token": form_token(service)}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert request(service, "POST", path, fields, headers)[0] == 403
    assert request(service, "POST", path, {"form_token": "0" * 64})[0] == 403
    assert request(service, "POST", path, {})[0] == 403
    assert (
        request(service, "POST", "/login", {"token": service.token}, {"Origin": "null"})[0] == 403
    )
    assert service.engine.hosted("pricing").version == before


def test_roles_see_what_they_may_do(service):
    class Reader:
        address = service.address
        token = service.tokens.create("read", label="reader")[1]

    class Scoped:
        address = service.address
        token = service.tokens.create("play", study="apple_tasting", label="shop")[1]

    text = request(Reader, "GET", "/studies/pricing")[2]
    assert "Ask for a decision" not in text
    assert "/pause" not in text
    assert "/new" not in request(Reader, "GET", "/")[2]
    assert sent(Reader, "/studies/pricing/ask")[0] == 403
    assert sent(Reader, "/studies/pricing/pause")[0] == 403
    assert request(Reader, "GET", "/new")[0] == 403
    listed = request(Scoped, "GET", "/")[2]
    assert "apple_tasting" in listed
    assert "pricing" not in listed
    assert request(Scoped, "GET", "/studies/pricing")[0] == 403
    assert "Ask for a decision" in request(Scoped, "GET", "/studies/apple_tasting")[2]
    assert sent(Scoped, "/studies/apple_tasting/pause")[0] == 403


def test_a_script_follows_what_changes(service):
    for path in ("/?live=1", "/studies/pricing?live=1", "/studies/pricing/chart"):
        status, headers, text = request(service, "GET", path)
        assert status == 200
        tag = {"If-None-Match": headers["etag"]}
        assert request(service, "GET", path, headers=tag)[0] == 304
        assert "<html" not in text
    api(service, "/v1/studies/pricing/ask", {})
    assert request(service, "GET", "/studies/pricing?live=1", headers=tag)[0] == 200


def test_charts_have_at_most_500_points_of_the_named_actions(service):
    found = json.loads(request(service, "GET", "/studies/pricing/chart")[2])
    assert 0 < len(found["x"]) <= 500
    assert [own["label"] for own in found["actions"]] == ["$1", "$2", "$3"]
    for name in ("estimate", "low", "high", "shares"):
        assert all(len(own) == len(found["x"]) for own in found[name])


def test_the_cells_are_drawn(service):
    pytest.importorskip("matplotlib")
    status, headers, text = request(service, "GET", "/studies/pricing/cells.svg")
    assert (status, headers["content-type"]) == (200, "image/svg+xml")
    assert "<svg" in text


def test_tables_are_classified_while_they_are_written(service):
    cells = {"earns": ["1", "-1", "-1", "0"], "shows": ["", "", "good", "rotten"]}
    table = {"action": ["sell", "taste"], "outcome": ["good", "rotten"]} | cells
    assert "Easy" in sent(service, "/new/classify", **table)[2]
    wrong = table | {"earns": ["1", XSS[0], "-1", "0"]}
    text = sent(service, "/new/classify", **wrong)[2]
    assert "must be a number" in text
    assert "<img" not in text


def test_studies_come_from_tables_files_and_names(service):
    table = {"action": ["a", "b"], "outcome": ["x", "y"], "earns": ["1", "0", "0", "1"]}
    table |= {"shows": ["x", "y", "x", "y"], "from": "table"}
    ways = {
        "one": table,
        "two": {"from": "file", "text": json.dumps({"rewards": [[1, 0]], "signals": [[1, 2]]})},
        "three": {
            "from": "name",
            "game": "dynamic_pricing",
            "option-prices": "1, 2",
            "probe": ".1",
        },
        "four": {"from": "name", "game": "apple_tasting", "days": "2", "unanswered": "good"},
    }
    for name, fields in ways.items():
        status, headers, text = sent(service, "/new", name=name, **fields)
        assert (status, headers.get("location")) == (303, f"/studies/{name}?done=created"), text
    assert list(service.engine.hosted("three").game.actions) == ["$1", "$2"]
    for fields in (
        {"name": "bad name", **table},
        {"name": "one", **table},
        {"name": "five", "from": "name", "game": "dynamic_pricing", "option-nothing": "1"},
        {"name": "five", "from": "file", "text": "{"},
        {"name": "five", "from": "name", "game": "dynamic_pricing", "policy": "nothing"},
    ):
        status, _, text = sent(service, "/new", **fields)
        assert status in (422, 200), text
        assert 'role="alert"' in text
        assert f'value="{fields["name"]}"' in text


def test_a_study_called_new_has_its_page(service):
    api(service, "/v1/studies", {"name": "new", "game": {"named": "apple_tasting"}})
    assert "<h1>new</h1>" in request(service, "GET", "/studies/new")[2]


def test_what_was_told_is_corrected_and_voided(service):
    api(service, "/v1/studies", {"name": "wrong", "game": {"named": "dynamic_pricing"}})
    asked = api(service, "/v1/studies/wrong/ask", {"count": 2})["decisions"]
    first, second = (own["id"] for own in asked)
    path = "/studies/wrong"
    seen = json.dumps("yes")
    assert sent(service, f"{path}/tell", decision=first, observation=seen)[0] == 303
    assert sent(service, f"{path}/tell", decision=second, verb="none")[0] == 303
    fields = {"decision": first, "observation": json.dumps("no"), "reason": "typed wrong"}
    assert sent(service, f"{path}/amend", **fields)[1]["location"].endswith("done=amended")
    text = request(service, "GET", f"{path}/decisions/{first}")[2]
    assert "Answer: <b>no</b>" in text
    dry = {"from": "0", "to": "1", "reason": "test", "dry_run": "yes"}
    status, _, text = sent(service, f"{path}/void", **dry)
    assert status == 200
    assert "Not changed yet" in text
    assert sent(service, f"{path}/void", decision=first, reason="test")[0] == 303
    assert sent(service, f"{path}/void", **{"from": "x", "to": "1", "reason": "r"})[0] == 422


def test_history_edit_reset_and_settings(service):
    api(service, "/v1/studies", {"name": "moving", "game": {"named": "dynamic_pricing"}})
    path = "/studies/moving"
    rows = "action,observation,count\n$2,yes,10\n$3,no,5\n"
    assert sent(service, f"{path}/history", rows=rows)[0] == 303
    status, _, text = sent(service, f"{path}/history", rows="action,observation\n$9,yes")
    assert status == 422
    assert "$9,yes" in text
    text = request(service, "GET", f"{path}/change")[2]
    game = json.loads(
        re.search(r"<textarea[^>]*>(.*?)</textarea>", text, re.S)[1].replace("&#34;", '"')
    )
    assert sent(service, f"{path}/edit", game=json.dumps(game), reason="r")[0] == 422
    game["actions"][0] = "$1.00"
    fields = {"game": json.dumps(game), "reason": "renamed"}
    status, _, text = sent(service, f"{path}/edit", dry_run="yes", **fields)
    assert status == 200, text
    assert "Not changed yet" in text
    assert sent(service, f"{path}/edit", **fields)[0] == 303
    text = request(service, "GET", path)[2]
    assert "$1.00" in text
    assert "/studies/moving~1" in text
    assert request(service, "GET", "/studies/moving~1")[0] == 200
    fields = {"fallback": "$2", "max_open": "7", "alarm_level": "0.05"}
    assert sent(service, f"{path}/settings", **fields)[0] == 303
    assert service.engine.hosted("moving").settings["max_open"] == 7
    assert sent(service, f"{path}/reset", reason="new world")[0] == 303


def test_large_forms_are_refused(service):
    body = b"form_token=x&rows=" + b"x" * (5 * 1024 * 1024)
    assert request(service, "POST", "/studies/pricing/history", body)[0] == 413


def test_logging_out_takes_the_cookie_back(service):
    status, headers, _ = sent(service, "/logout")
    assert (status, headers["location"]) == (303, "/login")
    assert 'pm_token=""' in headers["set-cookie"]


def test_a_page_reads_as_much_of_a_long_study_as_of_a_short_one(service, monkeypatch):
    """No time depends on the number of decisions if no number of rows does."""
    from partial_monitoring.storage.sqlite import Connection

    api(service, "/v1/studies", {"name": "long", "game": {"named": "dynamic_pricing"}})
    rows, read = Connection.rows, []

    def counted(self, *given):
        found = rows(self, *given)
        read.append(len(found))
        return found

    monkeypatch.setattr(Connection, "rows", counted)
    sizes = []
    for rounds in (300, 3000):
        played(service, "long", rounds, block=100)
        asked = service.engine.hosted("long")._session.asked
        for path in ("", "?live=1", "?before=50", "?show=open", f"/decisions/{asked - 1}"):
            read.clear()
            assert request(service, "GET", f"/studies/long{path}")[0] == 200
            sizes.append(sum(read))
    assert max(sizes) < 2500  # 500 points, a page, and what follows a snapshot to verify
