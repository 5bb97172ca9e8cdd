"""The parameters of ``NodeClassifier``; written by ``scripts/generate_hyper_parameters.py``."""

from __future__ import annotations

from typing import Any


class HyperParameters:
    """A classifier of the nodes of a graph that follows the conventions of scikit-learn.

    ``fit`` trains on the labelled nodes, and ``predict`` returns the labels of all nodes of the same or of
    another graph. Results depend on ``random_state``, but not on the number of threads.

    A hyper-parameter belongs to the models that its default lists, or else to all models; those left at
    ``None`` take the default of the model. If the meaning differs between models, slashes separate the meanings.

    Parameters
    ----------
    model : str, default "clenshaw-gcn"
        One of ``mlp``, ``linkx``, ``gcn``, ``sage``, ``sage-sep``, ``gcn-jk``, ``mixhop``, ``h2gcn``,
        ``gat``, ``gat-sep``, ``gcnii``, ``air-gnn``, ``cheb-net``, ``arma``, ``appnp``, ``gpr-gnn``,
        ``bern-net``, ``cheb-base``, ``cheb-net-ii``, ``jacobi-conv``, ``specformer``, ``favard-gnn``,
        ``opt-basis-gnn``, ``poly``, ``uni-filter``, ``horner-gcn``, ``fixed-clenshaw-gcn``,
        ``clenshaw-gcn``.
    hidden : int, optional
        Width of the hidden layer / width of the hidden layers / width of the hidden layers per power /
        width of each head of the hidden layers / width of the layers / width of the dense layers and of
        the attention / number of channels. Default: 64 in mlp, linkx, gcn, sage, sage-sep, gcn-jk, h2gcn,
        gcnii, air-gnn, arma, appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii, favard-gnn, opt-basis-gnn,
        poly, uni-filter, horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn; 32 in mixhop, cheb-net,
        specformer; 8 in gat; 512 in gat-sep.
    dropout : float, optional
        Dropout on the features and on the hidden layer / dropout within the last MLP / dropout on the
        hidden layers / dropout of the hidden layers / dropout before the last layer / dropout on the
        inputs of all layers / dropout before activations and after ffn / dropout before every layer /
        dropout on the hidden layer / dropout on the features / dropout on the features and on Z / dropout
        on the features and before the last layer / dropout on the inputs of the dense layers / dropout on
        the features, on H* and before the last layer. Default: 0.5 in mlp, linkx, gcn, sage, gcn-jk,
        mixhop, h2gcn, gcnii, air-gnn, cheb-net, arma, appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii,
        jacobi-conv, specformer, favard-gnn, opt-basis-gnn, poly, uni-filter, horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn; 0.2 in sage-sep, gat-sep; 0.6 in gat.
    lr : float, optional
        Learning rate of the dense layers / learning rate. Default: 0.01 in mlp, linkx, gcn, sage, gcn-jk,
        mixhop, h2gcn, air-gnn, cheb-net, arma, appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii,
        jacobi-conv, poly, uni-filter; 0.001 in sage-sep, specformer; 0.005 in gat; 3e-05 in gat-sep.
    wd : float, optional
        Weight decay of the dense layers / decoupled weight decay / decoupled weight decay of the weights
        / weight decay, twice the value in the paper / weight decay / decoupled weight decay; 0 in the
        paper. Default: 0.0005 in mlp, gcn, sage, gat, air-gnn, cheb-net, arma, appnp, gpr-gnn, bern-net,
        cheb-base, cheb-net-ii, jacobi-conv, specformer, poly, uni-filter; 0.001 in linkx, gcn-jk, mixhop,
        h2gcn; 0.0 in sage-sep, gat-sep.
    scaling : {"raw", "row0", "row", "zscore", "standard"}, optional
        raw: features unchanged; row0: rows sum to 1; row: the same, but rows are never scaled up; zscore:
        columns are standardised; standard: the same, but columns of zeros and ones, and mostly zero
        columns of sparse features, are unchanged. Default: 'standard'.
    max_epochs : int, optional
        Maximum number of epochs. Default: 1000 in mlp, gcn, sage, sage-sep, gat, gat-sep, air-gnn,
        cheb-net, arma, appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii, jacobi-conv, poly, uni-filter;
        500 in linkx, gcn-jk, mixhop; 2000 in h2gcn, specformer, favard-gnn, opt-basis-gnn, horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn; 1500 in gcnii.
    patience : int, optional
        Window of the stopping rule, in epochs. Default: 200 in mlp, gcn, sage, cheb-net, arma, appnp,
        gpr-gnn, bern-net, cheb-base, cheb-net-ii, jacobi-conv, specformer, poly, uni-filter; 1 in linkx,
        sage-sep, gcn-jk, mixhop, gat-sep; 2000 in h2gcn; 100 in gat, gcnii, air-gnn; 300 in favard-gnn,
        opt-basis-gnn, horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn.
    stop : {"patience", "mean", "late-mean", "accuracy", "accuracy-ties", "none", "roc-auc"}, optional
        patience: stop after `patience` epochs without a lower validation loss; mean: when the validation
        loss exceeds the mean of the previous `patience` losses; late-mean: the same, but not in the first
        half of the epochs; accuracy: after `patience` epochs without a higher validation accuracy;
        accuracy-ties: the same, but a tie counts as higher; none: after `max_epochs`; roc-auc: the same,
        but the weights of the highest validation ROC AUC are kept. Default: 'mean' in mlp, gcn, sage,
        cheb-net, arma, appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii, poly; 'none' in linkx, sage-sep,
        gcn-jk, mixhop, gat-sep; 'accuracy-ties' in h2gcn, jacobi-conv; 'patience' in gat, gcnii,
        specformer, horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn; 'late-mean' in air-gnn; 'accuracy' in
        favard-gnn, opt-basis-gnn, uni-filter.
    gather : {"f32", "bf16"}, optional
        Precision of the values that products with the graph read: f32, or bf16, which is faster on large
        graphs; attention always reads f32. Default: 'f32'.
    class_weights : bool, optional
        true: every class has the same weight in the training loss, so rare classes count as much as
        frequent ones. Default: False.
    layers_A : int, optional
        Dense layers on the adjacency. Default: 1 in linkx.
    layers_X : int, optional
        Dense layers on the features. Default: 1 in linkx.
    layers : int, optional
        Dense layers after joining adjacency and features / number of layers / number of convolutions /
        number of residual blocks / number of layers T per stack / number of filtering steps. Default: 2
        in linkx, gcn, sage, sage-sep, gcn-jk, mixhop, gat, gat-sep, arma, specformer.
    dropout_inner : float, optional
        Dropout after joining adjacency and features. Default: 0.0 in linkx.
    relu_inner : bool, optional
        Whether an activation follows dropout_inner. Default: False in linkx.
    bn_eps : float, optional
        Epsilon that batch normalisation adds to the variance. Default: 1e-05 in linkx, gcn-jk, mixhop.
    head : {"convolution", "dense"}, optional
        Last layer: the last of the convolutions, or a dense layer after all of them. Default:
        'convolution' in gcn, sage, gat.
    norm : {"none", "batch", "layer"}, optional
        Normalisation of the hidden layers: batch: of every channel over the nodes; layer: of every node
        over its channels. Default: 'none' in gcn, sage, gat, gcnii, horner-gcn, fixed-clenshaw-gcn,
        clenshaw-gcn.
    skip : {"none", "linear"}, optional
        linear: adds a learned linear function of the layer's input to every hidden layer. Default: 'none'
        in gcn, sage, gat, gcnii, horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn.
    pre_linear : bool, optional
        Linear layer before the first convolution. Default: False in gcn, sage, gat.
    jk : bool, optional
        The head reads the sum of all hidden layers. Default: False in gcn, sage, gat.
    loops : bool, optional
        Whether a node is one of its own neighbours. Default: False in sage; True in gat.
    ffn_multiplier : int, optional
        Width of the inner layer of ffn, in multiples of `hidden`. Default: 1 in sage-sep, gat-sep.
    bn : bool, optional
        Batch normalisation between the layers / batch normalisation in the hidden layers. Default: True
        in gcn-jk, mixhop; False in uni-filter.
    join : {"max", "concat", "lstm"}, optional
        How the layers' outputs are joined. Default: 'max' in gcn-jk.
    hops : int, optional
        Largest power of the operator. Default: 2 in mixhop.
    rounds : int, optional
        Number of aggregation rounds. Default: 2 in h2gcn.
    relu : bool, optional
        Whether r0 has an activation / whether the filter's values are nonnegative. Default: True in
        h2gcn, cheb-net-ii.
    heads : int, optional
        Number of heads of the hidden layers; with `head = dense`, one / number of heads / number of
        attention heads and of filters. Default: 8 in gat, gat-sep; 2 in specformer.
    heads_out : int, optional
        Number of heads of the last layer, averaged. Default: 1 in gat.
    slope : float, optional
        Slope of the leaky ReLU for negative attention scores. Default: 0.2 in gat, gat-sep.
    dropout_attention : float, optional
        Dropout on the attention weights / dropout within the transformer. Default: 0.6 in gat; 0.2 in
        specformer.
    ln_eps : float, optional
        Epsilon that layer normalisation adds to the variance. Default: 1e-05 in gat-sep.
    L : int, optional
        Number of layers. Default: 64 in gcnii.
    alpha : float, optional
        Weight of the initial residual / restart probability / restart probability of the initial gamma
        (ppr, nppr) / upper bound of the factors g_k / restart probability (ppr) / restart probability a.
        Default: 0.5 in gcnii; 0.1 in appnp, gpr-gnn, poly, fixed-clenshaw-gcn; 1.0 in jacobi-conv.
    lambda_ : float, optional
        Strength of the weights / threshold below which a node keeps its own value / strength of the
        weights: beta_l = min(1, ln(lambda / l + 1)). Default: 0.5 in gcnii, air-gnn; 1.0 in horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn.
    star : bool, optional
        GCNII*: separate weights for the initial residual. Default: False in gcnii.
    lr_conv : float, optional
        Learning rate of the inner layers. Default: 0.01 in gcnii, horner-gcn, fixed-clenshaw-gcn,
        clenshaw-gcn.
    lr_dense : float, optional
        Learning rate of the dense layers. Default: 0.01 in gcnii, favard-gnn, opt-basis-gnn, horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn.
    wd_conv : float, optional
        Weight decay of the inner layers. Default: 0.0001 in gcnii; 1e-05 in horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn.
    wd_dense : float, optional
        Weight decay of the dense layers. Default: 0.0001 in gcnii; 0.001 in favard-gnn, opt-basis-gnn,
        horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn.
    K : int, optional
        Number of propagation steps / order of the filter / order of the filters / order of the basis /
        order of the filter; K + 1 layers. Default: 10 in air-gnn, appnp, gpr-gnn, bern-net, cheb-base,
        cheb-net-ii, jacobi-conv, poly, uni-filter; 16 in favard-gnn, opt-basis-gnn; 8 in horner-gcn,
        fixed-clenshaw-gcn, clenshaw-gcn.
    terms : int, optional
        Number of polynomials per layer: degree + 1. Default: 2 in cheb-net.
    stacks : int, optional
        Number of stacks, which are averaged. Default: 1 in arma.
    shared : bool, optional
        Whether the layers share their weights. Default: True in arma.
    dropout_root : float, optional
        Dropout on the features that V multiplies. Default: 0.5 in arma.
    precompute : bool, optional
        Filters the features instead of the head's output, out = head(sum_k c_k phi_k X): the terms are
        computed once, and training reads batches of labelled rows; `dropout_prop` has no effect. Default:
        False in appnp, gpr-gnn, bern-net, cheb-base, cheb-net-ii, jacobi-conv, poly.
    batch_size : int, optional
        Rows per training step with `precompute`. Default: 10000 in appnp, gpr-gnn, bern-net, cheb-base,
        cheb-net-ii, jacobi-conv, poly.
    init : {"ppr", "nppr", "sgc", "random"}, optional
        Initial gamma. Default: 'ppr' in gpr-gnn.
    hop : int, optional
        The only step with a nonzero initial weight (sgc), at most K. Default: 2 in gpr-gnn.
    dropout_prop : float, optional
        Dropout on the input of the filter / dropout on the terms of a filtering step. Default: 0.5 in
        gpr-gnn, bern-net, cheb-base, cheb-net-ii, jacobi-conv, poly; 0.3 in specformer.
    wd_prop : float, optional
        Weight decay of the filter coefficients; 0 in the paper / weight decay of the filter coefficients
        / weight decay of the coefficients theta. Default: 0.0 in gpr-gnn, bern-net; 0.0005 in cheb-base,
        cheb-net-ii, jacobi-conv, poly; 0.0001 in uni-filter.
    asymmetric : bool, optional
        Asymmetric learning: from step 11 on, multiplies the gradients of the filter, and those of all
        other weights, by the average norm of these parameters divided by the norm of Adam's step.
        Default: False in gpr-gnn, bern-net, cheb-base, cheb-net-ii, poly.
    lr_prop : float, optional
        Learning rate of the filter coefficients / learning rate of the coefficients theta. Default: 0.01
        in bern-net, cheb-base, cheb-net-ii, jacobi-conv, poly, uni-filter.
    q : float, optional
        Exponent of the damping 1 / k^q. Default: 0.0 in cheb-base.
    a : float, optional
        Exponent of 1 - mu in the weight / exponent of 1 - mu (jacobi). Default: 1.0 in jacobi-conv, poly.
    b : float, optional
        Exponent of 1 + mu in the weight / exponent of 1 + mu (jacobi). Default: 1.0 in jacobi-conv, poly.
    released_sign : bool, optional
        The recurrence of the authors' code, with one sign flipped. Default: False in jacobi-conv.
    lr_eta : float, optional
        Learning rate of eta. Default: 0.01 in jacobi-conv.
    wd_eta : float, optional
        Weight decay of eta. Default: 0.0001 in jacobi-conv.
    dropout_basis : float, optional
        Dropout on Z, from which the basis is computed / dropout on the basis. Default: 0.5 in favard-gnn,
        opt-basis-gnn; 0.2 in uni-filter.
    lr_alpha : float, optional
        Learning rate of the filter coefficients. Default: 0.01 in favard-gnn, opt-basis-gnn, horner-gcn,
        clenshaw-gcn.
    wd_alpha : float, optional
        Weight decay of the filter coefficients. Default: 1e-05 in favard-gnn, opt-basis-gnn, horner-gcn,
        clenshaw-gcn.
    lr_basis : float, optional
        Learning rate of the basis, eta and s. Default: 0.01 in favard-gnn.
    wd_basis : float, optional
        Weight decay of the basis, eta and s. Default: 1e-06 in favard-gnn.
    filter : {"chebyshev", "chebyshev2", "legendre", "jacobi", "bernstein", "monomial", "sgc", "ppr", "heat", "gaussian"}, optional
        fixed: sgc, ppr, heat, gaussian; learned: the others. Default: 'chebyshev' in poly.
    t : float, optional
        Diffusion time (heat, gaussian). Default: 1.0 in poly.
    tau : float, optional
        Share of the powers of P in the basis. Default: 0.5 in uni-filter.
    homophily : float, optional
        Homophily that sets the angles of the basis; 0: that of the training nodes of each split. Default:
        0.0 in uni-filter.
    released : bool, optional
        Measures angles from the mixed vector, as the authors' code does; false: as in the paper. Default:
        True in uni-filter.
    mlp_layers : int, optional
        Number of dense layers. Default: 2 in uni-filter.
    dropout_conv : float, optional
        Dropout after the inner activations. Default: 0.0 in horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn.
    use_weight : bool, optional
        ablation: false removes W(l) and b(l). Default: True in horner-gcn, fixed-clenshaw-gcn,
        clenshaw-gcn.
    use_act : bool, optional
        ablation: false removes the inner activations and the dropout after them. Default: True in
        horner-gcn, fixed-clenshaw-gcn, clenshaw-gcn.
    momentum : float, optional
        Momentum of the filter coefficients. Default: 0.9 in horner-gcn, clenshaw-gcn.
    decay : bool, optional
        Whether beta_l decays; false: beta_l = 1/2 in every layer. Default: True in horner-gcn.
    order : {"released", "ppr", "ppr-tail"}, optional
        Variant of the frozen coefficients. Default: 'released' in fixed-clenshaw-gcn.
    validation_fraction : float, default 0.2
        The share of the labelled nodes of each class that is used for early stopping if ``fit`` receives no
        ``val_mask``. With 0, training runs for ``max_epochs`` epochs.
    random_state : int, numpy Generator or RandomState, optional
        The seed of the validation nodes, initial weights and dropout; ``None`` is 0, so results are reproducible.
    n_jobs : int, optional
        The number of threads; ``None`` and -1 use all processors.
    verbose : int, default 0
        1 shows the progress of training; a progress bar needs the package tqdm.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    labels_, probs_ : ndarray
        The predicted label, and the probability of every class, of every node of the training graph.
    history_ : dict of ndarray
        Epoch, training loss, validation loss and validation accuracy of every epoch.
    best_epoch_, n_iter_ : int
        The epoch whose weights were kept, and the number of epochs.
    validation_accuracy_ : float
        The accuracy of the best epoch on the validation nodes. The epoch was chosen on these nodes, so expect
        less on new nodes.
    filter_ : LearnedFilter or None
        The learned filter of a spectral model.
    train_mask_, val_mask_ : ndarray of bool
        The nodes used for training and for early stopping.
    n_features_in_, feature_names_in_
        The number of columns of ``X`` and, if ``X`` is a table, their names.
    nodes_ : list or None
        The names of the nodes in order, if they have names.
    notes_ : list of str
        Changes made to the graph, such as removed self-loops and merged edges.

    Examples
    --------
    >>> import clenshaw
    >>> edges = [[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 5, 3]]
    >>> X = [[0.1], [0.2], [0.1], [0.9], [0.8], [0.7]]
    >>> model = clenshaw.NodeClassifier("gcn", max_epochs=50, random_state=0)
    >>> model.fit(edges, X, ["a", "a", None, "b", "b", None]).predict().shape
    (6,)
    """

    def __init__(
        self,
        model: str = "clenshaw-gcn",
        *,
        hidden: int | None = None,
        dropout: float | None = None,
        lr: float | None = None,
        wd: float | None = None,
        scaling: str | None = None,
        max_epochs: int | None = None,
        patience: int | None = None,
        stop: str | None = None,
        gather: str | None = None,
        class_weights: bool | None = None,
        layers_A: int | None = None,
        layers_X: int | None = None,
        layers: int | None = None,
        dropout_inner: float | None = None,
        relu_inner: bool | None = None,
        bn_eps: float | None = None,
        head: str | None = None,
        norm: str | None = None,
        skip: str | None = None,
        pre_linear: bool | None = None,
        jk: bool | None = None,
        loops: bool | None = None,
        ffn_multiplier: int | None = None,
        bn: bool | None = None,
        join: str | None = None,
        hops: int | None = None,
        rounds: int | None = None,
        relu: bool | None = None,
        heads: int | None = None,
        heads_out: int | None = None,
        slope: float | None = None,
        dropout_attention: float | None = None,
        ln_eps: float | None = None,
        L: int | None = None,
        alpha: float | None = None,
        lambda_: float | None = None,
        star: bool | None = None,
        lr_conv: float | None = None,
        lr_dense: float | None = None,
        wd_conv: float | None = None,
        wd_dense: float | None = None,
        K: int | None = None,
        terms: int | None = None,
        stacks: int | None = None,
        shared: bool | None = None,
        dropout_root: float | None = None,
        precompute: bool | None = None,
        batch_size: int | None = None,
        init: str | None = None,
        hop: int | None = None,
        dropout_prop: float | None = None,
        wd_prop: float | None = None,
        asymmetric: bool | None = None,
        lr_prop: float | None = None,
        q: float | None = None,
        a: float | None = None,
        b: float | None = None,
        released_sign: bool | None = None,
        lr_eta: float | None = None,
        wd_eta: float | None = None,
        dropout_basis: float | None = None,
        lr_alpha: float | None = None,
        wd_alpha: float | None = None,
        lr_basis: float | None = None,
        wd_basis: float | None = None,
        filter: str | None = None,
        t: float | None = None,
        tau: float | None = None,
        homophily: float | None = None,
        released: bool | None = None,
        mlp_layers: int | None = None,
        dropout_conv: float | None = None,
        use_weight: bool | None = None,
        use_act: bool | None = None,
        momentum: float | None = None,
        decay: bool | None = None,
        order: str | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.hidden = hidden
        self.dropout = dropout
        self.lr = lr
        self.wd = wd
        self.scaling = scaling
        self.max_epochs = max_epochs
        self.patience = patience
        self.stop = stop
        self.gather = gather
        self.class_weights = class_weights
        self.layers_A = layers_A
        self.layers_X = layers_X
        self.layers = layers
        self.dropout_inner = dropout_inner
        self.relu_inner = relu_inner
        self.bn_eps = bn_eps
        self.head = head
        self.norm = norm
        self.skip = skip
        self.pre_linear = pre_linear
        self.jk = jk
        self.loops = loops
        self.ffn_multiplier = ffn_multiplier
        self.bn = bn
        self.join = join
        self.hops = hops
        self.rounds = rounds
        self.relu = relu
        self.heads = heads
        self.heads_out = heads_out
        self.slope = slope
        self.dropout_attention = dropout_attention
        self.ln_eps = ln_eps
        self.L = L
        self.alpha = alpha
        self.lambda_ = lambda_
        self.star = star
        self.lr_conv = lr_conv
        self.lr_dense = lr_dense
        self.wd_conv = wd_conv
        self.wd_dense = wd_dense
        self.K = K
        self.terms = terms
        self.stacks = stacks
        self.shared = shared
        self.dropout_root = dropout_root
        self.precompute = precompute
        self.batch_size = batch_size
        self.init = init
        self.hop = hop
        self.dropout_prop = dropout_prop
        self.wd_prop = wd_prop
        self.asymmetric = asymmetric
        self.lr_prop = lr_prop
        self.q = q
        self.a = a
        self.b = b
        self.released_sign = released_sign
        self.lr_eta = lr_eta
        self.wd_eta = wd_eta
        self.dropout_basis = dropout_basis
        self.lr_alpha = lr_alpha
        self.wd_alpha = wd_alpha
        self.lr_basis = lr_basis
        self.wd_basis = wd_basis
        self.filter = filter
        self.t = t
        self.tau = tau
        self.homophily = homophily
        self.released = released
        self.mlp_layers = mlp_layers
        self.dropout_conv = dropout_conv
        self.use_weight = use_weight
        self.use_act = use_act
        self.momentum = momentum
        self.decay = decay
        self.order = order
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
