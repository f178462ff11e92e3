"""The callbacks of docs/howto/in-training.md, where transformers and Lightning are installed."""

import re
from pathlib import Path

import pytest

import trueness as tn

PAGE = (Path(__file__).parents[1] / "docs" / "howto" / "in-training.md").read_text(encoding="utf-8")


def callback(title):
    """The class of the first block of code below a heading of the page."""
    code = re.search(rf"^## {title}.*?^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    names = {}
    exec(code, names)  # the code of our own page
    return names["LogCalibration"]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def rows(torch, n, seed):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=draw)
    return x, torch.multinomial(torch.softmax(x[:, :3], 1), 1, generator=draw)[:, 0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of transformers
def test_the_callback_for_transformers_logs_the_error_and_its_floor(torch, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def forward(self, x, labels):
            logits = 3 * self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    torch.manual_seed(0)
    model = Model()
    x, y = rows(torch, 400, 1)
    data = [{"x": x[i], "labels": y[i]} for i in range(len(y))]
    calibration = callback("transformers")()
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=2,
        eval_strategy="epoch",
        per_device_eval_batch_size=64,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        label_names=["labels"],
    )
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=data,
        eval_dataset=data,
        callbacks=[calibration],
        preprocess_logits_for_metrics=calibration.add,
        compute_metrics=calibration.metrics,
    )
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "eval_ece" in entry]
    assert len(logged) == 2
    with torch.inference_mode():
        logits = model(x, y)["logits"]
    sums = tn.torch.binned_logits(y, logits)
    assert logged[-1]["eval_ece"] == pytest.approx(tn.ece(sums), abs=1e-6)
    floor = tn.noise_floor(tn.ece, sums)
    assert logged[-1]["eval_ece_if_calibrated"] == pytest.approx(floor.mean, abs=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Lightning
def test_the_callback_for_lightning_logs_the_error_and_its_floor(torch, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    x, y = rows(torch, 400, 2)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 3)

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def validation_step(self, batch, _):
            return {"logits": self.layer(batch[0]), "y": batch[1]}

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64)
    trainer = lightning.Trainer(
        max_epochs=2,
        callbacks=[callback("Lightning")()],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=str(tmp_path),
    )
    module = Module()
    trainer.fit(module, loader, loader)
    with torch.inference_mode():
        sums = tn.torch.binned_logits(y, module.layer(x))
    logged = trainer.callback_metrics
    assert logged["val_ece"].item() == pytest.approx(tn.ece(sums), abs=1e-6)
    assert logged["val_ece_if_calibrated"].item() == pytest.approx(
        tn.noise_floor(tn.ece, sums).mean, abs=1e-3
    )


def test_the_code_of_the_page_is_python():
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        compile(code, "page", "exec")
