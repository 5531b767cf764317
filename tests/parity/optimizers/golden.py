"""Prints the parameters after ten steps (LBFGS: two) of PyTorch's optimizers on a small problem: case,value,value,...

Three float64 parameters, [3, 4], [6, 2] and [5]. Gradients are fractions that C++ makes alike, see problem.h in
tests/trainer/optim. Lion, which PyTorch does not have, is written out from its paper.
"""

import torch
from torch import optim

SHAPES = [(3, 4), (6, 2), (5,)]
STEPS = 10
LBFGS_STEPS = 2  # it would be at the minimum soon, wherever it went


def parameters():
    result = []
    for shape in SHAPES:
        i = torch.arange(torch.Size(shape).numel())
        result.append((((5 * i) % 7 - 3).double() / 4).reshape(shape).requires_grad_())
    return result


def set_gradients(params, step):
    for j, p in enumerate(params):
        i = torch.arange(p.numel())
        p.grad = 0.5 * p.detach() + (((7 * i + 3 * step + j) % 11 - 5).double() / 10).reshape(p.shape)


class Lion:
    def __init__(self, params, lr, betas, weight_decay):
        self.params, self.lr, self.betas, self.weight_decay = params, lr, betas, weight_decay
        self.momenta = [torch.zeros_like(p) for p in params]

    def step(self):
        b1, b2 = self.betas
        for p, m in zip(self.params, self.momenta):
            direction = torch.sign(b1 * m + (1 - b1) * p.grad)
            p.data = p.data * (1 - self.lr * self.weight_decay) - self.lr * direction
            m.copy_(b2 * m + (1 - b2) * p.grad)


class MuonAndAdamW:
    def __init__(self, params, **options):
        self.parts = [optim.Muon(params[:2], **options), optim.AdamW(params[2:], lr=0.02, weight_decay=0.2)]

    def step(self):
        for part in self.parts:
            part.step()


CASES = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "SGD.weight_decay": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.2),
    "SGD.momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "SGD.nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "SGD.maximize": lambda p: optim.SGD(p, lr=0.1, momentum=0.8, dampening=0.5, weight_decay=0.1, maximize=True),
    "Adam": lambda p: optim.Adam(p, lr=0.05),
    "Adam.weight_decay": lambda p: optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.3),
    "Adam.amsgrad": lambda p: optim.Adam(p, lr=0.05, amsgrad=True),
    "Adam.maximize": lambda p: optim.Adam(p, lr=0.05, weight_decay=0.1, maximize=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.05),
    "AdamW.weight_decay": lambda p: optim.AdamW(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.3),
    "AdamW.amsgrad": lambda p: optim.AdamW(p, lr=0.05, amsgrad=True),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.02),
    "RMSprop.momentum": lambda p: optim.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-4, weight_decay=0.1, momentum=0.7),
    "RMSprop.centered": lambda p: optim.RMSprop(p, lr=0.02, centered=True, maximize=True, weight_decay=0.1),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1),
    "Adagrad.decay": lambda p: optim.Adagrad(
        p, lr=0.1, lr_decay=0.1, weight_decay=0.2, initial_accumulator_value=0.5, eps=1e-4),
    "Adagrad.maximize": lambda p: optim.Adagrad(p, lr=0.1, maximize=True),
    "Adafactor": lambda p: optim.Adafactor(p, lr=0.05),
    "Adafactor.options": lambda p: optim.Adafactor(
        p, lr=0.5, beta2_decay=-0.5, eps=(1e-3, 1e-2), d=1.5, weight_decay=0.1, maximize=True),
    "Lion": lambda p: Lion(p, 0.03, (0.9, 0.99), 0.0),
    "Lion.weight_decay": lambda p: Lion(p, 0.03, (0.8, 0.95), 0.3),
    "Muon": lambda p: MuonAndAdamW(p, lr=0.05),
    "Muon.options": lambda p: MuonAndAdamW(
        p, lr=0.05, weight_decay=0.3, momentum=0.8, nesterov=False, ns_coefficients=(2.0, -1.5, 0.5), ns_steps=4,
        adjust_lr_fn="match_rms_adamw"),
}  # fmt: skip

LBFGS_CASES = {
    "LBFGS": dict(lr=0.3, max_iter=4, history_size=3),
    "LBFGS.strong_wolfe": dict(lr=1.0, max_iter=3, line_search_fn="strong_wolfe"),
}


def loss_with_gradients(params):
    loss = 0.0
    for j, p in enumerate(params):
        i = torch.arange(p.numel()).reshape(p.shape)
        curvature = ((3 * i + j) % 5 + 1).double() / 4
        target = ((2 * i + j) % 7 - 3).double() / 5
        q = p.detach()
        p.grad = curvature * (q - target) + 0.2 * q**3
        loss = loss + (curvature * (q - target) ** 2 / 2 + 0.05 * q**4).sum()
    return loss


def show(name, params):
    values = torch.cat([p.detach().flatten() for p in params]).tolist()
    print(",".join([name] + [repr(value) for value in values]))


def main():
    print(f"# torch {torch.__version__}")
    for name, make in CASES.items():
        params = parameters()
        optimizer = make(params)
        for step in range(STEPS):
            set_gradients(params, step)
            optimizer.step()
        show(name, params)
    for name, options in LBFGS_CASES.items():
        params = parameters()
        optimizer = optim.LBFGS(params, **options)
        for _ in range(LBFGS_STEPS):
            optimizer.step(lambda: loss_with_gradients(params))
        show(name, params)


main()
