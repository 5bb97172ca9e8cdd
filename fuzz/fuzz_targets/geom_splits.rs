#![no_main]
clenshaw_fuzz::target!(geom_splits);
