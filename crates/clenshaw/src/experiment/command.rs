//! The `clenshaw train` command of a request.

use super::Request;
use crate::data::TableOptions;

impl Request {
    /// The `clenshaw train` command of this request, for a POSIX shell. Settings that equal the model's
    /// defaults are omitted, except the scaling, whose default depends on the graph. There is no option for
    /// [`TableOptions::split`].
    ///
    /// ```
    /// use clenshaw::experiment::Request;
    /// let mut request = Request::new("my graph/", "gcn")?;
    /// request.set("dropout", "0.1")?;
    /// assert_eq!(
    ///     request.command(),
    ///     "clenshaw train 'my graph/' --model gcn --split balanced --runs 1 --seed 0 \
    ///      --set dropout=0.1 --set scaling=raw"
    /// );
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn command(&self) -> String {
        let mut words: Vec<String> = ["clenshaw", "train"].map(str::to_owned).into();
        words.push(self.graph.clone());
        let options = [
            ("--model", self.model.name.to_owned()),
            ("--split", self.split.to_string()),
            ("--runs", self.runs.to_string()),
            ("--seed", self.seed.to_string()),
        ];
        words.extend(options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        words.extend(table_arguments(&self.table));
        for (hyper, value) in self.hyper.iter() {
            if value != hyper.default || hyper.name == "scaling" {
                words.extend(["--set".to_owned(), format!("{}={value}", hyper.name)]);
            }
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The command-line options for the columns of the user's tables, without those that are not set.
fn table_arguments(table: &TableOptions) -> Vec<String> {
    let fill = table.fill.map(|fill| serde_json::json!(fill));
    let one = |option, value: &Option<String>| (option, value.iter().cloned().collect::<String>());
    let several = |option, values: &[String]| (option, values.join(","));
    let options = [
        one("--label", &table.label),
        one("--id", &table.id),
        several("--features", &table.features),
        several("--ignore", &table.ignore),
        several("--category", &table.category),
        ("--fill", fill.as_ref().and_then(|fill| fill.as_str()).unwrap_or_default().to_owned()),
        one("--weight", &table.weight),
    ];
    let given = options.into_iter().filter(|(_, value)| !value.is_empty());
    given.flat_map(|(option, value)| [option.to_owned(), value]).collect()
}

/// The word as an argument in a POSIX shell: in single quotes unless it consists of safe characters.
fn quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_and_table_options_included() {
        let mut request = Request::new("it's;rm -rf", "gcn").unwrap();
        request.table.label = Some("my class".into());
        request.table.ignore = vec!["a".into(), "b".into()];
        let command = request.command();
        assert!(command.starts_with(r"clenshaw train 'it'\''s;rm -rf' --model gcn "), "{command}");
        assert!(command.contains(" --label 'my class' --ignore a,b "), "{command}");
    }
}
