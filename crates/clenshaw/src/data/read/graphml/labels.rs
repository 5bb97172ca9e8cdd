//! The labels of nodes: every text once, and which of them each node has.

use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Labels {
    /// Numbered as they turn up.
    numbers: HashMap<String, u32>,
    of_nodes: Vec<Option<u32>>,
    /// What nodes have that give none, once the first of them came.
    default: Option<Option<u32>>,
}

impl Labels {
    /// The label of the next node; the default is looked at only once, however long it is.
    pub fn push(&mut self, own: Option<String>, default: Option<&str>) {
        let label = match (own, self.default) {
            (Some(own), _) => self.number(own),
            (None, Some(known)) => known,
            (None, None) => {
                let label = default.and_then(|text| self.number(text.into()));
                self.default = Some(label);
                label
            }
        };
        self.of_nodes.push(label);
    }

    fn number(&mut self, text: String) -> Option<u32> {
        let next = self.numbers.len() as u32;
        (!text.is_empty()).then(|| *self.numbers.entry(text).or_insert(next))
    }

    /// The texts in the order of their numbers or else of their letters; and each node's class.
    pub fn classes(self) -> (Vec<String>, Vec<Option<u32>>) {
        let mut texts: Vec<(String, u32)> = self.numbers.into_iter().collect();
        texts.sort();
        let number = |text: &str| text.parse::<f64>().ok();
        if texts.iter().all(|(text, _)| number(text).is_some()) {
            texts.sort_by(|(a, _), (b, _)| {
                f64::total_cmp(&number(a).unwrap_or(0.0), &number(b).unwrap_or(0.0))
            });
        }
        let mut class_of = vec![0; texts.len()];
        for (class, (_, label)) in (0..).zip(&texts) {
            class_of[*label as usize] = class;
        }
        let class = |label: &Option<u32>| label.map(|label| class_of[label as usize]);
        let y = self.of_nodes.iter().map(class).collect();
        (texts.into_iter().map(|(text, _)| text).collect(), y)
    }
}
