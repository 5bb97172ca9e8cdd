//! Statistics, tables, charts and result pages, computed from numbers alone and returned as text, SVG
//! or PNG.

mod stats;
mod table;
mod axis;
mod terminal_plot;
mod line_chart;
mod bar_chart;
mod plot;
mod matrix_chart;
mod neighbourhood;
#[cfg(feature = "png")]
mod png;
mod wrap;
mod comparison;
mod score_table;
mod claims;
mod page;
mod html;

pub use axis::Scale;
pub use bar_chart::BarChart;
pub use claims::{Claim, Verdict};
pub use comparison::{Comparison, ComparisonCell, ComparisonRow};
pub use html::{html_page, live_page};
pub use line_chart::{Histogram, LineChart, LineSeries};
pub(crate) use matrix_chart::{NodeDrawing, ParallelAxis, drawing_svg, matrix_svg, parallel_svg};
pub use neighbourhood::{DrawnNode, NeighbourhoodDrawing};
pub use page::{ResultPage, image_markdown};
pub use plot::{Plot, PlotAxis, PlotBar, PlotLayer, PlotPoint, PlotRange};
#[cfg(feature = "png")]
pub use png::svg_to_png;
pub use score_table::{MeasuredScore, PaperScore, ScoreCell, ScoreTable, Spread};
pub use stats::{Statistic, sign_flip_p_value};
pub use table::Table;
pub use terminal_plot::terminal_plot;
pub use wrap::wrap_text;

/// The distinct strings of a list, in the order in which they first occur.
pub(crate) fn distinct<'a>(strings: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for string in strings {
        if !found.contains(&string) {
            found.push(string);
        }
    }
    found
}
