"""Writes inputs and scikit-learn's results to a safetensors file; called by make_golden.sh.

97 samples, 5 classes. "scores" has no ties, "coarse" (one decimal) has many.
"""

import sys

import numpy as np
from safetensors.numpy import save_file
from sklearn import metrics

SAMPLES, CLASSES = 97, 5


def main(path):
    random = np.random.default_rng(1)
    targets = random.choice(CLASSES, SAMPLES, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    scores = random.normal(size=(SAMPLES, CLASSES)).astype(np.float32)
    scores[np.arange(SAMPLES), targets] += 1
    probabilities = np.exp(scores.astype(np.float64))
    probabilities /= probabilities.sum(1, keepdims=True)
    coarse = probabilities.round(1)
    predicted = scores.argmax(1)
    labels = np.arange(CLASSES)
    binary = (targets == 0).astype(np.int64)
    binary_scores = coarse[:, 0]
    binary_predicted = binary_scores > 0.35
    values = random.normal(size=(SAMPLES, 3))
    estimates = values + random.normal(size=(SAMPLES, 3)) / 4

    def f1(average):
        return metrics.f1_score(targets, predicted, average=average)

    # One-vs-rest over scores that need not sum to 1.
    one_vs_rest = [metrics.roc_auc_score(targets == c, coarse[:, c]) for c in labels]
    expected = {
        "accuracy": metrics.accuracy_score(targets, predicted),
        "accuracy_top_2": metrics.top_k_accuracy_score(targets, scores, k=2, labels=labels),
        "accuracy_binary": metrics.accuracy_score(binary, binary_predicted),
        "f1_macro": f1("macro"),
        "f1_micro": f1("micro"),
        "f1_weighted": f1("weighted"),
        "f1_per_class": f1(None),
        "f1_binary": metrics.f1_score(binary, binary_predicted),
        "auroc_binary": metrics.roc_auc_score(binary, binary_scores),
        "auroc_macro": np.mean(one_vs_rest),
        "mean_squared_error": metrics.mean_squared_error(values, estimates),
        "root_mean_squared_error": metrics.mean_squared_error(values.ravel(), estimates.ravel()) ** 0.5,
        "perplexity": np.exp(metrics.log_loss(targets, probabilities, labels=labels)),
        "confusion_matrix": metrics.confusion_matrix(targets, predicted, labels=labels),
    }
    tensors = {
        "targets": targets, "scores": scores, "coarse": coarse, "binary_targets": binary,
        "binary_scores": np.ascontiguousarray(binary_scores), "values": values, "estimates": estimates,
    }  # fmt: skip
    for name, value in expected.items():
        dtype = np.int64 if name == "confusion_matrix" else np.float64
        tensors[f"expected.{name}"] = np.array(value, dtype)
    save_file(tensors, path)


if __name__ == "__main__":
    main(sys.argv[1])
