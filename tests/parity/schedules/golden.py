"""Prints the learning rates (base 1.0) and momenta of PyTorch's schedulers, one line a step: case,step,lr,momentum.

The cases stand in tests/trainer/optim/schedules/parity_test.cc by the same names.
"""

import warnings

import torch
from torch.optim import lr_scheduler as lrs

STEPS = 30
PLATEAU_METRICS = [1.0, 0.9, 0.9, 0.9, 0.95, 0.9, 0.89991, 0.8, 0.8, 0.8, 0.8, 0.8, 0.7, 0.71, 0.72, 0.73]


def sgd():
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.5)


def plateau(**options):
    return lambda o: lrs.ReduceLROnPlateau(o, **options)


CASES = {
    "ConstantLR": lambda o: lrs.ConstantLR(o, factor=0.25, total_iters=4),
    "LinearLR": lambda o: lrs.LinearLR(o, start_factor=0.1, end_factor=0.9, total_iters=7),
    "PolynomialLR": lambda o: lrs.PolynomialLR(o, total_iters=10, power=2.5),
    "StepLR": lambda o: lrs.StepLR(o, step_size=4, gamma=0.3),
    "MultiStepLR": lambda o: lrs.MultiStepLR(o, milestones=[3, 8, 8, 20], gamma=0.5),
    "ExponentialLR": lambda o: lrs.ExponentialLR(o, gamma=0.9),
    "CosineAnnealingLR": lambda o: lrs.CosineAnnealingLR(o, T_max=10, eta_min=0.05),
    "CosineAnnealingWarmRestarts": lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01),
    "CosineAnnealingWarmRestarts.even": lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=4),
    "OneCycleLR": lambda o: lrs.OneCycleLR(o, max_lr=1.0, total_steps=30),
    "OneCycleLR.linear": lambda o: lrs.OneCycleLR(
        o, max_lr=2.0, total_steps=31, pct_start=0.25, anneal_strategy="linear", base_momentum=0.8, max_momentum=0.9,
        div_factor=10.0, final_div_factor=100.0),
    "OneCycleLR.three_phase": lambda o: lrs.OneCycleLR(o, max_lr=1.0, total_steps=30, three_phase=True),
    "SequentialLR": lambda o: lrs.SequentialLR(
        o, [lrs.LinearLR(o, start_factor=0.1, total_iters=5), lrs.ExponentialLR(o, gamma=0.8), lrs.StepLR(o, 3)], [5, 15]),
    "ChainedScheduler": lambda o: lrs.ChainedScheduler(
        [lrs.ConstantLR(o, factor=0.1, total_iters=6), lrs.ExponentialLR(o, gamma=0.9)]),
    "ReduceLROnPlateau": plateau(patience=2),
    "ReduceLROnPlateau.abs": plateau(threshold_mode="abs", threshold=0.15, patience=1, factor=0.5, cooldown=2),
    "ReduceLROnPlateau.max": plateau(mode="max", patience=0, factor=0.5, min_lr=0.1),
    "ReduceLROnPlateau.max_abs": plateau(mode="max", threshold_mode="abs", patience=1, threshold=0.01, factor=0.1, eps=0.05),
}  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    print(f"# torch {torch.__version__}")
    for name, make in CASES.items():
        optimizer = sgd()
        schedule = make(optimizer)
        is_plateau = name.startswith("ReduceLROnPlateau")
        for step in range(len(PLATEAU_METRICS) if is_plateau else STEPS):
            group = optimizer.param_groups[0]
            print(f"{name},{step},{group['lr']!r},{group['momentum']!r}")
            optimizer.step()
            if is_plateau:
                schedule.step(PLATEAU_METRICS[step])
            else:
                schedule.step()


main()
