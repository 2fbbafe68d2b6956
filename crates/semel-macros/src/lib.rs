//! The `#[idempotent]` attribute.
//!
//! Read it in this order: `options` reads what stands in the attribute, with `literal` checking what can be
//! checked at compile time; `function` checks the annotated function; `expand` writes what takes its place, with
//! `operation` for the part that names the operation.
//!
//! This crate knows nothing of how an operation is run once: the expansion calls `Once`, and a user could
//! write it by hand.

mod expand;
mod function;
mod literal;
mod operation;
mod options;

use proc_macro::TokenStream;
use syn::ItemFn;

use crate::function::Function;
use crate::options::Options;

/// Makes an async function take effect once per key.
///
/// ```
/// use semel::{MemoryStore, Once, idempotent};
///
/// #[idempotent(scope = "payments@1", key = "{order_id}", ttl = "24h")]
/// async fn charge(once: &Once, order_id: String, cents: u64) -> Result<String, String> {
///     Ok(format!("charged {cents} for {order_id}"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let once = Once::new(MemoryStore::new());
/// let first = charge(&once, "order-17".into(), 4_200).await?;
/// let again = charge(&once, "order-17".into(), 4_200).await?;
/// assert!(!first.replayed && again.replayed);
/// assert_eq!(first.value, again.value);
/// # Ok(()) }
/// ```
///
/// # The signature changes
///
/// A function written as `async fn(…) -> Result<T, E>` is called as
/// `async fn(…) -> Result<Answer<T>, Error<E>>` of `semel::once`. Whoever calls a payment must be able to tell
/// "charged now" from "was charged before", and "failed" from "may have happened": the attribute does not hide it.
///
/// `T` and `E` are stored as JSON and read back, so they are `Serialize` and `DeserializeOwned`. Both must be
/// written out; an alias that hides `E` is refused.
///
/// # The body runs in a task of its own
///
/// It goes on when the caller goes away, so it borrows nothing: arguments are owned (`String`, not `&str`) and `Send`.
/// Two things may be borrowed. `&self` is cloned if the body uses `self` (`Self: Clone + Send + Sync`). The argument that
/// the `Once` comes from is cloned for a body that uses it if it is the `Once` itself; from `state: &State` with
/// `once = state.once` nothing else can be used in the body. In a method the `Once` is by default the field `self.once`:
///
/// ```
/// # use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
/// use semel::{MemoryStore, Once, idempotent};
///
/// #[derive(Clone)]
/// struct Mailer {
///     once: Once,
///     sent: Arc<AtomicU32>,
/// }
///
/// impl Mailer {
///     #[idempotent(scope = "welcome-mail@1", key = user_id)]
///     async fn welcome(&self, user_id: u64) -> Result<u32, String> {
///         Ok(self.sent.fetch_add(1, Ordering::SeqCst) + 1)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mailer = Mailer { once: Once::new(MemoryStore::new()), sent: Arc::default() };
/// assert_eq!(mailer.welcome(7).await?.value, 1);
/// assert_eq!(mailer.welcome(7).await?.value, 1);
/// assert_eq!(mailer.welcome(8).await?.value, 2);
/// # Ok(()) }
/// ```
///
/// A method is put beside the annotated one to hold such a body, so the attribute works in inherent `impl` blocks and
/// not in implementations of traits.
///
/// # Options
///
/// | option | meaning | default |
/// |---|---|---|
/// | `scope = "name@version"` | which operation this is; raise the version when its meaning changes | required |
/// | `key = "{order_id}#{line}"` | a format string over the arguments | derived from scope and fingerprint |
/// | `key = expr` | any expression that is `ToString` | |
/// | `tenant = …` | on whose behalf, written like `key`; constants are allowed | `Tenant::public()` |
/// | `fingerprint = expr` | the `Fingerprint` of what is asked; `?` may be used on `semel::Result` | the JSON of all arguments, by name |
/// | `fingerprint = "off"` | the key alone says everything | |
/// | `skip(a, b)` | these arguments do not count for the fingerprint and need not be `Serialize` | |
/// | `ttl = "24h"` | how long the result is kept: a whole number of `ms`, `s`, `m`, `h` or `d` | the policy of the `Once` |
/// | `archive` | afterwards the record is archived, not deleted | the policy, or deleted with `ttl` |
/// | `lease = "30s"` | how long a lease lasts; it is renewed while the body runs | the policy |
/// | `wait = "2s"` | how long a duplicate waits for the first one; `"0s"` refuses it at once | the policy |
/// | `unknown = "hold"` | who decides about unknown outcomes: `"hold"`, `"rerun"` or `"reconcile"` | the policy |
/// | `store_result = false` | keep only the fact that it happened | the policy |
/// | `on_error = path` | a `Fn(&E) -> OnFailure` that says what each error means | every error is kept |
/// | `once = expr` | where the `Once` is; an argument that the expression starts from does not count for the fingerprint | the argument `once`, or `self.once` |
/// | `run = name` | makes the `semel::once::Run` available in the body, for its fence | |
/// | `crate = path` | where Semel is | `::semel` |
///
/// Without `key`, two honest calls with the same arguments become one operation: leave it out only where that is
/// what is meant. Values in a template are best kept apart by a character that they cannot contain: `"{a}{b}"` gives `1`, `23`
/// and `12`, `3` one key, and the second call is refused because its fingerprint differs.
///
/// The order of arguments does not matter for the fingerprint, their names do: renaming one is a changed meaning and asks for a new
/// version of the scope, as adding one does.
///
/// Fields of structs and keys of maps may come in any order; lists may not. A `HashSet` is a list whose order is random, so it is
/// refused where it can be seen; inside of a struct of yours it cannot, and a `BTreeSet` belongs there.
///
/// # Errors
///
/// A key or a tenant that is not 1 to 255 bytes of text without control characters, or an argument that cannot be written as JSON,
/// is answered with `Error::Refused(Refusal::Invalid(error))` whose kind is `Kind::Invalid`. Nothing ran then.
#[proc_macro_attribute]
pub fn idempotent(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let untouched = item.clone();
    expansion(attribute, item).unwrap_or_else(|error| {
        // The function stays as it was written, and is not criticised for what the expansion would have used, so that
        // the mistake is the only thing that is reported.
        let mut tokens = TokenStream::from(error.into_compile_error());
        tokens.extend(TokenStream::from(quote::quote!(#[allow(unused)])));
        tokens.extend(untouched);
        tokens
    })
}

fn expansion(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options: Options = syn::parse(attribute)?;
    let item: ItemFn = syn::parse(item)?;
    let function = Function::new(item, &options)?;
    Ok(expand::expand(&function, &options).into())
}
