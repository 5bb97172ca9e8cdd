//! Seeds of all targets are read unchanged and damaged.

use super::*;
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Formats in which every truncated file is invalid.
const TRUNCATION_IS_DETECTED: [&str; 11] = [
    "arrays",
    "checkpoint",
    "facebook100",
    "geom_splits",
    "graph_file",
    "heterophilous",
    "linkx_splits",
    "model",
    "npy",
    "npz",
    "pickle",
];

/// The valid inputs in `fuzz/seeds/TARGET/`.
static SEEDS: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let paths = |folder: PathBuf| folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        write_trained(&root.join("seeds"));
    }
    let targets = paths(root.join("fuzz_targets"));
    let targets = targets.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let seeds = |target: String| {
        let seeds = paths(root.join("seeds").join(&target));
        seeds.map(move |seed| (target.clone(), std::fs::read(seed).unwrap()))
    };
    targets.flat_map(seeds).collect()
});

/// Writes the model and the checkpoint of a run of two epochs as seeds.
fn write_trained(seeds: &Path) {
    let (mut fit, setup) = run();
    for _ in 0..2 {
        fit.epoch().unwrap();
    }
    std::fs::write(seeds.join("checkpoint/seed-0"), fit.checkpoint()).unwrap();
    let weights = fit.outcome().unwrap().weights;
    let model = TrainedModel::new(&setup, &weights, fit.provenance());
    std::fs::write(seeds.join("model/seed-0"), model.to_bytes()).unwrap();
}

#[test]
fn seeds_are_valid() {
    let invalid = SEEDS.iter().filter(|(target, seed)| !is_valid(target, seed));
    let invalid: Vec<(&str, String)> =
        invalid.map(|(target, seed)| (&**target, seed.escape_ascii().to_string())).collect();
    assert_eq!(invalid, []);
}

proptest! {
    #[test]
    fn damaged_files_cause_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        for (target, seed) in SEEDS.iter() {
            let accepted = is_valid(target, &seed[..cut.index(seed.len())]);
            prop_assert!(!accepted || !TRUNCATION_IS_DETECTED.contains(&&**target), "{target}");
            let mut bytes = seed.clone();
            for (at, byte) in &changes {
                bytes[at.index(seed.len())] = *byte;
            }
            is_valid(target, &bytes);
        }
    }
}
