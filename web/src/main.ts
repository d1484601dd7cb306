// The page: its parts in order, drawn when what they show has changed.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { Chooser } from "./chooser";
import type { Report } from "./data";
import { Differences } from "./differences";
import { button, h } from "./dom";
import { drawPictures, drawSheets } from "./extras";
import { count, countBy, date, plural } from "./format";
import { setPrinting, theme } from "./look";
import { Panels } from "./panels";
import { Recipes } from "./recipes";
import { openSource, type Connection } from "./source";
import { Tables } from "./tables";
import { View } from "./view";

const view = new View();
const tables = new Tables(view),
  chooser = new Chooser(view),
  panels = new Panels(view);
const differences = new Differences(view),
  recipes = new Recipes(view);
const pictures = h("div", { class: "pictures" }),
  sheets = h("div");

const section = (id: string, title: string, ...body: Node[]) =>
  h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...body);
const [curves, probe, chattering] = panels.elements;
const tablesSection = section("tables", "Tables", tables.element);
const differencesSection = section("seeds", "Seed by seed", differences.element);
const recipesSection = section("recipes", "Recipes and environments", recipes.element);
const picturesSection = section("pictures", "Pictures", pictures);
const sheetsSection = section("sheets", "Tables of the lab", sheets);
const inOrder = [
  tablesSection,
  curves,
  probe,
  chattering,
  differencesSection,
  picturesSection,
  sheetsSection,
  recipesSection,
];

const summary = h("p", { class: "summary" });
const connection = h("p", { class: "connection", role: "status" });
const nav = h("nav", { "aria-label": "Sections" });
const nothing = h("div", { class: "nothing", hidden: true });
const loading = h("p", { class: "empty", role: "status" });
const themeButton = button("", {
  class: "theme",
  click: () => setTheme(theme().name === "dark" ? "light" : "dark"),
});

const story = h(
  "div",
  { hidden: true },
  tablesSection,
  h(
    "div",
    { class: "explore" },
    h("aside", { "aria-label": "Choose runs" }, chooser.element),
    h("div", { class: "stage" }, curves, probe, chattering),
  ),
  differencesSection,
  picturesSection,
  sheetsSection,
  recipesSection,
);

document.body.prepend(
  h("a", { class: "skip", href: "#main" }, "Skip to the results"),
  h(
    "header",
    {},
    h("div", { class: "masthead" }, h("h1", {}, "sadam"), summary, connection, themeButton),
    nav,
  ),
  h("main", { id: "main", tabindex: -1 }, loading, nothing, story),
);
// What is there in a moment need not be announced.
setTimeout(() => {
  if (!view.report) loading.textContent = "Loading …";
}, 500);

function setTheme(name: "light" | "dark"): void {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("sadam theme", name);
  } catch {
    /* Then a reload forgets it. */
  }
  redraw();
}

/** Everything that holds colours. */
function redraw(): void {
  themeButton.textContent = theme().name === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", theme().name === "dark" ? "Light colours" : "Dark colours");
  for (const part of ["report", "choice", "drawing"] as const) view.change(part);
}

function drawHeader(report: Report): void {
  document.title = `sadam: ${report.root}`;
  const states = countBy(report.runs.map(({ state }) => state));
  const parts = [...states].map(([state, n]) => `${count(n)} ${state}`).join(", ");
  summary.replaceChildren(
    h("b", {}, report.root),
    " · ",
    plural(report.runs.length, "run"),
    states.size > 0 ? ` (${parts})` : "",
    h("span", { class: "made" }, ` · ${report.program}${report.live ? "" : `, ${date(report.made)}`}`),
  );
  tablesSection.hidden = report.tables.length === 0;
  differencesSection.hidden = report.tables.length === 0;
  picturesSection.hidden = report.pictures.length === 0;
  sheetsSection.hidden = report.sheets.length === 0;
  loading.hidden = true;
  story.hidden = false;
  const empty = report.runs.length === 0;
  nothing.hidden = !empty;
  document.querySelector<HTMLElement>(".explore")!.hidden = empty;
  recipesSection.hidden = empty;
  if (empty)
    nothing.replaceChildren(
      h("h2", {}, "No runs yet"),
      h(
        "p",
        {},
        "There are no runs in ",
        h("b", {}, report.root),
        ". A small reproduction takes a minute or two:",
      ),
      h("pre", {}, `sadam reproduce table1 --quick --root ${shellWord(report.root)}`),
      h("p", {}, report.live ? "They appear here as soon as they start." : "Then make this page again:"),
      ...(report.live ? [] : [h("pre", {}, `sadam report ${shellWord(report.root)} -o report.html`)]),
    );
}

const shellWord = (text: string) => (/^[\w./+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

function drawNav(): void {
  const shown = inOrder.filter((each) => !each.hidden && !each.closest("[hidden]"));
  const links = shown.map((each) => h("a", { href: `#${each.id}` }, each.querySelector("h2")!.textContent));
  if (
    links.map((link) => link.textContent).join() !==
    Array.from(nav.children, (each) => each.textContent).join()
  )
    nav.replaceChildren(...links);
}

function showConnection(state: Connection, problem: string): void {
  const texts: Record<Connection, string> = {
    file: "",
    connecting: "connecting …",
    live: "live",
    lost: problem,
  };
  if (connection.textContent !== texts[state]) connection.textContent = texts[state];
  connection.dataset.state = state;
}

let drawnTheme = "";
view.listen((parts) => {
  const report = view.report;
  if (!report) return;
  if (parts.has("report")) {
    drawHeader(report);
    const state = theme().name + JSON.stringify([report.pictures, report.sheets]);
    if (state !== drawnTheme) {
      drawnTheme = state;
      drawPictures(pictures, report.pictures);
      drawSheets(sheets, report.sheets);
    }
  }
  if (parts.has("report") || parts.has("choice")) {
    source.want(report.runs.filter((run) => view.isChosen(run.id)).map((run) => run.id));
    tables.draw();
    differences.draw();
    chooser.draw();
  }
  panels.draw();
  if (parts.has("report") || parts.has("choice") || parts.has("details")) recipes.draw();
  drawNav();
});

// The theme that was chosen here, or else the system's.
const system = matchMedia("(prefers-color-scheme: dark)");
function showTheme(): void {
  let kept = null;
  try {
    kept = localStorage.getItem("sadam theme");
  } catch {
    /* Then nobody has chosen. */
  }
  document.documentElement.dataset.theme = kept ?? (system.matches ? "dark" : "light");
}
showTheme();
system.addEventListener("change", () => {
  showTheme();
  redraw();
});

const print = (on: boolean) => {
  setPrinting(on);
  tables.fit(on);
  panels.draw();
  differences.draw();
};
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));

const source = openSource({
  report: (report) => view.setReport(report),
  details: (id, details) => view.setDetails(id, details),
  connection: showConnection,
});
redraw();
