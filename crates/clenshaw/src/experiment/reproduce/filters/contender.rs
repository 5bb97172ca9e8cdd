//! Who learns a filter: a basis with nothing but coefficients, or a network.

use super::fit::{Effort, End, Quadratic, descend, fit};
use super::problem::{Problem, optimal_basis};
use crate::error::Result;
use crate::filter::{Basis, Filter};
use crate::graph::{Graph, Krylov, operator};
use crate::hyper::Params;
use crate::model::{ModelInfo, Net};
use crate::rng::Stream;
use crate::tensor::{Mat, Operator, Plan};
use std::sync::atomic::AtomicBool;

/// `sum_k c_k phi_k(P) x` with `c` learned from `(1, 0, ..., 0)`, in double precision.
pub fn learn_coefficients(
    basis: &Basis,
    p: &Operator,
    problem: &Problem,
    order: usize,
    effort: &Effort,
) -> (Filter, End) {
    let filter = |coefficients| Filter { basis: basis.clone(), coefficients };
    let x = column(&problem.x);
    let apply = |filter: &Filter| filter.apply(p, &x).as_slice().to_vec();
    let columns: Vec<Vec<f64>> = (0..=order).map(|k| apply(&filter(unit(order, k)))).collect();
    let (c, mut end) = descend(&Quadratic::new(problem, &columns), unit(order, 0), effort);
    let learned = filter(c);
    end.sum_of_squares = problem.sum_of_squares(&apply(&learned));
    (learned, end)
}

/// 1 at `k` and 0 elsewhere.
fn unit(order: usize, k: usize) -> Vec<f64> {
    (0..=order).map(|j| f64::from(u8::from(j == k))).collect()
}

/// The names that [`basis`] knows.
pub const BASES: [&str; 7] =
    ["monomial", "bernstein", "chebyshev", "chebyshev2", "legendre", "jacobi", "optimal"];

/// The basis of this name, for a picture and Jacobi's exponents; `optimal` is the picture's own.
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
        "optimal" => optimal_basis(&Krylov::of(p, x, order + 1)),
        _ => return None,
    })
}

/// A model whose one feature is the grey value and whose one score is the answer.
pub fn learn_network(
    (info, hp): &(&'static ModelInfo, Params),
    graph: &Graph,
    problem: &Problem,
    effort: &Effort,
    cancel: &AtomicBool,
) -> Result<End> {
    let p = info.operator.map(|kind| operator(graph, kind));
    let mut net = Net::dense(column(&problem.x), p, 1).with_graph(graph);
    let scores = (info.build)(&mut net, hp);
    let plan = Plan::<f32>::compile(&net, scores);
    let start = plan.initial(&Stream::new(0, "weights"));
    Ok(fit(&plan, start, problem, effort, cancel)?.1)
}

fn column(x: &[f64]) -> Mat<f64> {
    Mat::from_vec(x.len(), 1, x.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::experiment::reproduce::filters::picture::picture;
    use crate::experiment::reproduce::filters::target::Target;
    use crate::graph::Normalisation;
    use crate::model;
    use crate::tensor::{Coef, Init};

    fn example(target: Target) -> (Graph, Operator, Problem) {
        let graph = data::load("grid:rows=20,columns=16").unwrap().graph;
        let p = operator(&graph, Normalisation::Plain);
        let x = picture(5, 1, 20, 16);
        let problem = Problem::new(target, &p, x, (20, 16), 2);
        (graph, p, problem)
    }

    const EFFORT: Effort = Effort { rate: 0.05, max_epochs: 2000, patience: 200 };

    #[test]
    fn the_picture_s_own_basis_reaches_the_optimum() {
        for target in Target::ALL {
            let (_, p, problem) = example(target);
            let (_, best) = problem.optimum(&p, 5);
            let own = basis("optimal", (0.0, 0.0), &p, &problem.x, 5).unwrap();
            let (filter, end) = learn_coefficients(&own, &p, &problem, 5, &EFFORT);
            let gap = end.sum_of_squares / best - 1.0;
            assert!((-1e-12..0.01).contains(&gap), "{}: {gap} above {best}", target.name());
            let z = filter.apply(&p, &column(&problem.x));
            let again = problem.sum_of_squares(z.as_slice());
            assert!((again / end.sum_of_squares - 1.0).abs() < 1e-9, "{again}");
        }
    }

    #[test]
    fn every_basis_says_which_filter_it_has_learned() {
        let (_, p, problem) = example(Target::Band);
        let (_, best) = problem.optimum(&p, 5);
        for name in BASES {
            let basis = basis(name, (-0.75, 0.75), &p, &problem.x, 5).unwrap();
            let (filter, end) = learn_coefficients(&basis, &p, &problem, 5, &EFFORT);
            let z = filter.apply(&p, &column(&problem.x));
            let again = problem.sum_of_squares(z.as_slice());
            assert!((again / end.sum_of_squares - 1.0).abs() < 1e-9, "{name}: {again}");
            assert!(again >= best * (1.0 - 1e-9), "{name}: {again} below {best}");
        }
        assert!(basis("fourier", (0.0, 0.0), &p, &problem.x, 5).is_none());
    }

    /// The same by a tape, pixel by pixel.
    fn on_a_tape(basis: &Basis, p: &Operator, problem: &Problem, effort: &Effort) -> f64 {
        let mut net = Net::dense(column(&problem.x), Some(p.clone()), 1);
        let c = net.param("c", 1, 6, Init::Values(unit(5, 0)), "coefficients");
        let c: Vec<Coef> = (0..=5).map(|k| c.at(k)).collect();
        let x = net.x();
        let scores = basis.sum(&mut net, &c, &x);
        let plan = Plan::<f64>::compile(&net, scores);
        let start = plan.initial(&Stream::new(0, "weights"));
        fit(&plan, start, problem, effort, &AtomicBool::new(false)).unwrap().1.sum_of_squares
    }

    #[test]
    fn the_quadratic_form_learns_what_the_tape_learns() {
        let (_, p, problem) = example(Target::Comb);
        let effort = Effort { rate: 0.05, max_epochs: 60, patience: 60 };
        for basis in [Basis::Monomial, Basis::ChebyshevSecond, Basis::Jacobi { a: 0.5, b: -0.5 }] {
            let (_, end) = learn_coefficients(&basis, &p, &problem, 5, &effort);
            let twin = on_a_tape(&basis, &p, &problem, &effort);
            let difference = (end.sum_of_squares / twin - 1.0).abs();
            assert!(difference < 1e-8, "{basis:?}: {} and {twin}", end.sum_of_squares);
        }
    }

    #[test]
    fn a_network_learns_what_a_constant_does_not() {
        let (graph, _, problem) = example(Target::Low);
        let info = model::find("clenshaw-gcn").unwrap();
        let mut hp = info.defaults();
        for (key, value) in [("K", "4"), ("hidden", "8"), ("dropout", "0")] {
            hp.set(key, value).unwrap();
        }
        let effort = Effort { rate: 0.01, max_epochs: 300, patience: 100 };
        let cancel = AtomicBool::new(false);
        let fitted = learn_network(&(info, hp), &graph, &problem, &effort, &cancel).unwrap();
        let r_squared = problem.r_squared(fitted.sum_of_squares);
        assert!(r_squared > 0.8, "{r_squared}");
        assert!(fitted.best_epoch <= fitted.epochs && fitted.epochs <= 300);
    }
}
