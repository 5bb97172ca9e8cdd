//! The memory that a training run will need, computed before it is allocated.

use super::Setup;
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::memory::{self, AvailableMemory};
use crate::model::ModelInfo;
use crate::parallel;
use crate::tensor::{ThreadTeam, Workspace};
use std::sync::{Mutex, PoisonError};

/// The number of copies of the parameters, apart from the gradients: the current and the best ones, two moments
/// of the optimiser, and a serialised checkpoint of these four.
const PARAMETER_COPIES: usize = 8;
/// The approximate number of bytes per probability in the file of predictions.
const CSV_BYTES: usize = 10;

/// Bytes per entry of the values that are inspected after training, such as the last hidden layer: as f32, as
/// f64, and multiplied by the operator.
const VALUE_BYTES: usize = 20;

/// Bytes per dense feature while a model is recorded and compiled: as f64 on the tape and as f32 in the plan.
const DENSE_BYTES: u64 = 12;
/// Bytes per nonzero sparse feature while a model is recorded and compiled: the value as f64 and as f32, and
/// the column and the row, once by rows and once by columns.
const SPARSE_BYTES: u64 = 28;

/// Checks that there is memory to record and compile a model for these features.
///
/// # Errors
/// [`Error::OutOfMemory`] if there is not.
pub(super) fn check_recording(dataset: &Dataset, info: &ModelInfo) -> Result<()> {
    let needed = match &dataset.x {
        Features::Dense(x) => DENSE_BYTES * x.as_slice().len() as u64,
        Features::Sparse { values, .. } => SPARSE_BYTES * values.len() as u64,
    };
    let what = || format!("compiling {} for {}", info.name, dataset.name);
    memory::require(needed, what, "use fewer features or nodes")
}

/// The bytes that a training run will allocate, in addition to its compiled model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryForecast {
    /// Activations, gradients, masks and partial sums: what [`Plan::workspace`](crate::tensor::Plan::workspace)
    /// allocates. With a precomputed filter, also copies of the rows of labelled nodes.
    pub workspace: u64,
    /// Current and best parameters, the moments of the optimiser, and a checkpoint of them.
    pub parameters: u64,
    /// Probabilities and their file, and the last hidden layer, whose energy is computed.
    pub results: u64,
}

impl MemoryForecast {
    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        self.workspace + self.parameters + self.results
    }
}

impl Setup {
    /// The memory that a run with this number of threads will allocate.
    pub fn memory_forecast(&self, threads: usize) -> MemoryForecast {
        let (plan, n, c) = (self.plan(), self.dataset().graph.n_nodes(), self.plan().shape().1);
        MemoryForecast {
            workspace: plan.allocated_bytes(threads) as u64 + self.bytes_of_copies(),
            parameters: (PARAMETER_COPIES * plan.param_len() * size_of::<f32>()) as u64,
            results: (n * c * (2 * size_of::<f32>() + CSV_BYTES) + VALUE_BYTES * plan.values_len())
                as u64,
        }
    }

    /// Makes the backward pass recompute values if a run would otherwise need more memory than is available, see
    /// [`Plan::recompute_to_fit`](crate::tensor::Plan::recompute_to_fit).
    pub(super) fn fit_into_memory(&mut self) {
        let Some(available) = memory::available() else { return };
        let threads = parallel::available_threads();
        let forecast = self.memory_forecast(threads);
        // A reserve for what else is allocated before the run starts.
        let usable = available.bytes - available.bytes / 20;
        let workspace = usable.checked_sub(forecast.total() - forecast.workspace);
        if let Some(workspace) = workspace.and_then(|bytes| usize::try_from(bytes).ok()) {
            self.plan_mut().recompute_to_fit(workspace, threads);
        }
    }

    /// Allocates the workspace of a run. Also returns the forecast of the memory of the whole process, if its
    /// current memory is known.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if less memory is known to be available than the whole run needs, or the allocation
    /// fails.
    pub(super) fn allocate(&self, threads: usize) -> Result<(Workspace<f32>, Option<u64>)> {
        // Runs start one after the other, so that each takes into account what the others have allocated.
        static ALLOCATING: Mutex<()> = Mutex::new(());
        let _guard = ALLOCATING.lock().unwrap_or_else(PoisonError::into_inner);
        let forecast = self.memory_forecast(threads);
        let available = memory::available();
        if let Some(available) = available
            && forecast.total() > available.bytes
        {
            return Err(self.out_of_memory(&forecast, Some(available)));
        }
        let resident = memory::resident_bytes();
        let workspace = self.plan().try_workspace(ThreadTeam::new(threads));
        let workspace = workspace.ok_or_else(|| self.out_of_memory(&forecast, available))?;
        Ok((workspace, resident.map(|resident| resident + forecast.total())))
    }

    /// Allocates a workspace to apply the model, for which `results` is how many numbers are returned.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if it does not fit into memory.
    pub(super) fn allocate_to_apply(
        &self,
        threads: usize,
        results: usize,
    ) -> Result<Workspace<f32>> {
        let needed = (self.plan().allocated_bytes(threads) + size_of::<f32>() * results) as u64;
        let what = || format!("applying {} to {}", self.info().name, self.dataset().name);
        let advice = "use fewer threads, a smaller graph or a machine with more memory";
        memory::require(needed, what, advice)?;
        self.plan().try_workspace(ThreadTeam::new(threads)).ok_or_else(|| Error::OutOfMemory {
            what: what(),
            needed,
            available: None,
            limit: "the allocation failed",
            advice: advice.into(),
        })
    }

    /// The error for a run that needs more memory than is available; it suggests which hyper-parameters to
    /// lower.
    fn out_of_memory(&self, forecast: &MemoryForecast, known: Option<AvailableMemory>) -> Error {
        let sizes = self.info().size_params();
        let sizes: Vec<String> =
            sizes.map(|key| format!("`{key}` (now {})", self.hp().int(key))).collect();
        let parameters = forecast.parameters as f64 / forecast.total().max(1) as f64;
        let recomputing = match self.plan().recomputed_fraction() > 0.0 {
            true => {
                ", even if values are computed again in the backward pass instead of being kept,"
            }
            false => "",
        };
        Error::OutOfMemory {
            what: format!("training {} on {}{recomputing}", self.info().name, self.dataset().name),
            needed: forecast.total(),
            available: known.map(|known| known.bytes),
            limit: known.map_or("unknown limit", |known| known.limit.name()),
            advice: format!(
                "{:.0}% of it is for copies of the parameters; lower {}",
                100.0 * parameters,
                sizes.join(" or ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::model;

    #[test]
    fn forecast_counts_every_copy_of_the_parameters() {
        let info = model::find("mlp").unwrap();
        let mut hp = info.defaults();
        hp.set("hidden", "1024").unwrap();
        let setup = Setup::new(data::load("csbm:nodes=60").unwrap(), info, hp).unwrap();
        let n = setup.plan().param_len() as u64;
        let forecast = setup.memory_forecast(1);
        assert_eq!(forecast.parameters, 8 * 4 * n);
        // The gradients are part of the workspace.
        assert!(forecast.workspace >= 4 * n + 60 * 1024 * 4, "{forecast:?}");
        let more = setup.memory_forecast(4).workspace - forecast.workspace;
        assert_eq!(more % 3, 0, "three more threads have three more scratch buffers");
    }

    #[test]
    fn a_model_that_cannot_fit_names_what_to_lower() {
        let info = model::find("clenshaw-gcn").unwrap();
        let setup =
            Setup::new(data::load("csbm:nodes=60").unwrap(), info, info.defaults()).unwrap();
        let available =
            AvailableMemory { bytes: 250_000_000, limit: memory::MemoryLimit::ControlGroup };
        let forecast =
            MemoryForecast { workspace: 3_000_000_000, parameters: 1_000_000_000, results: 0 };
        let error = setup.out_of_memory(&forecast, Some(available)).to_string();
        assert_eq!(
            error,
            "training clenshaw-gcn on csbm:nodes=60 needs 4.00 GB, but 0.25 GB are available (memory \
             limit of the container or control group); 25% of it is for copies of the parameters; lower \
             `K` (now 8) or `hidden` (now 64)"
        );
    }
}
