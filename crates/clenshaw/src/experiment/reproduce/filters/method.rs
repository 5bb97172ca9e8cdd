//! The two methods that are trained: coefficients in a polynomial basis, and complete networks.

use super::fit::{FitResult, FitSettings, QuadraticLoss, fit_coefficients, fit_network};
use super::problem::{Problem, optimal_basis};
use crate::error::Result;
use crate::filter::{Basis, Filter};
use crate::graph::{Graph, Krylov, operator};
use crate::hyper::Params;
use crate::model::{ModelInfo, Net};
use crate::rng::Stream;
use crate::tensor::{Mat, Operator, Plan};
use std::sync::atomic::AtomicBool;

/// Learns `c` in `sum_k c_k phi_k(P) x`, starting from `(1, 0, ..., 0)`, in double precision.
pub fn learn_coefficients(
    basis: &Basis,
    p: &Operator,
    problem: &Problem,
    order: usize,
    settings: &FitSettings,
) -> (Filter, FitResult) {
    let filter = |coefficients| Filter { basis: basis.clone(), coefficients };
    let x = column(&problem.x);
    let apply = |filter: &Filter| filter.apply(p, &x).as_slice().to_vec();
    let columns: Vec<Vec<f64>> = (0..=order).map(|k| apply(&filter(unit(order, k)))).collect();
    let loss = QuadraticLoss::new(problem, &columns);
    let (c, mut result) = fit_coefficients(&loss, &unit(order, 0), settings);
    let learned = filter(c);
    result.sum_of_squares = problem.sum_of_squares(&apply(&learned));
    (learned, result)
}

/// The unit vector with 1 at index `k`.
fn unit(order: usize, k: usize) -> Vec<f64> {
    (0..=order).map(|j| f64::from(u8::from(j == k))).collect()
}

/// The names accepted by [`basis`].
pub const BASES: [&str; 7] =
    ["monomial", "bernstein", "chebyshev", "chebyshev2", "legendre", "jacobi", "optimal"];

/// The basis of this name; `jacobi` uses the exponents `(a, b)`, and `optimal` is orthogonal for the
/// image `x`. `None` if the name is not in [`BASES`].
pub fn basis(
    name: &str,
    (a, b): (f64, f64),
    p: &Operator,
    x: &[f64],
    order: usize,
) -> Option<Basis> {
    Some(match name {
        "monomial" => Basis::Monomial,
        "bernstein" => Basis::Bernstein,
        "chebyshev" => Basis::ChebyshevFirst,
        "chebyshev2" => Basis::ChebyshevSecond,
        "legendre" => Basis::Legendre,
        "jacobi" => Basis::Jacobi { a, b },
        "optimal" => optimal_basis(&Krylov::new(p, x, order + 1)),
        _ => return None,
    })
}

/// Trains a model whose only feature is the grey value and whose only output is the filtered value. Returns
/// [`Error::Interrupted`](crate::Error::Interrupted) if `cancel` is set during training.
pub fn learn_network(
    (info, hp): &(&'static ModelInfo, Params),
    graph: &Graph,
    problem: &Problem,
    settings: &FitSettings,
    cancel: &AtomicBool,
) -> Result<FitResult> {
    let p = info.operator.map(|kind| operator(graph, kind));
    let mut net = Net::dense(column(&problem.x), p, 1).with_graph(graph);
    let scores = (info.build)(&mut net, hp);
    let plan = Plan::<f32>::compile(&net, scores);
    let start = plan.initial_params(&Stream::new(0, "weights"));
    Ok(fit_network(&plan, &start, problem, settings, cancel)?.1)
}

/// The vector as a matrix with one column.
fn column(x: &[f64]) -> Mat<f64> {
    Mat::from_vec(x.len(), 1, x.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::reproduce::filters::problem::tests::example;
    use crate::experiment::reproduce::filters::target::TargetResponse;
    use crate::model;
    use crate::tensor::{Coef, Init};

    const SETTINGS: FitSettings = FitSettings { rate: 0.05, max_epochs: 2000, patience: 200 };

    #[test]
    fn optimal_basis_reaches_the_optimum() {
        for target in TargetResponse::ALL {
            let (_, p, problem) = example(target);
            let (_, best) = problem.optimum(&p, 5);
            let optimal = basis("optimal", (0.0, 0.0), &p, &problem.x, 5).unwrap();
            let (filter, result) = learn_coefficients(&optimal, &p, &problem, 5, &SETTINGS);
            let gap = result.sum_of_squares / best - 1.0;
            assert!((-1e-12..0.01).contains(&gap), "{}: {gap} above {best}", target.name());
            let z = filter.apply(&p, &column(&problem.x));
            let recomputed = problem.sum_of_squares(z.as_slice());
            assert!((recomputed / result.sum_of_squares - 1.0).abs() < 1e-9, "{recomputed}");
        }
    }

    #[test]
    fn learned_filter_reproduces_the_reported_error() {
        let (_, p, problem) = example(TargetResponse::Band);
        let (_, best) = problem.optimum(&p, 5);
        for name in BASES {
            let basis = basis(name, (-0.75, 0.75), &p, &problem.x, 5).unwrap();
            let (filter, result) = learn_coefficients(&basis, &p, &problem, 5, &SETTINGS);
            let z = filter.apply(&p, &column(&problem.x));
            let recomputed = problem.sum_of_squares(z.as_slice());
            let difference = (recomputed / result.sum_of_squares - 1.0).abs();
            assert!(difference < 1e-9, "{name}: {recomputed}");
            assert!(recomputed >= best * (1.0 - 1e-9), "{name}: {recomputed} below {best}");
        }
        assert!(basis("fourier", (0.0, 0.0), &p, &problem.x, 5).is_none());
    }

    /// The sum of squares of [`learn_coefficients`], computed by training on a tape with a loss over the pixels.
    fn fit_on_tape(basis: &Basis, p: &Operator, problem: &Problem, settings: &FitSettings) -> f64 {
        let mut net = Net::dense(column(&problem.x), Some(p.clone()), 1);
        let c = net.param("c", 1, 6, Init::Values(unit(5, 0)), "coefficients");
        let c: Vec<Coef> = (0..=5).map(|k| c.entry(k)).collect();
        let x = net.features(column(&problem.x));
        let scores = basis.sum(&mut net, &c, &x);
        let plan = Plan::<f64>::compile(&net, scores);
        let start = plan.initial_params(&Stream::new(0, "weights"));
        let cancel = AtomicBool::new(false);
        fit_network(&plan, &start, problem, settings, &cancel).unwrap().1.sum_of_squares
    }

    #[test]
    fn quadratic_loss_agrees_with_the_tape() {
        let (_, p, problem) = example(TargetResponse::Comb);
        let settings = FitSettings { rate: 0.05, max_epochs: 60, patience: 60 };
        for basis in [Basis::Monomial, Basis::ChebyshevSecond, Basis::Jacobi { a: 0.5, b: -0.5 }] {
            let (_, result) = learn_coefficients(&basis, &p, &problem, 5, &settings);
            let expected = fit_on_tape(&basis, &p, &problem, &settings);
            let difference = (result.sum_of_squares / expected - 1.0).abs();
            assert!(difference < 1e-8, "{basis:?}: {} and {expected}", result.sum_of_squares);
        }
    }

    #[test]
    fn trained_network_explains_most_of_the_variance() {
        let (graph, _, problem) = example(TargetResponse::Low);
        let info = model::find("clenshaw-gcn").unwrap();
        let mut hp = info.defaults();
        for (key, value) in [("K", "4"), ("hidden", "8"), ("dropout", "0")] {
            hp.set(key, value).unwrap();
        }
        let settings = FitSettings { rate: 0.01, max_epochs: 300, patience: 100 };
        let cancel = AtomicBool::new(false);
        let fitted = learn_network(&(info, hp), &graph, &problem, &settings, &cancel).unwrap();
        let r_squared = problem.r_squared(fitted.sum_of_squares);
        assert!(r_squared > 0.8, "{r_squared}");
        assert!(fitted.best_epoch <= fitted.epochs && fitted.epochs <= 300);
    }
}
