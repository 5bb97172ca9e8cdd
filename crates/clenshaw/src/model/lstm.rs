//! A long short-term memory (LSTM) over a short sequence of values.
//!
//! ```text
//! i, f, o = sigmoid( x W + h U + b )         each with its own W, U and b
//! g       = tanh( x W + h U + b )
//! c <- f c + i g,   h <- o tanh(c)           initially 0
//! ```
//!
//! Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.

use super::{Net, fan_out};
use crate::tensor::Var;

/// The parameters of i, f, o and g.
pub(super) struct Lstm([LstmGate; 4]);

/// The parameters of one gate.
struct LstmGate {
    w: Var,
    u: Var,
    b: Var,
}

impl Lstm {
    /// Declares the parameters `NAME.GATE.w`, `.u` and `.b`.
    pub fn new(net: &mut Net, name: &str, (inputs, width): (usize, usize)) -> Self {
        Self(['i', 'f', 'o', 'g'].map(|letter| {
            let mut param = |part: &str, rows| {
                net.param(format!("{name}.{letter}.{part}"), rows, width, fan_out(width), "all")
            };
            LstmGate { w: param("w", inputs), u: param("u", width), b: param("b", 1) }
        }))
    }

    /// Returns the hidden state `h` after each value of a sequence.
    pub fn hidden_states(&self, net: &mut Net, values: impl IntoIterator<Item = Var>) -> Vec<Var> {
        let mut previous = None;
        let mut states = Vec::new();
        for x in values {
            let (h, c) = self.step(net, x, previous);
            previous = Some((h, c));
            states.push(h);
        }
        states
    }

    /// The next `(h, c)`.
    fn step(&self, net: &mut Net, x: Var, previous: Option<(Var, Var)>) -> (Var, Var) {
        let h = previous.map(|(h, _)| h);
        let [i, f, o, g] = self.0.each_ref().map(|gate| gate.forward(net, x, h));
        let [i, f, o] = [i, f, o].map(|gate| net.sigmoid(gate));
        let g = net.tanh(g);
        let mut c = net.product(i, g);
        if let Some((_, c1)) = previous {
            let remembered = net.product(f, c1);
            c = net.sum([1.0 * remembered, 1.0 * c]);
        }
        let activated = net.tanh(c);
        (net.product(o, activated), c)
    }
}

impl LstmGate {
    /// `x W + h U + b`.
    fn forward(&self, net: &mut Net, x: Var, h: Option<Var>) -> Var {
        let xw = net.linear(x, self.w, Some(self.b));
        let Some(h) = h else { return xw };
        let hu = net.linear(h, self.u, None);
        net.sum([1.0 * xw, 1.0 * hu])
    }
}
