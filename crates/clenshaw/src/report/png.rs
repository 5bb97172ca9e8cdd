//! A chart as PNG, drawn with a font of our own, so that every machine draws the same picture.

use crate::error::{Error, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Latin, Greek and the signs of our charts; `assets/README.md` says how it was made.
static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const FAMILY: &str = "DejaVu Sans";

/// Pixels for each unit of the SVG, so that text is sharp on the screens of today.
const SCALE: f32 = 2.0;

/// The picture of an SVG that [`svg_plot`](super::svg_plot) drew.
///
/// ```
/// use clenshaw::report::{Figure, png, svg_plot};
/// let bytes = png(&svg_plot(&Figure::default()))?;
/// assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let wrong = |problem: String| Error::Data { place: "svg".into(), problem };
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| wrong(e.to_string()))?;
    let side = |length: f32| (SCALE * length).ceil() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let mut picture = Pixmap::new(width, height)
        .ok_or_else(|| wrong(format!("{width} x {height} pixels cannot be drawn")))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    picture.encode_png().map_err(|e| wrong(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Figure, Series, svg_plot};

    fn drawn(svg: &str) -> Pixmap {
        Pixmap::decode_png(&png(svg).unwrap()).unwrap()
    }

    /// How many pixels have this colour.
    fn count(picture: &Pixmap, [r, g, b]: [u8; 3]) -> usize {
        let same = |p: &&resvg::tiny_skia::PremultipliedColorU8| {
            [p.red(), p.green(), p.blue()] == [r, g, b] && p.alpha() == 255
        };
        picture.pixels().iter().filter(same).count()
    }

    fn chart(title: &str) -> String {
        // So many that they are a curve, without marks.
        let points = (-10..=10).map(|i| (f64::from(i) / 10.0, 1.0)).collect();
        svg_plot(&Figure::responses(title, vec![Series { name: "h".into(), points }]))
    }

    #[test]
    fn a_line_has_its_colour_and_its_place() {
        let picture = drawn(&chart(""));
        assert_eq!((picture.width(), picture.height()), (1280, 720));
        // The box is 62..573 wide and the key's line 28 long; of its 4 pixels 3 are covered whole.
        let blue = count(&picture, [0x00, 0x72, 0xb2]);
        let expected = 3 * 2 * (573 - 62 + 28);
        assert!(blue.abs_diff(expected) < 100, "{blue} pixels, not about {expected}");
    }

    #[test]
    fn every_sign_of_our_charts_has_a_shape() {
        let ink = |title: &str| -> u64 {
            drawn(&chart(title)).pixels().iter().map(|p| 255 - u64::from(p.green())).sum()
        };
        let none = ink("");
        for sign in ["a", "μ", "λ", "²", "⁻", "⁷", "~", "×", "ö", "−", "≤"] {
            assert!(ink(sign) > none, "`{sign}` leaves no trace");
        }
        assert_ne!(
            ink("μ"),
            ink("\u{4e2d}"),
            "a sign that we have looks like one that we have not"
        );
    }

    #[test]
    fn what_is_no_svg_is_refused() {
        assert!(png("<svg").unwrap_err().to_string().starts_with("svg: "));
        let huge = "<svg xmlns='http://www.w3.org/2000/svg' width='1e9' height='1e9'/>";
        assert!(png(huge).is_err());
    }
}
