//! Integer literals, and string literals of protocol 0.

/// Parses a little-endian two's complement integer; no bytes mean zero.
pub(super) fn twos_complement(bytes: &[u8]) -> Option<i64> {
    let sign = bytes.last().map_or(0, |&last| if last >= 0x80 { 0xff } else { 0 });
    let mut word = [sign; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(word))
}

/// Parses a Python 2 string literal.
pub(super) fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    let inner = [b"'", b"\""].iter().find_map(|&q| line.strip_prefix(q)?.strip_suffix(q))?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match *rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => hexadecimal(&mut rest, 2)? as u8,
                quoted @ (b'\\' | b'\'' | b'"') => quoted,
                _ => return None,
            },
            _ => byte,
        });
    }
    Some(bytes)
}

/// Decodes Python's `raw-unicode-escape`: Latin-1, with `\uXXXX` and `\UXXXXXXXX`.
pub(super) fn unescaped(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.iter();
    while let Some(&byte) = rest.next() {
        let width = match (byte, rest.as_slice().first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(byte));
                continue;
            }
        };
        rest.next();
        text.push(char::from_u32(hexadecimal(&mut rest, width)?)?);
    }
    Some(text)
}

fn hexadecimal(digits: &mut std::slice::Iter<'_, u8>, count: usize) -> Option<u32> {
    (0..count)
        .try_fold(0, |number, _| Some(number << 4 | char::from(*digits.next()?).to_digit(16)?))
}
