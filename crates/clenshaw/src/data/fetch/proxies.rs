//! Proxy settings from the environment.

/// The proxies that requests go through; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// Proxy for `http://`; `None` to connect directly.
    pub http: Option<String>,
    /// Proxy for `https://`; `None` to connect directly.
    pub https: Option<String>,
    /// Hosts that are contacted directly: `example.org` and its subdomains, `.example.org` for only its
    /// subdomains, `*` for all hosts.
    pub no_proxy: Vec<String>,
}

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case; empty variables are ignored.
    /// `ALL_PROXY` is the default of the first two.
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the variables with `variable`; lower-case names take precedence, as in curl.
    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let lookup = |name: &str| {
            let names = [name.to_lowercase(), name.to_owned()];
            let values = names.iter().filter_map(|name| variable(name));
            values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
        };
        let no_proxy = lookup("NO_PROXY").unwrap_or_default();
        let no_proxy = no_proxy.split(',').map(str::trim).filter(|host| !host.is_empty());
        Self {
            http: lookup("HTTP_PROXY").or_else(|| lookup("ALL_PROXY")),
            https: lookup("HTTPS_PROXY").or_else(|| lookup("ALL_PROXY")),
            no_proxy: no_proxy.map(str::to_owned).collect(),
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
    fn reads_variables_in_either_case() {
        let two = from(&[("HTTP_PROXY", "http://a:1"), ("https_proxy", "http://b:2")]);
        assert_eq!(two.http.as_deref(), Some("http://a:1"));
        assert_eq!(two.https.as_deref(), Some("http://b:2"));
        let all =
            from(&[("all_proxy", "c:3"), ("HTTPS_PROXY", " "), ("NO_PROXY", " x.org, .y ,*,")]);
        assert_eq!((all.http.as_deref(), all.https.as_deref()), (Some("c:3"), Some("c:3")));
        assert_eq!(all.no_proxy, ["x.org", ".y", "*"]);
        assert_eq!(from(&[]), Proxies::default());
    }
}
