//! The inputs of a plan: matrices that can be changed between two steps. Every workspace has its own.

use super::replay::Workspace;
use crate::tensor::{AlignedVec, Real};
use std::ops::Range;

/// The inputs of one workspace, each at a range of `values`.
pub(super) struct Inputs<T> {
    pub values: AlignedVec<T>,
    ranges: Vec<Range<usize>>,
}

/// The number of entries of all inputs, with the padding between them.
pub(super) fn inputs_len(ranges: &[Range<usize>]) -> usize {
    ranges.last().map_or(0, |range| range.end)
}

impl<T: Real> Inputs<T> {
    /// Inputs that are zero; `None` if there is not enough memory.
    pub fn try_zeros(ranges: &[Range<usize>]) -> Option<Self> {
        Some(Self { values: AlignedVec::try_zeros(inputs_len(ranges))?, ranges: ranges.to_vec() })
    }
}

impl<T: Real> Workspace<T> {
    /// The values of an input, row by row; inputs are numbered in the order in which [`Tape::input`] recorded
    /// them.
    ///
    /// # Panics
    /// If the tape has no input with this number.
    ///
    /// [`Tape::input`]: super::Tape::input
    pub fn input_mut(&mut self, input: usize) -> &mut [T] {
        let Inputs { values, ranges } = &mut self.inputs;
        let range = ranges.get(input).expect("input_mut: the tape has no input with this number");
        &mut values[range.clone()]
    }
}

#[cfg(test)]
mod tests {
    use crate::rng::Stream;
    use crate::tensor::{Init, Mat, Plan, Tape, Targets, ThreadTeam, assert_panics};

    #[test]
    fn inputs_of_a_workspace_can_be_replaced_between_steps() {
        let mut t = Tape::new();
        let inputs = [t.input(3, 2), t.input(3, 2)];
        let c = t.param("c", 1, 2, Init::Zeros, "dense");
        let y = t.sum([c.entry(0) * inputs[0], c.entry(1) * inputs[1]]);
        let plan = Plan::<f64>::compile(&t, y);
        let (mut work, mut other) =
            (plan.workspace(ThreadTeam::new(1)), plan.workspace(ThreadTeam::new(2)));
        assert_eq!(plan.scores(&mut work, &[3.0, 10.0]), [0.0; 6]);
        work.input_mut(0).copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        work.input_mut(1).copy_from_slice(&[1.0, 0.0, 0.0, -1.0, 0.0, 2.0]);
        let expected = [13.0, 6.0, 9.0, 2.0, 15.0, 38.0];
        assert_eq!(plan.scores(&mut work, &[3.0, 10.0]), expected);
        // The gradient of c_k for the squared error of a zero target is twice <input_k, scores>.
        let targets = Targets::squared_error(&Mat::zeros(3, 2), &[1.0; 3]);
        plan.gradient(&mut work, &[3.0, 10.0], &targets, &Stream::new(0, "dropout"));
        assert_eq!(work.gradients()[..2], [2.0 * 363.0, 2.0 * 87.0]);
        assert_eq!(plan.scores(&mut other, &[3.0, 10.0]), [0.0; 6], "another workspace");
        assert_panics(&[("no input with this number", &|| {
            plan.workspace(ThreadTeam::new(1)).input_mut(2);
        })]);
    }
}
