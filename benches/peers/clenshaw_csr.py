"""ClenshawGCN in PyTorch, written for speed on a CPU.

    S(l) = 2 P~ H(l-1) - H(l-2) + alpha_l H*
    Y(l) = S(l) W'(l) + b'(l),   W' = beta W + (1 - beta) I,   b' = beta b
    H(l) = drop( relu*( Y(l) ) )

- P~ and X are CSR matrices with 32-bit indices, which MKL multiplies without conversion; `addmm` computes
  `2 P~ H - H'` in one call. torch.sparse.mm(.., "sum") was slower on random graphs of the sizes of Squirrel
  and Pubmed, and about as fast on one of Cora's size.
- The backward pass is written by hand: P~ is symmetric, so a Clenshaw step is its own adjoint; the gradient
  of the first layer is a product with the stored transpose of X; autograd records nothing.
- The weights of all layers are one tensor, updated by one fused Adam.
- Dropout draws 16 bits per entry from a 64-bit generator and compares them with NumPy; torch's own dropout
  draws one number per entry and took 6 to 12 times as long. The factor 1 / (1 - p) is folded into weights
  where possible.
- Results are written to preallocated buffers.
- torch.compile is not used: a fused mask and activation was slower than separate calls in one trial on one
  thread. `clenshaw_sparse.py` compiles the whole network.
"""

import math

import numpy
import torch

from harness import csr, optimisers, serve

# The largest threshold below 0, so that the gradient passes at exactly 0, as in relu*.
JUST_BELOW_ZERO = -1e-45


class DropoutMasks:
    """Random masks of 0 and 1."""

    def __init__(self):
        self.bits = numpy.random.SFC64(0)

    def mask(self, shape, drop):
        count = math.prod(shape)
        words = self.bits.random_raw(-(-count // 4)).view(numpy.int16)[:count]
        kept = numpy.greater_equal(words, round((drop - 0.5) * 65536)).view(numpy.uint8)
        return torch.from_numpy(kept).reshape(shape).float()


class Features:
    """X after dropout, and its transpose, as matrices to multiply with."""

    def __init__(self, folder):
        self.shape, self.dense = (folder.n, folder.n_features), folder.dense_x
        if self.dense is None:
            self.offsets, self.indices, self.values = folder.x
            n_entries = len(self.values)
            x = csr(self.offsets, self.indices, torch.arange(n_entries).double(), self.shape)
            transpose = x.to_sparse_csc()
            self.transpose = transpose.ccol_indices().int(), transpose.row_indices().int()
            self.origin = transpose.values().long()

    def drop(self, dropout, share):
        kept = self.values if self.dense is None else self.dense
        if share > 0:
            kept = kept * dropout.mask(kept.shape, share) * (1 / (1 - share))
        if self.dense is None:
            self.x = csr(self.offsets, self.indices, kept, self.shape)
        else:
            self.x = kept
        self.kept = kept

    def transposed(self):
        if self.dense is not None:
            return self.kept.T
        return csr(*self.transpose, self.kept[self.origin], self.shape[::-1])


class ClenshawGCN:
    def __init__(self, folder):
        self.hyper, weights = folder.hyper, folder.weights
        self.order, n, width = self.hyper["K"], folder.n, self.hyper["hidden"]
        self.train, self.y = folder.train, folder.y
        self.p = csr(*folder.p, (n, n))
        self.features, self.dropout = Features(folder), DropoutMasks()

        layers = range(self.order + 1)
        beta = [min(1.0, math.log(self.hyper["lambda"] / (l or self.order) + 1)) for l in layers]
        self.beta = torch.tensor(beta).reshape(-1, 1, 1)
        self.eye = (1 - self.beta) * torch.eye(width)
        self.w = torch.stack([weights[f"conv.{l}.w"] for l in layers])
        self.b = torch.stack([weights[f"conv.{l}.b"] for l in layers])
        self.w_in, self.b_in = weights["w_in"], weights["b_in"]
        self.w_out, self.b_out, self.alpha = weights["w_out"], weights["b_out"], weights["alpha"]
        ours = {name: getattr(self, name) for name in ("w_in", "b_in", "w_out", "b_out", "alpha")}
        ours.update({f"conv.{l}.{part}": getattr(self, part) for l in layers for part in "wb"})
        for param in ours.values():
            param.grad = torch.zeros_like(param)
        self.optimisers = optimisers(folder, ours, fused=True)

        buffer = lambda: torch.empty(n, width)
        self.s, self.s_grad = [buffer() for _ in layers], [buffer() for _ in range(3)]
        self.y_pre, self.h = [buffer() for _ in layers], [buffer() for _ in range(3)]
        self.h_star_pre, self.h_star_grad = buffer(), buffer()
        self.scores_grad, self.ones = torch.zeros(n, self.w_out.shape[1]), torch.ones(n)

    def act(self, pre, share, out):
        """Returns drop(relu*(pre)) without the scale factor, and the mask."""
        torch.clamp_min(pre, 0, out=out)
        if share == 0:
            return out, None
        mask = self.dropout.mask(out.shape, share)
        return out.mul_(mask), mask

    @staticmethod
    def act_back(grad, pre, mask):
        if mask is not None:
            grad.mul_(mask)
        return torch.ops.aten.threshold_backward.grad_input(grad, pre, JUST_BELOW_ZERO, grad_input=grad)

    def forward(self, drop, drop_conv):
        order, keep = self.order, 1 / (1 - drop)
        self.features.drop(self.dropout, drop)
        torch.addmm(self.b_in, self.features.x, self.w_in, out=self.h_star_pre)
        self.h_star, self.mask_in = self.act(self.h_star_pre, drop, torch.empty_like(self.h_star_pre))
        self.h_star.mul_(keep)

        # The scale factor of the inner dropout is folded into the weights; the last two layers have no dropout.
        self.factor = torch.full_like(self.beta, 1 / (1 - drop_conv))
        self.factor[order - 1 :] = 1
        w = torch.addcmul(self.eye, self.w, self.beta).mul_(self.factor)
        b = self.b * (self.beta * self.factor)
        self.blended, alpha, self.masks = w, self.alpha[0].tolist(), []
        h1 = h2 = None  # H(l-1), H(l-2)
        for l, s in enumerate(self.s):
            if h2 is not None:
                torch.addmm(h2, self.p, h1, beta=-1, alpha=2, out=s).add_(self.h_star, alpha=alpha[l])
            elif h1 is not None:
                torch.addmm(self.h_star, self.p, h1, beta=alpha[l], alpha=2, out=s)
            else:
                torch.mul(self.h_star, alpha[l], out=s)
            h = torch.addmm(b[l], s, w[l], out=self.y_pre[l])
            if l <= order - 2:
                h, mask = self.act(h, drop_conv, self.h[l % 3])
                self.masks.append(mask)
            h1, h2 = h, h1
        self.last, self.mask_last = self.act(h1, drop, self.h[order % 3])
        self.w_last = self.w_out * keep
        return torch.addmm(self.b_out, self.last, self.w_last)

    def backward(self, scores, drop):
        """Computes all gradients, from the softmax of the training nodes to X."""
        keep, alpha = 1 / (1 - drop), self.alpha[0].tolist()
        share = torch.softmax(scores[self.train], 1)
        share[torch.arange(len(self.y)), self.y] -= 1
        g = self.scores_grad.index_copy_(0, self.train, share.div_(len(self.y)))
        torch.mm(self.last.T, g, out=self.w_out.grad).mul_(keep)
        torch.sum(g, 0, keepdim=True, out=self.b_out.grad)
        y_grad = torch.mm(g, self.w_last.T, out=self.h[0])
        y_grad = self.act_back(y_grad, self.y_pre[-1], self.mask_last)

        flat = self.h_star.reshape(-1)
        after = None  # the gradient of S(l+1)
        for l in range(self.order, -1, -1):
            torch.mm(self.s[l].T, y_grad, out=self.w.grad[l])
            torch.mv(y_grad.T, self.ones, out=self.b.grad[l, 0])
            s_grad = torch.mm(y_grad, self.blended[l].T, out=self.s_grad[l % 3])
            self.alpha.grad[0, l] = torch.dot(s_grad.reshape(-1), flat)
            if l == self.order:
                torch.mul(s_grad, alpha[l], out=self.h_star_grad)
            else:
                self.h_star_grad.add_(s_grad, alpha=alpha[l])
            if l > 0:
                into = self.h[l % 3]
                if after is None:
                    y_grad = torch.mm(self.p, s_grad, out=into).mul_(2)
                else:
                    y_grad = torch.addmm(after, self.p, s_grad, beta=-1, alpha=2, out=into)
                if l - 1 <= self.order - 2:
                    y_grad = self.act_back(y_grad, self.y_pre[l - 1], self.masks[l - 1])
            after = s_grad
        self.w.grad.mul_(self.beta * self.factor)
        self.b.grad.mul_(self.beta * self.factor)
        y_grad = self.act_back(self.h_star_grad.mul_(keep), self.h_star_pre, self.mask_in)
        torch.mm(self.features.transposed(), y_grad, out=self.w_in.grad)
        torch.sum(y_grad, 0, keepdim=True, out=self.b_in.grad)

    @torch.no_grad()
    def scores(self):
        return self.forward(0, 0)

    def loss(self):
        return torch.nn.functional.cross_entropy(self.scores()[self.train], self.y).item()

    @torch.no_grad()
    def step(self, dropout=True):
        drop, drop_conv = (self.hyper["dropout"], self.hyper["dropout_conv"]) if dropout else (0, 0)
        scores = self.forward(drop, drop_conv)
        torch.nn.functional.cross_entropy(scores[self.train], self.y)
        self.backward(scores, drop)
        for optimiser in self.optimisers:
            optimiser.step()


if __name__ == "__main__":
    serve(ClenshawGCN)
