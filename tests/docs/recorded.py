"""Where the runs of the paper's tables and of ours are, under the names that the pages give them."""

import functools

from figures import ends, less, mean, over, paper, series

C, W = "cifar100", "imagewoof"
RATES = ("1e-4", "3e-4", "1e-3", "3e-3", "1e-2")
best = functools.partial(series, "best")
last = functools.partial(series, "last")
brake = functools.partial(series, "brake")

# Tables 1 and 2 share methods.
SHARED = {
    "prox": ["table1:prox_sgd"],
    "adamw": ["table1:adamw"],
    "k1": ["table2:k1"],
    "no-brake": ["table2:no-brake"],
    "twins": ["table2:k1", "table2:no-brake"],
    "base": ["table1:adamw", "table2:k1", "table2:no-brake"],
    "k2": ["table1:sadam-k2", "table2:k2"],
    "k8": ["table1:sadam-k8", "table2:k8"],
    "small": ["table2:small-radius"],
    "k2-paper": ["table1:sadam-k2-paper"],
    "k8-paper": ["table1:sadam-k8-paper"],
    "cosine": ["table1:adamw.cosine", "table2:adamw.cosine"],
}

# Label in results.md without "S-Adam": name above, row of the recipe, name in cifar100-cpu.csv.
METHODS = {
    "Prox-SGD": ("prox", "prox_sgd", "Prox-SGD"),
    "AdamW": ("adamw", "adamw", "AdamW"),
    "AdamW, k=1, λ=0 together": ("base", "adamw", None),
    "k=1": ("k1", "k1", "S-Adam k=1"),
    "λ=0": ("no-brake", "no-brake", "S-Adam k=8, λ=0"),
    "k=2, authors": ("k2", "sadam-k2", "S-Adam k=2, authors' code"),
    "k=8, authors": ("k8", "sadam-k8", "S-Adam k=8, authors' code"),
    "k=8, δ=1e-4": ("small", "small-radius", "S-Adam k=8, δ=1e-4"),
    "k=2, paper": ("k2-paper", "sadam-k2-paper", "S-Adam k=2, paper's equations"),
    "k=8, paper": ("k8-paper", "sadam-k8-paper", "S-Adam k=8, paper's equations"),
    "AdamW, cosine": ("cosine", None, "AdamW"),
}


def at(data, method):
    """The places of METHOD or METHOD.CONTROL in Tables 1 and 2. On Imagewoof Table 2's cosine did not end."""
    method, dot, control = method.partition(".")
    places = [place.replace(":", f"-{data}:{data}/") + dot + control for place in SHARED[method]]
    return [p for p in places if p != "table2-imagewoof:imagewoof/adamw.cosine"]


def against(figure, data, method, other):
    return less(series(figure, *at(data, method)), series(figure, *at(data, other)))


def gain(table, row, column=C, over="adamw"):
    """What the paper claims."""
    return paper(table, row, column) - paper(table, over, column)


def tiny(row, figure="best"):
    """ResNet-18 on Imagewoof, batch 2."""
    return series(figure, f"table3-imagewoof:imagewoof/{row}")


def smaller(row, base=None, figure="last"):
    """A row of tiny-batches, less another."""
    values = series(figure, f"tiny-batches:imagewoof/{row}")
    return less(values, smaller(base, None, figure)) if base else values


def training_loss(place):
    """In the last epoch."""
    return mean(less(series("test_loss", place), series("gap", place)))


def rates(data, row, figure="last"):
    """A row of learning-rates, by rate."""
    return {rate: series(figure, f"learning-rates-{data}:{data}-{rate}/{row}") for rate in RATES}


def means(data, row, figure="last"):
    return {rate: mean(values) for rate, values in rates(data, row, figure).items()}


def rate_gain(data, row):
    """The mean over the rates, less that of AdamW with the same schedule."""
    base = "adamw-cosine" if row.endswith("-cosine") else "adamw"
    return less(over(*rates(data, row).values()), over(*rates(data, base).values()))


def rival(data, row, base=None, figure="last"):
    """A row of rivals, less another."""
    values = series(figure, f"rivals:{data}/{row}")
    return less(values, rival(data, base, None, figure)) if base else values


def searched(bits, row, base=None, figure="last"):
    """A row of brakes, less another."""
    values = series(figure, f"brakes:cifar100-{bits}/{row}")
    return less(values, searched(bits, base, None, figure)) if base else values


def fresh(data, row, base="adamw-cosine", figure="last"):
    """A row of the final check, less another."""
    return less(*(series(figure, f"final-check:{data}/{r}") for r in (row, base)))


# Twelve seeds in 2 bits: those of rivals and of brakes.
TUNED = last("rivals:cifar100/adamw-tuned", "brakes:cifar100-2/adamw-3e-4-cosine")
COSINE = last("rivals:cifar100/adamw-cosine", "brakes:cifar100-2/adamw-cosine")
HELD = last("rivals:cifar100/held", "brakes:cifar100-2/held-03-001")


def controlled(rate, row="step4-cosine", figure="last"):
    """A row of step-control, or a control of the step probe there: ".matched"."""
    row = "step4-cosine" + row if row.startswith(".") else row
    return series(figure, f"step-control:cifar100-{rate}/{row}")


def more_than(row, other):
    """By rate, and of the mean over the rates: a row of step-control less another."""
    a, b = ([controlled(rate, r) for rate in RATES] for r in (row, other))
    return [*map(less, a, b), less(over(*a), over(*b))]


def endless(bits, row, base=None, figure="last"):
    """A row of unknown-end, less another."""
    values = series(figure, f"unknown-end:cifar100-{bits}/{row}")
    return less(values, endless(bits, base, None, figure)) if base else values


def endless_time(row):
    """Of AdamW's with cosine, over both networks."""
    ratios = []
    for bits in (2, 3):
        of, base = (endless(bits, r, figure="time") for r in (row, "adamw-cosine"))
        ratios += [of[seed] / base[seed] for seed in of]
    return mean(ratios)


def setting(row, base=None, figure="last"):
    """A row of rivals-settings, less another."""
    values = series(figure, f"rivals-settings:cifar100/{row}")
    return less(values, setting(base, None, figure)) if base else values


def checked(bits):
    """AdaBound with cosine, less AdamW."""
    return less(*(series("last", f"adabound-check:cifar100-{bits}/{row}")
                  for row in ("adabound-100", "adamw-cosine")))


BOUNDED = [*(f"cifar100-{rate}" for rate in RATES), "imagewoof-1e-3"]


def bounded(column, row):
    """A row of adabound-rates, "adamw" or "adabound", with cosine."""
    return series("last", f"adabound-rates:{column}/{row}-cosine")


def bounded_gains():
    """AdaBound less AdamW by rate, in their mean, and in 4 bits."""
    adamw, adabound = ([bounded(column, row) for column in BOUNDED] for row in ("adamw", "adabound"))
    return [*map(less, adabound[:-1], adamw[:-1]), less(over(*adabound[:-1]), over(*adamw[:-1])),
            less(adabound[-1], adamw[-1])]


def held(bits, control="", figure="last"):
    """The held brake of held-control, or a control of it: ".matched"."""
    return series(figure, f"held-control:cifar100-{bits}/held-03{control}")
