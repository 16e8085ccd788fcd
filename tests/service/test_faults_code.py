"""Texts that want to be statements, and secrets that must stay where they are."""

from __future__ import annotations

import ast
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import partial_monitoring
from partial_monitoring.service.http.routes import ROUTES
from tests.service import crash
from tests.service.http_client import Client

server = pytest.importorskip("partial_monitoring.service.server", exc_type=ImportError)

SOURCE = Path(partial_monitoring.__file__).parent

FILES = sorted(path for room in ("storage", "service") for path in (SOURCE / room).rglob("*.py"))

SQL = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|PRAGMA|EXECUTE|PREPARE|WHERE|VALUES|LIMIT)\b"
)

CHECKED = {("sqlite.py", "synchronous"), ("log.py", "names")}
"""What is put into statements after it was compared with a list of words, or names columns."""


class Statements(ast.NodeVisitor):
    """Finds statements into which something is put that is no constant of the program."""

    def __init__(self, path: Path) -> None:
        self._name, self._scopes = path.name, list[ast.AST]()
        self.wrong: list[str] = []
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scopes.append(node)
        self.generic_visit(node)
        self._scopes.pop()

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        text = "".join(str(x.value) for x in node.values if isinstance(x, ast.Constant))
        if SQL.search(text):
            self._see(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        left = node.left
        if isinstance(left, ast.Constant) and isinstance(left.value, str | bytes):
            text = left.value if isinstance(left.value, str) else left.value.decode("latin-1")
            if isinstance(node.op, ast.Mod | ast.Add) and SQL.search(text):
                self._see(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        own = node.func
        if isinstance(own, ast.Attribute) and own.attr in ("format", "format_map", "join"):
            text = own.value.value if isinstance(own.value, ast.Constant) else ""
            if isinstance(text, str) and SQL.search(text):
                self._see(node)
        self.generic_visit(node)

    def _see(self, node: ast.expr) -> None:
        self.count += 1
        if not self._fixed(node):
            self.wrong.append(f"{self._name}:{node.lineno}: {ast.unparse(node)}")

    def _fixed(self, node: ast.AST) -> bool:
        """Whether an expression is made of constants, marks and whole numbers."""
        match node:
            case ast.Constant() | ast.Slice():
                return True
            case ast.JoinedStr():
                return all(map(self._fixed, node.values))
            case ast.FormattedValue():
                whole = node.format_spec is not None and ast.unparse(node.format_spec) == "f'd'"
                return whole or self._fixed(node.value)
            case ast.IfExp():
                return self._fixed(node.body) and self._fixed(node.orelse)
            case ast.BinOp(op=ast.Mult(), left=left):  # as many marks as there are values
                return self._fixed(left)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._fixed(left) and self._fixed(right)
            case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=args):
                return all(map(self._fixed, [value, *args]))
            case ast.Attribute(attr=name):
                return name.lstrip("_").isupper()
            case ast.Name(id=name):
                return name.lstrip("_").isupper() or self._local(name)
        return False

    def _local(self, name: str) -> bool:
        """Whether a name of the function is only ever set to what is fixed."""
        if (self._name, name) in CHECKED or not self._scopes:
            return (self._name, name) in CHECKED
        found = [
            own.value
            for own in ast.walk(self._scopes[-1])
            if isinstance(own, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == name for target in own.targets)
        ]
        return bool(found) and all(map(self._fixed, found))


EXCEPTIONS = {
    "postgres.py: SETTINGS": r"SELECT set_config",  # its loop is over constants
    "postgres.py: append": r"EXECUTE pm_append",  # %d, and a literal that the driver has escaped
}


def test_nothing_is_put_into_statements() -> None:
    count, wrong = 0, list[str]()
    for path in FILES:
        found = Statements(path)
        found.visit(ast.parse(path.read_text()))
        count += found.count
        wrong += found.wrong
    left = [own for own in wrong if not any(re.search(x, own) for x in EXCEPTIONS.values())]
    assert left == []
    assert count > 10


MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "subprocess", "pty"}
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


def test_no_text_is_run() -> None:
    """No pickle, eval, shell: memory packs its own events, slow studies have a process."""
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            names: set[str | None] = set()
            if isinstance(node, ast.Import):
                names = {own.name.partition(".")[0] for own in node.names} & MODULES
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").partition(".")[0]} & MODULES
            elif isinstance(node, ast.Call):
                own = node.func
                name = own.id if isinstance(own, ast.Name) else getattr(own, "attr", "")
                on = own.value if isinstance(own, ast.Attribute) else None
                if on is None or (isinstance(on, ast.Name) and on.id in ("os", "builtins")):
                    names = {name} & CALLS
                names |= {own.arg for own in node.keywords if own.arg in ("shell", "allow_pickle")}
            wrong += [f"{path.name}: {name}" for name in names]
    assert sorted(wrong) == ["apart.py: subprocess", "memory.py: pickle"]


# -- statements that arrive ------------------------------------------------------------------------

INJECTED = [
    "'; DROP TABLE pm_event; --",
    "' OR '1'='1",
    '"; DELETE FROM pm_token; --',
    "\\'; DROP TABLE pm_event; --",
    "$$; DROP TABLE pm_event; $$",
    "'); UPDATE pm_token SET role = 'admin'; --",
    "x' UNION SELECT hash FROM pm_token --",
    "%s %(x)s {0} ? $1 :name @name",
    "E'\\047; SELECT pg_sleep(9)'",
    "\u02bc; DROP TABLE pm_event; \uff07",
    "é\\u0027 OR 1=1 -- 𝕏",
]

NUL = "a\x00'; DROP TABLE pm_event; --"


@pytest.fixture(params=["sqlite", "postgres"])
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    address = f"sqlite:///{tmp_path}/shop.db"
    if request.param == "postgres":
        address = request.getfixturevalue("crashable").new("injected")
    with server.started(address) as found:
        yield found


def test_statements_in_every_field_are_text(serving: Any) -> None:
    """They are kept as they came, or refused; nothing else happens."""
    client = Client(serving.address, serving.token)
    rewards = [[1.0] + [0.0] * (len(INJECTED) - 1) for _ in INJECTED]
    table = {
        "rewards": rewards,
        "signals": [INJECTED for _ in INJECTED],
        "actions": [f"a{text}" for text in INJECTED],
        "outcomes": INJECTED,
    }
    client.create("table", {"table": table}, allow_hopeless=True)
    client.create("contexts", {"named": "segment_pricing"})
    for number, text in enumerate(INJECTED):
        meta = {text: [text, {"more": text}]}
        key = text if text.isascii() else f"k{number}"
        [own] = client.ask("table", meta=meta, key=key)
        assert client.ask("table", key=key)[0]["id"] == own["id"]
        told = {"decision": own["id"], "observation": text, "key": f"t{key}"}
        reply = client("POST", "/v1/studies/table/tell", told)
        assert reply.json["answers"][0]["result"] == "told", reply
        event = serving.engine.hosted("table").study.asked(own["id"])
        assert (event["meta"], event["key"]) == (meta, key)
        assert serving.engine.hosted("table").study.closing(own["id"])["observation"] == text
        refused = client("POST", "/v1/studies/contexts/ask", {"context": text})
        assert refused.status == 422
        given = {"name": text, "game": {"named": "dynamic_pricing"}}
        assert client("POST", "/v1/studies", given).status == 422
        reason = {"decision": own["id"], "observation": INJECTED[0], "reason": text}
        assert client("POST", "/v1/studies/table/amend", reason).status == 200
        made = client("POST", "/v1/tokens", {"role": "read", "label": text})
        assert made.status == 201
        for path in ("decisions/{}", "decisions/{}/why", "off-policy?action={}"):
            from urllib.parse import quote

            path = f"/v1/studies/table/{path.format(quote(text, safe=''))}"
            assert client("GET", path).status < 500
    rows = client("GET", "/v1/tokens").json["tokens"]
    assert [row["label"] for row in rows[1:]] == INJECTED
    assert {row["role"] for row in rows[1:]} == {"read"}
    assert client("GET", "/v1/studies/table/status").status == 200
    assert serving.engine.ready


def test_a_text_that_ends_early_is_text(serving: Any) -> None:
    """PostgreSQL cannot keep the letter NUL: it is refused, and holds nobody up."""
    client = Client(serving.address, serving.token)
    client.create("pricing")
    reply = client("POST", "/v1/studies/pricing/ask", {"meta": {"note": NUL}, "key": "one"})
    assert reply.status in (200, 422), reply
    if reply.status == 200:
        name = reply.json["decisions"][0]["id"]
        assert serving.engine.hosted("pricing").study.asked(name)["meta"] == {"note": NUL}
    assert client("POST", "/v1/studies/pricing/ask", {"key": NUL}).status == 422
    reply = client("POST", "/v1/tokens", {"role": "read", "label": NUL})
    assert reply.status in (201, 422), reply
    reply = client("POST", "/v1/studies/pricing/reset", {"reason": NUL})
    assert reply.status in (200, 422), reply
    assert client.ask("pricing", key="two")[0]["repeated"] is False
    assert serving.engine.ready


# -- secrets -----------------------------------------------------------------------------------


def test_no_secret_is_left_anywhere(farm: crash.Farm, tmp_path: Path) -> None:
    """After every path was used, and misused: not in the log, the database or the processes."""
    own = farm.serving(tmp_path, f"sqlite:///{tmp_path}/shop.db")
    own.words += ["--access-log"]
    own.start()
    own.ready()
    first = own.token
    client = Client(own.address, first)
    client.create("pricing")
    second = client("POST", "/v1/tokens", {"role": "play"}).json["token"]
    answers = []
    for route in ROUTES:
        path = route.path.replace("{study}", "pricing")
        path = re.sub(r"\{\w+\}", second, path)
        for token in (second, first):
            for given in (path, f"{path}?token={token}", f"{path}/{token}"):
                body = None if route.method == "GET" else {"key": token, token: token}
                headers = {"Cookie": f"pm_token={token}", "X-Form-Token": token, "Referer": token}
                answers.append(client(route.method, given, body, token=token, headers=headers))
    for path in ("/", "/login", f"/login?{second}", "/studies/pricing", f"/{second}"):
        answers.append(client("GET", path))
    answers.append(client("POST", "/login", f"token={second}".encode()))
    lines = Path(f"/proc/{own.pid}/cmdline").read_bytes()
    own.signal(signal.SIGTERM)
    assert own.ended() == 0
    assert " 200 " in own.printed
    said = re.sub(r"login#\S+|PM_TOKEN=\S+", "", own.printed)  # shown once, at the first start
    for token in (first, second):
        secret = token.split("_", 2)[2]
        assert secret not in said
        assert secret.encode() not in lines
        for path in tmp_path.glob("shop.db*"):
            assert secret.encode() not in path.read_bytes(), path
        for reply in answers:
            assert secret not in reply.headers.get("location", "")
            assert "?" not in reply.headers.get("location", "")
    for reply in answers:
        assert reply.status < 500, reply
        if reply.headers.get("content-type") == "application/problem+json":
            assert len(json.loads(reply.body)["detail"]) < 2000
