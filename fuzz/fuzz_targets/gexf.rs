#![no_main]
clenshaw_fuzz::target!(gexf);
