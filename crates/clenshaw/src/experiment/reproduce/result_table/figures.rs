//! The charts of a result table: bars per graph, or lines over the depth of the network.

use super::ResultTable;
use crate::model::ModelInfo;
use crate::report::{
    BarChart, LineChart, LineSeries, MeasuredScore, Scale, ScoreCell, ScoreTable, distinct,
};

impl ResultTable {
    /// The bar chart of complete cells, if the experiment has one.
    pub fn bar_chart(&self, table: &ScoreTable) -> Option<BarChart> {
        let title = self.bars.clone()?;
        let bar = |cell: &ScoreCell| {
            let score = cell.complete()?.score;
            let (mean, ci95) = (100.0 * score.mean, 100.0 * score.ci95);
            Some((cell.column.clone(), cell.model.clone(), mean, ci95))
        };
        let bars = table.cells.iter().filter_map(bar).collect();
        Some(BarChart { title, y_label: "test accuracy, %".into(), bars })
    }

    /// For each graph that has columns with a `depth`, two charts against depth: the accuracy and the Dirichlet
    /// energy. Each chart is paired with the suffix of its file name.
    pub fn depth_charts(&self, table: &ScoreTable) -> Vec<(String, LineChart)> {
        let deep = self.columns.iter().filter(|column| column.depth.is_some());
        let graphs = distinct(deep.map(|column| column.graph()));
        let charts = |graph: &str| {
            let lines = |number: fn(&MeasuredScore) -> Option<f64>| -> Vec<LineSeries> {
                let models = self.models.iter();
                let line = |info: &&'static ModelInfo| self.line(table, graph, info, number);
                models.map(line).filter(|line| !line.points.is_empty()).collect()
            };
            let chart = |quantity: &str, y_label: &str, series| LineChart {
                title: format!("{graph}: {quantity}"),
                x_label: "layers".into(),
                y_label: y_label.into(),
                x_scale: Scale::Log2,
                series,
                ..LineChart::default()
            };
            let score = lines(|ours| Some(100.0 * ours.score.mean));
            let energy = lines(|ours| ours.energy);
            let score = chart("test accuracy", "test accuracy, %", score);
            let energy = chart("Dirichlet energy of the last hidden layer", "energy", energy);
            [(format!("{graph}-accuracy"), score), (format!("{graph}-energy"), energy)]
        };
        graphs.into_iter().flat_map(charts).collect()
    }

    /// The line of a model on one graph: `number` of each complete cell against its depth.
    fn line(
        &self,
        table: &ScoreTable,
        graph: &str,
        info: &ModelInfo,
        number: fn(&MeasuredScore) -> Option<f64>,
    ) -> LineSeries {
        let columns = self.columns.iter().filter(|column| column.graph() == graph);
        let points = columns.filter_map(|column| {
            let is_cell = |cell: &&ScoreCell| cell.column == column.name && cell.model == info.name;
            let cell = table.cells.iter().find(is_cell)?;
            Some((column.depth? as f64, number(cell.complete()?)?))
        });
        LineSeries { name: info.name.into(), points: points.collect() }
    }
}
