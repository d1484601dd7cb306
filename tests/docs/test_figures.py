#!/usr/bin/env python3
"""What the runs found: every figure of these pages is found again in docs/results, or a test breaks."""

import functools
import math
import unittest

from figures import (accuracies, deviation, ends, finished, interval, less, mean, over, page, paper, rows,
                     runs, series, t_quantile, titles)
from recorded import (BOUNDED, C, COSINE, HELD, METHODS, RATES, TUNED, W, against, at, best, bounded,
                      bounded_gains, brake, checked, controlled, endless, endless_time, fresh, gain, held,
                      last, means, more_than, rate_gain, rates, rival, searched, setting, smaller, tiny,
                      training_loss)


class Figures(unittest.TestCase):
    pass


def method_of(label):
    return METHODS[label.removeprefix("S-Adam ")]


def claimed(row, column):
    """The paper's number in Table 1 or 2."""
    return row and paper("table2" if row in titles("table2").values() else "table1", row, column)


def again(name, figure):
    """The difference from matched that was printed for other runs."""
    row = next(r for r in rows("cifar100-differences")
               if (r["table"], r["method"], r["less"]) == ("tables 1 and 2", name, "matched"))
    return float(row[figure + "_points"]), float(row[figure + "_standard_error"]) * t_quantile(15)


def cpu(name, seeds="42-44"):
    """By control."""
    return {r["control"]: r for r in rows("cifar100-cpu") if (r["method"], r["seeds"]) == (name, seeds)}


def cpu_distances():
    """How many standard errors lie between the means on CPU and GPU."""
    for where, _, name in METHODS.values():
        for control, row in cpu(name).items():
            for f in ("best", "last") if (control == "cosine") == (where == "cosine") else ():
                gpu = series(f, *at(C, where if control in ("none", "cosine") else f"{where}.{control}"))
                error = (float(row[f + "_deviation"]) ** 2 / 3 + deviation(gpu) ** 2 / len(gpu)) ** 0.5
                yield abs(float(row[f + "_mean"]) - mean(gpu)) / error, control


def small_batch_verdicts(check, holds="", unseen="", colon=":"):
    check.say(f"| Imagewoof, batch 2: k=2 beats AdamW by {{}} (best){holds} | {{}} ± {{}} | {{}} |",
              gain("table3", "sadam-k2", W), less(tiny("sadam-k2"), tiny("adamw")), len(tiny("sadam-k2")))
    check.say(f"its brake does more than a constant there (best){unseen} | {{}} ± {{}} | {{}} |",
              less(tiny("sadam-k2"), tiny("sadam-k2.matched")), len(tiny("sadam-k2.matched")))
    ours = [mean(best(f"table4-imagewoof:imagewoof-b64/{row}")) for row in ("sadam-k8", "adamw")]
    check.say(f"| Imagewoof, batch 64: k=8 beats AdamW by {{}} (best) | open{colon} {{}} |",
              gain("table4", "sadam-k8", "imagewoof-b64"), ours[0] - ours[1])


@page(Figures, "docs/results.md")
def results(check):
    for k in ("k8", "k2"):
        for data, title in ((C, "CIFAR-100"), (W, "Imagewoof")):
            found = against("best", data, k, "base")
            check.say(f"| {title}: k={k[1]} beats AdamW by {{}} (best) | {{}} ± {{}} | {{}} |",
                      gain("table1", f"sadam-{k}", data), found, len(found))
    for claim, figure, others in (
            ("at 1e-3 S-Adam does not collapse (last, less AdamW)", "last", ("base", "base")),
            ("its brake does more than a constant (best)", "best", ("k8.matched", "k2.matched")),
            ("its brake does more than a constant (last)", "last", ("k8.matched", "k2.matched")),
            ("(not claimed) it beats a cosine schedule (best)", "best", ("cosine", "cosine"))):
        check.say(f"| {claim} | k=8 {{}} ± {{}}, k=2 {{}} ± {{}} | {{}} |",
                  [against(figure, C, k, other) for k, other in zip(("k8", "k2"), others)], 16)
    check.say("| k=8 reaches {} %, k=2 {} % | in the mean {} ± {}, {} ± {} | {} |",
              paper("table1", "sadam-k8"), paper("table1", "sadam-k2"), best(*at(C, "k8")), best(*at(C, "k2")), 16)
    check.say("| k=8: δ = 1e-4 is {} below δ = 0.01 (best) | {} ± {} |",
              gain("table2", "k8", over="small-radius"), against("best", C, "small", "k8"))
    times = {r["method"]: r for r in rows("table1-cifar100") if r["control"] == "none"}
    check.say("| AdamW {} s ({} runs of {}), k=2 {} s ({}), k=8 {} s ({}) | 16 |",
              [times["adamw"][key] for key in ("convergence_seconds_mean", "converged_seeds", "seeds")],
              [times[row][key] for row in ("sadam-k2", "sadam-k8")
               for key in ("convergence_seconds_mean", "converged_seeds")])
    check.say("it is {} to {} points lower in 2 bits and {} to {} in 4 bits",
              [ends(mean(less(rival(data, row, figure="best"), rival(data, row, figure="validated")))
                    for row in titles("rivals").values()) for data in (C, W)])
    small_batch_verdicts(check)

    def method(label, *_):
        where, row, name = method_of(label)
        own = cpu(name)["cosine" if where == "cosine" else "none"]
        braked = "matched" in cpu(name)
        matched = at(C, where + ".matched")
        return [claimed(row, C), mean(best(*at(C, where))), mean(last(*at(C, where))),
                *([mean(best(*matched)), mean(last(*matched))] if braked else [None, None]),
                own["best_mean"], own["last_mean"], mean(brake(*at(C, where))) if braked else None]

    def difference(label, figure, *_):
        where, _, name = METHODS[label]
        versus = functools.partial(against, figure, C, where)
        return [None, versus("base"), versus(where + ".matched"), again(name, figure),
                versus(where + ".shuffled"), versus("cosine")]

    check.table("CIFAR-100 in two bits", "method", method)
    check.table("CIFAR-100 in two bits", "S-Adam", difference)
    controls = [d for label in METHODS if label[:2] == "k=" and label.endswith(("authors", "paper"))
                for f in ("best", "last") for d in map(interval, difference(label, f)[2:5])]
    missed = [d for d in controls if abs(d[0]) > d[1]]
    check.say("Of {} intervals against *matched* and *shuffled* one misses 0", len(controls))
    check.case.assertEqual(len(missed), 1)

    places = [f"rivals:imagewoof/{row}" for row in ("adamw", "adamw-cosine")]
    check.say("a training loss of {} and a test loss of {}, with cosine {} and {}.",
              [(training_loss(place), mean(series("test_loss", place))) for place in places])
    converged = {r["method"] + "." * (r["control"] == "cosine"): r["convergence_seconds_mean"]
                 for r in rows("table1-imagewoof") if r["control"] in ("none", "cosine")}

    def woof(label, *_):
        where, row, name = method_of(label)
        braked = name.startswith("S-Adam") and where not in ("k1", "no-brake")
        return [claimed(row, W), mean(best(*at(W, where))), mean(last(*at(W, where))),
                mean(brake(*at(W, where))) if braked else None, converged.get(row or "adamw.")]

    def woof_difference(label, *_):
        where = METHODS[label][0]
        pairs = [(figure, other) for other in ("base", where + ".matched") for figure in ("best", "last")]
        return [against(figure, W, where, other) for figure, other in [*pairs, ("last", "cosine")]]

    check.table("Imagewoof in four bits", "method", woof)
    check.table("Imagewoof in four bits", "S-Adam", woof_difference)
    found = [interval(d) for row in check.page.table("Imagewoof in four bits", "S-Adam").body
             for d in woof_difference(row[0])]
    check.say("Of {} intervals {} miss 0; one would by chance", len(found), sum(abs(m) > h for m, h in found))
    base = at(W, "base")
    check.say("k=1 and λ=0 together ({} best, {} last)", mean(best(*base)), mean(last(*base)))
    check.say("published is behind (k=8: {} ± {}) or level (k=2: {} ± {})",
              [against("best", W, k, "adamw") for k in ("k8", "k2")])

    check.say("Single runs deviate by {} to {} points (best) and {} to {} (last)",
              [ends(deviation(series(figure, f"{table}:{cell}"))
                    for table in ("table1-cifar100", "table2-cifar100") for cell in finished(table))
               for figure in ("best", "last")])
    check.say("reaching 95 % of AdamW's best, {} %: {} of {} runs of AdamW do, {} with k=2, {} with k=8",
              [times["adamw"][key] for key in ("convergence_target", "converged_seeds", "seeds")],
              [times[row]["converged_seeds"] for row in ("sadam-k2", "sadam-k8")])
    base = at(C, "base")
    check.say("less all {} runs ({} best, {} last)", len(runs(*base)), mean(best(*base)), mean(last(*base)))
    check.say("(k=8: {} ± {}) and all of it at the last", against("best", C, "k8.matched", "base"))
    added = [interval(against(f, C, k, k + ".matched")) for f in ("best", "last") for k in ("k2", "k8")]
    check.say("more than {} points is ruled out", max(map(sum, added)))
    check.say("its standard errors times {} are these intervals", t_quantile(15))
    check.say("they gave {} % instead of {} % (CPU",
              [cpu("S-Adam k=2, paper's equations" + more, "42-45")["none"]["best_mean"]
               for more in (" with AdamW's bias correction", "")])
    distances = list(cpu_distances())
    check.say("of {} pairs of means {} differ by more than two standard errors. The cosine schedule differs "
              "most ({})", len(distances), sum(d > 2 for d, _ in distances), max(distances)[0])
    check.case.assertEqual(max(distances)[1], "cosine")
    rerun = "table2-imagewoof-cosine:imagewoof/adamw.cosine"
    check.say("{} and {} ({} seeds)", mean(best(rerun)), mean(last(rerun)), len(best(rerun)))
    low = [against("best", W, row, "base") for row in ("k2", "k8", "k2-paper", "k8-paper")]
    check.case.assertTrue(all(abs(m) < half for m, half in map(interval, low)))
    check.say("more than {} points are ruled out. Cosine is above them ({} ± {})",
              max(sum(interval(gain)) for gain in low), against("best", W, "cosine", "base"))
    check.say("at the best epoch it is {} ± {} above its twins k=1 and λ=0",
              against("best", W, "adamw", "twins"))
    check.given("libtorch 2.11", "libtorch 1.13")


@page(Figures, "docs/small-batches.md")
def small_batches(check):
    small_batch_verdicts(check, " | part", " | not seen", " |")
    check.say("its equations do as well there as its code (best) | no | {}, the code {} (seed",
              tiny("sadam-k2-paper")[42], tiny("sadam-k2")[42])
    keys = {"AdamW": "adamw", "S-Adam": "sadam-k2", "S-Adam k=2, authors": "sadam-k2",
            "matched": "sadam-k2.matched", "k=2, no brake": "batch-norm-k2", "no brake": "batch-norm-k2",
            "S-Adam k=2, paper's equations": "sadam-k2-paper", "Prox-SGD": "prox_sgd"}
    figures = ("best", "last", lambda run: mean(accuracies(run)[10:20]))
    table3 = "table3-imagewoof:imagewoof"

    def method(label, _, claim, *__):
        row = keys[label.split(":")[0]]
        return [len(tiny(row)), None if claim == "–" else paper("table3", row, W),
                *(mean(tiny(row, figure)) for figure in figures), training_loss(f"{table3}/{row}")]

    def difference(label, *_):
        a, b = (keys[name] for name in label.split(" minus "))
        return [less(tiny(a, figure), tiny(b, figure)) for figure in figures]

    check.table("Imagewoof at batch size 2", "method", method)
    check.table("Imagewoof at batch size 2", "difference, three seeds", difference)
    check.say("They end at a training loss of {} to {}.", ends(training_loss(f"{table3}/{row}")
                                                               for row in keys.values()))
    check.say("with every step × {} gains as much", mean(tiny("sadam-k2.matched", "brake")))
    check.say("AdamW, every step × about {}", mean(tiny("sadam-k2.matched", "brake")))
    half = [interval(less(tiny("sadam-k2", f), tiny("sadam-k2.matched", f))) for f in ("last", "best")]
    check.say("within {} points of 0 after the last epoch, within {} at the best",
              [max(abs(m - h), abs(m + h)) for m, h in half])
    check.say("The rows of one seed have seed {}, with which AdamW's best is {} and S-Adam's {}.",
              42, tiny("adamw")[42], tiny("sadam-k2")[42])
    check.say("is {} points above its number in the paper, {} above AdamW and {} below S-Adam",
              tiny("prox_sgd")[42] - paper("table3", "prox_sgd", W),
              tiny("prox_sgd")[42] - tiny("adamw")[42], tiny("sadam-k2")[42] - tiny("prox_sgd")[42])
    check.say("mean brake is {}) and end near AdamW. Of their steps {} in {} had probes within",
              [mean(tiny("sadam-k2-paper", figure)) for figure in ("brake", "within_noise", "steps")])

    differences = check.page.table("Imagewoof at batch size 2", "difference, three seeds").body
    found = [interval(d) for row in differences for d in difference(row[0])]
    check.case.assertEqual((len(found), sum(abs(m) > h for m, h in found)), (12, 7))

    small = {"AdamW": "adamw", "AdamW, 3e-4": "adamw-3e-4", "AdamW, 1e-4": "adamw-1e-4",
             "AdamW, cosine": "adamw-cosine", "AdamW, 3e-4, cosine": "adamw-3e-4-cosine",
             "AdamW, 1e-4, cosine": "adamw-1e-4-cosine", "S-Adam k=2, authors": "sadam-k2",
             "step, λ=4, cosine": "step4-cosine"}

    def in_small(label, *_):
        row = small[label]
        place = f"tiny-batches:imagewoof/{row}"
        return [mean(best(place)), mean(last(place)), None if row == "adamw" else smaller(row, "adamw"),
                mean(brake(place)) if row in ("sadam-k2", "step4-cosine") else None, training_loss(place)]

    check.table("Cosine and smaller rates", "method", in_small)
    check.say("it gains {} points, a third of the rate {}, both together {}.",
              [mean(smaller(row, "adamw")) for row in ("adamw-cosine", "adamw-3e-4", "adamw-3e-4-cosine")])
    times = [series("time", f"tiny-batches:imagewoof/{row}") for row in ("adamw", "sadam-k2", "step4-cosine")]
    others = [smaller("adamw-3e-4", "sadam-k2"), smaller("step4-cosine", "adamw-3e-4-cosine"),
              smaller("adamw-1e-4", "adamw-1e-4-cosine"), smaller("adamw-3e-4-cosine", "adamw-3e-4")]
    check.say("is not told apart from 0: {} ± {}.", others[3])
    check.say("AdamW at 3e-4 is {} ± {} points from it. It takes {} times AdamW's time", others[0],
              mean(times[1]) / mean(times[0]))
    check.say("it is {} ± {} points from it, and takes {} times the time", others[1], mean(times[2]) / mean(times[0]))
    check.say("At 1e-4 cosine costs {} ± {}:", others[2])
    check.say("near ln 10 = {}, that", math.log(10))
    found = list(map(interval, others + [smaller(row, "adamw") for row in small.values() if row != "adamw"]))
    check.case.assertEqual((len(found), sum(abs(m) > h for m, h in found)), (11, 8))
    check.given("libtorch 1.13, 2026")

    def batch_64(label, *_):
        row = "sadam-k8" if "S-Adam" in label else keys[label]
        place = f"table4-imagewoof:imagewoof-b64/{row}"
        return [paper("table4", row, "imagewoof-b64"), mean(best(place)), mean(last(place)),
                mean(brake(place)) if row == "sadam-k8" else None, training_loss(place)]

    check.table("Imagewoof at batch size 64", "method", batch_64)
    check.say("between {} and {} % (AdamW's between {} and {})",
              [ends(accuracies(runs(f"table4-imagewoof:imagewoof-b64/{row}")[0]))
               for row in ("sadam-k8", "adamw")])
    # Each pass replaces a tenth.
    check.say("Its {} forward passes a step all update the running statistics of batch norm, so {} %", 9,
              100 * (1 - 0.9**9))
    order = iter([(o, c) for o in ("Prox-SGD", "AdamW", "S-Adam k=2", "S-Adam k=8")
                  for c in (("none", "matched") if "k=" in o else ("none",))])

    def repetitions(*_):
        key = next(order)
        of = [r for r in rows("resnet18-batch2") if (r["optimizer"], r["control"]) == key]
        brakes = [of[0]["brake_epoch_1"], of[0]["brake_epoch_2"]][: 1 if key[1] == "matched" else 2]
        return [*(r["accuracy_epoch_2"] for r in of), [b for b in brakes if b]]

    def by_rate(label, *_):
        if label.startswith("the paper's"):
            row = "adamw" if "AdamW" in label else "sadam-k8"
            return [paper("table5", row, f"lr-{rate}") for rate in ("1e-4", "5e-4", "1e-3")]
        key = ("AdamW" if label == "AdamW" else "S-Adam k=2", "matched" if label == "matched" else "none")
        figure = "mean_brake" if label == "mean brake" else "accuracy_epoch_1"
        return [mean([float(r[figure]) for r in rows("learning-rates") if int(r["repetition"]) <= 4
                      and (r["optimizer"], r["control"], r["lr"]) == (*key, rate)])
                for rate in ("0.0001", "0.0005", "0.001")]

    check.table("CIFAR-100 at batch size 2", "optimizer", repetitions)
    check.table("Learning rates (Table 5)", "optimizer", by_rate)
    check.given("libtorch 2.11", "at its rate of 0.01", "Prox-SGD, learning rate 0.01", "δ = 0.01")


@page(Figures, "docs/learning-rates.md")
def learning_rates(check):
    keys = {**titles("learning-rates"), "S-Adam k=8, authors' code": "sadam"}
    for heading, data in (("What a wrong", C), ("Imagewoof", W)):
        def method(label, *cells):
            found = list(means(data, keys[label]).values())
            bold = [cell.startswith("**") for cell in cells[:5]]
            check.case.assertEqual(bold, [value == max(found) for value in found], label)
            return [*found, mean(found), None if label[:5] == "AdamW" else rate_gain(data, keys[label])]

        check.table(heading, "method", method)

    def over_adamw(data, row):
        base = "adamw-cosine" if row.endswith("-cosine") else "adamw"
        return [less(rates(data, row)[rate], rates(data, base)[rate]) for rate in RATES]

    last_row = [""]

    def gains(label, *_):
        if label == "its brake":
            return list(means(C, last_row[0], "brake").values())
        last_row[0] = keys[label]
        return over_adamw(C, keys[label])

    check.table("What a wrong", "less AdamW", gains)

    def brakes(data, row):
        return ends(m for schedule in ("", "-cosine") for m in means(data, row + schedule, "brake").values())

    def spread(row):
        low, high = ends(means(W, row).values())
        return high - low

    def over_tuned(row):
        return less(rates(C, row)["1e-3"], rates(C, "adamw-cosine")["3e-4"])

    check.say("The brake of `residual` is {} or {}", brakes(C, "residual"))
    check.say("S-Adam's is {} to {} at every rate.", brakes(C, "sadam"))
    check.say("less AdamW with cosine at 3e-4 is {} ± {} points", over_tuned("step4-cosine"))
    check.say("S-Adam as published with cosine is {} ± {}.", over_tuned("sadam-cosine"))
    check.say("Its worst rate of five is within {} points of its best (with cosine {}). AdamW loses {} (with "
              "cosine {}).", [spread(row) for row in ("step4", "step4-cosine", "adamw", "adamw-cosine")])
    check.say("1e-2 the step probe is ahead by {} ± {} points, with cosine by {} ± {}.",
              [less(rates(W, "step4" + s)["1e-2"], rates(W, "adamw" + s)["1e-2"]) for s in ("", "-cosine")])
    first_four = [over(*list(rates(W, row).values())[:4]) for row in ("step4-cosine", "adamw-cosine")]
    check.say("with cosine, it is not told apart: {} ± {}.", less(*first_four))
    check.say("Its brake is {} to {}.", brakes(W, "residual"))
    for row, rate in (("residual-cosine", "1e-2"), ("adamw-cosine", "1e-3")):
        check.say("it has at 1e-2 what AdamW has at 1e-3, {} %", means(W, row)[rate])
    check.say("its mean brake is {} at 1e-3 and {} at 1e-2", list(means(W, "step8", "brake").values())[2::2])
    check.say("with cosine it loses {} to {} points at rates up to 3e-3",
              ends(-mean(d) for d in over_adamw(W, "step8-cosine")[:4]))
    names = {"AdamW": "adamw-cosine", "step, λ=4": "step4-cosine", "matched": ".matched",
             "replayed": ".replayed"}

    def control(label, *_):
        found = [mean(controlled(rate, names[label])) for rate in RATES]
        return [*found, mean(found)]

    check.table("Its controls", "method, cosine", control)
    adamw = [controlled(rate, "adamw-cosine") for rate in RATES]
    than_a_third = [less(controlled(rate), smaller) for rate, smaller in zip(RATES[1:], adamw)]
    check.table("Its controls", "step, λ=4, less", lambda label, *_: (
        more_than("step4-cosine", names[label]) if label in names else [None, *than_a_third, None]))
    check.say("is {} ± {} points worse at 1e-2.", than_a_third[-1])
    by_rate = {rate: [[float(b) for b in row["brakes"].split()] for row in rows("step-control-brakes")
                      if row["column"] == f"cifar100-{rate}"] for rate in RATES}
    by_rate = {rate: list(map(mean, zip(*of_seeds))) for rate, of_seeds in by_rate.items()}
    shown = (1, 2, 3, 4, 6, 8, 10)
    check.table("Its controls", "rate",
                lambda rate, *_: [*(by_rate[rate][epoch - 1] for epoch in shown), mean(by_rate[rate])])
    better = more_than(".matched", "step4-cosine")
    check.say("mean, is {} ± {} and {} ± {} points better still", better[3], better[4])
    check.say("up to 1e-3 *matched* is {} to {} points worse", ends(-mean(d) for d in better[:3]))
    check.say("the brake begins between {} and {} and ends at {} to {};",
              [ends(brakes[epoch] for brakes in by_rate.values()) for epoch in (0, -1)])
    check.say("e⁻⁴ = {} is the least", math.exp(-4))
    gained = more_than(".matched", "adamw-cosine")
    check.say("*matched* ends {} ± {} and {} ± {} points above AdamW at 3e-3 and 1e-2, and {}, {} and {} below",
              gained[3:5], [-mean(d) for d in gained[:3]])
    check.say("at 3e-4 AdamW is {} ± {} points from *matched* at",
              less(controlled("3e-4", "adamw-cosine"), controlled("3e-3", ".matched")))
    against_replayed = more_than("step4-cosine", ".replayed")[-1]
    check.say("the step probe is {} ± {} points from it: a gain of more than {} is ruled out",
              against_replayed, sum(interval(against_replayed)))
    found = [interval(d) for row in ("adamw-cosine", ".matched", ".replayed")
             for d in more_than("step4-cosine", row)] + list(map(interval, than_a_third))
    check.say("Of the {} intervals {} miss 0; one may by chance", len(found),
              sum(abs(m) > half for m, half in found))
    check.say("At 1e-3 it is {} ± {} points from AdamW.",
              less(controlled("1e-3"), controlled("1e-3", "adamw-cosine")))
    check.given("libtorch 1.13")
    check.given("libtorch 2.11")


@page(Figures, "docs/brakes.md")
def brakes(check):
    keys = titles("brakes")
    gains = {(bits, row): searched(bits, row, "adamw-cosine")
             for bits in (2, 3) for row in keys.values() if row != "adamw-cosine"}

    def method(label, *_):
        row = keys[label]
        return [mean(searched(2, row)), gains.get((2, row)), mean(searched(3, row)), gains.get((3, row)),
                len(searched(3, row)), mean(searched(2, row, figure="brake")) if row[:5] != "adamw" else None]

    check.table("What came out", "method", method)
    missed = [m for m, half in map(interval, gains.values()) if abs(m) > half]
    check.say("{} of the {} intervals miss 0, all below it", len(missed), len(gains))
    check.case.assertLess(max(missed), 0)
    check.say("give {} instead of {}", mean(rival(C, "adamw-cosine")), mean(searched(2, "adamw-cosine")))
    check.say("held at 0.3 with gain 0.01 ({} %) is {} ± {} over cosine at 1e-3 ({} %), and {} ± {} over "
              "cosine at 3e-4 ({} %)", mean(HELD), less(HELD, COSINE), mean(COSINE), less(HELD, TUNED),
              mean(TUNED))
    check.say("target 0.3: {} ± {} points.", searched(2, "held-every4", "adamw-3e-4"))
    check.say("target 0.5, gain 0.01: {} ± {}.", searched(3, "held-05-001", "adamw-3e-4"))
    check.say("2 bits the best is {} ± {}. In 3 bits the best with four seeds is {} ± {}.",
              [max((g for (bits, _), g in gains.items() if (bits, len(g)) == kind), key=mean)
               for kind in ((2, 4), (3, 4))])
    check.say("mean ρ was {} and mean α {}, in {} steps",
              [mean(rival(W, "held", figure=figure)) for figure in ("lgi", "brake", "steps")])
    check.say("rate of 1e-3 ({} ± {} in 3 bits; {} ± {} in 2) and not with cosine ({} ± {}, {} ± {})",
              [searched(bits, f"{row}-ema", row) for row, order in (("adamw", (3, 2)), ("adamw-cosine", (2, 3)))
               for bits in order])
    check.say("In 3 bits it is {} ± {} (λ = 2) and {} ± {} points (λ = 4) below it.",
              [(-m, half) for m, half in (interval(gains[3, row]) for row in ("step2-cosine", "step4-cosine"))])
    check.say("Its mean brake is the same in both (λ = 4: {})", mean(searched(2, "step4-cosine", figure="brake")))
    check.say("(λ = 4: {})", mean(searched(3, "step4-cosine", figure="brake")))

    final = titles("final-check")

    def candidate(label, *_):
        row, base = final[label], "adamw-cosine"
        return [cell for data in (C, W) for cell in
                (mean(last(f"final-check:{data}/{row}")), None if row == base else fresh(data, row, base))]

    check.table("The final check", "method", candidate)
    check.say("within {} points on CIFAR-100 and {} on Imagewoof",
              [sum(interval(fresh(data, "step2-cosine"))) for data in (C, W)])
    check.say("above cosine at 3e-4: {} ± {} in 2 bits, {} ± {} in 4.",
              [fresh(data, "step2-cosine", "adamw-3e-4-cosine") for data in (C, W)])
    check.say("({} ± {} over 3e-4) and not in 4 bits ({} ± {})",
              [fresh(data, "held-03", "adamw-3e-4") for data in (C, W)])
    check.say("in 2 bits ({} ± {}), and {} below in 4", fresh(C, "held-03", figure="best"),
              -mean(fresh(W, "held-03", figure="best")))
    endless_rows = titles("unknown-end")
    bases = ("adamw-cosine", "adamw-3e-4")

    def without_end(label, *_):
        row = endless_rows[label]
        return [cell for bits in (2, 3) for cell in
                (mean(endless(bits, row)), *(None if row == base else endless(bits, row, base) for base in bases),
                 mean(endless(bits, row, figure="validated")),
                 None if row[:5] == "adamw" else mean(endless(bits, row, figure="brake")))]

    check.table("When the end", "method", without_end)
    check.say("at 3e-4** by {} ± {} points in 2 bits, where 3e-4 is the best of five constant rates, and by {} ± {} "
              "in 3 bits. It is {} ± {} and {} ± {} below cosine. A run takes {} times",
              [endless(bits, "held-03", "adamw-3e-4") for bits in (2, 3)],
              [endless(bits, "adamw-cosine", "held-03") for bits in (2, 3)], endless_time("held-03"))
    check.say("and {} ± {} below held in 3", endless(3, "held-03", "step4-ema"))
    check.say("weights alone** end {} to {} points below cosine. In 3 bits those of AdamW at 1e-3 are {} ± {} below",
              ends(-mean(endless(bits, row, "adamw-cosine")) for bits in (2, 3)
                   for row in ("adamw-ema", "adamw-3e-4-ema")), endless(3, "held-03", "adamw-ema"))
    check.say("epoch held is {} ± {} points above AdamW at 3e-4 with averaged weights in 2 bits, in the last {} ± {}.",
              [endless(2, "held-03", "adamw-3e-4-ema", figure) for figure in ("validated", "last")])
    check.say("at 3e-4 end {} ± {} above it ([rivals]", rival(W, "adamw-tuned-ema", "held"))
    found = [interval(endless(bits, row, base)) for bits in (2, 3) for row in endless_rows.values()
             for base in bases if row != base and (row, base) != bases]
    check.say("Of {} different intervals {} miss 0; one may", len(found), sum(abs(m) > h for m, h in found))
    less_control = {name: [less(held(bits), held(bits, "." + name)) for bits in (2, 3)]
                    for name in ("matched", "replayed")}
    check.table("Is held a schedule", "held, less", lambda name, *_: less_control[name])
    check.say("the same mean ends {} and {} points lower", [mean(d) for d in less_control["matched"]])
    check.say("of more than {} (2 bits) and {} points (3 bits) is ruled out",
              [sum(interval(d)) for d in less_control["replayed"]])
    check.say("in the chosen epoch they are {} ± {} better in 2 bits",
              less(held(2, ".replayed", "validated"), held(2, figure="validated")))
    check.say("better in 2 bits and {} ± {} worse in 3", less(held(3, figure="validated"),
                                                              held(3, ".replayed", "validated")))
    check.given("between 0.001 and", "*Held at 0.3* has the target 0.3", "decay 0.999", "epoch held at 0.3",
                "Targets of 0.25 to 0.5 work with a gain of 0.01 to 0.05. A gain of 0.003",
                "libtorch 2.11, 2026-11-18; 10 epochs", "libtorch 2.11, 2026-11-18 ([every", "libtorch 1.13, 2026-11-20",
                "libtorch 1.13, 2026-11-19 ([every")


@page(Figures, "docs/rivals.md")
def rivals(check):
    keys = titles("rivals")
    tuned_row = {C: "adamw-tuned", W: "adamw-cosine"}

    def tuned(data, row):
        return rival(data, row, tuned_row[data])

    def time(data, row):
        of, base = (rival(data, r, figure="time") for r in (row, "adamw-cosine"))
        return mean([of[seed] / base[seed] for seed in of])

    def method(label, *_):
        row = keys[label]
        return [cell for data in (C, W) for cell in
                (mean(rival(data, row, figure="validated")), mean(rival(data, row)),
                 None if row == tuned_row[data] else tuned(data, row), time(data, row))]

    check.table("What came out", "method", method)
    gains = [interval(tuned(data, row)) for data in (C, W) for row in keys.values() if row != tuned_row[data]]
    check.say("Of these {} intervals {} miss 0; about two", len(gains), sum(abs(m) > half for m, half in gains))
    check.say("level with it: {} ± {}, and {} ± {} in eight epochs. In 4 bits those eight epochs are ahead "
              "by {} ± {};", tuned(C, "step4-cosine"), tuned(C, "step4-cosine-time"),
              tuned(W, "step4-cosine-time"))
    check.say("`held` is at {} ± {} and the step probe with averaged weights (EMA) at {} ± {}.",
              tuned(C, "held"), tuned(C, "step4-ema"))
    check.say("ends {} ± {} below the step probe with EMA", rival(W, "step4-ema", "held"))
    check.say("for ASAM in ten epochs ({} ± {})", tuned(W, "asam"))
    check.say("epochs of ASAM beat ten by {} ± {}. In 4 bits five of SAM lose {} ± {} to ten",
              rival(C, "asam-time", "asam"), rival(W, "sam", "sam-time"))
    other = {title.replace(", cosine", ""): row for title, row in titles("rivals-settings").items()}

    def with_setting(label, *_):
        row = other[label]
        time, base = (setting(r, figure="time") for r in (row, "adamw-cosine"))
        return [mean(setting(row, figure="validated")), mean(setting(row)),
                None if row == "adamw-cosine" else setting(row, "adamw-cosine"),
                mean([time[seed] / base[seed] for seed in time])]

    check.table("Other settings", "method, cosine", with_setting)
    gains = {row: interval(setting(row, "adamw-cosine")) for row in other.values() if row != "adamw-cosine"}
    missed = [m for m, half in gains.values() if abs(m) > half]
    check.say("Of these {} intervals {} miss 0, all below it", len(gains), len(missed))
    check.case.assertLess(max(missed), 0)
    check.say("with larger radii:** by {} to {} points",
              ends(-m for row, (m, _) in gains.items() if row[:3] in ("sam", "asa", "smo")))
    check.say("at {} is not told apart ({} ± {})", 0.01, gains["sgd-001"])
    first = {seed: points for seed, points in checked(2).items() if seed <= 308}
    added = {seed: points for seed, points in checked(2).items() if seed > 308}
    check.say("it is {} ± {} points from AdamW at 1e-3 in 2 bits (301 to 308) and {} ± {} in 3", first, checked(3))
    check.say("give {} ± {}, all sixteen {} ± {}.", added, checked(2))

    def at_rates(label, *_):
        """With the mean over the rates before the last column."""
        if label == "AdaBound less AdamW":
            return bounded_gains()
        found = [mean(bounded(column, label.lower())) for column in BOUNDED]
        return [*found[:-1], mean(found[:-1]), found[-1]]

    check.table("AdaBound at other rates", "cosine", at_rates)
    against_best = less(bounded("cifar100-1e-3", "adabound"), bounded("cifar100-3e-4", "adamw"))
    check.say("AdamW at 3e-4, its best rate before: {} ± {}.", against_best)
    check.say("more than {} is ruled out. In 3 bits", sum(interval(bounded_gains()[-1])))
    found = list(map(interval, [*bounded_gains(), against_best]))
    check.case.assertEqual((len(found), sum(abs(m) > h for m, h in found)), (8, 5))
    check.case.assertEqual(sum(m > h for m, h in found[:5]), 4)
    check.say("**Over the rates, yes:** {} ± {} in the mean of five", bounded_gains()[-2])
    all_fresh = {**bounded_gains()[2], **checked(2)}
    check.say("At 1e-3 all {} fresh seeds together give {} ± {}; eight", len(all_fresh), all_fresh)
    check.given("AdamW's at 1e-3", "libtorch 1.13, 2026-11-19 ([every", "libtorch 1.13, 2026-11-20",
                "AdaBound's *final rate*", "step sizes close on 0.1")
    check.given("radius of 0.5 to 2", "libtorch 2.11",
                "(SGD: 0.01), SAM's radius is 0.05, that of ASAM and of smoothing 0.5",
                "T = abs(w) + 0.01", "`final_lr` 0.1")


if __name__ == "__main__":
    unittest.main()
