#![no_main]
clenshaw_fuzz::target!(npz_edges);
