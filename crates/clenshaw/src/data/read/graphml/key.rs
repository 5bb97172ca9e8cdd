//! The keys of a GraphML file, which declare the attributes of nodes.

use std::collections::HashMap;

/// The declared keys, by id and by name.
///
/// NetworkX declares one key per type, so an `age` that is int or float has two ids and one name.
#[derive(Default)]
pub(super) struct GraphmlKeys {
    pub list: Vec<GraphmlKey>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
}

/// A declared attribute.
pub(super) struct GraphmlKey {
    /// The attribute's name.
    pub name: String,
    pub kind: KeyKind,
    /// The value of nodes without data for this key.
    pub default: Option<String>,
    /// The default as a feature, or the error message.
    default_number: Result<f32, String>,
}

/// How the values of a key are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KeyKind {
    /// Numbers or booleans.
    Feature,
    Text,
    /// Attributes of edges or graphs.
    NotForNodes,
}

impl GraphmlKeys {
    /// Returns the index of the key with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the index of the node key with this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Adds a key and returns its index; keys with the same name are merged, as text if any is text.
    pub fn insert(&mut self, id: String, name: String, kind: KeyKind) -> usize {
        let existing = self.by_name.get(&name).copied().filter(|_| kind != KeyKind::NotForNodes);
        let number = existing.unwrap_or(self.list.len());
        self.by_id.insert(id, number);
        match self.list.get_mut(number) {
            Some(key) if kind == KeyKind::Text => key.kind = KeyKind::Text,
            Some(_) => {}
            None => {
                if kind != KeyKind::NotForNodes {
                    self.by_name.insert(name.clone(), number);
                }
                let problem =
                    format!("the node has no value for `{name}`, and the key has no default");
                self.list.push(GraphmlKey {
                    name,
                    kind,
                    default: None,
                    default_number: Err(problem),
                });
            }
        }
        number
    }
}

impl KeyKind {
    /// Determines the kind from the attributes `for` and `attr.type`.
    pub fn of(element: Option<&str>, values: Option<&str>) -> Self {
        match (element, values) {
            (Some(element), _) if element != "node" && element != "all" => Self::NotForNodes,
            (_, Some("int" | "long" | "float" | "double" | "boolean")) => Self::Feature,
            _ => Self::Text,
        }
    }
}

impl GraphmlKey {
    pub fn set_default(&mut self, text: &str) {
        self.default = Some(text.into());
        self.default_number = self.parse(text);
    }

    /// Parses a value as a feature; without a value, returns the default.
    pub fn number(&self, value: Option<&str>) -> Result<f32, String> {
        value.map_or_else(|| self.default_number.clone(), |value| self.parse(value))
    }

    fn parse(&self, value: &str) -> Result<f32, String> {
        let number = match value {
            "true" | "True" => Some(1.0),
            "false" | "False" => Some(0.0),
            _ => value.parse::<f32>().ok().filter(|number| number.is_finite()),
        };
        number.ok_or_else(|| format!("`{}` is `{value}`; expected a finite number", self.name))
    }
}
