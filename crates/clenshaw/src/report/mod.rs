//! Tables, numbers and pictures, made from records alone; everything comes back as text.

pub mod stats;
pub mod table;
mod axis;
pub mod plot;
pub mod svg;
mod wrap;
mod comparison;
mod scores;
mod bars;

pub use axis::Scale;
pub use bars::Bars;
pub use comparison::{Cell, Comparison, Row};
pub use plot::terminal_plot;
pub use scores::{Measured, Printed, ScoreCell, Scores, Spread};
pub use stats::Statistic;
pub use svg::{Figure, Series, svg_plot};
pub use table::Table;
pub use wrap::wrapped;
