#![no_main]
clenshaw_fuzz::target!(search_space);
