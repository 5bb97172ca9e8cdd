//! The stack machine: one opcode at a time.

use super::input::Input;
use super::literals::{two_complement, unescaped, unquoted};
use super::{Global, Node, Value, globals};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Every node, and the value that is left when the pickle stops.
pub(super) fn run<'a>(
    place: &str,
    bytes: &'a [u8],
    start: usize,
) -> Result<(Vec<Node<'a>>, Value)> {
    let mut machine = Machine {
        input: Input { place, bytes, at: start, opcode_at: start },
        stack: vec![],
        marks: vec![],
        memo: vec![],
        nodes: vec![],
        encoded: 0,
    };
    if u32::try_from(bytes.len()).is_err() {
        return Err(machine.bad("a pickle of 4 GiB or more".into()));
    }
    while machine.step()? {}
    let root = machine.pop()?;
    match (machine.stack.len(), machine.input.left()) {
        (0, 0) => Ok((machine.nodes, root)),
        (0, left) => Err(machine.bad(format!("the pickle ends, but {left} bytes follow"))),
        (left, _) => Err(machine.bad(format!("the pickle ends with {left} values too many"))),
    }
}

pub(super) struct Machine<'p, 'a> {
    pub(super) input: Input<'p, 'a>,
    stack: Vec<Value>,
    /// How long the stack was at each mark.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    pub(super) nodes: Vec<Node<'a>>,
    /// Bytes of text encoded so far.
    pub(super) encoded: usize,
}

impl<'a> Machine<'_, 'a> {
    /// Does one opcode; false when it was the last.
    fn step(&mut self) -> Result<bool> {
        self.input.opcode_at = self.input.at;
        let opcode = self.input.byte()?;
        match opcode {
            b'.' => return Ok(false),
            0x80 => self.protocol()?,
            0x95 => self.frame()?,
            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.discard()?,
            b'1' => drop(self.since_mark()?),
            b'2' => self.stack.push(self.top()?),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b => self.integer(opcode)?,
            b'F' | b'G' => self.float(opcode)?,
            b'S' | b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96 => self.bytes(opcode)?,
            b'V' | b'X' | 0x8c | 0x8d => self.text(opcode)?,
            b']' => self.push(Node::List(vec![])),
            b')' => self.push(Node::Tuple(vec![])),
            b'}' => self.push(Node::Dict(vec![])),
            b'l' | b't' | b'd' | 0x85..=0x87 => self.collect(opcode)?,
            b'a' | b'e' => self.append(opcode)?,
            b's' | b'u' => self.set_items(opcode)?,
            b'g' | b'h' | b'j' => self.recall(opcode)?,
            b'p' | b'q' | b'r' | 0x94 => self.memorise(opcode)?,
            b'c' | 0x93 => self.global(opcode)?,
            b'R' | 0x81 => self.call(opcode)?,
            b'b' => self.build()?,
            _ => {
                let shown = opcode.escape_ascii();
                return Err(self.bad(format!("opcode `{shown}`, which plain data do not need")));
            }
        }
        Ok(true)
    }

    fn protocol(&mut self) -> Result<()> {
        match self.input.byte()? {
            0..=5 => Ok(()),
            protocol => Err(self.bad(format!("pickle protocol {protocol}; expected 0 to 5"))),
        }
    }

    /// A frame only announces how many bytes come.
    fn frame(&mut self) -> Result<()> {
        let length = self.input.length(8)?;
        let left = self.input.left();
        if length > left {
            return Err(self.bad(format!("a frame of {length} bytes, {left} are left")));
        }
        Ok(())
    }

    /// Drops the top of the stack, be it a value or a mark.
    fn discard(&mut self) -> Result<()> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn integer(&mut self, opcode: u8) -> Result<()> {
        let value = match opcode {
            b'J' => Value::Int(i32::from_le_bytes(self.input.word()?).into()),
            b'K' => Value::Int(self.input.byte()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(self.input.word()?).into()),
            b'I' | b'L' => match self.input.line()? {
                b"00" if opcode == b'I' => Value::Bool(false),
                b"01" if opcode == b'I' => Value::Bool(true),
                digits => {
                    Value::Int(self.input.number(digits.strip_suffix(b"L").unwrap_or(digits))?)
                }
            },
            _ => {
                let length = self.input.length(if opcode == 0x8a { 1 } else { 4 })?;
                let bytes = self.input.take(length)?;
                Value::Int(two_complement(bytes).ok_or_else(|| {
                    self.bad(format!("an integer of {length} bytes; expected at most 8"))
                })?)
            }
        };
        self.stack.push(value);
        Ok(())
    }

    fn float(&mut self, opcode: u8) -> Result<()> {
        let value = match opcode {
            b'F' => {
                let digits = self.input.line()?;
                self.input.number(digits)?
            }
            _ => f64::from_be_bytes(self.input.word()?),
        };
        self.stack.push(Value::Float(value));
        Ok(())
    }

    fn bytes(&mut self, opcode: u8) -> Result<()> {
        let bytes = match opcode {
            b'S' => {
                let quoted = self.input.line()?;
                let problem = || self.bad("a string that is not quoted as Python quotes".into());
                Cow::Owned(unquoted(quoted).ok_or_else(problem)?)
            }
            b'U' | b'C' => Cow::Borrowed(self.input.counted(1)?),
            b'T' | b'B' => Cow::Borrowed(self.input.counted(4)?),
            _ => Cow::Borrowed(self.input.counted(8)?),
        };
        self.push(Node::Bytes(bytes));
        Ok(())
    }

    fn text(&mut self, opcode: u8) -> Result<()> {
        let text = match opcode {
            b'V' => {
                let line = self.input.line()?;
                let problem = || self.bad("a text with a broken `\\u`".into());
                Cow::Owned(unescaped(line).ok_or_else(problem)?)
            }
            _ => {
                let width = match opcode {
                    0x8c => 1,
                    b'X' => 4,
                    _ => 8,
                };
                let bytes = self.input.counted(width)?;
                let text = std::str::from_utf8(bytes);
                Cow::Borrowed(text.map_err(|_| self.bad("text is not UTF-8".into()))?)
            }
        };
        self.push(Node::Text(text));
        Ok(())
    }

    /// A list, tuple or dictionary of what stands on the stack.
    fn collect(&mut self, opcode: u8) -> Result<()> {
        let items = match opcode {
            0x85..=0x87 => self.last(usize::from(opcode - 0x84))?,
            _ => self.since_mark()?,
        };
        let node = match opcode {
            b'l' => Node::List(items),
            b'd' => Node::Dict(self.paired(&items)?),
            _ => Node::Tuple(items),
        };
        self.push(node);
        Ok(())
    }

    fn append(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b'a' { self.last(1)? } else { self.since_mark()? };
        let top = self.top()?;
        match self.node_mut(top) {
            Some(Node::List(list)) => list.extend(items),
            _ => return Err(self.bad("something is appended to what is no list".into())),
        }
        Ok(())
    }

    fn set_items(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b's' { self.last(2)? } else { self.since_mark()? };
        let pairs = self.paired(&items)?;
        let top = self.top()?;
        match self.node_mut(top) {
            Some(Node::Dict(dict)) => dict.extend(pairs),
            _ => return Err(self.bad("a key is set in what is no dictionary".into())),
        }
        Ok(())
    }

    fn recall(&mut self, opcode: u8) -> Result<()> {
        let index = self.memo_index(opcode)?;
        let missing = || self.bad(format!("memo entry {index}, which was never made"));
        let value = self.memo.get(index).copied().flatten().ok_or_else(missing)?;
        self.stack.push(value);
        Ok(())
    }

    fn memorise(&mut self, opcode: u8) -> Result<()> {
        let index = match opcode {
            0x94 => self.memo.len(),
            _ => self.memo_index(opcode)?,
        };
        let top = self.top()?;
        if self.memo.len() <= index {
            self.memo.resize(index + 1, None);
        }
        self.memo[index] = Some(top);
        Ok(())
    }

    /// Python numbers its memo from zero, so no index reaches the number of bytes.
    fn memo_index(&mut self, opcode: u8) -> Result<usize> {
        let index = match opcode {
            b'h' | b'q' => self.input.length(1)?,
            b'j' | b'r' => self.input.length(4)?,
            _ => {
                let digits = self.input.line()?;
                self.input.number(digits)?
            }
        };
        if index >= self.input.bytes.len() {
            let most = self.input.bytes.len();
            return Err(self.bad(format!("memo entry {index} in a file of {most} bytes")));
        }
        Ok(index)
    }

    fn global(&mut self, opcode: u8) -> Result<()> {
        let (module, name) = match opcode {
            b'c' => {
                let (module, name) = (self.input.line()?, self.input.line()?);
                (String::from_utf8_lossy(module), String::from_utf8_lossy(name))
            }
            _ => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (self.node(module), self.node(name)) {
                    (Some(Node::Text(module)), Some(Node::Text(name))) => {
                        (module.clone(), name.clone())
                    }
                    _ => return Err(self.bad("a global whose name is no text".into())),
                }
            }
        };
        let global = globals::find(&module, &name).ok_or_else(|| {
            let full = format!("{module}.{name}");
            let shown: String = full.chars().take(100).collect();
            self.bad(format!(
                "it names `{}`; only NumPy arrays, SciPy CSR matrices and plain values are read, \
                 and nothing is run",
                shown.escape_debug()
            ))
        })?;
        self.stack.push(Value::Global(global));
        Ok(())
    }

    /// `REDUCE` calls a function, `NEWOBJ` makes an object of a class.
    fn call(&mut self, opcode: u8) -> Result<()> {
        let (arguments, callee) = (self.pop()?, self.pop()?);
        let value = match callee {
            Value::Global(class @ Global::CsrMatrix) if opcode == 0x81 => {
                self.add(Node::Object { class, state: Value::None })
            }
            Value::Global(function) if opcode == b'R' => self.reduce(function, arguments)?,
            _ => return Err(self.bad("a call of what cannot be called".into())),
        };
        self.stack.push(value);
        Ok(())
    }

    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let target = self.top()?;
        self.set_state(target, state)
    }

    pub(super) fn add(&mut self, node: Node<'a>) -> Value {
        self.nodes.push(node);
        let id = u32::try_from(self.nodes.len() - 1);
        Value::Node(id.expect("fewer nodes than bytes, of which there are less than 4 GiB"))
    }

    pub(super) fn node(&self, value: Value) -> Option<&Node<'a>> {
        match value {
            Value::Node(id) => self.nodes.get(id as usize),
            _ => None,
        }
    }

    pub(super) fn node_mut(&mut self, value: Value) -> Option<&mut Node<'a>> {
        match value {
            Value::Node(id) => self.nodes.get_mut(id as usize),
            _ => None,
        }
    }

    /// Text, or bytes that are UTF-8.
    pub(super) fn text_of(&self, value: Value) -> Option<&str> {
        self.node(value)?.text()
    }

    pub(super) fn bad(&self, problem: String) -> Error {
        self.input.bad(problem)
    }

    fn push(&mut self, node: Node<'a>) {
        let value = self.add(node);
        self.stack.push(value);
    }

    /// The stack ends at the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn top(&self) -> Result<Value> {
        let reachable = self.stack.get(self.floor()..).unwrap_or_default();
        reachable.last().copied().ok_or_else(|| self.bad("the stack is empty".into()))
    }

    fn pop(&mut self) -> Result<Value> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn last(&mut self, count: usize) -> Result<Vec<Value>> {
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= self.floor() => Ok(self.stack.drain(start..).collect()),
            _ => Err(self.bad("the stack is empty".into())),
        }
    }

    // `drain`, because `split_off(0)` would give away the whole stack's capacity.
    fn since_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.marks.pop().ok_or_else(|| self.bad("there is no mark".into()))?;
        Ok(self.stack.drain(mark..).collect())
    }

    fn paired(&self, items: &[Value]) -> Result<Vec<(Value, Value)>> {
        match items.as_chunks() {
            (pairs, []) => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
            _ => Err(self.bad("a key without a value".into())),
        }
    }
}
