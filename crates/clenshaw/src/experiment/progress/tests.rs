//! The progress file: what a reader sees while a run trains, stops, resumes and fails.

use super::*;
use crate::data::{self, SplitKind};
use crate::model;
use crate::train::Setup;

/// A run of 40 epochs.
fn fit(model: &str) -> Fit {
    let dataset = data::load("csbm:nodes=80").unwrap();
    let info = model::find(model).unwrap();
    let mut hp = info.defaults();
    hp.set("max_epochs", "40").unwrap();
    hp.set("stop", "none").unwrap();
    let split = SplitKind::Balanced.draw(&dataset, 0).unwrap();
    Fit::new(Setup::new(dataset, info, hp).unwrap(), &split, 0, 1).unwrap()
}

fn train(fit: &mut Fit, epochs: usize) {
    (0..epochs).for_each(|_| assert!(fit.epoch().is_ok()));
}

/// Writes immediately instead of after the interval.
fn write_now(writer: &mut ProgressWriter, fit: &Fit) {
    writer.next_write = Instant::now();
    assert!(writer.update(fit));
}

fn read(path: &Path) -> TrainingProgress {
    let mut reader = ProgressReader::default();
    reader.read(path);
    reader.progress().clone()
}

#[test]
fn reader_returns_every_epoch_once_and_the_filter_of_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.progress.jsonl");
    let mut fit = fit("clenshaw-gcn");
    let mut writer = ProgressWriter::start(path.clone(), 40, &fit);
    let mut reader = ProgressReader::default();
    reader.read(&path);
    assert_eq!((reader.progress().max_epochs, reader.progress().epochs.len()), (40, 0));
    for _ in 0..4 {
        train(&mut fit, 3);
        write_now(&mut writer, &fit);
        reader.read(&path);
        assert_eq!(reader.progress().epochs, fit.history());
        assert_eq!(reader.progress().best_epoch, Some(fit.best().0.epoch));
    }
    assert!(!writer.update(&fit), "the interval has not passed");
    train(&mut fit, 1);
    writer.end(&fit, None);
    reader.read(&path);
    let progress = reader.progress();
    assert_eq!(progress.epochs, fit.history());
    assert_eq!(progress.filters.last(), fit.filters().last());
    assert_eq!(progress.basis, Some(Basis::ChebyshevSecond));
    assert_eq!(progress, &read(&path), "read in parts and at once");
}

#[test]
fn no_filter_is_written_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.progress.jsonl");
    let mut fit = fit("clenshaw-gcn");
    let mut writer = ProgressWriter::start(path.clone(), 40, &fit);
    train(&mut fit, 3);
    write_now(&mut writer, &fit);
    writer.end(&fit, None);
    let epochs = |path: &Path| -> Vec<usize> {
        read(path).filters.iter().map(|filter| filter.epoch).collect()
    };
    assert_eq!(epochs(&path), [3]);
    // A new file starts with the initial filter.
    ProgressWriter::start(path.clone(), 40, &fit).end(&fit, None);
    assert_eq!(epochs(&path), [0, 1, 2, 3]);
}

#[test]
fn resumed_run_replaces_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.progress.jsonl");
    let mut first = fit("clenshaw-gcn");
    let mut writer = ProgressWriter::start(path.clone(), 40, &first);
    train(&mut first, 10);
    let checkpoint = first.checkpoint();
    // Killed after epoch 15: the file has more epochs than the checkpoint, and its last line is incomplete.
    train(&mut first, 5);
    write_now(&mut writer, &first);
    let mut reader = ProgressReader::default();
    reader.read(&path);
    assert_eq!(reader.progress().epochs.len(), 15);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();

    let mut second = fit("clenshaw-gcn");
    second.restore("checkpoint", &checkpoint).unwrap();
    let mut writer = ProgressWriter::start(path.clone(), 40, &second);
    reader.read(&path);
    assert_eq!(reader.progress().epochs, second.history());
    assert_eq!(reader.progress().filters.last(), second.filters().last());
    train(&mut second, 6);
    write_now(&mut writer, &second);
    reader.read(&path);
    let numbers: Vec<usize> = reader.progress().epochs.iter().map(|epoch| epoch.epoch).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
}

#[test]
fn incomplete_and_damaged_lines_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.progress.jsonl");
    let mut fit = fit("gcn");
    train(&mut fit, 8);
    ProgressWriter::start(path.clone(), 40, &fit).end(&fit, None);
    let bytes = fs::read(&path).unwrap();
    let whole = read(&path);
    assert!(whole.filters.is_empty() && whole.basis.is_none(), "GCN has no coefficients");
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut reader = ProgressReader::default();
        reader.read(&path);
        let seen = reader.progress().epochs.clone();
        assert_eq!(seen, whole.epochs[..seen.len()]);
        // The rest arrives later.
        fs::write(&path, &bytes).unwrap();
        reader.read(&path);
        assert_eq!(reader.progress(), &whole);
    }
    fs::write(&path, "not a progress file\n").unwrap();
    assert_eq!(read(&path), TrainingProgress::default());
}

#[test]
fn failed_writes_are_retried_and_do_not_stop_the_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.progress.jsonl");
    // The temporary file cannot be created, as on a full disk.
    let obstacle = folder.path().join("0.progress.partial");
    fs::create_dir(&obstacle).unwrap();
    let mut fit = fit("clenshaw-gcn");
    let mut writer = ProgressWriter::start(path.clone(), 40, &fit);
    train(&mut fit, 2);
    write_now(&mut writer, &fit);
    assert!(!path.exists());
    assert!(writer.next_write > Instant::now() + INTERVAL, "not tried again immediately");
    fs::remove_dir(&obstacle).unwrap();
    train(&mut fit, 2);
    write_now(&mut writer, &fit);
    assert_eq!(read(&path).epochs, fit.history());
    let error = Error::Interrupted;
    writer.end(&fit, Some(&error));
    assert_eq!(read(&path).failure, Some(error.to_string()));
}
