#![no_main]
clenshaw_fuzz::target!(node_link);
