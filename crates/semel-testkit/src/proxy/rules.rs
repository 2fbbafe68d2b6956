//! What the connections through a proxy obey. Connections are numbered as they come, so a rule can
//! mean those that were open when it was made.

/// The rules of the moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    pub(super) refusing: bool,
    pub(super) stalled: bool,
    pub(super) holding: bool,
    /// Connections below this number are to be cut now.
    pub(super) cut_before: usize,
    pub(super) limit: Option<Limit>,
    /// How many limits were made; tells a new one from one that is known.
    limits: usize,
}

/// How much the server may still say on the connections that it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    serial: usize,
    before: usize,
    pub(super) bytes: usize,
}

impl Rules {
    /// Limits the connections below `before` to `bytes` more bytes from the server.
    pub(super) const fn limit(&mut self, before: usize, bytes: usize) {
        self.limits += 1;
        let serial = self.limits;
        self.limit = Some(Limit {
            serial,
            before,
            bytes,
        });
    }

    /// Calls off all but the refusal of new connections, and the cuts that were ordered.
    pub(super) const fn let_pass(&mut self) {
        self.stalled = false;
        self.holding = false;
        self.limit = None;
    }
}

impl Limit {
    /// Whether connection `number` is meant.
    pub(super) const fn means(self, number: usize) -> bool {
        number < self.before
    }
}
