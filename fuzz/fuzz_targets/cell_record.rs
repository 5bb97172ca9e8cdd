#![no_main]
clenshaw_fuzz::target!(cell_record);
