"""S-Adam under Lightning, whose closure calls backward: `optimizer_step` gives the loss for the probes.

With `accumulate_grad_batches` above 1, gradients are of all batches, and the probes look at the last one alone.
"""

import torch

import sadam

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        self.brakes = []

    def loss_of(self, batch):
        x, y = batch
        return torch.nn.functional.mse_loss(self.net(x), y)

    def training_step(self, batch, batch_idx):
        self.batch = batch
        return self.loss_of(batch)

    def configure_optimizers(self):
        return sadam.SAdam(self, lr=1e-2)

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        optimizer.step(optimizer_closure, loss_fn=lambda: self.loss_of(self.batch))
        self.brakes.append(optimizer.optimizer.summary.brake)


def main(steps=20):
    torch.manual_seed(1)
    x = torch.rand(64, 2) * 4 - 2
    data = torch.utils.data.TensorDataset(x, x.abs().sum(1, keepdim=True))
    trainer = lightning.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Regression()
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=16))
    return model.brakes


if __name__ == "__main__":
    print("brakes", main())
