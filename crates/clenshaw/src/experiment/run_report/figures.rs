//! The figures of a page as SVG, for papers; made from the same data as the page.

use super::comparison::ComparedRun;
use super::nodes::GroupAccuracy;
use super::study::StudyReport;
use super::{GraphReport, Report, RunReport};
use crate::data::Metric;
use crate::report::{
    LineChart, LineSeries, NodeDrawing, Plot, PlotAxis, PlotBar, PlotLayer, PlotPoint, PlotRange,
    drawing_svg, matrix_svg,
};
use std::collections::BTreeSet;

/// A figure of a page.
#[derive(Clone, Debug)]
pub struct Figure {
    /// A name that is safe in file names, such as `response`.
    pub name: String,
    /// The figure.
    pub svg: String,
}

impl Report {
    /// The figures of the page. With several runs, the name of a figure of one run starts with its model and seed,
    /// and a number if two runs have the same.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![];
        figures.extend(self.study.as_ref().into_iter().flat_map(StudyReport::figures));
        if self.comparison.is_some() {
            figures.extend(self.comparison_figures());
        }
        let mut prefixes = BTreeSet::new();
        for run in &self.runs {
            let prefix =
                if self.runs.len() > 1 { run_prefix(run, &mut prefixes) } else { String::new() };
            let of_run = self.graph.iter().flat_map(|graph| run_figures(run, graph));
            figures.extend(
                of_run.map(|Figure { name, svg }| Figure { name: format!("{prefix}{name}"), svg }),
            );
        }
        figures
    }

    /// The figures that compare several runs.
    fn comparison_figures(&self) -> Vec<Figure> {
        let Some(comparison) = &self.comparison else { return vec![] };
        let score = metric_name(comparison.metric);
        let names: Vec<String> = comparison.rows.iter().map(|row| row.name.clone()).collect();
        let interval = |mean: f64, half: Option<f64>| half.map(|half| (mean - half, mean + half));
        let ends = comparison.rows.iter().flat_map(|row| {
            let half = row.ci95.unwrap_or(0.0);
            [row.mean - half, row.mean + half]
        });
        let y = PlotAxis::around(&format!("{score}, 95% interval"), ends).in_percent();
        let point = |x: f64, row: &ComparedRun, label: String| PlotPoint {
            at: (x, row.mean),
            interval: interval(row.mean, row.ci95),
            label,
        };
        let by_model = comparison.rows.iter().enumerate();
        let by_model = by_model.map(|(i, row)| point(i as f64, row, String::new())).collect();
        let times = || comparison.rows.iter().map(|row| row.seconds.max(1e-3));
        let (first, last) = times().fold((f64::INFINITY, 0f64), |(low, high), seconds| {
            (seconds.min(low), seconds.max(high))
        });
        let by_time = comparison.rows.iter();
        let by_time = by_time.map(|row| point(row.seconds.max(1e-3), row, row.name.clone()));
        let title = self.graph.as_ref().map_or("", |graph| graph.name.as_str());
        let time = PlotAxis {
            label: "mean training time per run, s".into(),
            range: PlotRange::Log(first / 1.5, last * 1.5),
        };
        let plots = [
            ("comparison", PlotAxis::categories("", names), by_model),
            ("accuracy-time", time, by_time.collect()),
        ];
        let mut figures: Vec<Figure> = plots
            .into_iter()
            .map(|(name, x, points)| {
                let layers = vec![PlotLayer::points(0, points)];
                figure(name, &Plot { title: title.into(), x, y: y.clone(), layers })
            })
            .collect();
        figures.extend(self.overlaid_filters(title));
        figures.extend(self.overlaid_curves(title));
        figures
    }

    /// The absolute responses of the runs that have a filter, each divided by its largest value, at the
    /// frequencies selected by
    /// [`FilterReport::where_present`](super::filter::FilterReport::where_present); `None` without such runs.
    fn overlaid_filters(&self, title: &str) -> Option<Figure> {
        let drawable = self.runs.iter().filter_map(|run| {
            let response = run.filter.response.as_ref()?;
            let (points, largest) = run.filter.where_present(response);
            let scaled = points.into_iter().map(|(mu, h)| (mu, h.abs() / largest.max(1e-300)));
            Some(LineSeries { name: run.name.clone(), points: scaled.collect() })
        });
        let series: Vec<LineSeries> = drawable.collect();
        let histogram = self.runs.first().map(|run| run.filter.histogram());
        let chart = LineChart {
            y_label: "|h(μ)|, largest = 1".into(),
            histogram,
            ..LineChart::responses(title, series)
        };
        let has_lines = !chart.series.is_empty();
        has_lines.then(|| Figure { name: "filters".into(), svg: chart.to_svg() })
    }

    /// The validation accuracy of all runs over epochs; `None` without validation nodes.
    fn overlaid_curves(&self, title: &str) -> Option<Figure> {
        let layers: Vec<PlotLayer> = self
            .runs
            .iter()
            .enumerate()
            .map(|(i, run)| PlotLayer::line(&run.name, i, curve(&run.epochs.val_accuracy)))
            .collect();
        epoch_plot("curves", title, "validation accuracy", layers)
    }
}

/// A prefix of file names that is not in `used`; adds it.
fn run_prefix(run: &RunReport, used: &mut BTreeSet<String>) -> String {
    let base = format!("{}-seed-{}", run.model, run.seed);
    let prefix = (1..)
        .map(|n| if n == 1 { format!("{base}-") } else { format!("{base}-{n}-") })
        .find(|prefix| !used.contains(prefix))
        .expect("one of infinitely many is free");
    used.insert(prefix.clone());
    prefix
}

/// Draws a plot as a figure.
pub(super) fn figure(name: &str, plot: &Plot) -> Figure {
    Figure { name: name.into(), svg: plot.to_svg() }
}

fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Accuracy => "test accuracy",
        Metric::RocAuc => "test ROC AUC",
    }
}

/// The figures of one run.
fn run_figures(run: &RunReport, graph: &GraphReport) -> Vec<Figure> {
    let title = format!("{} on {}", run.title, graph.name);
    let names: Vec<String> = graph.classes.iter().map(|class| class.name.clone()).collect();
    let confusion = run
        .confusion
        .as_ref()
        .map(|counts| Figure { name: "confusion".into(), svg: matrix_svg(&title, &names, counts) });
    let figures = [
        Some(response(run, &title)),
        coefficients(run, &title),
        energy(run, &title),
        loss(run, &title),
        accuracy(run, &title),
        confusion,
        calibration(run, &title),
        groups("accuracy-by-degree", "degree", &run.by_degree, run, &title),
        groups("accuracy-by-homophily", "local homophily", &run.by_homophily, run, &title),
        drawing(run, &names, &title),
    ];
    figures.into_iter().flatten().collect()
}

/// The response over the eigenvalues and, if training has changed it, the initial one; only the eigenvalues if
/// there is no filter.
fn response(run: &RunReport, title: &str) -> Figure {
    let filter = &run.filter;
    let initial = filter.initial.as_ref().filter(|_| filter.is_learned());
    // As on the page: the filters of some models, such as APPNP, are not learned.
    let name = if initial.is_some() { "learned" } else { "filter" };
    let lines = [(name, filter.response.as_ref()), ("initial", initial)];
    let series = lines.into_iter().filter_map(|(name, response)| {
        Some(LineSeries { name: name.into(), points: filter.on_spectrum(response?) })
    });
    let mut series: Vec<LineSeries> = series.collect();
    if series.is_empty() {
        // The axis needs a range even if only the eigenvalues are drawn.
        series.push(LineSeries { name: "no filter".into(), points: vec![(-1.0, 0.0), (1.0, 0.0)] });
    }
    let chart =
        LineChart { histogram: Some(filter.histogram()), ..LineChart::responses(title, series) };
    Figure { name: "response".into(), svg: chart.to_svg() }
}

/// A bar chart of the coefficients; `None` if the filter is not a single polynomial.
fn coefficients(run: &RunReport, title: &str) -> Option<Figure> {
    let values = run.filter.coefficients.as_ref()?;
    let label = match &run.filter.basis {
        Some(basis) => format!("coefficient, basis {basis}"),
        None => "coefficient".into(),
    };
    let names = (0..values.len()).map(|k| k.to_string()).collect();
    let plot = Plot {
        title: title.into(),
        x: PlotAxis::categories("order k", names),
        y: PlotAxis::around(&label, values.iter().copied().chain([0.0])),
        layers: vec![bars("", 0, values.iter().map(|value| (*value, None)), (-0.4, 0.4))],
    };
    Some(figure("coefficients", &plot))
}

/// One bar per value, from `i + from` to `i + to` for value `i`.
fn bars(
    name: &str,
    colour: usize,
    values: impl IntoIterator<Item = (f64, Option<(f64, f64)>)>,
    (from, to): (f64, f64),
) -> PlotLayer {
    let bar = |(i, (value, interval)): (usize, (f64, _))| PlotBar {
        from: i as f64 + from,
        to: i as f64 + to,
        value,
        interval,
    };
    let bars = values.into_iter().enumerate().map(bar).collect();
    PlotLayer::Bars { name: name.into(), colour, bars }
}

/// A bar chart of the energy of labels, features and predictions per frequency band; `None` if it is unknown.
fn energy(run: &RunReport, title: &str) -> Option<Figure> {
    let energy = run.filter.energy.as_ref()?;
    let signals = [&energy.labels, &energy.features, &energy.predictions];
    let highest = signals.iter().flat_map(|shares| shares.iter()).fold(0f64, |a, b| a.max(*b));
    let width = energy.edges[1] - energy.edges[0];
    let layer = |(i, (name, shares)): (usize, (&str, &Vec<f64>))| {
        let bar = |(edge, share): (&f64, &f64)| {
            let from = edge + width * (0.05 + 0.3 * i as f64);
            PlotBar { from, to: from + 0.3 * width, value: *share, interval: None }
        };
        let bars = energy.edges.iter().zip(shares).map(bar).collect();
        PlotLayer::Bars { name: name.into(), colour: i + 1, bars }
    };
    let named = ["labels", "features", "predictions"].into_iter().zip(signals);
    let plot = Plot {
        title: title.into(),
        x: PlotAxis::linear("μ (left: neighbours differ, right: neighbours agree)", -1.0, 1.0),
        y: PlotAxis::percent("share of the energy", 0.0, 1.08 * highest),
        layers: named.enumerate().map(layer).collect(),
    };
    Some(figure("energy", &plot))
}

/// The points of a line over epochs 1, 2, ..., without the missing values.
fn curve(values: &[Option<f64>]) -> Vec<(f64, f64)> {
    let points = values.iter().enumerate();
    points.filter_map(|(i, value)| Some((i as f64 + 1.0, (*value)?))).collect()
}

/// A plot over epochs; `None` if there is no line with points.
fn epoch_plot(name: &str, title: &str, label: &str, layers: Vec<PlotLayer>) -> Option<Figure> {
    let points: Vec<(f64, f64)> = layers
        .iter()
        .flat_map(|layer| match layer {
            PlotLayer::Line { points, .. } => points.clone(),
            _ => vec![],
        })
        .collect();
    let last = points.iter().map(|point| point.0).fold(2.0, f64::max);
    let y = PlotAxis::around(label, points.iter().map(|point| point.1));
    let y = if label.contains("accuracy") { y.in_percent() } else { y };
    let x = PlotAxis::linear("epoch", 1.0, last);
    (!points.is_empty()).then(|| figure(name, &Plot { title: title.into(), x, y, layers }))
}

/// A vertical line at the epoch whose weights were kept.
fn kept_epoch(run: &RunReport) -> PlotLayer {
    PlotLayer::VerticalRule(run.best_epoch as f64, format!("kept: epoch {}", run.best_epoch))
}

/// The training and validation losses over epochs; `None` without epochs.
fn loss(run: &RunReport, title: &str) -> Option<Figure> {
    let training: Vec<Option<f64>> = run.epochs.train_loss.iter().copied().map(Some).collect();
    let mut layers = vec![PlotLayer::line("training", 0, curve(&training))];
    if run.epochs.val_loss.iter().any(Option::is_some) {
        layers.push(PlotLayer::line("validation", 1, curve(&run.epochs.val_loss)));
    }
    layers.push(kept_epoch(run));
    epoch_plot("loss", title, "loss (cross-entropy)", layers)
}

/// The validation accuracy over epochs; `None` without validation nodes.
fn accuracy(run: &RunReport, title: &str) -> Option<Figure> {
    let line = PlotLayer::line("", 1, curve(&run.epochs.val_accuracy));
    epoch_plot("validation-accuracy", title, "validation accuracy", vec![line, kept_epoch(run)])
}

/// The reliability diagram; `None` without test nodes.
fn calibration(run: &RunReport, title: &str) -> Option<Figure> {
    let calibration = run.calibration.as_ref()?;
    let points = calibration.bins.iter().map(|bin| PlotPoint {
        at: (bin.confidence, bin.accuracy),
        interval: Some(wilson(bin.accuracy, bin.n)),
        label: format!("n {}", bin.n),
    });
    let plot = Plot {
        title: format!("{title}, ECE {:.1}%", 100.0 * calibration.ece),
        x: PlotAxis::percent("confidence", 0.0, 1.0),
        y: PlotAxis::percent("test accuracy", 0.0, 1.0),
        layers: vec![
            PlotLayer::line("equal", 5, vec![(0.0, 0.0), (1.0, 1.0)]),
            PlotLayer::points(0, points.collect()),
        ],
    };
    Some(figure("calibration", &plot))
}

/// A bar chart of the accuracy per group; `None` without groups.
fn groups(
    name: &str,
    label: &str,
    groups: &[GroupAccuracy],
    run: &RunReport,
    title: &str,
) -> Option<Figure> {
    let names = groups.iter().map(|group| format!("{} (n {})", group.label, group.n)).collect();
    let values = groups.iter().map(|group| (group.accuracy, Some(wilson(group.accuracy, group.n))));
    let mut layers = vec![bars("", 0, values, (-0.36, 0.36))];
    layers.extend(run.scores.as_ref().map(|scores| {
        let all = format!("all {:.1}%", 100.0 * scores.accuracy);
        PlotLayer::HorizontalRule(scores.accuracy, all)
    }));
    let plot = Plot {
        title: title.into(),
        x: PlotAxis::categories(label, names),
        y: PlotAxis::percent("test accuracy, 95% interval", 0.0, 1.0),
        layers,
    };
    (!groups.is_empty()).then(|| figure(name, &plot))
}

/// Wilson's 95% interval of a share of `n` nodes.
fn wilson(share: f64, n: usize) -> (f64, f64) {
    let (z, n) = (1.96f64, n.max(1) as f64);
    let scale = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / scale;
    let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// The number of colours of classes; further classes are grey.
const CLASS_COLOURS: usize = 6;

/// The drawing of nodes, coloured by class; `None` if the graph has no edges.
fn drawing(run: &RunReport, names: &[String], title: &str) -> Option<Figure> {
    let drawing = run.drawing.as_ref()?;
    let colour = |class: i64| usize::try_from(class).ok().filter(|class| *class < CLASS_COLOURS);
    let labels: Vec<i64> = drawing.nodes.iter().map(|&i| run.nodes.label_of(i as usize)).collect();
    let is_wrong = |&node: &u32| run.nodes.is_wrong(node as usize);
    let mut legend: Vec<(String, Option<usize>)> = names
        .iter()
        .enumerate()
        .take(CLASS_COLOURS)
        .map(|(i, name)| (name.clone(), Some(i)))
        .collect();
    if labels.iter().any(|&label| colour(label).is_none()) {
        legend.push(("other or no label".into(), None));
    }
    let svg = drawing_svg(&NodeDrawing {
        title: &format!("{title}; squares: wrong predictions"),
        positions: drawing.x.iter().copied().zip(drawing.y.iter().copied()).collect(),
        edges: &drawing.edges,
        colours: labels.iter().map(|&label| colour(label)).collect(),
        squares: drawing.nodes.iter().map(is_wrong).collect(),
        legend,
    });
    Some(Figure { name: "drawing".into(), svg })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::train::Trainer;

    #[test]
    fn filter_without_parameters_is_not_called_learned() {
        for (model, name) in [("appnp", "filter"), ("gpr-gnn", "learned")] {
            let data = data::load("csbm:nodes=90").unwrap();
            let trainer = Trainer::new(model).unwrap().set("max_epochs", 5).unwrap();
            let run = trainer.fit(data).unwrap();
            let figures = Report::from_fit(&(&run).into(), 1).unwrap().figures();
            let response = figures.iter().find(|figure| figure.name == "response").unwrap();
            let names = ["filter", "learned"];
            let shown = names.map(|name| response.svg.contains(&format!(">{name}</text>")));
            assert_eq!(shown, names.map(|other| other == name), "{model}");
        }
    }

    #[test]
    fn wilson_interval_of_a_half() {
        let (low, high) = wilson(0.5, 100);
        // 0.5 -+ 1.96 sqrt(0.25/100 + 1.96^2/40000) / (1 + 1.96^2/100)
        assert!((low - 0.4038).abs() < 1e-4 && (high - 0.5962).abs() < 1e-4, "{low} {high}");
        assert_eq!(wilson(1.0, 3).1, 1.0);
    }
}
