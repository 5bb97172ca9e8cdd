//! The greedy choice of a portfolio.

use super::scores::Scores;

/// Models of which every portfolio contains a configuration, if one was measured: one that ignores the graph,
/// and a low-pass filter.
const REQUIRED: [&str; 2] = ["mlp", "appnp"];

/// An ordered list of configurations.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Indices of configurations, the first one being the linear model.
    pub order: Vec<usize>,
    /// The mean regret on the graphs that took part.
    pub regret: f64,
}

/// Chooses about `size` configurations without any result on the graphs left out, and without settings that
/// are known only from them. Ends early if no configuration lowers the regret.
pub fn choose(scores: &Scores, left_out: &[String], size: usize) -> Choice {
    let graphs: Vec<&String> = scores.graphs.iter().filter(|g| !left_out.contains(g)).collect();
    let allowed: Vec<usize> = (0..scores.configurations.len())
        .filter(|&index| !scores.configurations[index].is_only_from(left_out))
        .collect();
    let best = |of: &[usize], graph: &str| {
        let measured = of.iter().filter_map(|&index| scores.value(index, graph));
        measured.fold(scores.lowest(graph), f64::max)
    };
    let highest: Vec<f64> = graphs.iter().map(|graph| best(&allowed, graph)).collect();
    let regret = |of: &[usize]| {
        let each = graphs.iter().zip(&highest).map(|(graph, highest)| highest - best(of, graph));
        each.sum::<f64>() / graphs.len().max(1) as f64
    };
    let mut order = vec![0];
    let gain = |order: &[usize], index: usize| {
        let reduction = regret(order) - regret(&[order, &[index]].concat());
        (reduction, reduction / scores.relative_time(index).sqrt())
    };
    let next = |order: &[usize], model: Option<&str>| {
        let is_asked = |index: &usize| {
            let own = &scores.configurations[*index].model;
            !order.contains(index) && model.is_none_or(|model| own == model)
        };
        let candidates = allowed.iter().copied().filter(is_asked);
        let scored = candidates.map(|index| (index, gain(order, index)));
        scored.max_by(|a, b| a.1.1.total_cmp(&b.1.1))
    };
    for model in REQUIRED {
        order.extend(next(&order, Some(model)).map(|(index, _)| index));
    }
    while order.len() < size {
        match next(&order, None) {
            Some((index, (reduction, _))) if reduction > 1e-9 => order.push(index),
            _ => break,
        }
    }
    Choice { regret: regret(&order), order }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A receipt of a model with one run per seed of the protocol.
    fn receipt(
        source: &str,
        model: &str,
        graph: &str,
        accuracy: f64,
        seconds: f64,
    ) -> (String, Value) {
        let protocol = super::super::GRAPHS.iter().find(|p| p.graph == graph).unwrap();
        let run = |seed| json!({"seed": seed, "val_accuracy": accuracy, "test_accuracy": 0.0});
        let runs: Vec<Value> = (0..protocol.runs).map(run).collect();
        let seconds = seconds * protocol.runs as f64;
        let receipt = json!({"graph": graph, "model": model, "split": protocol.split,
            "hyper": {"hidden": 64}, "seconds": seconds, "runs": runs});
        (source.to_owned(), receipt)
    }

    /// Three models on three graphs; `a` is good on the first two, `b` on the last, `c` nowhere best.
    fn table() -> Scores {
        let mut receipts = vec![];
        for (model, own, values) in [
            ("a", "texas", [0.9, 0.8, 0.5]),
            ("b", "cora", [0.5, 0.6, 0.9]),
            ("c", "actor", [0.8, 0.7, 0.8]),
        ] {
            for (graph, value) in ["texas", "actor", "cora"].into_iter().zip(values) {
                let source = if graph == own { "table2" } else { "portfolio" };
                receipts.push(receipt(source, model, graph, value, 1.0));
            }
        }
        Scores::new(&receipts)
    }

    #[test]
    fn greedy_choice_on_a_toy_table() {
        let scores = table();
        assert_eq!(scores.names(), ["logistic-regression", "a-texas", "b-cora", "c-actor"]);
        // One: the regrets are a: (0 + 0 + 0.4) / 3, b: (0.4 + 0.2 + 0) / 3, c: (0.1 + 0.1 + 0.1) / 3.
        // Two: c and a: 0.1 / 3; c and b: 0.2 / 3. Three: nothing is left to gain after b.
        let choice = choose(&scores, &[], 9);
        assert_eq!(choice.order, [0, 3, 1, 2]);
        assert!(choice.regret.abs() < 1e-12);
        let two = choose(&scores, &[], 3);
        assert_eq!(two.order, [0, 3, 1]);
        assert!((two.regret - 0.1 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn graphs_left_out_do_not_take_part() {
        let scores = table();
        let choice = choose(&scores, &scores.relatives("cora"), 9);
        // Without cora, the settings of b, which are those of cora, are not candidates.
        assert_eq!(choice.order, [0, 1]);
        assert!((scores.regret(&choice.order, "cora").unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(scores.relatives("chameleon"), ["chameleon-filtered", "chameleon"]);
    }

    #[test]
    fn fast_configurations_are_preferred_and_required_models_added() {
        let receipts = [
            receipt("table2", "slow", "texas", 0.9, 4.0),
            receipt("table2", "fast", "texas", 0.8, 1.0),
            receipt("table2", "mlp", "texas", 0.1, 1.0),
        ];
        // The MLP first; then fast, with a gain of 0.7 in the time 1, before slow, with 0.8 / sqrt(4).
        let scores = Scores::new(&receipts);
        assert!((scores.relative_time(1) - 4.0).abs() < 1e-12);
        assert_eq!(choose(&scores, &[], 4).order, [0, 3, 2, 1]);
    }
}
