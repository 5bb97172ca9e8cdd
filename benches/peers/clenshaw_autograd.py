"""ClenshawGCN differentiated by autograd; the caller provides the products with P~ and X.

    S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*
    H(l) = drop( relu*( beta (S W + b) + (1 - beta) S ) )
"""

import math

import torch
from torch.nn.functional import dropout

from harness import Autograd


class DenseFeatures:
    """Computes drop(X) W with a dense X."""

    def __init__(self, folder):
        self.x = folder.features()

    def __call__(self, w, drop):
        return drop(self.x) @ w


class ClenshawGCN(torch.nn.Module):
    """`propagate` maps H to P~ H, `features` maps W and the dropout function to drop(X) W."""

    def __init__(self, folder, propagate, features=None):
        super().__init__()
        hyper = folder.hyper
        self.order, self.strength = hyper["K"], hyper["lambda"]
        self.drop, self.drop_conv = hyper["dropout"], hyper["dropout_conv"]
        self.weights = {name: torch.nn.Parameter(w.clone()) for name, w in folder.weights.items()}
        self.propagate, self.features = propagate, features or DenseFeatures(folder)

    def dropped(self, h, share):
        return dropout(h, share, self.training)

    def transform(self, l, s):
        beta = min(1.0, math.log(self.strength / (l or self.order) + 1))
        w, b = self.weights[f"conv.{l}.w"], self.weights[f"conv.{l}.b"]
        return beta * (s @ w + b) + (1 - beta) * s

    def clenshaw_step(self, l, h1, h2, h_star):
        return 2 * self.propagate(h1) - h2 + self.weights["alpha"][0, l] * h_star

    def forward(self):
        w = self.weights
        # Unlike relu, clamp passes the gradient at exactly 0, as relu* does.
        h_star = self.features(w["w_in"], lambda x: self.dropped(x, self.drop)) + w["b_in"]
        h_star = self.dropped(h_star.clamp(min=0), self.drop)
        h1 = h2 = torch.zeros_like(h_star)
        for l in range(self.order + 1):
            h = self.transform(l, self.clenshaw_step(l, h1, h2, h_star))
            if l <= self.order - 2:
                h = self.dropped(h.clamp(min=0), self.drop_conv)
            h1, h2 = h, h1
        return self.dropped(h1.clamp(min=0), self.drop) @ w["w_out"] + w["b_out"]


def implementation(folder, propagate):
    network = ClenshawGCN(folder, propagate)
    return Autograd(folder, network, network.weights)
