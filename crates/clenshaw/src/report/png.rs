//! Rendering of charts as PNG, with an embedded font so that the result is the same on every machine.

use crate::error::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// A subset of DejaVu Sans with Latin, Greek and the symbols of our charts; see `assets/README.md`.
static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const FAMILY: &str = "DejaVu Sans";

/// Pixels per SVG unit, for sharp text on high-resolution screens.
const SCALE: f32 = 2.0;

/// Renders an SVG drawn by this module as PNG.
///
/// ```
/// use clenshaw::report::{LineChart, svg_to_png};
/// let bytes = svg_to_png(&LineChart::default().to_svg())?;
/// assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn svg_to_png(svg: &str) -> Result<Vec<u8>> {
    let invalid = |problem: String| Error::Data { place: "svg".into(), problem };
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| invalid(e.to_string()))?;
    let side = |length: f32| (SCALE * length).ceil() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let mut image = Pixmap::new(width, height)
        .ok_or_else(|| invalid(format!("{width} x {height} pixels cannot be rendered")))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    image.encode_png().map_err(|e| invalid(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{LineChart, LineSeries};

    fn render(svg: &str) -> Pixmap {
        Pixmap::decode_png(&svg_to_png(svg).unwrap()).unwrap()
    }

    /// The number of pixels of this colour.
    fn count_pixels(image: &Pixmap, [r, g, b]: [u8; 3]) -> usize {
        let same = |p: &&resvg::tiny_skia::PremultipliedColorU8| {
            [p.red(), p.green(), p.blue()] == [r, g, b] && p.alpha() == 255
        };
        image.pixels().iter().filter(same).count()
    }

    fn chart(title: &str) -> String {
        // Enough points that they are drawn without markers.
        let points = (-10..=10).map(|i| (f64::from(i) / 10.0, 1.0)).collect();
        LineChart::responses(title, vec![LineSeries { name: "h".into(), points }]).to_svg()
    }

    #[test]
    fn draws_lines_in_their_colour() {
        let image = render(&chart(""));
        assert_eq!((image.width(), image.height()), (1280, 720));
        // The plot spans 62..573 and the legend line is 28 long; 3 of its 4 pixels are fully covered.
        let blue = count_pixels(&image, [0x00, 0x72, 0xb2]);
        let expected = 3 * 2 * (573 - 62 + 28);
        assert!(blue.abs_diff(expected) < 100, "{blue} pixels, expected about {expected}");
    }

    #[test]
    fn font_has_every_symbol_of_our_charts() {
        let ink = |title: &str| -> u64 {
            render(&chart(title)).pixels().iter().map(|p| 255 - u64::from(p.green())).sum()
        };
        let none = ink("");
        for sign in ["a", "μ", "λ", "²", "⁻", "⁷", "~", "×", "ö", "−", "≤"] {
            assert!(ink(sign) > none, "`{sign}` is not drawn");
        }
        assert_ne!(ink("μ"), ink("\u{4e2d}"), "a known symbol is drawn like a missing one");
    }

    #[test]
    fn rejects_invalid_svg() {
        assert!(svg_to_png("<svg").unwrap_err().to_string().starts_with("svg: "));
        let huge = "<svg xmlns='http://www.w3.org/2000/svg' width='1e9' height='1e9'/>";
        assert!(svg_to_png(huge).is_err());
    }
}
