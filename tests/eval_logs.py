"""Small logs as the harnesses write them."""

import json
import zipfile


def write_lines(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def lm_eval_row(i, logs, target, **more):
    """A line of a multiple-choice task of lm-evaluation-harness 0.4.13, whose option k is the text 'o' * (k + 1)."""
    texts = ["o" * (k + 1) for k in range(len(logs))]
    pair = {
        f"gen_args_{k}": {"arg_0": f"Q{i}?", "arg_1": f" {text}"} for k, text in enumerate(texts)
    }
    responses = [[str(log), "False"] for log in logs]
    metrics = [name for name in more if name.startswith(("acc", "brier"))]
    row = {"doc_id": i, "doc": {"subject": f"s{i % 2}"}, "target": str(target), "arguments": pair}
    row |= {
        "resps": [[one] for one in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": metrics,
    }
    return row | {"doc_hash": f"hash{i}"} | more


def generated_row(i, text, right, **more):
    row = {
        "doc_id": i,
        "doc": {},
        "target": "x",
        "arguments": {},
        "resps": [[text]],
        "filtered_resps": [text],
    }
    return (
        row
        | {"filter": "none", "metrics": ["exact_match"], "doc_hash": f"h{i}", "exact_match": right}
        | more
    )


def inspect_sample(
    identity, value="C", *, epoch=1, text="4", answer=None, metadata=None, scorer="judge", **more
):
    score = {"value": value, "answer": answer, "explanation": text, "metadata": metadata}
    message = {"role": "assistant", "content": text}
    output = {
        "model": "m",
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": text,
    }
    sample = {
        "id": identity,
        "epoch": epoch,
        "input": "Q?",
        "target": "4",
        "messages": [message],
        "output": output,
    }
    return sample | {"scores": {scorer: score}, "metadata": {"topic": f"t{identity}"}} | more


def with_tokens(sample, tokens):
    """The sample with log-probabilities: pairs of a token and its probability, or with those of other tokens."""
    import math

    content = []
    for token, probability, *others in tokens:
        tops = [
            {"token": t, "logprob": math.log(p)}
            for t, p in (others[0] if others else {token: probability}).items()
        ]
        content.append({"token": token, "logprob": math.log(probability), "top_logprobs": tops})
    sample["output"]["choices"][0]["logprobs"] = {"content": content}
    return sample


def inspect_header(task="sums", model="mock/a", version=2, status="success", **more):
    about = {
        "task": task,
        "task_id": f"id-{task}-{model}",
        "model": model,
        "created": "2026-01-01T00:00:00",
    }
    return {"version": version, "status": status, "eval": about | more}


def write_inspect_json(path, samples, **header):
    path.write_text(json.dumps(inspect_header(**header) | {"samples": samples}), encoding="utf-8")
    return path


def write_eval(
    path,
    samples,
    *,
    zipped=zipfile,
    method=zipfile.ZIP_DEFLATED,
    nested=False,
    members=(),
    **header,
):
    with zipped.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps(inspect_header(**header)))
        for one in samples:
            name = f"samples/{one['id']}_epoch_{one['epoch']}"
            archive.writestr(f"{name}/sample.json" if nested else f"{name}.json", json.dumps(one))
        for name, content in members:
            archive.writestr(name, content)
        archive.writestr("header.json", json.dumps(inspect_header(**header)))
    return path


def helm_row(identity, right, probability, *, split="test", perturbation=None, trial=0, **more):
    about = {"split": split} | ({"perturbation": perturbation} if perturbation else {})
    numbers = {"exact_match": right, "max_prob": probability} | more
    stats = [
        {"name": {"name": name} | about, "count": 1, "sum": x, "mean": x}
        for name, x in numbers.items()
    ]
    row = {"instance_id": identity, "train_trial_index": trial, "stats": stats}
    return row | ({"perturbation": perturbation} if perturbation else {})


def write_helm(folder, rows):
    folder.mkdir(parents=True)
    (folder / "per_instance_stats.json").write_text(json.dumps(rows))
    spec = {"name": "mmlu:subject=anatomy,model=org_m", "adapter_spec": {"model": "org/m"}}
    (folder / "run_spec.json").write_text(
        json.dumps(spec | {"scenario_spec": {"args": {"subject": "anatomy"}}})
    )
    return folder


def openai_rows(answers):
    """Events: (correct, text, log-probability) of each sample; None leaves the match or the log-probability out."""
    yield {
        "spec": {
            "completion_fns": ["gpt-x"],
            "eval_name": "sums.dev.v0",
            "run_config": {},
            "run_id": "r1",
        }
    }
    for i, (correct, text, log) in enumerate(answers):
        own = {"run_id": "r1", "sample_id": f"sums.dev.{i}"}
        yield own | {"type": "sampling", "data": {"prompt": "Q?", "sampled": [text]}}
        if log is not None:
            yield own | {"type": "cond_logp", "data": {"completion": text, "logp": log}}
        if correct is not None:
            yield own | {
                "type": "match",
                "data": {"correct": correct, "expected": "4", "picked": None, "sampled": text},
            }
    yield {"final_report": {"accuracy": 0.5}}
