"""The tool of these tests: recorded runs, statistics over seeds, pages and how a figure on one is checked.

A figure may be off by half a unit of its last printed digit, no more. Intervals are Student's t.
"""

import csv
import functools
import math
import re
import statistics
import tomllib
from collections import defaultdict, namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"


# ---- what is recorded ----


@functools.cache
def rows(name):
    """The rows of docs/results/NAME.csv, as dictionaries."""
    with open(RESULTS / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@functools.cache
def recipe(name):
    return tomllib.loads((ROOT / f"recipes/{name}.toml").read_text(encoding="utf-8"))["table"]


def paper(table, row, column="cifar100", figure="paper"):
    """The paper's number, which the recipe has: an accuracy, if nothing else is asked for."""
    return next(r for r in recipe(table)["row"] if r["key"] == row)[figure][column]


def titles(table):
    """The key of each row of a recipe by its title, without what stands in brackets."""
    return {re.sub(r" \(.*", "", row["title"]): row["key"] for row in recipe(table)["row"]}


@functools.cache
def finished(file):
    """The finished runs of FILE-runs.csv by COLUMN/ROW; they are named TABLE/COLUMN/ROW/seed-N."""
    found = defaultdict(list)
    for run in rows(f"{file}-runs"):
        if run["state"] == "finished":
            found[run["name"].split("/", 1)[1].rsplit("/", 1)[0]].append(run)
    return dict(found)


def runs(*places):
    """The runs at FILE:COLUMN/ROW."""
    return [run for place in places for run in finished(place.split(":")[0])[place.split(":")[1]]]


def accuracies(run):
    """By epoch."""
    return [float(value) for value in run["accuracies"].split()]


# ---- statistics; a series is a number for each seed ----


def series(figure, *places):
    """A column of the runs at these places, or a function of a run; runs of one seed are averaged."""
    by_seed = defaultdict(list)
    for run in runs(*places):
        by_seed[int(run["seed"])].append(figure(run) if callable(figure) else float(run[figure]))
    return {seed: statistics.fmean(values) for seed, values in by_seed.items()}


def less(a, b):
    """Seed by seed, where both have the seed."""
    return {seed: a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())}


def over(*several):
    """The mean of several series, seed by seed."""
    return {seed: mean([one[seed] for one in several]) for seed in several[0]}


def mean(values):
    return statistics.fmean(values.values() if isinstance(values, dict) else values)


def deviation(values):
    return statistics.stdev(values.values() if isinstance(values, dict) else values)


def ends(values):
    values = list(values)
    return min(values), max(values)


@functools.cache
def t_quantile(freedom):
    """Student's t, the 0.975 quantile: its density, integrated by Simpson's rule and bisected."""
    scale = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
    low, high, steps = 0.0, 13.0, 1000
    while high - low > 1e-9:
        middle = (low + high) / 2
        h = middle / steps
        density = [(1 + (i * h) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(steps + 1)]
        area = h / 3 * (density[0] + density[-1] + 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2]))
        low, high = (middle, high) if scale * area < 0.475 else (low, middle)
    return low


def interval(values):
    """Mean, and half the 95 % interval; a pair is that already."""
    if isinstance(values, tuple):
        return values
    return mean(values), t_quantile(len(values) - 1) * deviation(values) / math.sqrt(len(values))


def rank_correlation(x, y):
    """Spearman's, with the ends of its 95 % interval (Bonett and Wright)."""

    def ranks(values):
        places = defaultdict(list)
        for place, value in enumerate(sorted(values)):
            places[value].append(place)
        return [statistics.fmean(places[value]) for value in values]

    r = statistics.correlation(ranks(x), ranks(y))
    width = 1.959964 * math.sqrt((1 + r * r / 2) / (len(x) - 3))
    return r, math.tanh(math.atanh(r) - width), math.tanh(math.atanh(r) + width)


# ---- printed numbers ----

# A sign may be − or -. 1e-4 and 90,260 are one number, 0.21–0.29 are two; k8 is a name.
NUMBER = r"(?<![\w.,])(?:(?<![\w)])[+−-])?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+−-]?\d+)?"


def numbers_in(text):
    return re.findall(NUMBER, text)


def value_of(printed):
    return float(printed.replace("−", "-").replace(",", ""))


def agrees(printed, value):
    """Whether this is how a computed number is printed."""
    digits, _, power = printed.replace("−", "-").partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(value_of(printed) - value) <= unit / 2 + 1e-9 * max(1.0, abs(value))


def flat(values):
    """Plain numbers; a series stands for its mean ± half its interval."""
    for value in values:
        if isinstance(value, dict):
            yield from interval(value)
        elif isinstance(value, (tuple, list)):
            yield from flat(value)
        elif value is not None:
            yield float(value)


# ---- pages ----

Table = namedtuple("Table", "heading span head body")
NO_TEXT = re.compile(r"```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)", re.DOTALL)  # code, comments, links


class Page:
    """A text with tables, and the spans of it that have been checked or need not be."""

    def __init__(self, path):
        self.path = path
        self.text = (ROOT / path).read_text(encoding="utf-8")
        self.checked = [match.span() for match in NO_TEXT.finditer(self.text)]
        self.tables = []
        headings = [(m.start(), m[1]) for m in re.finditer(r"^#+ (.*)", self.text, re.M)]
        for match in re.finditer(r"(?:^\|.*\n?)+", self.text, re.M):
            heading = [title for start, title in headings if start < match.start()][-1:]
            lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
                     for line in match[0].splitlines()]
            self.tables.append(Table("".join(heading), match.span(), lines[0], lines[2:]))

    def table(self, heading, first):
        """The table under this heading (its beginning will do) whose first column is called so."""
        found = [t for t in self.tables if t.heading.startswith(heading) and t.head[0] == first]
        if len(found) != 1:
            raise LookupError(f"{self.path} has {len(found)} tables '{first}' under '{heading}'")
        self.checked.append(found[0].span)
        return found[0]

    def numbers(self, sentence):
        """The numbers at {} in a sentence that the page has once, wherever it breaks lines."""
        pattern = r"\s+".join(re.escape(word).replace(r"\{\}", f"({NUMBER})") for word in sentence.split())
        found = list(re.finditer(pattern, self.text))
        if len(found) != 1:
            raise LookupError(f"{self.path} has {len(found)} times: {sentence}")
        self.checked.append(found[0].span())
        return found[0].groups()

    def unchecked(self):
        """Numbers with a decimal point that nothing has checked, with what is around them."""
        text = list(self.text)
        for start, end in self.checked:
            text[start:end] = [c if c == "\n" else "\0" for c in text[start:end]]
        return re.findall(r"[^\n\0]{0,30}\d\.\d[^\n\0]{0,20}", "".join(text))


@functools.cache
def benchmark(file):
    return Page(f"docs/results/{file}.txt")


def printed(file, table, label, column):
    """The numbers in a cell that a benchmark printed, of the first table whose heading begins or ends so."""
    for found in benchmark(file).tables:
        if found.heading.startswith(table) or found.heading.endswith(" " + table):
            row = next(row for row in found.body if row[0] == label)
            return [value_of(number) for number in numbers_in(row[found.head.index(column)])]
    raise LookupError(f"{file}.txt has no table '{table}'")


class Check:
    """A page, of which one figure after the other is compared."""

    def __init__(self, case, path):
        self.case, self.page = case, Page(path)

    def compare(self, where, said, *values):
        """The numbers that the page has there are these."""
        values = list(flat(values))
        wrong = [f"{s} is {v:.6g}" for s, v in zip(said, values) if not agrees(s, v)]
        if len(said) != len(values):
            wrong = [f"it says {said}, computed are {values}"]
        with self.case.subTest(f"{self.page.path}: {where}"):
            if wrong:
                self.case.fail("; ".join(wrong))

    def say(self, sentence, *values):
        """The numbers at {} in this sentence are these."""
        self.compare(sentence, self.page.numbers(sentence), *values)

    def table(self, heading, first, values_of):
        """VALUES_OF(*cells) gives what is in a row but for its first cell; None where there is no number."""
        for row in self.page.table(heading, first).body:
            values = values_of(*row)
            self.case.assertEqual(len(values), len(row) - 1, row)
            for cell, value in zip(row[1:], values):
                self.compare(f"{heading}: {row[0]}: {cell}", numbers_in(cell), value)

    def among(self, where, said, pool):
        """Each of these numbers is one of many."""
        with self.case.subTest(f"{self.page.path}: {where}"):
            strange = [s for s in said if not any(agrees(s, value) for value in pool)]
            if strange:
                self.case.fail(f"{strange} are not in docs/results")

    def given(self, *snippets):
        """Settings and versions, which no run has found."""
        for snippet in snippets:
            self.page.numbers(snippet)


def page(case_class, path, whole=True):
    """Makes a test of a function that checks a page. Of a whole one no number with a point may be left."""

    def add(function):
        def test(case):
            check = Check(case, path)
            function(check)
            left = check.page.unchecked() if whole else []
            with case.subTest(f"{path}: every figure"):
                if left:
                    case.fail("nothing checks\n" + "\n".join(left))

        setattr(case_class, f"test_{function.__name__}", test)
        return function

    return add
