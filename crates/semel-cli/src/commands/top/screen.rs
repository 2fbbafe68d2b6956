//! The terminal: asks, draws, and listens to keys until it is left.

use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{MissedTickBehavior, interval};

use super::Watched;
use super::draw::{View, draw};
use super::frame::Frame;
use super::sample::Sample;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// How long the thread that reads keys looks before it asks whether anybody listens.
const LOOK: Duration = Duration::from_millis(200);
/// Keys that may wait.
const KEYS_MAX: usize = 32;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Quit,
    Pause,
    Up,
    Down,
    Draw,
}

impl Wish {
    fn of(event: &Event) -> Option<Self> {
        let Event::Key(KeyEvent {
            code,
            modifiers,
            kind: KeyEventKind::Press,
            ..
        }) = event
        else {
            return matches!(event, Event::Resize(..)).then_some(Self::Draw);
        };
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Self::Quit),
            KeyCode::Char('q') | KeyCode::Esc => Some(Self::Quit),
            KeyCode::Char('p' | ' ') => Some(Self::Pause),
            KeyCode::Up => Some(Self::Up),
            KeyCode::Down => Some(Self::Down),
            _ => None,
        }
    }
}

/// Watches until a key ends it. A process that does not answer is asked again.
pub(super) async fn watch(watched: &Watched, every: Duration) -> Result<()> {
    let before = watched.sample().await?;
    let mut screen = Screen::open()?;
    let show = |frame: &Frame, view: View<'_>| screen.show(frame, view);
    follow(watched, before, every, keys(), show).await
}

/// Asks and draws until a key ends it. Keys count while the answer is awaited, too.
async fn follow(
    watched: &Watched,
    mut before: Sample,
    every: Duration,
    mut wishes: Receiver<Wish>,
    mut show: impl FnMut(&Frame, View<'_>) -> Result<()>,
) -> Result<()> {
    let mut frame = Frame::of(&watched.address, None, &before);
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut scroll, mut paused, mut away) = (0usize, false, None::<String>);
    let mut sampling = None;
    loop {
        let view = View {
            scroll,
            paused,
            away: away.as_deref(),
        };
        show(&frame, view)?;
        tokio::select! {
            wish = wishes.recv() => match wish {
                None | Some(Wish::Quit) => return Ok(()),
                Some(Wish::Pause) => paused = !paused,
                Some(Wish::Up) => scroll = scroll.saturating_sub(1),
                Some(Wish::Down) => {
                    let rows = frame.scopes.len().max(frame.consumers.len());
                    scroll = (scroll + 1).min(rows.saturating_sub(1));
                }
                Some(Wish::Draw) => {}
            },
            _ = ticks.tick(), if !paused && sampling.is_none() => {
                sampling = Some(Box::pin(watched.sample()));
            }
            sampled = answer(&mut sampling) => {
                sampling = None;
                match sampled {
                    Ok(now) => {
                        frame = Frame::of(&watched.address, Some(&before), &now);
                        (before, away) = (now, None);
                    }
                    Err(error) => away = Some(error.message().to_owned()),
                }
            }
        }
    }
}

/// What comes of the question that is under way; never anything if there is none.
async fn answer<F: Future + Unpin>(asked: &mut Option<F>) -> F::Output {
    match asked {
        Some(asked) => asked.await,
        None => std::future::pending().await,
    }
}

/// The terminal while it is ours; it is given back when this is dropped.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> Result<Self> {
        ratatui::try_init()
            .map(Self)
            .map_err(|error| unusable(&error))
    }

    fn show(&mut self, frame: &Frame, view: View<'_>) -> Result<()> {
        let drawn = self.0.draw(|screen| {
            let area = screen.area();
            draw(frame, view, area, screen.buffer_mut());
        });
        drawn.map(drop).map_err(|error| unusable(&error))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn unusable(error: &std::io::Error) -> Error {
    Error::new(Exit::Io, format!("cannot use the terminal: {error}"))
}

/// What keys ask for, read by a thread that ends when the answer is dropped.
fn keys() -> Receiver<Wish> {
    let (sender, receiver) = channel(KEYS_MAX);
    std::thread::spawn(move || read(&sender));
    receiver
}

fn read(wishes: &Sender<Wish>) {
    while !wishes.is_closed() {
        match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return,
        }
        let Ok(event) = event::read() else {
            return;
        };
        if let Some(wish) = Wish::of(&event)
            && wishes.blocking_send(wish).is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ask::{Address, Trust};

    #[tokio::test]
    async fn a_key_ends_it_while_the_process_hangs() {
        // It accepts connections and never answers.
        let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", hanging.local_addr().unwrap());
        let watched = Watched {
            address: Address::Url(url, Trust::Machine),
            token: None,
        };
        let (wishes, keys) = channel(KEYS_MAX);
        let mut shown = 0;
        let show = |_: &Frame, _: View<'_>| {
            shown += 1;
            // The second picture is drawn when the process has been asked.
            if shown == 2 {
                wishes.try_send(Wish::Quit).unwrap();
            }
            Ok(())
        };
        let every = Duration::from_secs(1);
        let following = follow(&watched, Sample::nothing(), every, keys, show);
        let ended = tokio::time::timeout(Duration::from_secs(5), following).await;
        ended.expect("it ends before the process answers").unwrap();
    }

    #[test]
    fn keys_ask_for_what_the_help_says() {
        let wish = |code, modifiers| Wish::of(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = KeyModifiers::NONE;
        assert_eq!(wish(KeyCode::Char('q'), plain), Some(Wish::Quit));
        assert_eq!(
            wish(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Wish::Quit)
        );
        assert_eq!(wish(KeyCode::Char('c'), plain), None);
        assert_eq!(wish(KeyCode::Char('p'), plain), Some(Wish::Pause));
        assert_eq!(wish(KeyCode::Down, plain), Some(Wish::Down));
        assert_eq!(Wish::of(&Event::Resize(1, 1)), Some(Wish::Draw));
    }
}
