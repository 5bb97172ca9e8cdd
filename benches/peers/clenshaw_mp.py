"""ClenshawGCN by message passing, the usual form in PyG: gather along edges, scale, scatter."""

from torch_geometric.nn import MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from clenshaw_autograd import implementation
from harness import serve


class Propagation(MessagePassing):
    """Computes P~ H."""

    def __init__(self, folder):
        super().__init__(aggr="add")
        self.edge_index, self.norm = gcn_norm(folder.edge_index(), None, folder.n)

    def forward(self, h):
        return self.propagate(self.edge_index, x=h, norm=self.norm)

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


serve(lambda folder: implementation(folder, Propagation(folder)))
