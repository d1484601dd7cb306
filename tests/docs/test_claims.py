#!/usr/bin/env python3
"""The paper's claims, its theory, the lab and the audit: their figures are found again in docs/results."""

import math
import re
import unittest
from statistics import median

from figures import (NUMBER, accuracies, agrees, ends, finished, interval, less, mean, numbers_in, page,
                     paper, printed, rank_correlation, rows, runs, series, t_quantile, value_of)
from recorded import C, RATES, W, against, at, best, gain, last, means, rates, rival, tiny


class Claims(unittest.TestCase):
    pass


# ---- the lab ----

LANDSCAPES = ("kinks", "lasso", "max_affine", "chain", "valley")


def landscape(figure, name, optimizer):
    names = {"matched": "AdamW matched", "cosine": "AdamW cosine",
             "one probe along the step": "S-Adam directions=step statistic=residual damping=4"}
    return {int(r["seed"]): float(r[figure]) for r in rows("chatter-landscapes")
            if (r["landscape"], r["optimizer"]) == (name, names.get(optimizer, optimizer))}


def with_gap(figure, part=""):
    """Runs, and the rank correlation with test less training loss, over learning-rates or a part of it."""
    pairs = [(float(r[figure]), float(r["gap"]))
             for place, of_place in finished("learning-rates-cifar100").items() if re.search(part, place)
             for r in of_place if r[figure]]
    return len(pairs), rank_correlation(*zip(*pairs))


@page(Claims, "docs/lab.md")
def lab(check):
    def at_kinks(name, *_):
        name = name.strip("`")
        verdicts = [r["verdict"] for r in rows("brakes-at-kinks") if r["landscape"] == name]
        return [*(verdicts.count(verdict) for verdict in ("softer", "no difference", "harder")),
                *(median(landscape("excess", name, o).values()) for o in ("S-Adam", "matched", "AdamW"))]

    def chatter(name, *_):
        return [mean(landscape("chatter", re.findall("`(.*)`", name)[0], o))
                for o in ("AdamW", "S-Adam", "matched", "cosine", "one probe along the step")]

    def network(label, *_):
        figure = label.split(" ")[0]
        found = [series(figure, f"chatter-cifar100:cifar100/{row}")
                 for row in ("adamw", "sadam-k2", "sadam-k2.matched", "sadam-k8", "sadam-k8.matched")]
        cosine = mean(rates(C, "adamw-cosine", figure)["1e-3"])
        return [*(found if figure == "chatter" else map(mean, found)), None if figure == "flips" else cosine]

    figures = {"mean ρ": "lgi", "mean brake": "brake", "chatter, last epoch": "chatter",
               "signs flipped, last epoch": "flips"}
    check.table("Does the brake act", "landscape", at_kinks)
    check.table("Chattering", "landscape", chatter)
    check.table("Chattering", "", network)
    check.table("Changes of regime", "with the gap in loss",
                lambda name, *_: [with_gap(figures[name])[0], *with_gap(figures[name])[1]])
    check.say("on `valley` ({} to {})",
              [mean(landscape("chatter", "valley", o)) for o in ("S-Adam", "AdamW")])
    check.say("ρ with the gap is {} (S-Adam), {} (residual), {} (step, λ=4) and {} (step, λ=8)",
              [with_gap("lgi", f"/{r}(-cosine)?$")[1][0] for r in ("sadam", "residual", "step4", "step8")])
    check.given("20 seeds, 300 steps, learning rate 0.05:", "of 300 steps, learning rate 0.05, 2026")


# ---- the theory ----


def cases(topic):
    """The numbers of a topic or claim in theory.csv; and small counts."""
    pool = [0, 1, 2]
    for row in (row for row in rows("theory") if row["claim"].startswith(topic)):
        values = [float(row[c]) for c in ("predicted", "measured", "low", "high") if row[c]]
        words = " ".join(row[column] for column in ("statement", "case", "counterexample"))
        pool += [*values, *map(value_of, numbers_in(words))]
        if topic.startswith("proximal"):
            pool += [100 * value for value in values]  # in %
        if topic.startswith("bounds"):
            pool += [v for value in values for v in (1 - value, (value - 1) * math.exp(-2))]
    return pool


def from_theory(check, where, text, topic):
    """Each number is one of the topic's; a value with its interval is that of one case."""
    check.among(where, numbers_in(text), cases(topic))
    for said in re.findall(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]", text):
        found = [row for row in rows("theory") if row["claim"].startswith(topic) and row["low"] and
                 all(agrees(s, float(row[c])) for s, c in zip(said, ("measured", "low", "high")))]
        with check.case.subTest(f"{check.page.path}: {where}: {said}"):
            check.case.assertTrue(found, "no case has this interval")


@page(Claims, "docs/theory.md")
def theory(check):
    for claim, _, predicted, measured, _ in check.page.table("The paper's theory", "claim").body:
        from_theory(check, claim, predicted + " " + measured, claim.strip("`"))
    verdicts = list({r["claim"]: r["verdict"] for r in rows("theory")}.values())
    check.say("{} claims hold, {} in part, {} do not, {} is undecided",
              [verdicts.count(v) for v in ("holds", "holds in part", "does not hold", "undecided")])
    for sentence, topic in (("at λ = 2, ρ = 1/2 the brakes are {} and {}.", "proximal"),
                            ("Δ = 0.1, p = 0.05 it is {}", "samples"),
                            ("smooth landscapes the mean brake is {} or {}, by k alone", "curvature"),
                            ("At the kink of Σ|xᵢ|, ρ is {} (d = 2)", "curvature"),
                            ("(exponent {} to {}), not in 32 ({} to {})", "rate"),
                            ("({}η on `lasso`)", "lyapunov")):
        check.among(sentence, check.page.numbers(sentence), cases(topic))
    check.given("are (0.01, 0.05)-stationary", "Section 4.2's", "Assumption 5.1")


# ---- the audit ----


def audited(measure, directions, statistic, **where):
    """Rows of the audit as the page takes them: all probes, at δ = 0.01."""
    key = {"measure": measure, "directions": directions, "statistic": statistic, "radius": "0.01",
           "probes": "1" if directions == "step" else "8"}
    return [r for r in rows("audit") if all(r[column] == value for column, value in key.items())
            and all(r[column] in values for column, values in where.items())]


def pooled(areas):
    halves = [max(float(r["value"]) - float(r["low"]), float(r["high"]) - float(r["value"])) for r in areas]
    return mean([float(r["value"]) for r in areas]), math.hypot(*halves) / len(areas)


@page(Claims, "docs/audit.md", whole=False)
def audit(check):
    for line in re.findall(r"^((?:sphere|per_tensor|rademacher|step) .*)$", check.page.text, re.M):
        directions, statistic, figures = line.split(maxsplit=2)
        change = [max(float(r["value"]) for r in audited(measure, directions, statistic))
                  for measure in ("loss scale", "learning rate")]
        groups = ({"on": ["landscapes"]}, {"on": ["networks"], "precision": ["float64"]},
                  {"precision": ["float32"]})
        areas = [pooled(audited("area", directions, statistic, **group)) for group in groups]
        check.compare(line, numbers_in(figures.replace("±", "")), areas[:2], areas[2][0],
                      1 if directions == "step" else 8, change)

    kinked = ("kinks", "valley", "lasso", "max_affine", "chain")

    def hidden(estimator, *_):
        def against_each(**where):
            found = audited("area", *estimator.split(), **where)
            return [mean([float(r[column]) for r in found]) for column in ("against_away", "against_twin")]

        def networks(*families):
            return pooled(audited("area", *estimator.split(), precision=["float64"], family=families))[0]

        return [against_each(family=kinked, kinks=["one"], dimension=["2"]),
                against_each(family=kinked, kinks=["corner"]),
                against_each(family=kinked, kinks=["one"], dimension=["100", "10000", "1000000"]),
                against_each(family=["staircase"]), networks("relu"), networks("2 bits", "4 bits", "8 bits")]

    check.table("How to read it", "", hidden)


# ---- the paper, claim by claim ----


def chatter_gain(name, other):
    return less(landscape("chatter", name, "S-Adam"), landscape("chatter", name, other))


def times_adamw(row):
    """Within Table 1."""
    time, base = (series("time", f"table1-cifar100:cifar100/{r}") for r in (row, "adamw"))
    return {seed: time[seed] / base[seed] for seed in time}


def seconds(method):
    """Until it converges; and how many runs do."""
    row = next(r for r in rows("table1-cifar100") if (r["method"], r["control"]) == (method, "none"))
    error = float(row["convergence_seconds_deviation"]) / math.sqrt(int(row["converged_seeds"]))
    return (row["convergence_seconds_mean"], t_quantile(int(row["converged_seeds"]) - 1) * error,
            row["converged_seeds"])


def reached(row, target):
    """In which epochs the runs at batch size 2 come to an accuracy: the first and the last."""
    return ends(next(epoch for epoch, accuracy in enumerate(accuracies(run), 1) if accuracy >= target)
                for run in runs(f"table3-imagewoof:imagewoof/{row}"))


def resnet(optimizer):
    return interval([float(r["accuracy_epoch_2"]) for r in rows("resnet18-batch2")
                     if (r["optimizer"], r["control"]) == (optimizer, "none")])


def found_by_claim():
    """The numbers in the column 'found' of claims that the theory does not decide alone."""
    chatter, curves = rates(C, "adamw", "chatter"), rates(C, "adamw")
    bests, sadam = rates(C, "adamw", "best"), rates(C, "sadam", "best")
    kinks = [row["verdict"] for row in rows("brakes-at-kinks")]
    target = 0.95 * mean(tiny("adamw"))
    memory = [printed("bench-gpu", "Memory", step, "ResNet-18, 224 px, 100 classes, batch 64")[0]
              for step in ("S-Adam k=8, eager", "AdamW, eager")]
    steps = [(k, printed("bench-gpu", "batch 64", f"S-Adam k={k}, captured", "to captured AdamW")[0])
             for k in (2, 8)]
    k8 = "table1-cifar100:cifar100/sadam-k8"
    return {
        "C1": [ends(mean(landscape("chatter", name, "AdamW")) for name in LANDSCAPES),
               mean(landscape("chatter", "quadratic", "AdamW"))],
        "C2": [mean(landscape("chatter", "kinks", "AdamW")), landscape("chatter", "kinks", "S-Adam"), 4, 5,
               chatter_gain("valley", "AdamW")],
        "C3": [less(rates(C, "sadam", "chatter")["1e-3"], chatter["1e-3"]), mean(chatter["1e-3"])],
        "C4": [chatter_gain("kinks", "matched"), chatter_gain("chain", "matched")],
        "C5": [(rate, mean(chatter[rate]), mean(curves[rate])) for rate in ("1e-4", "3e-3")],
        "C7": [kinks.count("harder"), len(kinks), kinks.count("softer")],
        "C9": [median(landscape("excess", "kinks", o).values()) for o in ("S-Adam", "AdamW", "matched")],
        "C11": [against("best", data, "k8", "base") for data in (C, W)],
        "C12": [against("best", data, "k8", "prox") for data in (C, W)],
        "C13": [against("best", C, "k8", "prox")],
        "C15": [times_adamw("sadam-k2"), 2, times_adamw("sadam-k8"), 8],
        "C18": [8, *(rival(C, f"sadam-k8-cosine{time}", other, "best") for time, others in
                     (("", ("sam", "smoothing")), ("-time", ("sam-time", "smoothing"))) for other in others)],
        "C40": [ends(printed("bench-cpu", "A step on a small", k, "beyond them, %")[0] for k in "1248")],
        "C48": [against("best", data, row, "adamw") for data in (C, W) for row in ("k1", "no-brake")],
        "C49": [best(*at(C, row)) for row in ("adamw", "prox", "k2", "k8")],
        "C50": [against("best", C, "k8", "base")],
        "C51": [against("best", C, "k2", "base")],
        "C52": [against("best", W, k, "base") for k in ("k2", "k8")],
        "C53": [2, against("best", W, "k2", "prox")],
        "C55": [8, *(against("best", data, "k8", "k2") for data in (C, W))],
        "C57": [95, seconds("sadam-k2"), 16, seconds("adamw")],
        "C58": [against("best", data, "no-brake", "k8") for data in (C, W)],
        "C59": [against("best", data, "small", "k8") for data in (C, W)],
        "C60": [*(series("test_loss", *at(C, row)) for row in ("adamw", "prox")), 8,
                series("test_loss", *at(C, "k8"))],
        "C61": [series(f, *at(C, row)) for f in ("best_epoch", "last") for row in ("adamw", "prox")],
        "C62": [against("last", C, "k8", "base")],
        "C63": [series("best_epoch", k8), last(k8)],
        "C64": [against(figure, C, "k8", "k8.matched") for figure in ("best", "last")],
        "C65": [3e-4, 1e-3, less(bests["3e-4"], bests["1e-3"]), less(curves["3e-4"], curves["1e-3"])],
        "C66": [resnet("S-Adam k=8"), resnet("AdamW")],
        "C67": [2, *(less(tiny("sadam-k2"), tiny(row)) for row in ("adamw", "sadam-k2.matched"))],
        "C68": [target, reached("sadam-k2", target)[1], reached("adamw", target),
                reached("sadam-k2.matched", target)[1]],
        "C72": [100, gain("table3", "sadam-k8"),
                *(gain("table4", "sadam-k8", f"cifar100-b{batch}") for batch in (4, 16, 64)), 2, 4, 16, 64],
        "C73": [(rate, less(sadam[rate], bests[rate])) for rate in ("1e-4", "1e-3", "3e-3")],
        "C74": [ends(means(C, "sadam", "brake").values())],
        "C75": [1e-3, 3e-4, less(sadam["1e-3"], bests["3e-4"])],
        "C76": [steps, 100 * (memory[0] / memory[1] - 1)],
        "C86": [with_gap("lgi")[1], ends(with_gap("lgi", f"-{rate}/")[1][0] for rate in RATES)],
    }


CLAIMED = {
    "C13": [gain("table1", "sadam-k8", over="prox_sgd")],
    "C14": [gain("table1", "sadam-k8", "tinyimagenet")],
    "C49": [paper("table1", row) for row in ("adamw", "prox_sgd", "sadam-k2", "sadam-k8")],
    "C50": [gain("table1", "sadam-k8")],
    "C51": [gain("table1", "sadam-k2")],
    "C52": [gain("table1", row, W) for row in ("sadam-k2", "sadam-k8")],
    "C59": [gain("table2", "k8", data, "small-radius") for data in (C, W)],
    "C66": [gain("table3", "sadam-k8")],
    "C67": [gain("table3", "sadam-k8", data) for data in ("cifar10", W)],
    "C76": [paper("table4", "sadam-k8", "cifar100-b64", "paper_wall_seconds")
            / paper("table4", "adamw", "cifar100-b64", "paper_wall_seconds")],
}


@page(Claims, "docs/claims.md")
def claims(check):
    found, verdicts = found_by_claim(), []
    tables = [t for t in check.page.tables if t.head[1:] == ["claim", "where", "test", "found", "verdict"]]
    check.page.checked += [table.span for table in tables]
    for name, claim, _, test, finding, verdict in (row for table in tables for row in table.body):
        verdicts.append(verdict)
        said = numbers_in(re.sub(r"\]\(.*?\)", "", finding))
        if name in found:
            check.compare(name, said, found[name])
        elif test.startswith("T "):
            from_theory(check, name, re.sub(r"; \[audit\].*", "", finding), test.removeprefix("T "))
        else:
            check.case.assertNotRegex(finding, r"\d\.\d", name)
        if name in CLAIMED:
            check.compare(f"{name}, claim", [n for n in numbers_in(claim) if "." in n], CLAIMED[name])
    check.say("Of {} claims {} hold (*yes*), {} hold in part (*part*), {} do not (*no*), {} were not seen, "
              "and {}",
              len(verdicts), [verdicts.count(verdict) for verdict in ("yes", "part", "no", "not seen", "–")])
    check.say("[audit](audit.md): area {}, below a coin",
              pooled(audited("area", "sphere", "variance", on=["landscapes"]))[0])
    check.say("in {} of {} runs it brakes harder there, in {} less |", found["C7"])
    sentence = "its mean brake is {} (k=2) or {} (k=8)"
    check.among(sentence, check.page.numbers(sentence), cases("curvature.adam"))
    check.say("| by {} ± {} points, not {} |", found["C50"], CLAIMED["C50"])
    check.say("| over a constant brake: {} ± {} |", found["C64"][0])
    check.say("not told apart from AdamW at 3e-4: S-Adam is {} ± {} above it |", found["C75"][2])

    # Where the paper contradicts itself.
    check.say("| {} and {} (abstract) | over Prox-SGD (AdamW: {})",
              [CLAIMED[claim] for claim in ("C13", "C14", "C50")])
    check.say("| {} − {} = {}; over Prox-SGD {} |",
              [paper("table4", row, "imagewoof-b4") for row in ("sadam-k8", "adamw")],
              [gain("table4", "sadam-k8", "imagewoof-b4", row) for row in ("adamw", "prox_sgd")])
    check.say("AdamW tuned (6.3): {}, below S-Adam's {} | it has {} at another rate (Table 5) |",
              [paper("table5", row, "lr-" + rate) for row, rate in
               (("adamw", "1e-3"), ("sadam-k8", "1e-3"), ("adamw", "1e-4"))])
    check.say("(6.5.3) | {}, {}, {} from low to high rate |",
              [gain("table5", "sadam-k8", f"lr-{rate}") for rate in ("1e-4", "5e-4", "1e-3")])
    check.say("TinyImageNet: {}, λ = 0 {}, AdamW {} |", [paper(table, row, "tinyimagenet") for table, row in
              (("table2", "k1"), ("table2", "no-brake"), ("table1", "adamw"))])
    check.say("(6.4) | Imagewoof: {} s, less than k=2's {} in bold |",
              [paper("table1", row, W, "paper_seconds") for row in ("sadam-k8", "sadam-k2")])
    check.say("| {} s in bold (Table 1) | AdamW {} |",
              [paper("table1", row, "imagenet", "paper_seconds") for row in ("sadam-k2", "adamw")])
    check.say("CIFAR-10 at batch 64: {} to {} MB | CIFAR-100, same network and images: {} to {} |",
              [ends(paper("table4", row, f"{data}-b64", "paper_memory")
                    for row in ("prox_sgd", "adamw", "sadam-k8")) for data in ("cifar10", C)])
    check.given("networks (6.1, 6.3, 6.4, ", "batches (6.2, 6.5, ", "(Lemma 4.2) |", "(4.2) | 1/",
                "(5.3) | the proof", "(5.1) | quantization")


if __name__ == "__main__":
    unittest.main()
