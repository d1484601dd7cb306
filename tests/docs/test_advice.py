#!/usr/bin/env python3
"""What a reader is told to use: the figures of these two pages, like test_figures.py."""

import functools
import re
import unittest

from figures import ends, interval, less, mean, page, printed, series, titles
from recorded import (C, RATES, W, against, at, bounded_gains, brake, checked, controlled, endless, fresh,
                      gain, means, more_than, rate_gain, rates, rival, setting, smaller, tiny, training_loss)


class Advice(unittest.TestCase):
    pass


@page(Advice, "docs/which.md")
def which(check):
    fits = ["rivals:cifar100/adamw", "rivals:imagewoof/adamw", "table3-imagewoof:imagewoof/adamw"]
    for place, sentence in zip(fits, ("to {} in 2 bits (test: {})", "falls to {} (test: {})",
                                      "at batch 2 to {} in 20 epochs (test: {})")):
        check.say(sentence, training_loss(place), mean(series("test_loss", place)))
    check.say("then has {} % instead of {} ({})", *(mean(rival(C, "adamw", figure=figure))
                                                    for figure in ("validated", "last")), len(rival(C, "adamw")))

    def in_2_bits(row, base, figure):
        """On the fresh seeds of two tables."""
        return {**fresh(C, row, base, figure), **endless(2, row, base, figure)}

    def over_constant(label, *_):
        if label.startswith("1e-3"):
            found = [gain for data in (C, W) for gain in (against("last", data, "cosine", "base"), rival(
                data, "adamw-cosine", "adamw", "validated"))]
        else:
            both = ("adamw-cosine", "adamw-3e-4")
            found = [gain for by in (in_2_bits, functools.partial(fresh, W))
                     for gain in (by(*both, "last"), by(*both, "validated"))]
        return [[gain, len(gain)] for gain in found]

    check.table("1. AdamW", "cosine at 1e-3 gains over", over_constant)
    check.table("2. Another", "", lambda label, *_: list(
        means(C if label.startswith("2 bits") else W, "adamw-cosine").values()))

    def over_cosine(label, *_):
        if "AdaBound" in label:
            found = bounded_gains()
            return found[:-1] if label.startswith("2") else [None, None, found[-1], None, None, None]
        if label.startswith("2 bits, step"):
            return more_than("step4-cosine", "adamw-cosine")
        if label.startswith("4 bits"):
            return [*(less(rates(W, "step4-cosine")[rate], rates(W, "adamw-cosine")[rate]) for rate in RATES),
                    rate_gain(W, "step4-cosine")]
        down = 1 if "a third" in label else 2  # so many rates
        adamw = [controlled(rate, "adamw-cosine") for rate in RATES]
        return [None] * down + [less(lower, rate) for lower, rate in zip(adamw, adamw[down:])] + [None]

    check.table("3. One run", "", over_cosine)
    times = [mean([of[seed] / base[seed] for seed in of]) for of, base in
             ((rival(data, "step4-cosine", figure="time"), rival(data, "adamw-cosine", figure="time"))
              for data in (C, W))]
    for time in times:
        check.say("{} times AdamW's time in the runs of", time)
    step_cost, held_cost = (printed("bench-cpu-methods", "other methods", f"S-Adam, {row}", "in AdamW steps")[0]
                            for row in ("step probe", "held, every 4th step"))
    check.say("{} times [alone on a CPU]", step_cost)
    check.say("A step takes {} times AdamW's.", held_cost)
    check.say("in 4 bits: it ends {} to {} points below AdamW with cosine at rates up to 3e-3",
              ends(mean(less(rates(W, "adamw-cosine")[rate], rates(W, "step8-cosine")[rate]))
                   for rate in RATES[:4]))
    endless_rows = {"AdamW, 3e-4": "adamw-3e-4", "AdamW, 3e-4, EMA": "adamw-3e-4-ema",
                    "step probe, EMA": "step4-ema", "held brake": "held-03"}

    def without_end(label, *_):
        row = endless_rows[label]
        in_4_bits = (fresh(W, row) if row in ("adamw-3e-4", "held-03")
                     else rival(W, row.replace("3e-4", "tuned"), "adamw-cosine"))
        found = [endless(2, row, "adamw-cosine"), endless(3, row, "adamw-cosine"), in_4_bits]
        return [[gain, len(gain)] for gain in found]

    check.table("4. You cannot", "constant rate", without_end)
    check.say("is {} ± {} above AdamW at 3e-4 in 2 bits ({} fresh) and level with it in 4 ({} ± {})",
              *((gain, len(gain)) for gain in [in_2_bits("held-03", "adamw-3e-4", "validated")]),
              fresh(W, "held-03", "adamw-3e-4", "validated"))
    at_batch_2 = {"AdamW, every step × 0.35, about 3.5e-4": ("sadam-k2.matched", None),
                  "AdamW, 3e-4": (None, "adamw-3e-4"), "AdamW, 3e-4, cosine": (None, "adamw-3e-4-cosine"),
                  "AdamW, 1e-3, cosine": (None, "adamw-cosine"), "step probe, 1e-3, cosine": (None, "step4-cosine"),
                  "S-Adam as published, k = 2": ("sadam-k2", "sadam-k2")}

    def over_adamw(label, *_):
        large, small = at_batch_2[label]
        found = [less(tiny(large, "last"), tiny("adamw", "last")) if large else None,
                 smaller(small, "adamw") if small else None]
        return [[gain, len(gain)] if gain else None for gain in found]

    check.table("5. Tiny batches", "", over_adamw)
    check.say("on top of a third it adds {} ± {} points", smaller("adamw-3e-4-cosine", "adamw-3e-4"))
    check.say("We found {} by running S-Adam", mean(tiny("sadam-k2", "brake")))
    check.say("2 bits at 1e-3 it ends {} ± {} above AdamW ({}), but only {} ± {} above AdamW with every step "
              "× {}, and {} ± {} below cosine.", against("last", C, "k8", "base"),
              len(against("last", C, "k8", "base")),
              against("last", C, "k8", "k8.matched"), mean(brake(*at(C, "k8"))),
              [(-m, h) for m, h in [interval(against("last", C, "k8", "cosine"))]])
    both = [rival(C, "sadam-k8", "adamw", figure) for figure in ("last", "validated")]
    check.say("{} ± {} in the last become {} ± {} ({})", both, len(both[0]))
    check.say("captured on a GPU, takes {} to {} of AdamW's time", ends(
        printed("bench-gpu-quarter", network, "S-Adam k=8, authors', captured", "to captured AdamW")[0]
        for network in ("batch 2", "batch 64", "QATNet")))
    for data in (C, W):
        check.say("it is near {} in 2 and in 4 bits", mean(brake(*at(data, "k8"))))
    lost = [mean(rival(C, row, "adamw-cosine")) for row in ("sam", "asam", "smoothing")]
    lost += [mean(setting(row, "adamw-cosine")) for row in titles("rivals-settings").values()
             if row[:3] in ("sam", "asa", "smo")]
    check.say("they end {} to {} points below AdamW with cosine", ends(-m for m in lost))
    sgd = setting("sgd-001", "adamw-cosine")
    check.say("In 2 bits at a rate of {} it is {} ± {} points from AdamW ({})", 0.01, sgd, len(sgd))
    check.say("no gain was seen: {} ± {} in 3 ({} fresh).", checked(3), len(checked(3)))
    without = rival(C, "adamw", "adabound")
    check.say("Without a schedule it ends {} ± {} *below* AdamW in 2 bits ({})", without, len(without))
    other = setting("adamw-cosine", "adabound-10")
    check.say("`final_lr` of 0.01 instead of 0.1 ends {} ± {} below AdamW with cosine ({}).", other, len(other))
    check.case.assertTrue(all(mean(gain) > 0 for gain in bounded_gains()), "AdaBound lost at a rate")
    check.say("and stayed at 1 in 4, in {} steps", mean(series("steps", "final-check:imagewoof/held-03")))


@page(Advice, "README.md")
def readme(check):
    def cost(network, *_):
        if network.startswith("a small"):
            return [2, *(printed("bench-cpu", "A step on a small", k, "in AdamW steps")[0] for k in "28")]
        where = re.search("batch [0-9]+", network)[0]
        return [None, *(printed("bench-gpu", where, f"S-Adam k={k}, captured", "to captured AdamW")[0]
                        for k in "28")]

    check.table("Use it", "network, default options", cost)
    check.say("keeps the network from collapsing at a rate of 1e-3: it ends {} ± {} above AdamW",
              against("last", C, "k8", "base"))
    check.say("AdamW with every step × {} ends {} ± {} below it.", mean(brake(*at(C, "k8"))),
              against("last", C, "k8", "k8.matched"))
    check.say("in the epoch that held-out images choose, the gain is {} ± {}.",
              rival(C, "sadam-k8", "adamw", "validated"))
    check.say("and gains {} ± {} in the mean of five rates.", bounded_gains()[-2])
    check.say("costs a forward pass: at 3e-3 it gains {} ± {}, at 3e-4 it loses {} ± {}.",
              less(controlled("3e-3"), controlled("3e-3", "adamw-cosine")),
              less(controlled("3e-4", "adamw-cosine"), controlled("3e-4")))
    check.say("at a constant rate. It ends {} ± {} above AdamW at its best constant rate",
              endless(2, "held-03", "adamw-3e-4"))
    check.say("never brakes, and ends {} ± {} below", interval(fresh(W, "adamw-3e-4", "held-03")))
    check.say("ResNet-18 at batch 2 gains {} ± {} with every step × {},",
              less(tiny("sadam-k2.matched", "last"), tiny("adamw", "last")), mean(tiny("sadam-k2", "brake")))
    check.given("libtorch 1.13", "Apache-2.0")

if __name__ == "__main__":
    unittest.main()
