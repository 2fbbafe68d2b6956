//! All pages, in the order of the navigation.

use std::pin::Pin;

use super::page::{Act, Acted, Ask, Page};
use super::pages;
use crate::refused::Refused;
use crate::tokens::Needs;

pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send>>;

/// What a form does.
pub(super) type Run = fn(Act) -> Boxed<Acted>;

/// One page.
pub(super) struct Route {
    /// Its address.
    pub(super) path: &'static str,
    /// Its name in the navigation; `None` for what one reaches from another page.
    pub(super) name: Option<&'static str>,
    /// Under which heading it stands there.
    pub(super) group: &'static str,
    /// The role to look at it.
    pub(super) needs: Needs,
    /// Renders it.
    pub(super) page: fn(Ask) -> Boxed<Page>,
    /// What a form that is posted to it does, and the role for it.
    pub(super) act: Option<(Needs, Run)>,
}

impl Route {
    /// A page to look at.
    const fn new(
        path: &'static str,
        group: &'static str,
        name: Option<&'static str>,
        page: fn(Ask) -> Boxed<Page>,
    ) -> Self {
        Self {
            path,
            name,
            group,
            needs: Needs::Read,
            page,
            act: None,
        }
    }

    /// The same with a form.
    const fn acting(mut self, needs: Needs, act: Run) -> Self {
        self.act = Some((needs, act));
        self
    }
}

/// The headings of the navigation, in their order.
pub(super) const GROUPS: [&str; 4] = [NOW, REQUESTS, MESSAGES, PROCESS];
const NOW: &str = "Now";
const REQUESTS: &str = "Requests";
const MESSAGES: &str = "Messages";
const PROCESS: &str = "Process";

/// The table.
pub(super) static PAGES: &[Route] = &[
    Route::new("/", NOW, Some("Overview"), |ask| {
        Box::pin(pages::overview::page(ask))
    }),
    Route::new("/alerts", NOW, Some("Alerts"), |ask| {
        Box::pin(pages::alerts::page(ask))
    }),
    Route::new("/duplicates", NOW, Some("Duplicates"), |ask| {
        Box::pin(pages::duplicates::page(ask))
    }),
    Route::new("/keys", REQUESTS, Some("Keys"), |ask| {
        Box::pin(pages::keys::page(ask))
    })
    .acting(Needs::Admin, |act| Box::pin(pages::keys::act(act))),
    Route::new("/keys/one", REQUESTS, None, |ask| {
        Box::pin(pages::keys::one::page(ask))
    })
    .acting(Needs::Operate, |act| {
        Box::pin(pages::keys::decide::act(act))
    }),
    Route::new("/unknown", REQUESTS, Some("Unknown"), |ask| {
        Box::pin(pages::unknown::page(ask))
    })
    .acting(Needs::Operate, |act| Box::pin(pages::unknown::act(act))),
    Route::new("/observe", REQUESTS, Some("Observe"), |ask| {
        Box::pin(pages::observe::page(ask))
    }),
    Route::new("/inbox", MESSAGES, Some("Inbox"), |ask| {
        Box::pin(pages::inbox::page(ask))
    })
    .acting(Needs::Operate, |act| Box::pin(pages::inbox::act(act))),
    Route::new("/inbox/one", MESSAGES, None, |ask| {
        Box::pin(pages::inbox::one::page(ask))
    }),
    Route::new("/dead-letters", MESSAGES, Some("Dead letters"), |ask| {
        Box::pin(pages::dead_letters::page(ask))
    }),
    Route::new("/intents", MESSAGES, Some("Intents"), |ask| {
        Box::pin(pages::intents::page(ask))
    }),
    Route::new("/configuration", PROCESS, Some("Configuration"), |ask| {
        Box::pin(pages::configuration::page(ask))
    }),
    Route::new("/audit", PROCESS, Some("Audit"), |ask| {
        Box::pin(pages::audit::page(ask))
    }),
];

/// The page at an address.
pub(super) fn find(path: &str) -> Option<&'static Route> {
    PAGES.iter().find(|route| route.path == path)
}
