"""The page in a real browser: the whole journey, by keyboard, on a phone, in the dark."""

import re

import pytest

from tests.service.page_site import played, tab


@pytest.fixture
def service(page_service):
    return page_service


@pytest.fixture
def browser(page_browser):
    return page_browser


def test_from_a_table_to_an_export(service, browser):
    with tab(browser, service) as own:
        page = own.page
        page.get_by_role("link", name="From a table").click()
        found = page.locator("#found")
        found.get_by_text("Easy: regret").wait_for()
        page.get_by_label("Action 2 shows in outcome 1").fill("same")
        page.get_by_label("Action 2 shows in outcome 2").fill("same")
        found.get_by_text("Hopeless:").wait_for()
        found.get_by_text("What to measure").wait_for()
        page.get_by_label("Action 2 shows in outcome 1").fill("good")
        found.get_by_text("Easy: regret").wait_for()
        page.get_by_role("button", name="Add an action").click()
        page.get_by_label("Action 3 earns in outcome 1").fill("-5")
        page.get_by_label("Action 3", exact=True).fill("throw away")
        page.get_by_role("button", name="Add an outcome").click()
        page.get_by_role("button", name="Remove the last outcome").click()
        found.get_by_text("throw away").first.wait_for()
        page.get_by_label("Name").fill("fruit")
        page.get_by_role("button", name="Create the study").click()
        assert own.path == "/studies/fruit"
        page.get_by_text("The study is there").wait_for()
        assert page.locator("#charts").is_hidden()

        for _ in range(3):
            page.get_by_role("button", name="Ask for a decision").click()
            assert own.path.startswith("/studies/fruit/decisions/")
            page.get_by_text("verified", exact=True).wait_for()
            page.get_by_role("button", name="Tell", exact=True).click()
            page.get_by_text("Told; what is known").wait_for()
            page.get_by_role("link", name="fruit").click()
        page.locator("#charts canvas").first.wait_for()
        assert page.locator("#charts canvas").count() == 4
        page.get_by_role("button", name="logarithmic").click()
        page.get_by_role("button", name="time").click()
        page.get_by_role("link", name="Recompute and verify").click()
        page.get_by_text("Recomputed from the log just now").wait_for()
        page.get_by_role("link", name="fruit").click()

        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Paused:").wait_for()
        assert page.locator(".tag.paused").is_visible()
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_text("is paused").wait_for()
        own.go("/studies/fruit")
        page.get_by_role("button", name="Resume").click()
        page.get_by_text("Running again").wait_for()

        page.locator("summary", has_text="Export").click()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Decisions · CSV").click()
        text = waiting.value.path().read_text()
        assert waiting.value.suggested_filename == "fruit-decisions.csv"
        assert len(text.splitlines()) == 4


def test_the_page_follows_by_itself(service, browser):
    with tab(browser, service) as own:
        own.go("/studies/pricing")
        page = own.page
        tile = page.locator(".tiles dd").first
        before = tile.text_content()
        page.locator("details", has_text="What the columns mean").first.locator("summary").click()
        with page.expect_response("**live=1"):
            pass
        link = page.locator("#latest a").filter(has_text="Open")
        link.focus()
        played(service, "pricing", 10)
        page.locator(".tiles div").first.filter(has_not_text=before).wait_for()
        assert page.locator("details[open]").count() == 1
        assert page.evaluate("document.activeElement.textContent") == "Open"
        own.go("/")
        row = page.locator("tr", has_text="pricing").locator("td").nth(1)
        now = row.text_content()
        played(service, "pricing", 10)
        page.locator("tr", has_text="pricing").filter(has_not_text=now).wait_for()


def test_contexts_are_chosen(service, browser):
    with tab(browser, service) as own:
        own.go("/studies/survey")
        page = own.page
        page.locator("#ask-context").select_option("answers")
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_text("in context answers").wait_for()
        page.get_by_role("button", name="No answer will come").click()
        page.get_by_text("Closed without an answer").wait_for()
        own.go("/studies/survey")
        page.locator("#context").select_option("silent")
        page.wait_for_url("**context=silent")


def test_numbers_are_told(service, browser):
    with tab(browser, service) as own:
        own.go("/studies/linear_bandit")
        page = own.page
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_label("Observation").fill("nonsense")
        page.get_by_role("button", name="Tell", exact=True).click()
        assert page.locator("h1").text_content() == "Not possible"
        page.go_back()
        page.get_by_label("Observation").fill("0.25")
        page.get_by_role("button", name="Tell", exact=True).click()
        page.get_by_text("Told; what is known").wait_for()
        page.get_by_role("link", name="linear_bandit").click()
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_role("button", name="It was not played").click()
        page.get_by_text("Cancelled:").wait_for()


def reached(page, text, most=60):
    """Press Tab until something with this text has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        active = page.evaluate("document.activeElement.textContent + document.activeElement.id")
        if re.search(text, active):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", text
            return
    raise AssertionError(f"{text} was not reached")


def test_by_keyboard_alone(service, browser):
    with tab(browser, service, login=False) as own:
        page = own.page
        own.go("/login")
        page.keyboard.type(service.token)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{service.address}/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.keyboard.press("Enter")
        reached(page, "^pricing")
        page.keyboard.press("Enter")
        page.wait_for_url("**/studies/pricing")
        reached(page, "^Export")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert "CSV" in page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Escape")
        assert page.locator(".menu[open]").count() == 0
        assert "Export" in page.evaluate("document.activeElement.textContent")
        reached(page, "^Ask for a decision")
        page.keyboard.press("Enter")
        page.wait_for_url("**/decisions/**")
        page.locator("#observation:focus").wait_for()
        page.keyboard.press("ArrowDown")
        reached(page, "^Tell$", 3)
        page.keyboard.press("Enter")
        page.get_by_text("Told; what is known").wait_for()


PATHS = (
    *("/", "/new", "/new?from=file", "/new?from=name", "/new?from=name&game=dynamic_pricing"),
    *("/studies/pricing", "/studies/survey", "/studies/pricing/decisions/3"),
    *("/api", "/studies/pricing/change", "/studies/pricing/history", "/studies/none"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(service, browser, scheme):
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
    with tab(browser, service, color_scheme=scheme, **phone) as own:
        for path in PATHS:
            own.go(path)
            wide = own.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, path
        paper = own.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]


def test_without_scripts(service, browser):
    with tab(browser, service, login=False, java_script_enabled=False) as own:
        page = own.page
        own.go("/login?next=/studies/pricing")
        page.get_by_label("Token").fill(service.token)
        page.get_by_role("button", name="Log in").click()
        assert own.path == "/studies/pricing"
        assert page.locator("#charts").is_hidden()
        page.get_by_role("button", name="Ask for a decision").click()
        page.get_by_role("button", name="Tell", exact=True).click()
        own.go("/new")
        page.get_by_label("Name").fill("plain")
        page.get_by_role("button", name="Create the study").click()
        assert own.path == "/studies/plain"
        own.context.clear_cookies()
        own.page = own.context.new_page()


def test_another_site_cannot_send_a_form(service, browser):
    with tab(browser, service) as own:
        version = service.engine.hosted("pricing").version
        evil = own.context.new_page()
        port = service.address.rpartition(":")[2]
        evil.goto(f"http://localhost:{port}/login")  # another site for a browser
        send = """() => {
          const form = document.createElement("form");
          form.method = "post";
          form.action = "/studies/pricing/ask";
          document.body.append(form);
          form.submit();
        }"""
        with evil.expect_navigation():
            evil.evaluate(send)
        evil.wait_for_load_state()
        answer = evil.evaluate(
            f"""() => fetch("{service.address}/studies/pricing/ask",
                {{method: "POST", credentials: "include", mode: "no-cors"}})
                .then(() => "sent", () => "refused")"""
        )
        assert answer == "refused"
        evil.close()
        assert service.engine.hosted("pricing").version == version


def test_logging_out(service, browser):
    with tab(browser, service) as own:
        page = own.page
        other = own.context.new_page()
        other.goto(f"{service.address}/studies/pricing")
        page.get_by_role("button", name="Log out").click()
        assert own.path == "/login"
        own.go("/studies/pricing")
        assert own.path == "/login"
        other.wait_for_url("**/login**")  # a page that follows notices
