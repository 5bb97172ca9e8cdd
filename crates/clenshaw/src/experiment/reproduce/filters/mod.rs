//! Five responses learned on generated pictures, beside the best polynomial of the same degree.
//!
//! ```text
//! x    a picture, one number a pixel of a grid
//! y    h(L) x for one of the five responses
//! sum_i m_i (z_i - y_i)^2 -> min         m: 0 on the border, 1 elsewhere; no test pixels
//! ```
//!
//! First coefficients alone learn, in one basis after the other: all of them span the same polynomials,
//! so that the distance from the optimum, which is known, tells how easily a basis learns. Then the
//! models learn with all their layers.

mod picture;
mod target;
mod problem;
mod fit;
mod contender;
mod file;
mod tables;

use super::errand::{Cell, Errand};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::graph::{Graph, Normalisation, operator};
use crate::hyper::Params;
use crate::model::ModelInfo;
use crate::report::Findings;
use crate::tensor::Operator;
use file::File;
use fit::End;
use problem::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::time::Instant;
use target::Target;

/// The experiment.
#[derive(Clone, Debug)]
pub struct Filters {
    file: File,
    networks: Vec<(&'static ModelInfo, Params)>,
}

/// Who is to learn.
#[derive(Clone, Debug, PartialEq)]
enum Contender {
    /// The best polynomial in this operator.
    Optimum(Normalisation),
    /// Coefficients in the basis of this name.
    Basis(String),
    /// The network of this number.
    Network(usize),
}

/// One regression.
#[derive(Clone, Debug)]
struct Task {
    contender: Contender,
    target: Target,
    picture: usize,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// None if training left the finite numbers at once.
    sum_of_squares: Option<f64>,
    r_squared: Option<f64>,
    /// The epoch that counts; 0 where nothing was trained.
    best_epoch: usize,
    epochs: usize,
    /// How far the numbers to meet may be off in a pixel.
    truth_error: f64,
    /// The polynomial, where there is one.
    filter: Option<Filter>,
    seconds: f64,
}

impl Filters {
    /// Reads the experiment's file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let file = File::from_toml(place, text)?;
        Ok(Self { networks: file.networks(place)?, file })
    }

    /// The names that `model=` takes: bases and models.
    fn names(&self) -> Vec<&str> {
        let bases = self.file.bases.names.iter().map(String::as_str);
        bases.chain(self.networks.iter().map(|(info, _)| info.name)).collect()
    }

    /// Refuses what this experiment does not have.
    fn check(&self, errand: &Errand<'_>) -> Result<()> {
        let targets = Target::ALL.map(Target::name);
        errand.only.check(&[("model", &self.names()), ("filter", &targets)])?;
        match errand.runs {
            Some(runs) if !(1..=1000).contains(&runs) => Err(Error::OutOfRange {
                key: "runs".into(),
                value: runs.to_string(),
                allowed: "1..=1000".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Learns what is wanted; a run is a picture.
    pub fn measure(&self, errand: &Errand<'_>) -> Result<Findings> {
        self.check(errand)?;
        let desk = Desk::new(self, self.n_pictures(errand))?;
        let cells: Vec<Cell<Task>> =
            self.tasks(errand).into_iter().map(|task| self.cell(task)).collect();
        let made = errand.each(&cells, |task| desk.learn(task, errand))?;
        let tasks = cells.into_iter().map(|cell| cell.subject);
        let mut found = self.findings(&tasks.zip(made.records).collect::<Vec<_>>());
        found.notes.extend(made.occasion);
        Ok(found)
    }

    fn n_pictures(&self, errand: &Errand<'_>) -> usize {
        errand.runs.unwrap_or(self.file.bases.pictures.max(self.file.networks.pictures))
    }

    /// Picture by picture, so that the time that is left can be told.
    fn tasks(&self, errand: &Errand<'_>) -> Vec<Task> {
        let (bases, networks) = (&self.file.bases, &self.file.networks);
        let wants = |name: &str| errand.only.wants("model", name);
        let some_network = self.networks.iter().any(|(info, _)| wants(info.name));
        let mut tasks = vec![];
        for picture in 0..self.n_pictures(errand) {
            let targets = Target::ALL.into_iter();
            for target in targets.filter(|target| errand.only.wants("filter", target.name())) {
                let mut add = |contender| tasks.push(Task { contender, target, picture });
                add(Contender::Optimum(Normalisation::Plain));
                if picture < errand.runs.unwrap_or(bases.pictures) {
                    let wanted = bases.names.iter().filter(|name| wants(name));
                    wanted.for_each(|name| add(Contender::Basis(name.clone())));
                }
                if some_network && picture < errand.runs.unwrap_or(networks.pictures) {
                    add(Contender::Optimum(Normalisation::Looped));
                    let listed = self.networks.iter().enumerate();
                    let wanted = listed.filter(|(_, (info, _))| wants(info.name));
                    wanted.for_each(|(i, _)| add(Contender::Network(i)));
                }
            }
        }
        tasks
    }

    fn cell(&self, task: Task) -> Cell<Task> {
        let name =
            format!("{}-{}-{}", self.name(&task.contender), task.target.name(), task.picture);
        Cell { name, settings: self.settings(&task), subject: task }
    }

    fn name<'a>(&'a self, contender: &'a Contender) -> &'a str {
        match contender {
            Contender::Optimum(Normalisation::Looped) => "optimum-looped",
            Contender::Optimum(_) => "optimum",
            Contender::Basis(name) => name,
            Contender::Network(i) => self.networks[*i].0.name,
        }
    }

    /// All that decides a record.
    fn settings(&self, task: &Task) -> Value {
        let File { seed, rows, columns, border, order, bases, networks, .. } = &self.file;
        let how = match &task.contender {
            Contender::Optimum(_) => Value::Null,
            Contender::Basis(name) if name == "jacobi" => {
                json!({ "effort": bases.effort, "jacobi": bases.jacobi[task.target.name()] })
            }
            Contender::Basis(_) => json!({ "effort": bases.effort }),
            Contender::Network(i) => {
                json!({ "effort": networks.effort, "hyper": self.networks[*i].1 })
            }
        };
        json!({
            "seed": seed,
            "picture": task.picture,
            "filter": task.target.name(),
            "size": [rows, columns, border],
            "order": order,
            "how": how,
        })
    }
}

/// The grid, and the problems that somebody has needed so far.
struct Desk<'a> {
    filters: &'a Filters,
    graph: Graph,
    p: Operator,
    p_looped: Operator,
    problems: Vec<OnceLock<Problem>>,
}

impl<'a> Desk<'a> {
    fn new(filters: &'a Filters, n_pictures: usize) -> Result<Self> {
        let File { rows, columns, .. } = filters.file;
        let graph = crate::data::load(&format!("grid:rows={rows},columns={columns}"))?.graph;
        Ok(Self {
            filters,
            p: operator(&graph, Normalisation::Plain),
            p_looped: operator(&graph, Normalisation::Looped),
            graph,
            problems: (0..Target::ALL.len() * n_pictures).map(|_| OnceLock::new()).collect(),
        })
    }

    fn problem(&self, target: Target, picture: usize) -> &Problem {
        let File { seed, rows, columns, border, .. } = self.filters.file;
        self.problems[picture * Target::ALL.len() + target as usize].get_or_init(|| {
            let x = picture::picture(seed, picture as u64, rows, columns);
            Problem::new(target, &self.p, x, (rows, columns), border)
        })
    }

    fn learn(&self, task: &Task, errand: &Errand<'_>) -> Result<Record> {
        let File { order, bases, networks, .. } = &self.filters.file;
        let (problem, order) = (self.problem(task.target, task.picture), *order);
        let (start, cancel) = (Instant::now(), errand.cancel);
        let (filter, end) = match &task.contender {
            Contender::Optimum(kind) => {
                let p = if *kind == Normalisation::Looped { &self.p_looped } else { &self.p };
                let (filter, sum_of_squares) = problem.optimum(p, order);
                (Some(filter), End { sum_of_squares, best_epoch: 0, epochs: 0 })
            }
            Contender::Basis(name) => {
                let exponents = bases.jacobi[task.target.name()];
                let basis = contender::basis(name, exponents, &self.p, &problem.x, order)
                    .expect("the file's names were checked");
                let (p, effort) = (&self.p, &bases.effort);
                let learned = contender::learn_coefficients(&basis, p, problem, order, effort);
                (Some(learned.0), learned.1)
            }
            Contender::Network(i) => {
                let (graph, effort) = (&self.graph, &networks.effort);
                let network = &self.filters.networks[*i];
                (None, contender::learn_network(network, graph, problem, effort, cancel)?)
            }
        };
        let sum_of_squares = Some(end.sum_of_squares).filter(|sum| sum.is_finite());
        Ok(Record {
            sum_of_squares,
            r_squared: sum_of_squares.map(|sum| problem.r_squared(sum)),
            best_epoch: end.best_epoch,
            epochs: end.epochs,
            truth_error: problem.truth_error,
            filter,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}
