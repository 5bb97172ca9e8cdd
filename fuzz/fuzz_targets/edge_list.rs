#![no_main]
clenshaw_fuzz::target!(edge_list);
