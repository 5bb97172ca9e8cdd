//! The stack machine that executes the opcodes.

use super::{Global, PickleNode, PickleValue, globals};
use crate::data::count;
use crate::error::{Error, Result};

const TOO_FEW_VALUES: &str = "too few values on the stack";

/// Executes the pickle that starts at byte `start` and must end at the last byte; returns all nodes and the
/// pickled value, which must be the only one on the stack.
pub(super) fn run<'a>(
    place: &str,
    bytes: &'a [u8],
    start: usize,
) -> Result<(Vec<PickleNode<'a>>, PickleValue)> {
    let mut machine = PickleMachine {
        place,
        bytes,
        at: start,
        opcode_at: start,
        stack: vec![],
        marks: vec![],
        memo: vec![],
        nodes: vec![],
    };
    if u32::try_from(bytes.len()).is_err() {
        return Err(machine.error("the pickle has 4 GiB or more; expected less".into()));
    }
    while machine.step()? {}
    let root = machine.pop()?;
    match (machine.stack.len(), bytes.len() - machine.at) {
        (0, 0) => Ok((machine.nodes, root)),
        (0, left) => {
            let left = count(left, "byte", "bytes");
            Err(machine.error(format!("{left} after the end of the pickle")))
        }
        (left, _) => {
            let left = count(left, "extra value", "extra values");
            Err(machine.error(format!("the pickle ends with {left} on the stack")))
        }
    }
}

/// The state of the stack machine.
pub(super) struct PickleMachine<'p, 'a> {
    place: &'p str,
    bytes: &'a [u8],
    /// Position of the next byte.
    at: usize,
    /// Position of the current opcode.
    opcode_at: usize,
    stack: Vec<PickleValue>,
    /// The length of the stack at each mark.
    marks: Vec<usize>,
    /// Values stored for later use, by index.
    memo: Vec<Option<PickleValue>>,
    nodes: Vec<PickleNode<'a>>,
}

impl<'a> PickleMachine<'_, 'a> {
    /// Executes one opcode; returns false after the opcode that ends the pickle.
    fn step(&mut self) -> Result<bool> {
        self.opcode_at = self.at;
        let [opcode] = self.read_bytes()?;
        match opcode {
            b'.' => return Ok(false),
            0x80 => self.check_protocol()?,
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(PickleValue::None),
            0x88 => self.stack.push(PickleValue::Bool(true)),
            0x89 => self.stack.push(PickleValue::Bool(false)),
            b'J' | b'K' | b'M' => self.push_integer(opcode)?,
            b'T' | b'U' | b'B' | b'C' => self.push_byte_string(opcode)?,
            b'X' => self.push_unicode_string()?,
            b']' => self.push(PickleNode::List(vec![])),
            b')' => self.push(PickleNode::Tuple(vec![])),
            b'}' => self.push(PickleNode::Dict(vec![])),
            b't' | 0x85..=0x87 => self.push_tuple(opcode)?,
            b'a' | b'e' => self.append_items(opcode)?,
            b's' | b'u' => self.set_items(opcode)?,
            b'h' | b'j' => self.get_memo(opcode)?,
            b'q' | b'r' => self.put_memo(opcode)?,
            b'c' => self.push_global()?,
            b'R' | 0x81 => self.call(opcode)?,
            b'b' => self.execute_build()?,
            _ => {
                let shown = opcode.escape_ascii();
                return Err(self.error(format!(
                    "opcode `{shown}` is not supported; expected plain data in protocol 2 or 3"
                )));
            }
        }
        Ok(true)
    }

    fn check_protocol(&mut self) -> Result<()> {
        match self.read_bytes()? {
            [2 | 3] => Ok(()),
            [protocol] => Err(self.error(format!("pickle protocol {protocol}; expected 2 or 3"))),
        }
    }

    fn push_integer(&mut self, opcode: u8) -> Result<()> {
        let value = match opcode {
            b'J' => i32::from_le_bytes(self.read_bytes()?).into(),
            b'K' => u8::from_le_bytes(self.read_bytes()?).into(),
            _ => u16::from_le_bytes(self.read_bytes()?).into(),
        };
        self.stack.push(PickleValue::Int(value));
        Ok(())
    }

    fn push_byte_string(&mut self, opcode: u8) -> Result<()> {
        let length = self.read_size(matches!(opcode, b'U' | b'C'))?;
        let bytes = self.take(length)?;
        self.push(PickleNode::Bytes(bytes));
        Ok(())
    }

    fn push_unicode_string(&mut self) -> Result<()> {
        let length = self.read_size(false)?;
        let text = std::str::from_utf8(self.take(length)?);
        let text = text.map_err(|_| self.error("text is not valid UTF-8".into()))?;
        self.push(PickleNode::Text(text));
        Ok(())
    }

    /// Builds a tuple from values on the stack.
    fn push_tuple(&mut self, opcode: u8) -> Result<()> {
        let items = match opcode {
            b't' => self.pop_to_mark()?,
            _ => self.pop_many(usize::from(opcode - 0x84))?,
        };
        self.push(PickleNode::Tuple(items));
        Ok(())
    }

    /// Appends one value, or all values above the last mark, to the list below them.
    fn append_items(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b'a' { self.pop_many(1)? } else { self.pop_to_mark()? };
        let top = self.top()?;
        match self.node_mut(top) {
            Some(PickleNode::List(list)) => list.extend(items),
            _ => return Err(self.error("the target of an append is not a list".into())),
        }
        Ok(())
    }

    /// Adds one entry, or all entries above the last mark, to the dictionary below them.
    fn set_items(&mut self, opcode: u8) -> Result<()> {
        let items = if opcode == b's' { self.pop_many(2)? } else { self.pop_to_mark()? };
        let (pairs, []) = items.as_chunks() else {
            return Err(self.error("a dictionary key has no value".into()));
        };
        let top = self.top()?;
        match self.node_mut(top) {
            Some(PickleNode::Dict(dict)) => {
                dict.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => {
                return Err(
                    self.error("the target of an item assignment is not a dictionary".into())
                );
            }
        }
        Ok(())
    }

    /// Pushes a value from the memo.
    fn get_memo(&mut self, opcode: u8) -> Result<()> {
        let index = self.read_size(opcode == b'h')?;
        let missing = || self.error(format!("memo entry {index} does not exist"));
        let value = self.memo.get(index).copied().flatten().ok_or_else(missing)?;
        self.stack.push(value);
        Ok(())
    }

    /// Stores the top of the stack in the memo. Python numbers the entries from zero, so an index that is
    /// not below the number of bytes is an error.
    fn put_memo(&mut self, opcode: u8) -> Result<()> {
        let (index, size) = (self.read_size(opcode == b'q')?, self.bytes.len());
        if index >= size {
            return Err(
                self.error(format!("memo entry {index}; expected less than the file size {size}"))
            );
        }
        let top = self.top()?;
        if self.memo.len() <= index {
            self.memo.resize(index + 1, None);
        }
        self.memo[index] = Some(top);
        Ok(())
    }

    fn push_global(&mut self) -> Result<()> {
        let [module, name] = [self.read_line()?, self.read_line()?].map(String::from_utf8_lossy);
        let global = globals::find(&module, &name).ok_or_else(|| {
            let full = format!("{module}.{name}");
            let shown: String = full.chars().take(100).collect();
            self.error(format!(
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
            PickleValue::Global(Global::CsrMatrix) if opcode == 0x81 => {
                self.add(PickleNode::CsrMatrix(PickleValue::None))
            }
            PickleValue::Global(function) if opcode == b'R' => self.reduce(function, arguments)?,
            _ => return Err(self.error("the called value is not callable".into())),
        };
        self.stack.push(value);
        Ok(())
    }

    /// Executes `BUILD`: pops a state and sets it on the value that was below.
    fn execute_build(&mut self) -> Result<()> {
        let state = self.pop()?;
        let target = self.top()?;
        self.set_state(target, state)
    }

    /// Reads the next `n` bytes; an error if there are fewer.
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..n).ok_or_else(|| {
            let left = count(rest.len(), "byte", "bytes");
            self.error(format!("the file is truncated: {left} left, expected {n}"))
        })?;
        self.at += n;
        Ok(taken)
    }

    /// Reads the next `N` bytes.
    fn read_bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("`take` returns `N` bytes"))
    }

    /// Reads a length or an index, stored in one byte if `is_short`, otherwise in four.
    fn read_size(&mut self, is_short: bool) -> Result<usize> {
        match is_short {
            true => self.read_bytes().map(|[byte]| byte.into()),
            false => Ok(u32::from_le_bytes(self.read_bytes()?) as usize),
        }
    }

    /// Reads a line without its line feed.
    fn read_line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n');
        let end = end.ok_or_else(|| self.error("unterminated line".into()))?;
        self.at += end + 1;
        Ok(&rest[..end])
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

    /// Creates an error at the current opcode.
    pub(super) fn error(&self, problem: String) -> Error {
        Error::Data { place: format!("{}: byte {}", self.place, self.opcode_at), problem }
    }

    /// Stores a node and pushes a reference to it.
    fn push(&mut self, node: PickleNode<'a>) {
        let value = self.add(node);
        self.stack.push(value);
    }

    /// Returns the stack length at the last mark; the values below it are not accessible.
    fn mark_position(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    /// Returns the top value; an error if there is none above the last mark.
    fn top(&self) -> Result<PickleValue> {
        let reachable = self.stack.get(self.mark_position()..).unwrap_or_default();
        reachable.last().copied().ok_or_else(|| self.error(TOO_FEW_VALUES.into()))
    }

    /// Removes and returns the top value; an error if there is none above the last mark.
    fn pop(&mut self) -> Result<PickleValue> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// Removes and returns the top `n` values; an error if fewer are above the last mark.
    fn pop_many(&mut self, n: usize) -> Result<Vec<PickleValue>> {
        match self.stack.len().checked_sub(n) {
            Some(start) if start >= self.mark_position() => Ok(self.stack.split_off(start)),
            _ => Err(self.error(TOO_FEW_VALUES.into())),
        }
    }

    /// Removes the last mark and the values above it, and returns these values.
    fn pop_to_mark(&mut self) -> Result<Vec<PickleValue>> {
        let mark = self.marks.pop().ok_or_else(|| self.error("no mark on the stack".into()))?;
        Ok(self.stack.split_off(mark))
    }
}
