//! The stack machine that executes the opcodes.

use super::input::PickleInput;
use super::literals::{twos_complement, unescaped, unquoted};
use super::{Global, PickleNode, PickleValue, globals};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Executes a pickle; returns all nodes and the final value.
pub(super) fn run<'a>(
    place: &str,
    bytes: &'a [u8],
    start: usize,
) -> Result<(Vec<PickleNode<'a>>, PickleValue)> {
    let mut machine = PickleMachine {
        input: PickleInput { place, bytes, at: start, opcode_at: start },
        stack: vec![],
        marks: vec![],
        memo: vec![],
        nodes: vec![],
        encoded: 0,
    };
    if u32::try_from(bytes.len()).is_err() {
        return Err(machine.bad("the pickle has 4 GiB or more; expected less".into()));
    }
    while machine.step()? {}
    let root = machine.pop()?;
    match (machine.stack.len(), machine.input.left()) {
        (0, 0) => Ok((machine.nodes, root)),
        (0, left) => Err(machine.bad(format!("{left} bytes after the end of the pickle"))),
        (left, _) => {
            Err(machine.bad(format!("the pickle ends with {left} extra values on the stack")))
        }
    }
}

/// The state of the stack machine.
pub(super) struct PickleMachine<'p, 'a> {
    pub(super) input: PickleInput<'p, 'a>,
    stack: Vec<PickleValue>,
    /// The length of the stack at each mark.
    marks: Vec<usize>,
    memo: Vec<Option<PickleValue>>,
    pub(super) nodes: Vec<PickleNode<'a>>,
    /// Number of bytes of text encoded so far.
    pub(super) encoded: usize,
}

impl<'a> PickleMachine<'_, 'a> {
    /// Executes one opcode; returns false after the last.
    fn step(&mut self) -> Result<bool> {
        self.input.opcode_at = self.input.at;
        let opcode = self.input.byte()?;
        match opcode {
            b'.' => return Ok(false),
            0x80 => self.protocol()?,
            0x95 => self.frame()?,
            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.discard()?,
            b'1' => drop(self.pop_to_mark()?),
            b'2' => self.stack.push(self.top()?),
            b'N' => self.stack.push(PickleValue::None),
            0x88 => self.stack.push(PickleValue::Bool(true)),
            0x89 => self.stack.push(PickleValue::Bool(false)),
            b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b => self.integer(opcode)?,
            b'F' | b'G' => self.float(opcode)?,
            b'S' | b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96 => self.bytes(opcode)?,
            b'V' | b'X' | 0x8c | 0x8d => self.text(opcode)?,
            b']' => self.push(PickleNode::List(vec![])),
            b')' => self.push(PickleNode::Tuple(vec![])),
            b'}' => self.push(PickleNode::Dict(vec![])),
            b'l' | b't' | b'd' | 0x85..=0x87 => self.collect(opcode)?,
            b'a' | b'e' => self.append(opcode)?,
            b's' | b'u' => self.set_items(opcode)?,
            b'g' | b'h' | b'j' => self.get_memo(opcode)?,
            b'p' | b'q' | b'r' | 0x94 => self.put_memo(opcode)?,
            b'c' | 0x93 => self.global(opcode)?,
            b'R' | 0x81 => self.call(opcode)?,
            b'b' => self.build()?,
            _ => {
                let shown = opcode.escape_ascii();
                return Err(self.bad(format!("opcode `{shown}` is not supported in plain data")));
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

    /// Checks the announced length of a frame.
    fn frame(&mut self) -> Result<()> {
        let length = self.input.length(8)?;
        let left = self.input.left();
        if length > left {
            return Err(self.bad(format!("a frame of {length} bytes; only {left} are left")));
        }
        Ok(())
    }

    /// Removes the top of the stack, a value or a mark.
    fn discard(&mut self) -> Result<()> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn integer(&mut self, opcode: u8) -> Result<()> {
        let value = match opcode {
            b'J' => PickleValue::Int(i32::from_le_bytes(self.input.word()?).into()),
            b'K' => PickleValue::Int(self.input.byte()?.into()),
            b'M' => PickleValue::Int(u16::from_le_bytes(self.input.word()?).into()),
            b'I' | b'L' => match self.input.line()? {
                b"00" if opcode == b'I' => PickleValue::Bool(false),
                b"01" if opcode == b'I' => PickleValue::Bool(true),
                digits => PickleValue::Int(
                    self.input.number(digits.strip_suffix(b"L").unwrap_or(digits))?,
                ),
            },
            _ => {
                let length = self.input.length(if opcode == 0x8a { 1 } else { 4 })?;
                let bytes = self.input.take(length)?;
                PickleValue::Int(twos_complement(bytes).ok_or_else(|| {
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
        self.stack.push(PickleValue::Float(value));
        Ok(())
    }

    fn bytes(&mut self, opcode: u8) -> Result<()> {
        let bytes = match opcode {
            b'S' => {
                let quoted = self.input.line()?;
                let problem = || self.bad("invalid string literal".into());
                Cow::Owned(unquoted(quoted).ok_or_else(problem)?)
            }
            b'U' | b'C' => Cow::Borrowed(self.input.length_prefixed(1)?),
            b'T' | b'B' => Cow::Borrowed(self.input.length_prefixed(4)?),
            _ => Cow::Borrowed(self.input.length_prefixed(8)?),
        };
        self.push(PickleNode::Bytes(bytes));
        Ok(())
    }

    fn text(&mut self, opcode: u8) -> Result<()> {
        let text = match opcode {
            b'V' => {
                let line = self.input.line()?;
                let problem = || self.bad("invalid `\\u` escape".into());
                Cow::Owned(unescaped(line).ok_or_else(problem)?)
            }
            _ => {
                let width = match opcode {
                    0x8c => 1,
                    b'X' => 4,
                    _ => 8,
                };
                let bytes = self.input.length_prefixed(width)?;
                let text = std::str::from_utf8(bytes);
                Cow::Borrowed(text.map_err(|_| self.bad("text is not valid UTF-8".into()))?)
            }
        };
        self.push(PickleNode::Text(text));
        Ok(())
    }

    /// Builds a list, tuple or dictionary from values on the stack.
    fn collect(&mut self, opcode: u8) -> Result<()> {
        let items = match opcode {
            0x85..=0x87 => self.pop_many(usize::from(opcode - 0x84))?,
            _ => self.pop_to_mark()?,
        };
        let node = match opcode {
            b'l' => PickleNode::List(items),
            b'd' => PickleNode::Dict(self.to_pairs(&items)?),
            _ => PickleNode::Tuple(items),
        };
        self.push(node);
        Ok(())
    }

    fn append(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b'a' { self.pop_many(1)? } else { self.pop_to_mark()? };
        let top = self.top()?;
        match self.node_mut(top) {
            Some(PickleNode::List(list)) => list.extend(items),
            _ => return Err(self.bad("the target of an append is not a list".into())),
        }
        Ok(())
    }

    fn set_items(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b's' { self.pop_many(2)? } else { self.pop_to_mark()? };
        let pairs = self.to_pairs(&items)?;
        let top = self.top()?;
        match self.node_mut(top) {
            Some(PickleNode::Dict(dict)) => dict.extend(pairs),
            _ => {
                return Err(self.bad("the target of an item assignment is not a dictionary".into()));
            }
        }
        Ok(())
    }

    fn get_memo(&mut self, opcode: u8) -> Result<()> {
        let index = self.memo_index(opcode)?;
        let missing = || self.bad(format!("memo entry {index} does not exist"));
        let value = self.memo.get(index).copied().flatten().ok_or_else(missing)?;
        self.stack.push(value);
        Ok(())
    }

    fn put_memo(&mut self, opcode: u8) -> Result<()> {
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

    /// Reads a memo index; Python numbers entries from zero, so it is below the number of bytes.
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
            let size = self.input.bytes.len();
            return Err(
                self.bad(format!("memo entry {index}; expected less than the file size {size}"))
            );
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
                    (Some(PickleNode::Text(module)), Some(PickleNode::Text(name))) => {
                        (module.clone(), name.clone())
                    }
                    _ => return Err(self.bad("the name of a global is not text".into())),
                }
            }
        };
        let global = globals::find(&module, &name).ok_or_else(|| {
            let full = format!("{module}.{name}");
            let shown: String = full.chars().take(100).collect();
            self.bad(format!(
                "global `{}` is not allowed; expected only NumPy arrays, SciPy CSR matrices and plain \
                 values",
                shown.escape_debug()
            ))
        })?;
        self.stack.push(PickleValue::Global(global));
        Ok(())
    }

    /// Executes `REDUCE`, which calls a function, or `NEWOBJ`, which creates an object.
    fn call(&mut self, opcode: u8) -> Result<()> {
        let (arguments, callee) = (self.pop()?, self.pop()?);
        let value = match callee {
            PickleValue::Global(class @ Global::CsrMatrix) if opcode == 0x81 => {
                self.add(PickleNode::Object { class, state: PickleValue::None })
            }
            PickleValue::Global(function) if opcode == b'R' => self.reduce(function, arguments)?,
            _ => return Err(self.bad("the called value is not callable".into())),
        };
        self.stack.push(value);
        Ok(())
    }

    fn build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let target = self.top()?;
        self.set_state(target, state)
    }

    /// Stores a node and returns a reference to it.
    pub(super) fn add(&mut self, node: PickleNode<'a>) -> PickleValue {
        self.nodes.push(node);
        let id = u32::try_from(self.nodes.len() - 1);
        PickleValue::Node(
            id.expect("there are fewer nodes than bytes, and less than 4 GiB of bytes"),
        )
    }

    pub(super) fn node(&self, value: PickleValue) -> Option<&PickleNode<'a>> {
        match value {
            PickleValue::Node(id) => self.nodes.get(id as usize),
            _ => None,
        }
    }

    pub(super) fn node_mut(&mut self, value: PickleValue) -> Option<&mut PickleNode<'a>> {
        match value {
            PickleValue::Node(id) => self.nodes.get_mut(id as usize),
            _ => None,
        }
    }

    /// Returns a Unicode string, or bytes that are valid UTF-8.
    pub(super) fn text_of(&self, value: PickleValue) -> Option<&str> {
        self.node(value)?.text()
    }

    pub(super) fn bad(&self, problem: String) -> Error {
        self.input.bad(problem)
    }

    fn push(&mut self, node: PickleNode<'a>) {
        let value = self.add(node);
        self.stack.push(value);
    }

    /// Returns the position of the last mark, below which values are not accessible.
    fn mark_position(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn top(&self) -> Result<PickleValue> {
        let reachable = self.stack.get(self.mark_position()..).unwrap_or_default();
        reachable.last().copied().ok_or_else(|| self.bad("the stack is empty".into()))
    }

    fn pop(&mut self) -> Result<PickleValue> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// Removes and returns the top `count` values.
    fn pop_many(&mut self, count: usize) -> Result<Vec<PickleValue>> {
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= self.mark_position() => Ok(self.stack.drain(start..).collect()),
            _ => Err(self.bad("the stack is empty".into())),
        }
    }

    /// Removes the last mark; removes and returns the values above it.
    // `drain` instead of `split_off`, which would keep the capacity of the whole stack.
    fn pop_to_mark(&mut self) -> Result<Vec<PickleValue>> {
        let mark = self.marks.pop().ok_or_else(|| self.bad("no mark on the stack".into()))?;
        Ok(self.stack.drain(mark..).collect())
    }

    fn to_pairs(&self, items: &[PickleValue]) -> Result<Vec<(PickleValue, PickleValue)>> {
        match items.as_chunks() {
            (pairs, []) => Ok(pairs.iter().map(|&[key, value]| (key, value)).collect()),
            _ => Err(self.bad("a dictionary key has no value".into())),
        }
    }
}
