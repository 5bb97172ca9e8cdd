//! The keys of a GraphML file, which declare the attributes of nodes, edges and other elements.

use std::collections::HashMap;

/// The declared keys, by id and by name.
///
/// NetworkX declares one key per type, so an `age` that is an int in some nodes and a float in others has
/// two ids and one name.
#[derive(Default)]
pub(super) struct GraphmlKeys {
    /// One entry per name of a node key, and one per other key.
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
    pub scope: KeyScope,
    /// The value of nodes or edges without data for this key; empty if no default is declared.
    pub default: String,
}

/// The elements that can have an attribute.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum KeyScope {
    /// Nodes, edges and all other elements.
    All,
    /// Nodes.
    Nodes,
    /// Edges.
    Edges,
    /// Elements that are not read, such as the graph.
    Other,
}

impl KeyScope {
    pub fn includes_nodes(self) -> bool {
        matches!(self, Self::All | Self::Nodes)
    }
}

impl GraphmlKeys {
    /// Returns the index of the key with this id; `None` if there is none.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Adds a key and returns its index; keys of nodes with the same name are merged.
    pub fn insert(&mut self, id: String, name: String, scope: KeyScope) -> usize {
        let is_for_nodes = scope.includes_nodes();
        let existing = self.by_name.get(&name).copied().filter(|_| is_for_nodes);
        let number = existing.unwrap_or(self.list.len());
        self.by_id.insert(id, number);
        if existing.is_none() {
            if is_for_nodes {
                self.by_name.insert(name.clone(), number);
            }
            self.list.push(GraphmlKey { name, scope, default: String::new() });
        }
        number
    }
}
