//! How did what was reached grow? A run's curve as a picture that a browser shows.

use crate::guide::Point;
use std::fmt::Write;

/// Width and height of the picture, and the room around the curve.
const SIZE: (f64, f64) = (720.0, 400.0);
const ROOM: (f64, f64) = (70.0, 50.0);

/// An SVG of a curve: over the calls, how many edges had been reached. `calls` is where it ends.
pub fn plot(title: &str, curve: &[Point], calls: u64) -> String {
    let most = curve.last().map_or(1, |point| point.edges.max(1)) as f64;
    let calls = calls.max(curve.last().map_or(1, |point| point.calls)).max(1) as f64;
    let (width, height) = (SIZE.0 - 2.0 * ROOM.0, SIZE.1 - 2.0 * ROOM.1);
    let x = |at: f64| ROOM.0 + at / calls * width;
    let y = |edges: f64| SIZE.1 - ROOM.1 - edges / most * height;
    let mut path = format!("M{:.1} {:.1}", x(0.0), y(0.0));
    for point in curve {
        let _ = write!(path, "H{:.1}V{:.1}", x(point.calls as f64), y(point.edges as f64));
    }
    let _ = write!(path, "H{:.1}", x(calls));
    let mut marks = String::new();
    for quarter in 0..=4 {
        let part = f64::from(quarter) / 4.0;
        let (at, edges) = ((calls * part).round(), (most * part).round());
        let _ = write!(
            marks,
            "<path class=\"grid\" d=\"M{left:.1} {row:.1}H{right:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{edges}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{at}</text>",
            ROOM.0 - 8.0,
            y(edges) + 4.0,
            x(at),
            SIZE.1 - ROOM.1 + 18.0,
            left = ROOM.0,
            right = SIZE.0 - ROOM.0,
            row = y(edges),
        );
    }
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\
         <style>.grid{{stroke:#ccc}} .curve{{stroke:#06c;stroke-width:2;fill:none}}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"{}\" y=\"24\" font-size=\"15\">{title}</text>{marks}\
         <path class=\"curve\" d=\"{path}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">calls</text>\
         <text x=\"{}\" y=\"{}\">edges</text></svg>\n",
        SIZE.0,
        SIZE.1,
        ROOM.0,
        SIZE.0 / 2.0,
        SIZE.1 - 12.0,
        10,
        ROOM.1 - 10.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_curve_goes_from_nothing_to_all_that_was_reached() {
        let point = |calls, edges| Point { calls, after: Duration::ZERO, edges };
        let picture = plot("a & b <c>", &[point(1, 50), point(60, 100)], 100);
        assert!(picture.contains("d=\"M70.0 350.0H75.8V200.0H418.0V50.0H650.0\""), "{picture}");
        assert!(picture.contains("a &amp; b &lt;c&gt;"), "{picture}");
        assert!(plot("", &[], 0).contains("</svg>"));
    }
}
