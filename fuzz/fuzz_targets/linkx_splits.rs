#![no_main]
clenshaw_fuzz::target!(linkx_splits);
