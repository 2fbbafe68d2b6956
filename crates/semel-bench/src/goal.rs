//! The figures to reach, as ratios to a baseline of the same run.

use std::fmt;

/// A figure to reach: a first one, and the one after that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Its short name.
    pub id: &'static str,
    /// Whether more or less is better.
    pub side: Side,
    /// The first goal.
    pub first: f64,
    /// The goal after that, where there is one.
    pub then: Option<f64>,
}

/// On which side of the figure a ratio should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At least the figure.
    AtLeast,
    /// At most the figure.
    AtMost,
}

const GOALS: [Goal; 19] = [
    goal("G1", Side::AtLeast, 0.25, 0.5),
    goal("G1b", Side::AtMost, 5.0, 3.0),
    goal("G2", Side::AtLeast, 10.0, 30.0),
    goal("G3", Side::AtLeast, 2.0, 4.0),
    goal("G3b", Side::AtLeast, 0.8, 0.95),
    Goal {
        id: "G3d",
        side: Side::AtMost,
        first: 1.1,
        then: None,
    },
    goal("G4", Side::AtLeast, 1.0, 2.0),
    goal("G5", Side::AtLeast, 0.35, 0.5),
    goal("G5b", Side::AtLeast, 1.3, 2.0),
    goal("G5c", Side::AtLeast, 0.9, 1.0),
    goal("G7", Side::AtLeast, 0.6, 0.8),
    Goal {
        id: "G7b",
        side: Side::AtLeast,
        first: 0.95,
        then: None,
    },
    goal("G8", Side::AtLeast, 0.8, 0.95),
    goal("G8b", Side::AtMost, 1.4, 1.15),
    goal("G8c", Side::AtMost, 300.0, 150.0),
    goal("G12", Side::AtLeast, 0.4, 0.6),
    Goal {
        id: "G12b",
        side: Side::AtLeast,
        first: 0.25,
        then: None,
    },
    Goal {
        id: "G15",
        side: Side::AtMost,
        first: 2.0,
        then: None,
    },
    // The kernel counts pages that are shared, and threads come and go: about the same is the same.
    Goal {
        id: "G15 rest",
        side: Side::AtMost,
        first: 1.25,
        then: None,
    },
];

const fn goal(id: &'static str, side: Side, first: f64, then: f64) -> Goal {
    Goal {
        id,
        side,
        first,
        then: Some(then),
    }
}

impl Goal {
    /// The goal with this short name; some measurements have none.
    pub fn find(id: &str) -> Option<Self> {
        GOALS.into_iter().find(|goal| goal.id == id)
    }

    /// What a person reads about a ratio: each figure, and whether it was reached.
    pub fn verdict(&self, ratio: f64) -> String {
        let first = self.line("goal", self.first, ratio);
        match self.then {
            Some(then) => format!("{first}\n{}", self.line("then", then, ratio)),
            None => first,
        }
    }

    fn line(&self, which: &str, figure: f64, ratio: f64) -> String {
        let reached = match self.side {
            Side::AtLeast => ratio >= figure,
            Side::AtMost => ratio <= figure,
        };
        let reached = if reached { "reached" } else { "not reached" };
        format!("{which} {} {figure}: {reached}", self.side)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtLeast => "≥",
            Self::AtMost => "≤",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_name_the_figure_and_whether_it_was_reached() {
        for (id, ratio, verdict) in [
            ("G1", 0.3, "goal ≥ 0.25: reached\nthen ≥ 0.5: not reached"),
            ("G7b", 0.9, "goal ≥ 0.95: not reached"),
            ("G1b", 3.0, "goal ≤ 5: reached\nthen ≤ 3: reached"),
            (
                "G8b",
                1.5,
                "goal ≤ 1.4: not reached\nthen ≤ 1.15: not reached",
            ),
        ] {
            assert_eq!(Goal::find(id).unwrap().verdict(ratio), verdict);
        }
        assert_eq!(Goal::find("lone"), None);
    }
}
