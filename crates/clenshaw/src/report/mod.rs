//! Tables, numbers and pictures, made from records alone; everything comes back as text, or as PNG.

pub mod stats;
pub mod table;
mod axis;
pub mod plot;
pub mod svg;
#[cfg(feature = "png")]
mod png;
mod wrap;
mod comparison;
mod scores;
mod claims;
mod bars;
mod findings;

pub use axis::Scale;
pub use bars::Bars;
pub use claims::{Claim, Verdict};
pub use comparison::{Cell, Comparison, Row};
pub use findings::{Findings, image_line};
pub use plot::terminal_plot;
#[cfg(feature = "png")]
pub use png::png;
pub use scores::{Measured, Printed, ScoreCell, Scores, Spread};
pub use stats::Statistic;
pub use svg::{Backdrop, Figure, Series, svg_plot};
pub use table::Table;
pub use wrap::wrapped;
