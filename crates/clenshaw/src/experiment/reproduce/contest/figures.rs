//! The figures of a contest: bars, or lines over the depth.

use super::Contest;
use crate::model::ModelInfo;
use crate::report::{Bars, Figure, Measured, Scale, ScoreCell, Scores, Series};

impl Contest {
    /// The figure, if the experiment has one.
    pub fn bars(&self, table: &Scores) -> Option<Bars> {
        let title = self.bars.clone()?;
        let bar = |cell: &ScoreCell| {
            let score = cell.complete()?.score;
            let (mean, ci95) = (100.0 * score.mean, 100.0 * score.ci95);
            Some((cell.column.clone(), cell.model.clone(), mean, ci95))
        };
        let bars = table.cells.iter().filter_map(bar).collect();
        Some(Bars { title, y_label: "test accuracy, %".into(), bars })
    }

    /// Lines over the depth, two figures a graph with its name: the score, and the energy.
    pub fn over_depth(&self, table: &Scores) -> Vec<(String, Figure)> {
        let mut graphs: Vec<&str> = vec![];
        for column in self.columns.iter().filter(|column| column.depth.is_some()) {
            if !graphs.contains(&column.graph()) {
                graphs.push(column.graph());
            }
        }
        let figures = |graph: &str| {
            let lines = |number: fn(&Measured) -> Option<f64>| -> Vec<Series> {
                let models = self.models.iter();
                let line = |info: &&'static ModelInfo| self.line(table, graph, info, number);
                models.map(line).filter(|line| !line.points.is_empty()).collect()
            };
            let figure = |what: &str, y_label: &str, series| Figure {
                title: format!("{graph}: {what}"),
                x_label: "layers".into(),
                y_label: y_label.into(),
                x_scale: Scale::Doubling,
                series,
                ..Figure::default()
            };
            let score = lines(|ours| Some(100.0 * ours.score.mean));
            let energy = lines(|ours| ours.energy);
            let score = figure("test accuracy", "test accuracy, %", score);
            let energy = figure("Dirichlet energy of the last hidden layer", "energy", energy);
            [(format!("{graph}-accuracy"), score), (format!("{graph}-energy"), energy)]
        };
        graphs.into_iter().flat_map(figures).collect()
    }

    fn line(
        &self,
        table: &Scores,
        graph: &str,
        info: &ModelInfo,
        number: fn(&Measured) -> Option<f64>,
    ) -> Series {
        let columns = self.columns.iter().filter(|column| column.graph() == graph);
        let points = columns.filter_map(|column| {
            let is_ours = |cell: &&ScoreCell| cell.column == column.name && cell.model == info.name;
            let cell = table.cells.iter().find(is_ours)?;
            Some((column.depth? as f64, number(cell.complete()?)?))
        });
        Series { name: info.name.into(), points: points.collect() }
    }
}
