"""Hostile words in every field are shown as text: nothing runs, nothing is loaded."""

import json

import pytest

from tests.service.page_site import XSS, api, request, tab


@pytest.fixture
def browser(page_browser):
    return page_browser


@pytest.fixture
def service(page_service):
    return page_service


def file_of(rows=3):
    """Return a game all of whose words are hostile."""
    words = list(XSS)
    return {
        "actions": words[:rows],
        "outcomes": words,
        "rewards": [[(i + j) % 5 for j in range(5)] for i in range(rows)],
        "signals": [[words[(i + j) % 5] for j in range(5)] for i in range(rows)],
    }


def test_names_of_games_are_text(service, browser):
    api(service, "/v1/studies", {"name": "x" * 60, "game": {"file": file_of()}})
    name = f"/v1/studies/{'x' * 60}"
    for word in XSS:
        given = {"meta": {word: word}, "key": word[:60] if word.isprintable() else "key"}
        asked = api(service, f"{name}/ask", given)["decisions"][0]
        game = service.engine.hosted("x" * 60).game
        seen = game.signal(asked["action"], 0)
        api(service, f"{name}/tell", {"decision": asked["id"], "observation": seen})
    with tab(browser, service) as own:
        page = own.page
        for path in ("", "/change", "/history", f"/decisions/{asked['id']}", "/decisions/0"):
            own.go(f"/studies/{'x' * 60}{path}")
            page.locator("h1").wait_for()
        own.go(f"/studies/{'x' * 60}")
        page.locator("#charts canvas").first.wait_for()
        text = page.locator("main").inner_text()
        for word in XSS[:3]:
            assert word in text
        assert page.locator("main img").count() <= 1  # the picture of the cells
        with page.expect_response("**live=1"):
            pass
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_role("button", name="Tell", exact=True).click()
        page.get_by_text("Told; what is known").wait_for()
        own.go("/")
        assert "x" * 60 in page.locator("main").inner_text()


def test_names_of_contexts_are_text(service, browser):
    from partial_monitoring.games import contextual_linear_bandit
    from partial_monitoring.model.files import game_to_dict

    features = [[[1, 0], [0, 1]], [[0.6, 0.8], [0.8, 0.6]], [[0, 1], [1, 0]]]
    game = game_to_dict(contextual_linear_bandit(features, contexts=list(XSS[:3])))
    api(service, "/v1/studies", {"name": "contexts", "game": {"file": game}})
    for word in XSS[:3]:
        asked = api(service, "/v1/studies/contexts/ask", {"context": word})["decisions"][0]
        given = {"decision": asked["id"], "observation": 0.5}
        api(service, "/v1/studies/contexts/tell", given)
    with tab(browser, service) as own:
        own.go("/studies/contexts")
        page = own.page
        page.locator("#context").select_option(XSS[1])
        page.wait_for_url("**context=**")
        assert page.locator("#context").input_value() == XSS[1]
        assert XSS[2] in page.locator("#decisions ~ .scroll").inner_text()
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_text(XSS[1]).first.wait_for()


@pytest.mark.parametrize(
    "word", [XSS[0], *(pytest.param(own, marks=pytest.mark.nightly) for own in XSS[1:3])]
)
def test_refusals_are_text(service, browser, word):
    with tab(browser, service) as own:
        page = own.page
        own.go("/new")
        page.get_by_label("Action 1", exact=True).fill(word)
        page.get_by_label("Action 2", exact=True).fill(word)
        page.locator("#found .note").get_by_text("different").wait_for()
        page.get_by_label("Action 2", exact=True).fill("other")
        page.get_by_label("Action 1 earns in outcome 1").fill(word)
        page.locator("#found .note").get_by_text("must be a number").wait_for()
        page.get_by_label("Name").fill("refused")
        page.locator("#policy").fill(word)
        page.get_by_role("button", name="Create the study").click()
        page.get_by_role("alert").wait_for()
        assert page.locator("#policy").input_value() == word
        assert page.get_by_label("Action 1 earns in outcome 1").input_value() == word
        own.go("/new?from=file")
        page.get_by_label("Or its content").fill(json.dumps({word: word}))
        page.get_by_label("Name").fill("refused")
        page.get_by_role("button", name="Create the study").click()
        page.get_by_role("alert").wait_for()


def test_labels_of_tokens_and_names_from_notebooks_are_text(service, browser):
    from partial_monitoring import Learner

    written = Learner("apple_tasting")._spec.to_dict()
    names = ("<img src=x onerror=window.xss=1>", '"><b>bold</b>')
    for name in names:
        service.database.study(name, written)

    class Other:
        address = service.address
        token = service.tokens.create("admin", label="<i>anna</i>")[1]

    with tab(browser, Other) as own:
        own.go("/")
        text = own.page.locator("body").inner_text()
        assert "<i>anna</i>" in text
        for name in names:
            assert name in text
        own.page.get_by_role("link", name=names[0]).click()
        assert own.page.locator("h1").inner_text() == names[0]
        assert own.page.get_by_role("link", name=names[1]).count() == 0  # no address has a slash


def test_hostile_addresses_are_text(service):
    for path in (
        "/studies/%3Cscript%3Ewindow.xss=1%3C%2Fscript%3E",
        "/?done=%3Cscript%3E",
        "/login?next=%22%3E%3Cscript%3E",
        "/new?from=%3Cscript%3E&game=%3Cscript%3E",
        "/new?from=name&game=%3Cscript%3E",
        "/studies/x?context=%3Cscript%3E&before=%3Cscript%3E&show=%3Cscript%3E",
        "/%3Cscript%3E",
    ):
        status, _, text = request(service, "GET", path, headers={"Accept": "text/html"})
        assert status < 500
        assert "<script>" not in text


def test_a_named_study_with_hostile_query_shows_it_as_text(service):
    api(service, "/v1/studies", {"name": "query", "game": {"named": "survey"}})
    status, _, text = request(service, "GET", "/studies/query?context=%3Cscript%3Ex")
    assert status == 422
    assert "<script>x" not in text
