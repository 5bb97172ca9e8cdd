"""ClenshawGCN with CSR matrices, differentiated by autograd, in three variants.

    autograd    torch.sparse.mm, whose backward pass converts the matrix to its transpose every time
    transposes  the same, with a backward pass that multiplies by a stored transpose; P~ is its own transpose
    compiled    `transposes` with torch.compile; it does not trace CSR tensors, so that the products are
                registered as operators

    python clenshaw_sparse.py VARIANT FOLDER THREADS
"""

import sys

import torch

from clenshaw_autograd import ClenshawGCN, DenseFeatures
from harness import Autograd, csr, serve


class Matrix:
    """A CSR matrix and its transpose; the values are given at each product."""

    def __init__(self, offsets, indices, shape):
        self.pattern, self.shape = (offsets, indices), shape
        n_entries = len(indices)
        # Counts from 1, so that no entry is 0.
        numbered = csr(offsets, indices, torch.arange(1, n_entries + 1).double(), shape)
        transpose = numbered.to_sparse_csc()
        self.transposed = transpose.ccol_indices().int(), transpose.row_indices().int()
        self.origin = transpose.values().long() - 1

    def multiply(self, values, h):
        return torch.sparse.mm(csr(*self.pattern, values, self.shape), h)

    def multiply_transpose(self, values, h):
        return torch.sparse.mm(csr(*self.transposed, values[self.origin], self.shape[::-1]), h)


class SymmetricMatrix:
    """A CSR matrix that is its own transpose."""

    def __init__(self, offsets, indices, shape):
        self.pattern, self.shape = (offsets, indices), shape

    def multiply(self, values, h):
        return torch.sparse.mm(csr(*self.pattern, values, self.shape), h)

    multiply_transpose = multiply


class Product(torch.autograd.Function):
    """M H, differentiated with respect to H."""

    @staticmethod
    def forward(context, matrix, values, h):
        context.matrix, context.values = matrix, values
        return matrix.multiply(values, h)

    @staticmethod
    def backward(context, grad):
        return None, None, context.matrix.multiply_transpose(context.values, grad)


def autograd_product(_name, matrix):
    return matrix.multiply


def transpose_product(_name, matrix):
    return lambda values, h: Product.apply(matrix, values, h)


def operator_product(name, matrix):
    """Registers the product as an operator that torch.compile calls without tracing it."""

    def register(suffix, multiply, n_rows):
        def product(values: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
            return multiply(values, h)

        operator = torch.library.custom_op(f"peers::{name}{suffix}", product, mutates_args=())
        operator.register_fake(lambda values, h: h.new_empty(n_rows, h.shape[1]))
        return operator

    forward = register("", matrix.multiply, matrix.shape[0])
    backward = register("_back", matrix.multiply_transpose, matrix.shape[1])

    def remember(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def differentiate(context, grad):
        return None, backward(context.saved_tensors[0], grad)

    forward.register_autograd(differentiate, setup_context=remember)
    return forward


PRODUCTS = {"autograd": autograd_product, "transposes": transpose_product, "compiled": operator_product}


class Propagation:
    """Computes P~ H."""

    def __init__(self, folder, product):
        offsets, indices, self.values = folder.p
        self.product = product("propagate", SymmetricMatrix(offsets, indices, (folder.n, folder.n)))

    def __call__(self, h):
        return self.product(self.values, h)


class SparseFeatures:
    """Computes drop(X) W with a sparse X."""

    def __init__(self, folder, product):
        offsets, indices, self.values = folder.x
        self.product = product("features", Matrix(offsets, indices, (folder.n, folder.n_features)))

    def __call__(self, w, drop):
        return self.product(drop(self.values), w)


class SparseClenshawGCN(ClenshawGCN):
    def clenshaw_step(self, l, h1, h2, h_star):
        """Skips the product of the first layer, where H(l-1) is zero."""
        if l == 0:
            return self.weights["alpha"][0, 0] * h_star
        return super().clenshaw_step(l, h1, h2, h_star)


def implementation(folder, variant):
    product = PRODUCTS[variant]
    features = DenseFeatures(folder) if folder.dense_x is not None else SparseFeatures(folder, product)
    network = SparseClenshawGCN(folder, Propagation(folder, product), features)
    if variant == "compiled":
        network.compile(fullgraph=True)
    return Autograd(folder, network, network.weights, fused=True)


if __name__ == "__main__":
    serve(lambda folder: implementation(folder, sys.argv[1]))
