//! The proxies that the environment asks for.

/// Through whom requests go; through nobody by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http://`.
    pub http: Option<String>,
    /// For `https://`.
    pub https: Option<String>,
    /// Hosts that are asked directly, with all below them: `example.org`, `.example.org`, `*`.
    pub except: Vec<String>,
}

impl Proxies {
    /// What `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, in upper or lower case.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Lower case first, as curl has it.
    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            let names = [name.to_lowercase(), name.to_owned()];
            let mut values = names.iter().filter_map(|name| variable(name));
            values.find(|value| !value.trim().is_empty())
        };
        let except = either("NO_PROXY").unwrap_or_default();
        let except = except.split(',').map(str::trim).filter(|host| !host.is_empty());
        Self {
            http: either("HTTP_PROXY").or_else(|| either("ALL_PROXY")),
            https: either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")),
            except: except.map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Proxies {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Proxies::from_variables(get)
    }

    #[test]
    fn each_scheme_has_its_variable_in_either_case() {
        let two = from(&[("HTTP_PROXY", "http://a:1"), ("https_proxy", "http://b:2")]);
        assert_eq!(two.http.as_deref(), Some("http://a:1"));
        assert_eq!(two.https.as_deref(), Some("http://b:2"));
        let all =
            from(&[("all_proxy", "c:3"), ("HTTPS_PROXY", " "), ("NO_PROXY", " x.org, .y ,*,")]);
        assert_eq!((all.http.as_deref(), all.https.as_deref()), (Some("c:3"), Some("c:3")));
        assert_eq!(all.except, ["x.org", ".y", "*"]);
        assert_eq!(from(&[]), Proxies::default());
    }
}
