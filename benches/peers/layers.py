"""Our models gcn, sage, gat, gcnii, cheb-net, appnp and arma with PyG's own layers, from our initial parameters."""

import torch
from torch.nn import Linear
from torch.nn.functional import dropout, elu
from torch_geometric.nn import APPNP, ARMAConv, ChebConv, GATConv, GCN2Conv, GCNConv, SAGEConv

from harness import Autograd, serve


class Network(torch.nn.Module):
    """A network that starts from our parameters; `self.params` maps our names to PyG's tensors."""

    def __init__(self, folder):
        super().__init__()
        self.hyper, self.x, self.edge_index = folder.hyper, folder.features(), folder.edge_index()
        self.n_features, self.n_classes = folder.n_features, classes(folder)
        self.params, self.transposed = {}, set()
        self.build()
        with torch.no_grad():
            for name, ours in folder.weights.items():
                theirs = self.params[name]
                theirs.copy_(ours.T if name in self.transposed else ours.reshape(theirs.shape))

    def linear(self, name, layer):
        """Registers the weights of a linear layer, which PyTorch stores transposed."""
        self.params[name] = layer.weight
        self.transposed.add(name)

    def dense(self, name, inputs, outputs):
        layer = Linear(inputs, outputs)
        self.linear(f"w_{name}", layer)
        self.params[f"b_{name}"] = layer.bias
        return layer

    def drop(self, h):
        return dropout(h, self.hyper["dropout"], self.training)


def classes(folder):
    last = "w_out" if "w_out" in folder.weights else "conv.1.b"
    return folder.weights[last].shape[1]


class Gcn(Network):
    def build(self):
        width = self.hyper["hidden"]
        self.first = GCNConv(self.n_features, width, cached=True)
        self.second = GCNConv(width, self.n_classes, cached=True)
        for i, layer in enumerate((self.first, self.second)):
            self.linear(f"conv.{i}.w", layer.lin)
            self.params[f"conv.{i}.b"] = layer.bias

    def forward(self):
        h = self.first(self.x, self.edge_index).relu()
        return self.second(self.drop(h), self.edge_index)


class Sage(Network):
    def build(self):
        width = self.hyper["hidden"]
        self.first = SAGEConv(self.n_features, width)
        self.second = SAGEConv(width, self.n_classes)
        for i, layer in enumerate((self.first, self.second)):
            self.linear(f"conv.{i}.w", layer.lin_l)
            self.linear(f"conv.{i}.root", layer.lin_r)
            self.params[f"conv.{i}.b"] = layer.lin_l.bias

    def forward(self):
        h = self.first(self.x, self.edge_index).relu()
        return self.second(self.drop(h), self.edge_index)


class Gat(Network):
    def build(self):
        hyper = self.hyper
        width, heads, drop = hyper["hidden"], hyper["heads"], hyper["dropout_attention"]
        self.first = GATConv(self.n_features, width, heads, negative_slope=hyper["slope"], dropout=drop)
        self.second = GATConv(
            heads * width, self.n_classes, hyper["heads_out"], concat=False, negative_slope=hyper["slope"], dropout=drop
        )
        for i, layer in enumerate((self.first, self.second)):
            self.linear(f"conv.{i}.w", layer.lin)
            self.params[f"conv.{i}.att_src"] = layer.att_src
            self.params[f"conv.{i}.att_dst"] = layer.att_dst
            self.params[f"conv.{i}.b"] = layer.bias

    def forward(self):
        h = elu(self.first(self.drop(self.x), self.edge_index))
        return self.second(self.drop(h), self.edge_index)


class Gcnii(Network):
    def build(self):
        width, hyper = self.hyper["hidden"], self.hyper
        self.first = self.dense("in", self.n_features, width)
        self.last = self.dense("out", width, self.n_classes)
        self.convs = torch.nn.ModuleList(
            GCN2Conv(width, hyper["alpha"], hyper["lambda"], layer=l + 1, cached=True) for l in range(hyper["L"])
        )
        self.params.update({f"conv.{l}.w": conv.weight1 for l, conv in enumerate(self.convs)})

    def forward(self):
        h = h0 = self.first(self.drop(self.x)).relu()
        for conv in self.convs:
            h = conv(self.drop(h), h0, self.edge_index).relu()
        return self.last(self.drop(h))


class ChebNet(Network):
    def build(self):
        width, terms = self.hyper["hidden"], self.hyper["terms"]
        self.first = ChebConv(self.n_features, width, terms)
        self.second = ChebConv(width, self.n_classes, terms)
        for i, layer in enumerate((self.first, self.second)):
            self.params[f"conv.{i}.b"] = layer.bias
            for k, lin in enumerate(layer.lins):
                self.linear(f"conv.{i}.w.{k}", lin)

    def forward(self):
        h = self.first(self.x, self.edge_index).relu()
        return self.second(self.drop(h), self.edge_index)


class Appnp(Network):
    def build(self):
        self.first = self.dense("in", self.n_features, self.hyper["hidden"])
        self.last = self.dense("out", self.hyper["hidden"], self.n_classes)
        self.propagate = APPNP(self.hyper["K"], self.hyper["alpha"], cached=True)

    def forward(self):
        h = self.first(self.drop(self.x)).relu()
        return self.propagate(self.last(self.drop(h)), self.edge_index)


class Arma(Network):
    """One stack with shared weights, as in our preset, so that each parameter is one tensor."""

    def build(self):
        hyper = self.hyper
        assert hyper["stacks"] == 1 and hyper["shared"] and hyper["layers"] > 1
        self.conv = ARMAConv(
            self.n_features, hyper["hidden"], 1, hyper["layers"], shared_weights=True, dropout=hyper["dropout_root"]
        )
        self.last = self.dense("out", hyper["hidden"], self.n_classes)
        conv = self.conv
        self.params.update({"stack.0.w.0": conv.init_weight, "stack.0.w.1": conv.weight})
        self.params.update({"stack.0.v.0": conv.root_weight, "stack.0.b.0": conv.bias})

    def forward(self):
        return self.last(self.drop(self.conv(self.x, self.edge_index)))


NETWORKS = {
    "gcn": Gcn,
    "sage": Sage,
    "gat": Gat,
    "gcnii": Gcnii,
    "cheb-net": ChebNet,
    "appnp": Appnp,
    "arma": Arma,
}


def make(folder):
    network = NETWORKS[folder.model](folder)
    return Autograd(folder, network, network.params)


serve(make)
