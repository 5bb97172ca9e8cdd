#![no_main]
clenshaw_fuzz::target!(run_toml);
