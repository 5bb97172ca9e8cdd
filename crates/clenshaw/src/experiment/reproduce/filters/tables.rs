//! What the regressions say together: means over pictures, and the learned responses.

use super::file::File;
use super::target::Target;
use super::{Contender, Filters, Record, Task};
use crate::graph::Normalisation;
use crate::report::{Figure, Findings, Series, Statistic, Table};
use serde_json::{Value, json};

/// Bases that a picture shows; more lines could not be told apart.
const DRAWN: [&str; 4] = ["monomial", "bernstein", "chebyshev2", "optimal"];

type Records = [(Task, Record)];

impl Filters {
    pub(super) fn findings(&self, records: &Records) -> Findings {
        let bases = self.file.bases.names.iter().map(|name| Contender::Basis(name.clone()));
        let networks = (0..self.networks.len()).map(Contender::Network);
        let [plain, looped] = [Normalisation::Plain, Normalisation::Looped].map(Contender::Optimum);
        let bases: Vec<Contender> = bases.collect();
        let networks: Vec<Contender> = networks.collect();
        let alone = [vec![plain.clone()], bases.clone()].concat();
        let all = [vec![plain, looped], networks.clone()].concat();
        let order = self.file.order;
        let n_bases = n_pictures(records, |task| bases.contains(&task.contender));
        let n_networks = n_pictures(records, |task| networks.contains(&task.contender));
        let tables = [
            (
                format!("Coefficients alone, order {order}: sum of squares (R²), {n_bases}"),
                self.errors(records, &alone, n_bases.0),
            ),
            (
                "The same as a multiple of the optimum (epochs until then)".to_owned(),
                self.multiples(records, &bases),
            ),
            (
                format!("Networks: sum of squares (R²), {n_networks}"),
                self.errors(records, &all, n_networks.0),
            ),
        ];
        // Without a single contender only the optimum is left of a table.
        let has_contender = |(i, _): &(usize, _)| [n_bases.0, n_bases.0, n_networks.0][*i] > 0;
        let tables = tables.into_iter().enumerate().filter(has_contender).map(|(_, table)| table);
        Findings {
            title: self.file.title.clone(),
            source: self.file.source.clone(),
            tables: tables.collect(),
            figures: self.figures(records),
            notes: self.notes(records),
            missing: vec![],
            records: records.iter().map(|(task, record)| self.json(task, record)).collect(),
        }
    }

    fn json(&self, task: &Task, record: &Record) -> Value {
        json!({
            "model": self.name(&task.contender),
            "filter": task.target.name(),
            "picture": task.picture,
            "record": record,
        })
    }

    /// The words of a row.
    fn label(&self, contender: &Contender) -> String {
        match contender {
            Contender::Optimum(Normalisation::Looped) => "least squares in P~".into(),
            Contender::Optimum(_) => "least squares in P".into(),
            Contender::Basis(name) => name.clone(),
            Contender::Network(i) => self.networks[*i].0.title.into(),
        }
    }

    /// A row a contender, a column a response; means over the first pictures.
    fn errors(&self, records: &Records, contenders: &[Contender], n_pictures: usize) -> Table {
        self.table(records, contenders, |target, contender| {
            let found = of(records, target, contender);
            let found: Vec<_> = found.filter(|(task, _)| task.picture < n_pictures).collect();
            let each = |number: fn(&Record) -> Option<f64>| -> Option<f64> {
                let each: Option<Vec<f64>> = found.iter().map(|(_, r)| number(r)).collect();
                each.filter(|each| !each.is_empty()).map(|each| Statistic::of(&each).mean)
            };
            let (sum, r_squared) = each(|r| r.sum_of_squares).zip(each(|r| r.r_squared))?;
            Some(format!("{} ({r_squared:.4})", number(sum)))
        })
    }

    /// The sum of squares in units of the optimum, and after how many epochs.
    fn multiples(&self, records: &Records, contenders: &[Contender]) -> Table {
        self.table(records, contenders, |target, contender| {
            let best = |picture: usize| {
                let optimum = Contender::Optimum(Normalisation::Plain);
                let found = of(records, target, &optimum).find(|(task, _)| task.picture == picture);
                found.and_then(|(_, record)| record.sum_of_squares)
            };
            let multiple = |(task, record): &(Task, Record)| {
                Some(record.sum_of_squares? / best(task.picture)?)
            };
            let each: Option<Vec<f64>> = of(records, target, contender).map(multiple).collect();
            let epochs: Vec<f64> =
                of(records, target, contender).map(|(_, r)| r.best_epoch as f64).collect();
            let mean = Statistic::of(&each.filter(|each| !each.is_empty())?).mean;
            Some(format!("{} ({:.0})", number(mean), Statistic::of(&epochs).mean))
        })
    }

    /// Rows and columns that have an entry.
    fn table(
        &self,
        records: &Records,
        contenders: &[Contender],
        entry: impl Fn(Target, &Contender) -> Option<String>,
    ) -> Table {
        let has = |target: &Target| records.iter().any(|(task, _)| task.target == *target);
        let targets: Vec<Target> = Target::ALL.into_iter().filter(has).collect();
        let header = [""].into_iter().chain(targets.iter().map(|target| target.name()));
        let mut table = Table::new(header);
        for contender in contenders {
            let entries: Vec<_> = targets.iter().map(|target| entry(*target, contender)).collect();
            if entries.iter().any(Option::is_some) {
                let entries = entries.into_iter().map(|entry| entry.unwrap_or("-".into()));
                table.row([self.label(contender)].into_iter().chain(entries));
            }
        }
        table
    }

    /// A chart a response: the response itself, the best polynomial and what bases learned, of the
    /// first picture.
    fn figures(&self, records: &Records) -> Vec<(String, Figure)> {
        let mut figures = vec![];
        for target in Target::ALL {
            let line = |contender: Contender| {
                let (_, record) = of(records, target, &contender).find(|(t, _)| t.picture == 0)?;
                let points = record.filter.as_ref()?.sample(201);
                Some(Series { name: self.label(&contender), points })
            };
            let drawn = DRAWN.iter().map(|name| Contender::Basis((*name).into()));
            let contenders = [Contender::Optimum(Normalisation::Plain)].into_iter().chain(drawn);
            let lines: Vec<Series> = contenders.filter_map(line).collect();
            if lines.is_empty() {
                continue;
            }
            let mu = |i: i32| f64::from(i) / 200.0 - 1.0;
            let points = (0..=400).map(|i| (mu(i), target.at(mu(i)))).collect();
            let itself = Series { name: "to be learned".into(), points };
            let title =
                format!("{}: degree {} on the first picture", target.name(), self.file.order);
            let series = [itself].into_iter().chain(lines).collect();
            figures.push((format!("filters-{}", target.name()), Figure::responses(&title, series)));
        }
        figures
    }

    fn notes(&self, records: &Records) -> Vec<String> {
        let File { rows, columns, border, bases, networks, .. } = &self.file;
        let worst = |comb: bool| {
            let errors = records.iter().filter(|(t, _)| (t.target == Target::Comb) == comb);
            let worst = errors.map(|(_, record)| record.truth_error).reduce(f64::max);
            worst.map_or("(not asked)".into(), |error| format!("{error:.0e}"))
        };
        let effort = |effort: &super::fit::Effort| {
            let super::fit::Effort { rate, max_epochs, patience } = effort;
            format!(
                "Adam of rate {rate} without weight decay, at most {max_epochs} epochs, stopped after \
                 {patience} without a lower loss"
            )
        };
        let trained: Vec<&Record> = records
            .iter()
            .filter(|(task, _)| matches!(task.contender, Contender::Network(_)))
            .map(|(_, record)| record)
            .collect();
        let last = networks.effort.max_epochs;
        let unrested = trained.iter().filter(|record| record.best_epoch == last).count();
        let seconds: f64 = records.iter().map(|(_, record)| record.seconds).sum();
        let mut notes = vec![
            format!(
                "Pictures of {rows} x {columns} pixels, grey values in [0, 1], a border of {border} \
                 not counted; entries are means over pictures, and the best epoch counts."
            ),
            format!("Coefficients alone: {}; from the identity.", effort(&bases.effort)),
            format!(
                "Networks: our models with one feature and one score a pixel, width {}, no dropout, \
                 seed 0; {}.",
                networks.hidden,
                effort(&networks.effort)
            ),
            "The responses are of P, without loops. GCN, APPNP, GPRGNN, the polynomial filter and the \
             Clenshaw family see P~, and the second line of least squares is what that costs one \
             filter. A network has several, and layers in between, so it may do better than the best \
             single polynomial."
                .into(),
            "APPNP and FixedParamClenshawGCN have no filter to learn, only the layers around it."
                .into(),
            format!(
                "What is to be met is summed as a Chebyshev series; half as many terms change a pixel \
                 by {} at most, and the comb, which has a kink, by {}.",
                worst(false),
                worst(true)
            ),
            format!(
                "Of {} networks, {unrested} had their lowest loss in the last epoch they were given.",
                trained.len()
            ),
        ];
        notes.extend(self.file.notes.iter().cloned());
        notes.push(format!("All cells together took {seconds:.0} seconds, one thread each."));
        notes
    }
}

fn of<'r>(
    records: &'r Records,
    target: Target,
    contender: &Contender,
) -> impl Iterator<Item = &'r (Task, Record)> {
    records.iter().filter(move |(task, _)| task.target == target && task.contender == *contender)
}

/// How many pictures, and how that is said.
#[derive(Clone, Copy)]
struct Pictures(usize);

impl std::fmt::Display for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            1 => write!(f, "one picture"),
            n => write!(f, "mean of {n} pictures"),
        }
    }
}

fn n_pictures(records: &Records, belongs: impl Fn(&Task) -> bool) -> Pictures {
    let numbers = records.iter().map(|(task, _)| task).filter(|task| belongs(task));
    Pictures(numbers.map(|task| task.picture + 1).max().unwrap_or(0))
}

/// `12.3`, `0.0314`, `2.1e-5`: three digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        some if some >= 1.0 => format!("{value:.2}"),
        small if small >= 1e-3 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(
            [123.4, 12.345, 0.03141, 2.13e-5].map(number),
            ["123", "12.35", "0.0314", "2.1e-5"]
        );
    }
}
