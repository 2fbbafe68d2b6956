//! Bars as SVG, drawn on the server: how often something was so large, with words for those who do not see them.

use maud::{Markup, html};

/// The drawing's own units: one bar with its gap, the room for bars, and the room for names below.
const STEP: usize = 22;
const GAP: usize = 3;
const HEIGHT: u64 = 100;
const NAMES: u64 = 16;
/// How tall a line of text is.
const TEXT: u64 = 10;

/// One bar.
pub(crate) struct Bar {
    /// What it counts, for its title.
    pub(crate) name: String,
    /// What stands below it; most bars have nothing there.
    pub(crate) label: Option<String>,
    /// How many.
    pub(crate) count: u64,
}

/// A row of bars. `mark` is a line after so many of them, and what it stands for.
pub(crate) fn bars(id: &str, title: &str, bars: &[Bar], mark: Option<(usize, &str)>) -> Markup {
    let highest = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let width = bars.len() * STEP;
    html! {
        figure.bars id=(id) {
            figcaption { strong { (title) } }
            div.scroll tabindex="0" role="region" aria-label=(title) {
                svg viewBox={ "0 0 " (width) " " (HEIGHT + NAMES) } role="img" aria-label=(said(title, bars, mark)) {
                    path.grid d={ "M0 " (HEIGHT) "H" (width) } {}
                    @for (at, bar) in bars.iter().enumerate() {
                        @let tall = height(bar.count, highest);
                        @if tall > 0 {
                            rect.bar x=(at * STEP + GAP) y=(HEIGHT - tall) width=(STEP - 2 * GAP) height=(tall) {
                                title { (bar.name) ": " (bar.count) }
                            }
                        }
                        @if let Some(label) = &bar.label {
                            text x=(at * STEP + STEP / 2) y=(HEIGHT + NAMES - 4) { (label) }
                        }
                    }
                    @if let Some((after, name)) = mark {
                        // Its name stands where there is more room.
                        @let (class, x) = match after * 2 > bars.len() {
                            true => ("marked before", after * STEP - GAP),
                            false => ("marked behind", after * STEP + GAP),
                        };
                        path.mark d={ "M" (after * STEP) " 0V" (HEIGHT) } {}
                        text class=(class) x=(x) y=(TEXT) { (name) }
                    }
                }
            }
        }
    }
}

/// How tall a bar is; what is there at all can be seen.
fn height(count: u64, highest: u64) -> u64 {
    match count {
        0 => 0,
        _ => {
            let share = u128::from(count) * u128::from(HEIGHT) / u128::from(highest.max(1));
            u64::try_from(share).unwrap_or(HEIGHT).max(2)
        }
    }
}

fn said(title: &str, bars: &[Bar], mark: Option<(usize, &str)>) -> String {
    let some = bars.iter().filter(|bar| bar.count > 0);
    let mut said: Vec<String> = some
        .map(|bar| format!("{}: {}", bar.name, bar.count))
        .collect();
    said.extend(mark.map(|(_, name)| name.to_owned()));
    format!("{title}. {}", said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_is_there_can_be_seen_and_the_highest_fills_the_room() {
        for (count, highest, tall) in [
            (0, 10, 0),
            (10, 10, HEIGHT),
            (5, 10, HEIGHT / 2),
            (1, 1_000_000, 2),
            (u64::MAX, u64::MAX, HEIGHT),
        ] {
            assert_eq!(height(count, highest), tall, "{count} of {highest}");
        }
    }

    #[test]
    fn bars_say_in_words_what_they_draw() {
        let bar = |name: &str, count| Bar {
            name: name.to_owned(),
            label: None,
            count,
        };
        let drawn = [bar("up to 1s", 3), bar("up to 1m", 0), bar("up to 1h", 1)];
        let html = bars("ages", "Ages", &drawn, Some((2, "retention 1m"))).into_string();
        let words = "Ages. up to 1s: 3; up to 1h: 1; retention 1m";
        assert!(html.contains(words), "{html}");
        assert_eq!(html.matches("<rect").count(), 2, "{html}");
        for (after, class) in [(1, "marked behind"), (3, "marked before")] {
            let html = bars("ages", "Ages", &drawn, Some((after, "retention 1m"))).into_string();
            assert!(html.contains(&format!("<text class=\"{class}\"")), "{html}");
            assert!(html.contains(">retention 1m</text>"), "{html}");
        }
        assert!(!html.contains("style="), "{html}");
    }
}
