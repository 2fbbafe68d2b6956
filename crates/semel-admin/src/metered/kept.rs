//! What is kept of a call's items while the store has them.

/// Notes about items: for one item, which is what almost every call has, without an allocation.
#[derive(Debug)]
pub(super) enum Kept<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Kept<T> {
    pub(super) fn of<I>(items: &[I], note: impl Fn(&I) -> T) -> Self {
        match items {
            [only] => Self::One(note(only)),
            items => Self::Many(items.iter().map(note).collect()),
        }
    }

    /// Notes and answers side by side.
    pub(super) fn with<'a, A>(&'a self, answers: &'a [A]) -> impl Iterator<Item = (&'a T, &'a A)> {
        let notes = match self {
            Self::One(note) => std::slice::from_ref(note),
            Self::Many(notes) => notes,
        };
        notes.iter().zip(answers)
    }
}
