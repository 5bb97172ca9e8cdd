//! Five filter responses learned on generated images, compared with the best polynomial of the same
//! degree.
//!
//! ```text
//! x    an image: one grey value per pixel of a grid graph
//! y    h(P) x for one of the five responses h(mu)
//! z    the output of a polynomial or a model
//!
//! minimise sum_i m_i (z_i - y_i)^2         m: 0 on the border, 1 elsewhere; there is no test set
//! ```
//!
//! In the first part only the coefficients of a polynomial are trained, in one basis after another. All
//! bases span the same polynomials, whose optimum is known, so the distance from it shows how well a
//! basis is conditioned for training. In the second part complete models are trained.

mod image;
mod target;
mod problem;
mod fit;
mod method;
mod file;
mod tables;

use super::cells::{CellTask, ExperimentOptions};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::graph::{Graph, Normalisation, operator};
use crate::hyper::Params;
use crate::model::ModelInfo;
use crate::report::ResultPage;
use crate::tensor::Operator;
use file::FiltersFile;
use fit::FitResult;
use problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::time::Instant;
use target::TargetResponse;

/// The experiment: the contents of its file, and its models with their settings.
#[derive(Clone, Debug)]
pub struct Filters {
    file: FiltersFile,
    networks: Vec<(&'static ModelInfo, Params)>,
}

/// How the target response is approximated.
#[derive(Clone, Debug, PartialEq)]
enum Method {
    /// By the best polynomial in this operator.
    LeastSquares(Normalisation),
    /// By training coefficients in the basis of this name.
    Basis(String),
    /// By training the model with this index in [`Filters::networks`].
    Network(usize),
}

/// A cell: one regression.
#[derive(Clone, Debug)]
struct FilterTask {
    method: Method,
    target: TargetResponse,
    image: usize,
}

/// The result of one regression.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FilterRecord {
    /// `None` if it is not finite.
    sum_of_squares: Option<f64>,
    /// `None` if the sum of squares is not finite.
    r_squared: Option<f64>,
    /// The epoch with the lowest loss; 0 if nothing was trained or no loss was finite.
    best_epoch: usize,
    epochs: usize,
    /// Estimate of the largest error of a target value.
    truth_error: f64,
    /// The fitted polynomial; `None` for a network.
    filter: Option<Filter>,
    seconds: f64,
}

impl Filters {
    /// Parses the experiment's file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let file = FiltersFile::from_toml(place, text)?;
        Ok(Self { networks: file.networks(place)?, file })
    }

    /// The values of `model=`: bases and models.
    fn names(&self) -> Vec<&str> {
        let bases = self.file.bases.names.iter().map(String::as_str);
        bases.chain(self.networks.iter().map(|(info, _)| info.name)).collect()
    }

    /// Rejects selected models and filters that this experiment does not have, and a number of runs outside
    /// 1 to 1000.
    fn check(&self, options: &ExperimentOptions<'_>) -> Result<()> {
        let targets = TargetResponse::ALL.map(TargetResponse::name);
        options.selection.check(&[("model", &self.names()), ("filter", &targets)])?;
        match options.runs {
            Some(runs) if !(1..=1000).contains(&runs) => Err(Error::OutOfRange {
                key: "runs".into(),
                value: runs.to_string(),
                allowed: "1 to 1000".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Runs the selected regressions, each on several images; `runs` overrides the number of images. Fails if the
    /// selection or the number is invalid, or the experiment is cancelled.
    pub fn measure(&self, options: &ExperimentOptions<'_>) -> Result<ResultPage> {
        self.check(options)?;
        let problems = ProblemSet::new(self, self.n_images(options))?;
        let cells: Vec<CellTask<FilterTask>> =
            self.tasks(options).into_iter().map(|task| self.cell(task)).collect();
        let results = options.run_cells(&cells, |task| problems.solve(task, options))?;
        let tasks = cells.into_iter().map(|cell| cell.input);
        let mut page = self.result_page(&tasks.zip(results.records).collect::<Vec<_>>());
        page.notes.extend(results.provenance);
        Ok(page)
    }

    /// The number of images: `runs` or, by default, the larger of the numbers for bases and networks.
    fn n_images(&self, options: &ExperimentOptions<'_>) -> usize {
        options.runs.unwrap_or(self.file.bases.images.max(self.file.networks.images))
    }

    /// The selected regressions and the optima they are compared with, ordered by image so that slow and
    /// fast methods alternate.
    fn tasks(&self, options: &ExperimentOptions<'_>) -> Vec<FilterTask> {
        let (bases, networks) = (&self.file.bases, &self.file.networks);
        let includes = |name: &str| options.selection.includes("model", name);
        let some_network = self.networks.iter().any(|(info, _)| includes(info.name));
        let mut tasks = vec![];
        for image in 0..self.n_images(options) {
            let targets = TargetResponse::ALL.into_iter();
            for target in
                targets.filter(|target| options.selection.includes("filter", target.name()))
            {
                let mut add = |method| tasks.push(FilterTask { method, target, image });
                add(Method::LeastSquares(Normalisation::Plain));
                if image < options.runs.unwrap_or(bases.images) {
                    let selected = bases.names.iter().filter(|name| includes(name));
                    selected.for_each(|name| add(Method::Basis(name.clone())));
                }
                if some_network && image < options.runs.unwrap_or(networks.images) {
                    add(Method::LeastSquares(Normalisation::Looped));
                    let listed = self.networks.iter().enumerate();
                    let selected = listed.filter(|(_, (info, _))| includes(info.name));
                    selected.for_each(|(i, _)| add(Method::Network(i)));
                }
            }
        }
        tasks
    }

    /// The cell of a regression, with its name and settings.
    fn cell(&self, task: FilterTask) -> CellTask<FilterTask> {
        let name = format!("{}-{}-{}", self.name(&task.method), task.target.name(), task.image);
        CellTask { name, settings: self.settings(&task), input: task }
    }

    /// The name of a method in the names of cells and records.
    fn name<'a>(&'a self, method: &'a Method) -> &'a str {
        match method {
            Method::LeastSquares(Normalisation::Looped) => "optimum-looped",
            Method::LeastSquares(_) => "optimum",
            Method::Basis(name) => name,
            Method::Network(i) => self.networks[*i].0.name,
        }
    }

    /// The settings that a saved record must agree with; the name of the cell identifies the method. Saved
    /// records contain these keys, so they must not be renamed.
    fn settings(&self, task: &FilterTask) -> Value {
        let FiltersFile { seed, rows, columns, border, order, bases, networks, .. } = &self.file;
        let how = match &task.method {
            Method::LeastSquares(_) => Value::Null,
            Method::Basis(name) if name == "jacobi" => {
                json!({ "effort": bases.fit, "jacobi": bases.jacobi[task.target.name()] })
            }
            Method::Basis(_) => json!({ "effort": bases.fit }),
            Method::Network(i) => {
                json!({ "effort": networks.fit, "hyper": self.networks[*i].1 })
            }
        };
        json!({
            "seed": seed,
            "picture": task.image,
            "filter": task.target.name(),
            "size": [rows, columns, border],
            "order": order,
            "how": how,
        })
    }
}

/// The grid graph, and the regression problems, each created when first used.
struct ProblemSet<'a> {
    filters: &'a Filters,
    graph: Graph,
    p: Operator,
    p_looped: Operator,
    /// The problems of the first image, in the order of [`TargetResponse::ALL`], then those of the second
    /// image, and so on.
    problems: Vec<OnceLock<Problem>>,
}

impl<'a> ProblemSet<'a> {
    fn new(filters: &'a Filters, n_images: usize) -> Result<Self> {
        let FiltersFile { rows, columns, .. } = filters.file;
        let graph = crate::data::load(&format!("grid:rows={rows},columns={columns}"))?.graph;
        Ok(Self {
            filters,
            p: operator(&graph, Normalisation::Plain),
            p_looped: operator(&graph, Normalisation::Looped),
            graph,
            problems: (0..TargetResponse::ALL.len() * n_images).map(|_| OnceLock::new()).collect(),
        })
    }

    /// The regression problem for a response and an image, created by the first call.
    fn problem(&self, target: TargetResponse, image: usize) -> &Problem {
        let FiltersFile { seed, rows, columns, border, .. } = self.filters.file;
        self.problems[image * TargetResponse::ALL.len() + target as usize].get_or_init(|| {
            let x = image::image(seed, image as u64, rows, columns);
            Problem::new(target, &self.p, x, (rows, columns), border)
        })
    }

    /// Runs one regression.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the experiment is cancelled while a network is trained.
    fn solve(&self, task: &FilterTask, options: &ExperimentOptions<'_>) -> Result<FilterRecord> {
        let FiltersFile { order, bases, networks, .. } = &self.filters.file;
        let (problem, order) = (self.problem(task.target, task.image), *order);
        let (start, cancel) = (Instant::now(), options.cancel);
        let (filter, fitted) = match &task.method {
            Method::LeastSquares(kind) => {
                let p = if *kind == Normalisation::Looped { &self.p_looped } else { &self.p };
                let (filter, sum_of_squares) = problem.optimum(p, order);
                (Some(filter), FitResult { sum_of_squares, best_epoch: 0, epochs: 0 })
            }
            Method::Basis(name) => {
                let exponents = bases.jacobi[task.target.name()];
                let basis = method::basis(name, exponents, &self.p, &problem.x, order)
                    .expect("names were checked when the file was parsed");
                let (p, settings) = (&self.p, &bases.fit);
                let learned = method::learn_coefficients(&basis, p, problem, order, settings);
                (Some(learned.0), learned.1)
            }
            Method::Network(i) => {
                let (graph, settings) = (&self.graph, &networks.fit);
                let network = &self.filters.networks[*i];
                (None, method::learn_network(network, graph, problem, settings, cancel)?)
            }
        };
        let sum_of_squares = Some(fitted.sum_of_squares).filter(|sum| sum.is_finite());
        Ok(FilterRecord {
            sum_of_squares,
            r_squared: sum_of_squares.map(|sum| problem.r_squared(sum)),
            best_epoch: fitted.best_epoch,
            epochs: fitted.epochs,
            truth_error: problem.truth_error,
            filter,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}
