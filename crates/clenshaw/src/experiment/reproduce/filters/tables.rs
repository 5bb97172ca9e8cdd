//! The result page of the experiment: means over images, and charts of the learned responses.

use super::file::FiltersFile;
use super::fit::FitSettings;
use super::target::TargetResponse;
use super::{FilterRecord, FilterTask, Filters, Method};
use crate::graph::Normalisation;
use crate::report::{LineChart, LineSeries, ResultPage, Statistic, Table};
use serde_json::{Value, json};

/// The bases shown in charts; more lines would be hard to tell apart.
const CHART_BASES: [&str; 4] = ["monomial", "bernstein", "chebyshev2", "optimal"];

/// The regressions and their results.
type FilterResults = [(FilterTask, FilterRecord)];

impl Filters {
    /// The result page, with notes, tables and charts; empty tables are omitted.
    pub(super) fn result_page(&self, results: &FilterResults) -> ResultPage {
        let bases: Vec<Method> =
            self.file.bases.names.iter().map(|name| Method::Basis(name.clone())).collect();
        let networks: Vec<Method> = (0..self.networks.len()).map(Method::Network).collect();
        let [plain, looped] =
            [Normalisation::Plain, Normalisation::Looped].map(Method::LeastSquares);
        let base_rows = [vec![plain.clone()], bases.clone()].concat();
        let network_rows = [vec![plain, looped], networks.clone()].concat();
        let n_bases = n_images(results, &bases);
        let n_networks = n_images(results, &networks);
        let mut tables = vec![];
        if n_bases > 0 {
            let (order, images) = (self.file.order, image_count(n_bases));
            let heading =
                format!("Coefficients only, order {order}: sum of squares (R²), {images}");
            tables.push((heading, self.error_table(results, &base_rows, n_bases)));
            let heading = "Coefficients only, relative to least squares (best epoch)".to_owned();
            tables.push((heading, self.ratio_table(results, &bases)));
        }
        if n_networks > 0 {
            let heading = format!("Networks: sum of squares (R²), {}", image_count(n_networks));
            tables.push((heading, self.error_table(results, &network_rows, n_networks)));
        }
        ResultPage {
            title: self.file.title.clone(),
            source: self.file.source.clone(),
            tables,
            figures: self.figures(results),
            notes: self.notes(results),
            missing: vec![],
            records: results.iter().map(|(task, record)| self.record_json(task, record)).collect(),
        }
    }

    fn record_json(&self, task: &FilterTask, record: &FilterRecord) -> Value {
        json!({
            "model": self.name(&task.method),
            "filter": task.target.name(),
            "picture": task.image,
            "record": record,
        })
    }

    /// The label of a row or line.
    fn label(&self, method: &Method) -> String {
        match method {
            Method::LeastSquares(Normalisation::Looped) => "least squares in P~".into(),
            Method::LeastSquares(_) => "least squares in P".into(),
            Method::Basis(name) => name.clone(),
            Method::Network(i) => self.networks[*i].0.title.into(),
        }
    }

    /// One row per method, one column per response: the mean sum of squares and R² over the first `n_images`
    /// images; no entry if one of them is missing.
    fn error_table(&self, results: &FilterResults, methods: &[Method], n_images: usize) -> Table {
        self.table(results, methods, |target, method| {
            let found = results_for(results, target, method);
            let found: Vec<_> = found.filter(|(task, _)| task.image < n_images).collect();
            let mean = |metric: fn(&FilterRecord) -> Option<f64>| -> Option<f64> {
                let values: Option<Vec<f64>> = found.iter().map(|(_, r)| metric(r)).collect();
                values.filter(|values| !values.is_empty()).map(|values| Statistic::of(&values).mean)
            };
            let (sum, r_squared) = mean(|r| r.sum_of_squares).zip(mean(|r| r.r_squared))?;
            Some(format!("{} ({r_squared:.4})", format_number(sum)))
        })
    }

    /// One row per method, one column per response: the mean ratio of the sum of squares to that of least
    /// squares, and the mean best epoch; no entry if one of the sums is missing.
    fn ratio_table(&self, results: &FilterResults, methods: &[Method]) -> Table {
        self.table(results, methods, |target, method| {
            let optimum = |image: usize| {
                let method = Method::LeastSquares(Normalisation::Plain);
                let found =
                    results_for(results, target, &method).find(|(task, _)| task.image == image);
                found.and_then(|(_, record)| record.sum_of_squares)
            };
            let ratio = |(task, record): &(FilterTask, FilterRecord)| {
                Some(record.sum_of_squares? / optimum(task.image)?)
            };
            let ratios: Option<Vec<f64>> =
                results_for(results, target, method).map(ratio).collect();
            let epochs: Vec<f64> =
                results_for(results, target, method).map(|(_, r)| r.best_epoch as f64).collect();
            let mean = Statistic::of(&ratios.filter(|ratios| !ratios.is_empty())?).mean;
            Some(format!("{} ({:.0})", format_number(mean), Statistic::of(&epochs).mean))
        })
    }

    /// A table of the methods with at least one entry and the responses with at least one result; missing
    /// entries are shown as `-`.
    fn table(
        &self,
        results: &FilterResults,
        methods: &[Method],
        entry: impl Fn(TargetResponse, &Method) -> Option<String>,
    ) -> Table {
        let has = |target: &TargetResponse| results.iter().any(|(task, _)| task.target == *target);
        let targets: Vec<TargetResponse> = TargetResponse::ALL.into_iter().filter(has).collect();
        let header = [""].into_iter().chain(targets.iter().map(|target| target.name()));
        let mut table = Table::new(header);
        for method in methods {
            let entries: Vec<_> = targets.iter().map(|target| entry(*target, method)).collect();
            if entries.iter().any(Option::is_some) {
                let entries = entries.into_iter().map(|entry| entry.unwrap_or("-".into()));
                table.add_row([self.label(method)].into_iter().chain(entries));
            }
        }
        table
    }

    /// One chart per response with results: the target, the best polynomial and those learned in [`CHART_BASES`],
    /// for the first image.
    fn figures(&self, results: &FilterResults) -> Vec<(String, LineChart)> {
        let mut figures = vec![];
        for target in TargetResponse::ALL {
            let line = |method: Method| {
                let (_, record) =
                    results_for(results, target, &method).find(|(t, _)| t.image == 0)?;
                let points = record.filter.as_ref()?.sample(201);
                Some(LineSeries { name: self.label(&method), points })
            };
            let bases = CHART_BASES.iter().map(|name| Method::Basis((*name).into()));
            let methods = [Method::LeastSquares(Normalisation::Plain)].into_iter().chain(bases);
            let lines: Vec<LineSeries> = methods.filter_map(line).collect();
            if lines.is_empty() {
                continue;
            }
            let mu = |i: i32| f64::from(i) / 200.0 - 1.0;
            let points = (0..=400).map(|i| (mu(i), target.evaluate(mu(i)))).collect();
            let target_line = LineSeries { name: "target".into(), points };
            let (name, order) = (target.name(), self.file.order);
            let title = format!("{name}: filters of order {order} for the first image");
            let series = [target_line].into_iter().chain(lines).collect();
            figures.push((format!("filters-{name}"), LineChart::responses(&title, series)));
        }
        figures
    }

    /// The notes below the tables: how the results were computed, and what limits them.
    fn notes(&self, results: &FilterResults) -> Vec<String> {
        let FiltersFile { rows, columns, border, bases, networks, .. } = &self.file;
        let target_error = |comb: bool| {
            let selected =
                results.iter().filter(|(t, _)| (t.target == TargetResponse::Comb) == comb);
            let worst = selected.map(|(_, record)| record.truth_error).reduce(f64::max);
            worst.map_or("(not measured)".into(), |error| format!("{error:.0e}"))
        };
        let training = |settings: &FitSettings| {
            let FitSettings { rate, max_epochs, patience } = settings;
            format!(
                "Adam with learning rate {rate} and no weight decay, at most {max_epochs} epochs, \
                 stopped after {patience} epochs without a lower loss"
            )
        };
        let trained: Vec<&FilterRecord> = results
            .iter()
            .filter(|(task, _)| matches!(task.method, Method::Network(_)))
            .map(|(_, record)| record)
            .collect();
        let last = networks.fit.max_epochs;
        let unconverged = trained.iter().filter(|record| record.best_epoch == last).count();
        let seconds: f64 = results.iter().map(|(_, record)| record.seconds).sum();
        let mut notes = vec![
            format!(
                "Images of {rows} x {columns} pixels with grey values in [0, 1]; a border of {border} \
                 pixels is excluded. Entries are means over images of the epoch with the lowest loss."
            ),
            format!(
                "Coefficients only: {}, starting from the coefficients (1, 0, ..., 0).",
                training(&bases.fit)
            ),
            format!(
                "Networks: our models with one feature and one output per pixel, width {}, no dropout, \
                 seed 0; {}.",
                networks.hidden,
                training(&networks.fit)
            ),
            "The target responses are functions of P, without self-loops. GCN, APPNP, GPRGNN, the \
             polynomial filter and the Clenshaw family use P~; the second row of least squares shows what \
             that costs a single filter. A network has several filters with layers between them, so it \
             can be better than the best single polynomial."
                .into(),
            "APPNP and FixedParamClenshawGCN have fixed filters; only the layers around them are trained."
                .into(),
            format!(
                "The target values are computed as a Chebyshev series; with half as many terms a pixel \
                 changes by at most {}, and for the comb, which has a kink, by {}.",
                target_error(false),
                target_error(true)
            ),
            format!(
                "Of {} {}, {unconverged} had their lowest loss in the last allowed epoch.",
                trained.len(),
                if trained.len() == 1 { "network" } else { "networks" }
            ),
        ];
        notes.extend(self.file.notes.iter().cloned());
        notes.push(format!("Total time of all cells: {seconds:.0} seconds, one thread each."));
        notes
    }
}

/// The results of one method for one response.
fn results_for<'r>(
    results: &'r FilterResults,
    target: TargetResponse,
    method: &Method,
) -> impl Iterator<Item = &'r (FilterTask, FilterRecord)> {
    results.iter().filter(move |(task, _)| task.target == target && task.method == *method)
}

/// The number of images that these methods were run on.
fn n_images(results: &FilterResults, methods: &[Method]) -> usize {
    let tasks = results.iter().map(|(task, _)| task);
    let tasks = tasks.filter(|task| methods.contains(&task.method));
    tasks.map(|task| task.image + 1).max().unwrap_or(0)
}

/// Describes the number of images in a heading.
fn image_count(n: usize) -> String {
    match n {
        1 => "one image".into(),
        n => format!("mean of {n} images"),
    }
}

/// Formats a number, with fewer decimals the larger it is: `123`, `12.35`, `0.0314`, `2.1e-5`.
fn format_number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        medium if medium >= 1.0 => format!("{value:.2}"),
        small if small >= 1e-3 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_numbers_have_fewer_decimals() {
        assert_eq!(
            [123.4, 12.345, 0.03141, 2.13e-5].map(format_number),
            ["123", "12.35", "0.0314", "2.1e-5"]
        );
    }
}
