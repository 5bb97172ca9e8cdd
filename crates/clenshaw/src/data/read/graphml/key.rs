//! The keys of a GraphML file, which declare the attributes of nodes and edges.

use std::collections::HashMap;

/// The declared keys, by id and by name.
///
/// NetworkX declares one key per type, so an `age` that is an int in some nodes and a float in others has
/// two ids and one name.
#[derive(Default)]
pub(super) struct GraphmlKeys {
    pub list: Vec<GraphmlKey>,
    /// From the id of a key to its index in `list`.
    by_id: HashMap<String, usize>,
    /// From the name of a node key to its index in `list`.
    by_name: HashMap<String, usize>,
}

/// A declared attribute.
pub(super) struct GraphmlKey {
    /// The attribute's name.
    pub name: String,
    /// Whether nodes can have the attribute; otherwise it belongs to edges or graphs.
    pub for_nodes: bool,
    /// The value of nodes or edges without data for this key; empty if no default is declared.
    pub default: String,
}

impl GraphmlKeys {
    /// Returns the index of the key with this id; `None` if there is none.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Adds a key and returns its index; keys of nodes with the same name are merged.
    pub fn insert(&mut self, id: String, name: String, for_nodes: bool) -> usize {
        let existing = self.by_name.get(&name).copied().filter(|_| for_nodes);
        let number = existing.unwrap_or(self.list.len());
        self.by_id.insert(id, number);
        if existing.is_none() {
            if for_nodes {
                self.by_name.insert(name.clone(), number);
            }
            self.list.push(GraphmlKey { name, for_nodes, default: String::new() });
        }
        number
    }
}
