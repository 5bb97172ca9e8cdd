//! The keys of a GraphML file: which attributes its nodes may have.

use std::collections::HashMap;

/// Keys by id and by name.
///
/// NetworkX declares one key a type, so an `age` that is sometimes whole has two ids and one name.
#[derive(Default)]
pub(super) struct Keys {
    pub list: Vec<Key>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, usize>,
}

/// An attribute that nodes may have.
pub(super) struct Key {
    /// What people call it.
    pub name: String,
    pub kind: Kind,
    /// The value of nodes that do not give one.
    pub default: Option<String>,
    /// The same as a feature, or what is wrong with it.
    default_number: Result<f32, String>,
}

/// What its values are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers or truth values.
    Feature,
    Text,
    /// Nothing of a node's.
    Elsewhere,
}

impl Keys {
    /// The key of that id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The nodes' key of that name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The number of a new key, or of the one whose name it shares; a text among them makes it text.
    pub fn insert(&mut self, id: String, name: String, kind: Kind) -> usize {
        let shared = self.by_name.get(&name).copied().filter(|_| kind != Kind::Elsewhere);
        let number = shared.unwrap_or(self.list.len());
        self.by_id.insert(id, number);
        match self.list.get_mut(number) {
            Some(key) if kind == Kind::Text => key.kind = Kind::Text,
            Some(_) => {}
            None => {
                if kind != Kind::Elsewhere {
                    self.by_name.insert(name.clone(), number);
                }
                let problem = format!("the node has no `{name}`, and the key has no default");
                self.list.push(Key { name, kind, default: None, default_number: Err(problem) });
            }
        }
        number
    }
}

impl Kind {
    /// What `for` and `attr.type` say.
    pub fn of(element: Option<&str>, values: Option<&str>) -> Self {
        match (element, values) {
            (Some(element), _) if element != "node" && element != "all" => Self::Elsewhere,
            (_, Some("int" | "long" | "float" | "double" | "boolean")) => Self::Feature,
            _ => Self::Text,
        }
    }
}

impl Key {
    pub fn set_default(&mut self, text: &str) {
        self.default = Some(text.into());
        self.default_number = self.parse(text);
    }

    /// A value as a feature, or what is wrong with it; without one it is the default.
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
