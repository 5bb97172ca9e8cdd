#![no_main]
clenshaw_fuzz::target!(graph_file);
