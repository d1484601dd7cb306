"""S-Adam for PyTorch: AdamW with a brake where the loss is not smooth.

>>> import torch, sadam
>>> model = torch.nn.Linear(2, 1)
>>> x, y = torch.rand(8, 2), torch.rand(8, 1)
>>> optimizer = sadam.SAdam(model, lr=1e-2, probes=2)
>>> loss = optimizer.step(lambda: torch.nn.functional.mse_loss(model(x), y))
>>> 0 < optimizer.summary.brake <= 1
True
"""

import torch

from ._built_for import TORCH as _built_for
from ._error import Error

if str(torch.__version__) != _built_for:
    raise ImportError(
        f"this sadam was built for torch {_built_for} and finds torch {torch.__version__}: build it again with "
        "pip install --no-build-isolation --force-reinstall --no-deps ./python."
    )

from ._engine import DirectionRequest
from ._engine import version as __version__
from ._engine import with_cuda
from ._graphed_step import GraphedStep
from ._optimizer import AdamW, Optimizer, ProxSGD, SAdam
from ._probe_model import ModelProbe, probe_model
from ._summary import Brakes, StepSummary, Totals

__all__ = [
    "AdamW",
    "Brakes",
    "DirectionRequest",
    "Error",
    "GraphedStep",
    "ModelProbe",
    "Optimizer",
    "ProxSGD",
    "SAdam",
    "StepSummary",
    "Totals",
    "__version__",
    "probe_model",
    "with_cuda",
]
