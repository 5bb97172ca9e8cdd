//! Encodes the label strings of nodes as class numbers.

use std::borrow::Cow;
use std::collections::HashMap;

/// Collects the labels of nodes, given in node order.
#[derive(Default)]
pub(super) struct LabelEncoder<'a> {
    /// Label strings, numbered in order of first occurrence.
    numbers: HashMap<Cow<'a, str>, u32>,
    of_nodes: Vec<Option<u32>>,
    /// The number of the default label, once it was needed.
    default: Option<Option<u32>>,
}

impl<'a> LabelEncoder<'a> {
    /// Adds the next node; an empty label is unknown.
    pub fn push(&mut self, label: Cow<'a, str>) {
        let number = self.number(label);
        self.of_nodes.push(number);
    }

    /// Adds the next node, which has the default label; a long default is only hashed once.
    pub fn push_default(&mut self, default: Option<&str>) {
        let number = match self.default {
            Some(number) => number,
            None => default.and_then(|text| self.number(text.to_owned().into())),
        };
        self.default = Some(number);
        self.of_nodes.push(number);
    }

    fn number(&mut self, text: Cow<'a, str>) -> Option<u32> {
        let next = u32::try_from(self.numbers.len()).expect("callers check the number of nodes");
        (!text.is_empty()).then(|| *self.numbers.entry(text).or_insert(next))
    }

    /// Returns the class names and the class of each node.
    ///
    /// Names are sorted by value if all of them are numbers, otherwise alphabetically.
    pub fn classes(self) -> (Vec<String>, Vec<Option<u32>>) {
        let mut labels: Vec<(Option<f64>, Cow<str>, u32)> = self
            .numbers
            .into_iter()
            .map(|(name, label)| (name.parse().ok().filter(|x: &f64| !x.is_nan()), name, label))
            .collect();
        let all_numbers = labels.iter().all(|(number, ..)| number.is_some());
        labels.sort_by(|(x, a, _), (y, b, _)| match (x, y) {
            (Some(x), Some(y)) if all_numbers => x.total_cmp(y).then_with(|| a.cmp(b)),
            _ => a.cmp(b),
        });
        let mut class_of = vec![0; labels.len()];
        for (class, (_, _, label)) in (0..).zip(&labels) {
            class_of[*label as usize] = class;
        }
        let class = |label: &Option<u32>| label.map(|label| class_of[label as usize]);
        let y = self.of_nodes.iter().map(class).collect();
        (labels.into_iter().map(|(_, name, _)| name.into_owned()).collect(), y)
    }
}
