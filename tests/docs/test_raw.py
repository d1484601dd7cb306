#!/usr/bin/env python3
"""The files in docs/results: those that others give, what they took, and that every page finds its own."""

import functools
import re
import unittest

from figures import RESULTS, ROOT, agrees, deviation, interval, less, mean, page, rows, runs, series
from recorded import METHODS, at


class Raw(unittest.TestCase):
    def compare(self, row, **values):
        wrong = [f"{column} {row[column]} is {value:.6g}" for column, value in values.items()
                 if not agrees(row[column], value)]
        with self.subTest(", ".join(list(row.values())[:4])):
            if wrong:
                self.fail("; ".join(wrong))

    def test_differences(self):
        """differences.csv is what the runs of Tables 1 and 2 give."""
        names = {"AdamW alone": "adamw", "k=1 and λ=0": "twins", "AdamW": "base", "cosine": "cosine",
                 "Prox-SGD": "prox", "S-Adam k=8, authors, δ=1e-4": "small"}
        names |= {f"S-Adam {label}": name for label, (name, *_) in METHODS.items() if label[:2] == "k="}
        names |= {f"{label[7:]}, matched": f"{name}.matched"
                  for label, name in list(names.items()) if label.startswith("S-Adam ")}
        self.assertGreater(len(rows("differences")), 90)
        for row in rows("differences"):
            method = names[row["method"]]
            other = names.get(row["less"], f"{method}.{row['less']}")
            places = at(row["data"], method), at(row["data"], other)
            found = less(*(series(row["epoch"], *place) for place in places))
            points, half = interval(found)
            self.compare(row, points=points, standard_error=deviation(found) / len(found) ** 0.5,
                         low_95=points - half, high_95=points + half, seeds=len(found),
                         runs=len(runs(*places[0])), runs_less=len(runs(*places[1])))

    def test_tables(self):
        """NAME.csv is what NAME-runs.csv gives."""
        for name in (path.stem.removesuffix("-runs") for path in RESULTS.glob("*-runs.csv")):
            table = rows(name) if (RESULTS / f"{name}.csv").exists() else []
            for row in (row for row in table if row["finished"] == "true"):
                control = "" if row["control"] == "none" else f".{row['control']}"
                place = f"{name}:{row['column']}/{row['method']}{control}"
                best, last = (series(figure, place) for figure in ("best", "last"))
                self.compare(row, seeds=len(best), best_mean=mean(best), best_deviation=deviation(best),
                             last_mean=mean(last), last_deviation=deviation(last))

    def test_links(self):
        """Every page finds its files, and every file has a page."""
        pages = [ROOT / "README.md", RESULTS / "README.md", *(ROOT / "docs").glob("*.md")]
        texts = {path: path.read_text(encoding="utf-8") for path in pages}
        for path, text in texts.items():
            for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
                target = (path.parent / link).resolve() if link else path
                with self.subTest(f"{path.name}: {link}#{anchor}" if anchor else f"{path.name}: {link}"):
                    self.assertTrue(target.exists(), "leads nowhere")
                    if anchor:
                        self.assertIn(anchor, anchors(target.read_text(encoding="utf-8")), "no such heading")
        for path in set(RESULTS.iterdir()) - set(pages):
            with self.subTest(path.name):
                self.assertTrue(any(path.name in text for text in texts.values()), "no page names it")


def anchors(page):
    """Of the headings of a page, as GitHub makes them."""
    found = []
    slugs = []
    for title in re.findall(r"^#+ +(.+?)[ #]*$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.append(f"{slug}-{slugs.count(slug)}" if slug in slugs else slug)
        slugs.append(slug)
    return found


FILES = {
    "Table 1, CIFAR-100 and Imagewoof": ["table1-cifar100", "table1-imagewoof"],
    "Table 2, CIFAR-100 and Imagewoof": ["table2-cifar100", "table2-imagewoof table2-imagewoof-cosine"],
    "learning-rates, CIFAR-100 and Imagewoof": ["learning-rates-cifar100", "learning-rates-imagewoof"],
    "Table 3, Imagewoof, so far": ["table3-imagewoof"],
    "Table 4, Imagewoof, batch 64": ["table4-imagewoof"],
    "Table 3, Imagewoof, stopped": ["table3-imagewoof-stopped"],
    "chattering": ["chatter-cifar100"],
    "brakes, 3 bits, seed 4": ["brakes"],
}


@page(Raw, "docs/results/README.md")
def hours(check):
    def spent(table, *_, on_cpu=False):
        found = [[run for file in files.split() for run in rows(f"{file}-runs")
                  if (run.get("train.device") == "cpu") == on_cpu] for files in FILES.get(table, [table])]
        return [[len(of_file) for of_file in found],
                [sum(float(run[part] or 0) for run in of_file for part in ("time", "evaluate_time")) / 3600
                 for of_file in found]]

    check.table("What the runs took", "table", spent)
    check.table("What the runs took", "table, CPU", functools.partial(spent, on_cpu=True))


if __name__ == "__main__":
    unittest.main()
