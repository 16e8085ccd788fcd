// What a page does by itself: log in from an address, follow changes, edit the table of a game.
(() => {
  const PERIOD = 2000, PAUSE = 250; // milliseconds between looks, and after the last key

  // The token behind # never reaches a server's log: it is typed into the form and sent from there.
  const login = document.getElementById("login");
  function enter() {
    if (!location.hash.startsWith("#pm_")) return;
    login.elements.token.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
    login.submit();
  }
  if (login) {
    addEventListener("hashchange", enter);
    enter();
  }

  // Times as the reader counts them.
  function ago(seconds) {
    if (seconds < 5) return "just now";
    for (const [size, word] of [[60, "s"], [3600, "min"], [86400, "h"], [Infinity, "days"]])
      if (seconds < size) return `${Math.floor(seconds / { s: 1, min: 60, h: 3600, days: 86400 }[word])} ${word} ago`;
    return "";
  }
  function times(root = document) {
    for (const own of root.querySelectorAll("time")) {
      const at = new Date(own.dateTime), past = (Date.now() - at) / 1000;
      own.title = at.toLocaleString();
      if (past >= -60) {
        const text = past < 30 * 86400 ? ago(Math.max(past, 0)) : at.toLocaleDateString();
        if (own.textContent !== text) own.textContent = text;
      }
    }
  }
  times();
  setInterval(times, 10000);

  // A table that does not fit can be scrolled with the keyboard.
  const fit = new ResizeObserver((entries) => {
    for (const { target } of entries)
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
  });
  const watch = (root) => root.querySelectorAll(".scroll").forEach((own) => fit.observe(own));
  watch(document);

  document.addEventListener("change", ({ target }) => {
    if (target.matches("[data-send]")) target.form.requestSubmit();
  });
  function shut(but) {
    for (const own of document.querySelectorAll(".menu[open]")) if (!own.contains(but)) own.open = false;
  }
  document.addEventListener("click", ({ target }) => shut(target));
  document.addEventListener("keydown", ({ key }) => {
    const menu = key === "Escape" && document.querySelector(".menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // Parts of a page are replaced by what the server sends: parsed apart, never run.
  const parsed = (text) => new DOMParser().parseFromString(text, "text/html");
  const mark = (own) => own.id || own.getAttribute("href") || own.textContent;

  function swap(text) {
    for (const part of parsed(text).querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id), active = document.activeElement;
      if (!old) continue;
      const inside = old.contains(active) && active !== old;
      if (inside && active.matches("input, select, textarea")) continue; // somebody is choosing
      const opened = [...old.querySelectorAll("details[open] > summary")].map((own) => own.textContent);
      const scrolled = [...old.querySelectorAll(".scroll")].map((own) => own.scrollLeft);
      const fresh = document.importNode(part, true);
      for (const own of fresh.querySelectorAll("details > summary"))
        if (opened.includes(own.textContent)) own.parentElement.open = true;
      old.replaceWith(fresh);
      times(fresh);
      watch(fresh);
      fresh.querySelectorAll(".scroll").forEach((own, i) => (own.scrollLeft = scrolled[i] ?? 0));
      if (inside)
        [...fresh.querySelectorAll("a, button, summary")].find((own) => mark(own) === mark(active))?.focus({ preventScroll: true });
    }
  }

  const live = document.body.dataset.live;
  let tag = "", away = null;
  function connected(yes) {
    if (yes) {
      away?.remove();
      away = null;
    } else if (!away) {
      away = document.createElement("div");
      away.className = "note warn";
      away.setAttribute("role", "status");
      const text = document.createElement("p");
      text.textContent = "The service does not answer; what is shown may be old.";
      away.append(text);
      document.getElementById("main").prepend(away);
    }
  }
  async function look() {
    if (!document.hidden) {
      try {
        const url = live + (live.includes("?") ? "&" : "?") + "live=1";
        const answer = await fetch(url, { cache: "no-store", redirect: "manual", headers: tag ? { "If-None-Match": tag } : {} });
        if (answer.type === "opaqueredirect") return location.reload(); // logged out
        if (answer.status === 200) {
          const first = tag === "";
          tag = answer.headers.get("ETag") ?? "";
          swap(await answer.text());
          if (!first) document.dispatchEvent(new Event("changed"));
        }
        connected(answer.status < 500);
      } catch {
        connected(false);
      }
    }
    setTimeout(look, PERIOD);
  }
  if (live) setTimeout(look, PERIOD);

  // The table of a new game: rows and columns that come and go, and its class while it is typed.
  const maker = document.getElementById("maker");
  if (!maker) return;
  const head = maker.tHead.rows[0], body = maker.tBodies[0];
  const tools = document.getElementById("maker-tools"), found = document.getElementById("found");
  tools.hidden = false;

  function numbered() {
    [...head.cells].slice(1).forEach((own, j) => own.querySelector("input").setAttribute("aria-label", `Outcome ${j + 1}`));
    [...body.rows].forEach((row, i) => {
      row.cells[0].querySelector("input").setAttribute("aria-label", `Action ${i + 1}`);
      [...row.cells].slice(1).forEach((cell, j) => {
        const [earns, shows] = cell.querySelectorAll("input");
        earns.setAttribute("aria-label", `Action ${i + 1} earns in outcome ${j + 1}`);
        shows.setAttribute("aria-label", `Action ${i + 1} shows in outcome ${j + 1}`);
      });
    });
  }
  function emptied(own, label) {
    const copy = own.cloneNode(true);
    copy.querySelectorAll("input").forEach((field) => (field.value = field.matches(".earns") ? "0" : ""));
    if (label) copy.querySelector("input").value = label;
    return copy;
  }
  const grow = {
    row: () => body.append(emptied(body.rows[body.rows.length - 1], `action ${body.rows.length + 1}`)),
    column() {
      head.append(emptied(head.cells[head.cells.length - 1], `outcome ${head.cells.length}`));
      for (const row of body.rows) row.append(emptied(row.cells[row.cells.length - 1]));
    },
  };
  const shrink = {
    row: () => body.rows.length > 2 && body.rows[body.rows.length - 1].remove(),
    column() {
      if (head.cells.length > 2) for (const row of [head, ...body.rows]) row.cells[row.cells.length - 1].remove();
    },
  };
  let waiting = 0, latest = 0;
  function classify() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++latest, sent = new URLSearchParams();
      for (const field of maker.querySelectorAll("input")) sent.append(field.name, field.value);
      sent.append("form_token", maker.closest("form").elements.form_token.value);
      const answer = await fetch("/new/classify", { method: "POST", body: sent }).catch(() => null);
      if (!answer?.ok || mine !== latest) return;
      found.replaceChildren(...document.importNode(parsed(await answer.text()).body, true).childNodes);
    }, PAUSE);
  }
  tools.addEventListener("click", ({ target }) => {
    const { grow: more, shrink: less } = target.dataset;
    if (more) grow[more]();
    if (less) shrink[less]();
    if (more || less) {
      numbered();
      classify();
    }
  });
  maker.addEventListener("input", classify);
  classify();
})();
