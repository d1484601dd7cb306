"""S-Adam under the Trainer of Hugging Face's transformers, which passes no closure: `training_step` probes."""

import tempfile

import torch
from transformers import Trainer, TrainingArguments

import sadam


class SAdamTrainer(Trainer):
    """Probes all micro-batches of a step after their backward passes; the Trainer clips and steps."""

    def training_step(self, model, inputs, *args, **kwargs):
        loss = super().training_step(model, inputs, *args, **kwargs)
        self.parts = [*getattr(self, "parts", []), self._prepare_inputs(inputs)]
        if self.accelerator.sync_gradients:
            parts, self.parts = self.parts, []
            self.optimizer.optimizer.probe(
                [lambda part=part: self.compute_loss(model, part) / len(parts) for part in parts]
            )
        return loss


class Regression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def forward(self, x, labels):
        out = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


def main(steps=20):
    torch.manual_seed(1)
    x = torch.rand(64, 2) * 4 - 2
    y = x.abs().sum(1, keepdim=True)
    model = Regression()
    optimizer = sadam.SAdam(model, lr=1e-2)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            use_cpu=True,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        data = [{"x": x[i], "labels": y[i]} for i in range(len(x))]
        SAdamTrainer(model=model, args=arguments, train_dataset=data, optimizers=(optimizer, None)).train()
    return [summary.brake for summary in optimizer.take_summaries()]


if __name__ == "__main__":
    print("brakes", main())
