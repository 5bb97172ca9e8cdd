#![no_main]
clenshaw_fuzz::target!(split_file);
