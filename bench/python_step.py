"""Steps of the Python package beside the authors' rule in plain PyTorch, on the same network, in turns.

On the CPU: QATNet (bench/authors_step.py) at batch 128. "beyond" is what a step takes beyond its forward and backward
pass, its probes' forward passes and the update, each measured by itself; at most 5 % is wanted. With --gpu: ResNet-18
at batch 2, each step of ours a CUDA graph; at most 0.15 (k = 2) and 0.1 (k = 8) of the authors' time is wanted, and
eager steps that take one copy of the parameters beyond AdamW's. Both as torch comes, with TF32 in convolutions (ours
then evaluates the loss once more in float32, because its probes are in float32 always), and in float32.
"""

import functools
import statistics
import subprocess
import sys
import time

try:
    import torch

    import sadam
except ImportError as error:
    sys.exit(f"The Python package is not measured: {error}.")

import authors_step

ROUNDS = 15


def in_turns(works, wait=lambda: None, steps=2):
    """Seconds of one call of each work, once a round."""
    times = {name: [] for name in works}
    for round_ in range(ROUNDS + 1):
        for name, work in works.items():
            wait()
            start = time.perf_counter()
            for _ in range(steps):
                work()
            wait()
            if round_ > 0:  # the first warms up
                times[name].append((time.perf_counter() - start) / steps)
    return times


def quartiles(values, digits):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def authors_training(network, probes, loss_fn):
    optimizer = authors_step.SAdam(network.parameters(), probes)

    def step():
        optimizer.zero_grad()
        optimizer.step(loss_fn)

    return step


def on_cpu():
    torch.manual_seed(42)
    images = torch.randn(authors_step.BATCH, 3, authors_step.PIXELS, authors_step.PIXELS)
    labels = torch.randint(authors_step.CLASSES, (authors_step.BATCH,))
    print("| QATNet, k | ms | the authors' ms | of the authors' time | beyond, % |\n|---|---|---|---|---|")
    for k in (2, 8):
        networks = [authors_step.QATNet() for _ in range(3)]
        losses = [
            lambda network=network: torch.nn.functional.cross_entropy(network(images), labels) for network in networks
        ]
        ours = sadam.SAdam.reference(networks[0], probes=k)
        update = sadam.AdamW(networks[2])

        def differentiate():
            losses[2]().backward()
            networks[2].zero_grad(set_to_none=True)

        @torch.no_grad()
        def forwards():
            for _ in range(k):
                losses[2]()

        times = in_turns(
            {
                "ours": lambda: ours.step(losses[0]),
                "authors": authors_training(networks[1], k, losses[1]),
                "differentiate": differentiate,
                "forwards": forwards,
            }
        )
        losses[2]().backward()
        updates = in_turns({"update": update.step})["update"]
        needed = [d + f + u for d, f, u in zip(times["differentiate"], times["forwards"], updates)]
        beyond = [100 * (step / need - 1) for step, need in zip(times["ours"], needed)]
        parts = [a / b for a, b in zip(times["ours"], times["authors"])]
        milliseconds = [quartiles([1e3 * value for value in times[name]], 1) for name in ("ours", "authors")]
        print("|", " | ".join([str(k), *milliseconds, quartiles(parts, 3), quartiles(beyond, 1)]), "|", flush=True)


def resnet(tf32):
    import torchvision

    torch.backends.cudnn.allow_tf32 = tf32
    return torchvision.models.resnet18(num_classes=100).cuda()


def on_gpu():
    torch.manual_seed(42)
    images = torch.randn(2, 3, 224, 224, device="cuda")
    labels = torch.randint(100, (2,), device="cuda")
    print("| ResNet-18 | k | ms | the authors' ms | of the authors' time | wanted | memory beyond AdamW, copies |")
    print("|---|---|---|---|---|---|---|")
    for tf32, k, wanted in ((True, 2, 0.15), (True, 8, 0.1), (False, 2, 0.15), (False, 8, 0.1)):
        networks = [resnet(tf32) for _ in range(2)]
        size = sum(parameter.numel() * parameter.element_size() for parameter in networks[0].parameters())
        ours = sadam.SAdam.paper(networks[0], lr=1e-5, probes=k)
        step = sadam.GraphedStep(ours, lambda x, y: torch.nn.functional.cross_entropy(networks[0](x), y))
        theirs = authors_training(
            networks[1], k, lambda: torch.nn.functional.cross_entropy(networks[1](images), labels)
        )
        times = in_turns({"ours": lambda: step(images, labels), "authors": theirs}, torch.cuda.synchronize, steps=10)
        if not step.is_captured:
            print(f"The steps were not captured: {step.why_not}")
        parts = [a / b for a, b in zip(times["ours"], times["authors"])]
        milliseconds = [quartiles([1e3 * value for value in times[name]], 2) for name in ("ours", "authors")]
        verdict = f"≤ {wanted} {'ok' if statistics.median(parts) <= wanted else 'missed'}"
        copies = f"{(peak_of(k) - peak_of(0)) / size:.2f}"
        precision = "as torch comes" if tf32 else "float32"
        print("|", " | ".join([precision, str(k), *milliseconds, quartiles(parts, 3), verdict, copies]), "|", flush=True)


@functools.lru_cache(maxsize=None)
def peak_of(probes):
    """In a process of its own: whoever is first pays for the workspaces of libraries."""
    return int(subprocess.run([sys.executable, __file__, "--peak", str(probes)], capture_output=True, check=True).stdout)


def print_peak(probes):
    """Of eager steps, as captured ones may take more for speed. 0 probes: AdamW."""
    model = resnet(tf32=True)
    images, labels = torch.randn(2, 3, 224, 224, device="cuda"), torch.randint(100, (2,), device="cuda")
    optimizer = sadam.SAdam.paper(model, probes=probes) if probes > 0 else sadam.AdamW(model)
    for _ in range(3):
        optimizer.step(lambda: torch.nn.functional.cross_entropy(model(images), labels))
    print(torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print_peak(int(sys.argv[-1]))
    elif "--gpu" in sys.argv:
        on_gpu()
    else:
        on_cpu()
