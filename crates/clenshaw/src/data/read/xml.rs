//! Parses XML files: attributes, entities, and errors with line numbers.
//!
//! Only character references and the five predefined entities are accepted, so a small file cannot expand
//! into a huge string.

use crate::error::{Error, Result};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// A parser of one XML format, called for the elements and the text of a document.
pub(super) trait XmlHandler {
    /// Called before each event, such as a tag or text, with its byte position.
    fn set_position(&mut self, at: usize);

    /// The buffer to which text is appended; the handler clears it.
    fn text_buffer(&mut self) -> &mut String;

    /// Called at the start of an element.
    fn start_element(&mut self, tag: &BytesStart) -> Result<()>;

    /// Called at the end of every element, including empty ones such as `<a/>`, with its name.
    fn end_element(&mut self, name: &str) -> Result<()>;
}

/// Parses `text`, the content of `source`, and passes its elements to `handler`; an error if the XML is
/// malformed or the handler returns one. Not every violation is detected: elements may be unclosed at the end.
pub(super) fn parse(source: SourceText, text: &str, handler: &mut impl XmlHandler) -> Result<()> {
    let mut reader = Reader::from_str(text);
    loop {
        let at = reader.buffer_position() as usize;
        handler.set_position(at);
        match reader.read_event() {
            Ok(Event::Start(tag)) => handler.start_element(&tag)?,
            Ok(Event::Empty(tag)) => {
                handler.start_element(&tag)?;
                handler.end_element(tag.name().into_inner())?;
            }
            Ok(Event::End(tag)) => handler.end_element(tag.name().into_inner())?,
            Ok(Event::Text(text)) => handler.text_buffer().push_str(&text.xml10_content()),
            Ok(Event::CData(text)) => handler.text_buffer().push_str(&text.xml10_content()),
            Ok(Event::GeneralRef(entity)) => {
                handler.text_buffer().push_str(&source.entity(at, &entity)?);
            }
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Ok(Event::Eof) => return Ok(()),
            Err(error) => {
                return Err(source.error(reader.error_position() as usize, error.to_string()));
            }
        }
    }
}

/// The name and bytes of a file, for line numbers in errors.
#[derive(Clone, Copy)]
pub(super) struct SourceText<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

impl SourceText<'_> {
    /// Creates an error on the line of this byte.
    pub fn error(&self, at: usize, problem: impl Into<String>) -> Error {
        let before = self.bytes.iter().take(at);
        let line = 1 + before.filter(|&&byte| byte == b'\n').count();
        Error::Data { place: format!("{}:{line}", self.name), problem: problem.into() }
    }

    /// Returns the value of an attribute of the element at byte `at`; `None` if it does not have the attribute.
    pub fn attribute(&self, at: usize, tag: &BytesStart, name: &str) -> Result<Option<String>> {
        let bad =
            |error: &dyn std::fmt::Display| self.error(at, format!("attribute `{name}`: {error}"));
        let attribute = tag.try_get_attribute(name).map_err(|error| bad(&error))?;
        let value = attribute.map(|found| found.normalized_value(XmlVersion::Implicit1_0));
        Ok(value.transpose().map_err(|error| bad(&error))?.map(String::from))
    }

    /// Returns the value of an attribute of the element at byte `at`; an error if it does not have the attribute.
    pub fn required_attribute(&self, at: usize, tag: &BytesStart, name: &str) -> Result<String> {
        let element = tag.name().into_inner();
        let missing = || self.error(at, format!("element `{element}` has no attribute `{name}`"));
        self.attribute(at, tag, name)?.ok_or_else(missing)
    }

    /// Returns the text that an entity at byte `at` represents; an error for custom entities and invalid
    /// character references.
    pub fn entity(&self, at: usize, entity: &BytesRef) -> Result<String> {
        let character =
            entity.resolve_char_ref().map_err(|error| self.error(at, error.to_string()))?;
        match (character, resolve_xml_entity(entity)) {
            (Some(character), _) => Ok(character.into()),
            (None, Some(text)) => Ok(text.into()),
            (None, None) => {
                let name: &str = entity;
                let expected = "expected one of the five predefined in XML";
                Err(self.error(at, format!("entity `&{name};`; {expected}")))
            }
        }
    }
}
