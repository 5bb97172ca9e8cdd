//! Attributes of edges: at most one of them is the weight, the others are not used.

use super::assemble::ReadEdges;
use super::delimited::LineResult;
use super::edges::parse_weight;
use crate::data::count;
use crate::data::schema::WeightChoice;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

const WEIGHT: &str = "weight";
/// Attributes that identify an edge and are not reported as unused.
const IDENTIFIERS: [&str; 2] = ["id", "key"];

/// Finds the weight among the attributes of edges and collects the names of the others.
pub(super) struct EdgeAttributes<'a> {
    /// The name of the attribute with the weights; `None` if weights are not used.
    weight: Option<&'a str>,
    /// Whether the user chose this attribute, as opposed to the usual one.
    is_chosen: bool,
    /// The number of values of this attribute that have been added, without a default.
    n_weights: usize,
    /// Whether a default of this attribute has been added.
    has_default: bool,
    /// The names of the other attributes, except [`IDENTIFIERS`].
    unused: BTreeSet<String>,
}

impl<'a> EdgeAttributes<'a> {
    pub fn new(weights: WeightChoice<'a>) -> Self {
        let weight = match weights {
            WeightChoice::ByName => Some(WEIGHT),
            WeightChoice::Column(name) => Some(name),
            WeightChoice::Unused => None,
        };
        let is_chosen = matches!(weights, WeightChoice::Column(_));
        Self { weight, is_chosen, n_weights: 0, has_default: false, unused: BTreeSet::new() }
    }

    /// Adds the value of an attribute of an edge: stores it in `weight` if it is the attribute with the
    /// weights, otherwise ignores it; [`Self::finish`] reports the names of ignored attributes. An error if a
    /// weight is invalid.
    pub fn add(&mut self, name: &str, value: &str, weight: &mut f32) -> LineResult<()> {
        if self.weight == Some(name) {
            self.n_weights += 1;
            *weight = parse_weight(value)?;
        } else if !IDENTIFIERS.contains(&name) && !self.unused.contains(name) {
            self.unused.insert(name.to_owned());
        }
        Ok(())
    }

    /// Adds the default of an attribute of edges, as [`Self::add`] does with a value.
    pub fn add_default(&mut self, name: &str, default: &str, weight: &mut f32) -> LineResult<()> {
        if self.weight == Some(name) {
            self.has_default = true;
            *weight = parse_weight(default)?;
            return Ok(());
        }
        self.add(name, default, weight)
    }

    /// Adds the default of an attribute of nodes and edges: stores it in `weight` if it is the attribute with the
    /// weights and the default is not empty. An error if a weight is invalid.
    pub fn add_default_weight(
        &mut self,
        name: &str,
        default: &str,
        weight: &mut f32,
    ) -> LineResult<()> {
        match self.weight == Some(name) && !default.is_empty() {
            true => self.add_default(name, default, weight),
            false => Ok(()),
        }
    }

    /// Adds the source of the weights, a warning about edges without a weight, and a note on unused attributes to
    /// `edges`; an error if the user chose an attribute that has not been added.
    pub fn finish(self, place: &str, edges: &mut ReadEdges) -> Result<()> {
        let name = self.weight.unwrap_or_default();
        let has_weights = self.n_weights > 0 || self.has_default;
        if self.is_chosen && !has_weights {
            let known = self.unused.iter().map(String::as_str);
            return Err(Error::unknown("edge attribute", name, known).with_place(place));
        }
        let n_edges = edges.n_listed + edges.n_loops + edges.n_zero_weights;
        if has_weights && !self.has_default && self.n_weights < n_edges {
            let edges_without = count(
                n_edges - self.n_weights,
                "edge without the attribute",
                "edges without the attribute",
            );
            edges
                .warnings
                .push(format!("{place}: {edges_without} `{name}`; the weight is set to 1"));
        }
        if has_weights {
            edges.weight_source = format!("attribute `{name}`");
        }
        if !self.unused.is_empty() {
            let unused: Vec<String> = self.unused.into_iter().collect();
            edges.notes.push(format!("edge attributes not used: {}", unused.join(", ")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(weights: WeightChoice) -> Result<(f32, ReadEdges)> {
        let mut attributes = EdgeAttributes::new(weights);
        let mut weight = 1.0;
        for (name, value) in [("weight", "2"), ("cost", "0.5"), ("key", "0"), ("kind", "friend")] {
            attributes.add(name, value, &mut weight).unwrap();
        }
        let mut edges = ReadEdges::new("x", 2, vec![(0, 1, weight)], weights)?;
        attributes.finish("x", &mut edges)?;
        Ok((weight, edges))
    }

    #[test]
    fn weight_can_be_chosen() {
        let cases = [
            (WeightChoice::ByName, 2.0, "attribute `weight`", "cost, kind"),
            (WeightChoice::Column("cost"), 0.5, "attribute `cost`", "kind, weight"),
            (WeightChoice::Unused, 1.0, "", "cost, kind, weight"),
        ];
        for (choice, weight, source, unused) in cases {
            let (found, edges) = read(choice).unwrap();
            assert_eq!((found, &*edges.weight_source), (weight, source));
            assert_eq!(edges.notes, [format!("edge attributes not used: {unused}")]);
        }
        assert_eq!(
            read(WeightChoice::Column("costs")).err().unwrap().to_string(),
            "x: unknown edge attribute `costs`; did you mean `cost`? known: cost, kind, weight"
        );
    }
}
