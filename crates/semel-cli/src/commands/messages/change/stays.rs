//! Why messages that an operation matched stay as they are.

use semel_core::inbox::Report;

use crate::text::plural;

/// One sentence for each reason that the report counts.
pub(super) fn reasons(report: &Report) -> Vec<String> {
    let table = [
        (
            report.older,
            "stays: its lane has gone past this version; `semel inbox skip` ends it",
            "stay: their lanes have gone past these versions; `semel inbox skip` ends them",
        ),
        (
            report.settled,
            "stays: another door or an earlier attempt settled its record",
            "stay: another door or an earlier attempt settled their records",
        ),
        (
            report.waiting,
            "waits for others of its lane; name its id to run it at once",
            "wait for others of their lanes; name their ids to run them at once",
        ),
        (
            report.gone,
            "cannot run again: its payload is no longer kept",
            "cannot run again: their payloads are no longer kept",
        ),
    ];
    let counted = table.into_iter().filter(|(count, ..)| *count > 0);
    let sentence = |(count, one, many)| plural(count, one, many);
    counted.map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence_of_its_own() {
        let report = Report {
            older: 2,
            settled: 1,
            waiting: 3,
            ..Report::default()
        };
        let expected = [
            "2 stay: their lanes have gone past these versions; `semel inbox skip` ends them",
            "1 stays: another door or an earlier attempt settled its record",
            "3 wait for others of their lanes; name their ids to run them at once",
        ];
        assert_eq!(reasons(&report), expected);
        assert!(reasons(&Report::default()).is_empty());
    }
}
