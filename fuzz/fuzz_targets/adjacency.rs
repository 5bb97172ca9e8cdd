#![no_main]
clenshaw_fuzz::target!(adjacency);
