//! What is written in the parentheses of the attribute.

use std::time::Duration;

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitBool, LitStr, Path, Result, Token, parenthesized};

use crate::literal::{self, Scope};

const KNOWN: &str = "scope, key, tenant, ttl, archive, lease, wait, unknown, store_result, \
                     on_error, fingerprint, skip, once, run, crate";

/// The options of one function, checked as far as they can be without it.
pub(crate) struct Options {
    pub(crate) root: Path,
    pub(crate) scope: Scope,
    pub(crate) key: Option<Text>,
    pub(crate) tenant: Option<Text>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) archive: bool,
    pub(crate) lease: Option<Duration>,
    pub(crate) wait: Option<Duration>,
    /// The variant of `OnUnknown`.
    pub(crate) unknown: Option<Ident>,
    pub(crate) store_result: Option<bool>,
    pub(crate) on_error: Option<Expr>,
    pub(crate) fingerprint: Asked,
    pub(crate) skip: Vec<Ident>,
    pub(crate) once: Option<Expr>,
    pub(crate) run: Option<Ident>,
}

/// A text that may depend on the arguments.
pub(crate) enum Text {
    /// A format string over the arguments.
    Template(LitStr),
    /// Anything that is `ToString`.
    Of(Expr),
}

/// What the fingerprint is made of.
pub(crate) enum Asked {
    /// All arguments that are not skipped.
    Arguments,
    /// Nothing: the key says everything.
    Off(Span),
    /// The expression is the fingerprint.
    Given(Expr),
}

/// The options as they are read; only the scope has no default.
#[derive(Default)]
struct Draft {
    seen: Vec<Ident>,
    root: Option<Path>,
    scope: Option<Scope>,
    key: Option<Text>,
    tenant: Option<Text>,
    ttl: Option<Duration>,
    archive: bool,
    lease: Option<Duration>,
    wait: Option<Duration>,
    unknown: Option<Ident>,
    store_result: Option<bool>,
    on_error: Option<Expr>,
    fingerprint: Option<Asked>,
    skip: Vec<Ident>,
    once: Option<Expr>,
    run: Option<Ident>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut draft = Draft::default();
        while !input.is_empty() {
            draft.option(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        draft.finish()
    }
}

impl Draft {
    fn option(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name = Ident::parse_any(input)?;
        if self.seen.contains(&name) {
            let message = format!("option `{name}` is given twice");
            return Err(Error::new(name.span(), message));
        }
        self.seen.push(name.clone());
        match name.to_string().as_str() {
            "archive" => self.archive = true,
            "skip" => self.skip = idents(input)?,
            _ => {
                check_known(&name)?;
                let expected = |_| Error::new(name.span(), format!("expected `{name} = …`"));
                input.parse::<Token![=]>().map_err(expected)?;
                self.value(&name.to_string(), input)?;
            }
        }
        Ok(())
    }

    fn value(&mut self, name: &str, input: ParseStream<'_>) -> Result<()> {
        match name {
            "scope" => self.scope = Some(literal::scope(&string(input, "\"payments@1\"")?)?),
            "key" => self.key = Some(key(input)?),
            "tenant" => self.tenant = Some(tenant(input)?),
            "ttl" => self.ttl = Some(literal::ttl(&string(input, "\"24h\"")?)?),
            "lease" => self.lease = Some(literal::lease(&string(input, "\"30s\"")?)?),
            "wait" => self.wait = Some(literal::wait(&string(input, "\"2s\"")?)?),
            "unknown" => self.unknown = Some(unknown(&string(input, "\"hold\"")?)?),
            "store_result" => self.store_result = Some(input.parse::<LitBool>()?.value),
            "on_error" => self.on_error = Some(input.parse()?),
            "fingerprint" => self.fingerprint = Some(fingerprint(input)?),
            "once" => self.once = Some(input.parse()?),
            "run" => self.run = Some(input.parse()?),
            "crate" => self.root = Some(Path::parse_mod_style(input)?),
            _ => unreachable!("unknown options are refused before their value is read"),
        }
        Ok(())
    }

    fn finish(self) -> Result<Options> {
        let Some(scope) = self.scope else {
            let message = "expected `scope = \"name@version\"`: it says which operation this is";
            return Err(Error::new(Span::call_site(), message));
        };
        if let (Some(Asked::Off(span)), None) = (&self.fingerprint, &self.key) {
            let message = "without a fingerprint there is nothing to derive a key from: add `key`";
            return Err(Error::new(*span, message));
        }
        Ok(Options {
            root: self.root.unwrap_or_else(|| syn::parse_quote!(::semel)),
            scope,
            key: self.key,
            tenant: self.tenant,
            ttl: self.ttl,
            archive: self.archive,
            lease: self.lease,
            wait: self.wait,
            unknown: self.unknown,
            store_result: self.store_result,
            on_error: self.on_error,
            fingerprint: self.fingerprint.unwrap_or(Asked::Arguments),
            skip: self.skip,
            once: self.once,
            run: self.run,
        })
    }
}

fn check_known(name: &Ident) -> Result<()> {
    if KNOWN.split(", ").any(|known| name == known) {
        return Ok(());
    }
    let message = format!("unknown option `{name}`, expected one of {KNOWN}");
    Err(Error::new(name.span(), message))
}

/// A string literal; `example` is shown where something else was found.
fn string(input: ParseStream<'_>, example: &str) -> Result<LitStr> {
    let span = input.span();
    let expected = |_| Error::new(span, format!("expected a string literal, as {example}"));
    input.parse().map_err(expected)
}

/// The literal, if the expression is a string literal.
fn as_string(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(literal),
            ..
        }) => Some(literal),
        _ => None,
    }
}

fn key(input: ParseStream<'_>) -> Result<Text> {
    let expr: Expr = input.parse()?;
    match as_string(&expr) {
        Some(template) if literal::has_placeholder(&template.value()) => {
            Ok(Text::Template(template.clone()))
        }
        None if !matches!(expr, Expr::Lit(_)) => Ok(Text::Of(expr)),
        _ => Err(Error::new_spanned(
            expr,
            "this key is the same for every call, so only the first call would run: expected a \
             template with an argument, as \"{order_id}\", or an expression",
        )),
    }
}

fn tenant(input: ParseStream<'_>) -> Result<Text> {
    let expr: Expr = input.parse()?;
    let Some(template) = as_string(&expr) else {
        return Ok(Text::Of(expr));
    };
    if !literal::has_placeholder(&template.value()) {
        literal::check_part(template, "a tenant", &template.value())?;
    }
    Ok(Text::Template(template.clone()))
}

fn unknown(literal: &LitStr) -> Result<Ident> {
    let variant = match literal.value().as_str() {
        "hold" => "Hold",
        "rerun" => "Rerun",
        "reconcile" => "Reconcile",
        other => {
            let message = format!("expected \"hold\", \"rerun\" or \"reconcile\", found {other:?}");
            return Err(Error::new(literal.span(), message));
        }
    };
    Ok(Ident::new(variant, Span::call_site()))
}

fn fingerprint(input: ParseStream<'_>) -> Result<Asked> {
    let expr: Expr = input.parse()?;
    match as_string(&expr) {
        Some(literal) if literal.value() == "off" => Ok(Asked::Off(literal.span())),
        None if !matches!(expr, Expr::Lit(_)) => Ok(Asked::Given(expr)),
        _ => Err(Error::new_spanned(
            expr,
            "expected \"off\" or an expression that gives a `Fingerprint`",
        )),
    }
}

/// `(a, b)`: names of arguments, each once.
fn idents(input: ParseStream<'_>) -> Result<Vec<Ident>> {
    let content;
    parenthesized!(content in input);
    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
    let mut seen = Vec::with_capacity(names.len());
    for name in names {
        if seen.contains(&name) {
            let message = format!("argument `{name}` is skipped twice");
            return Err(Error::new(name.span(), message));
        }
        seen.push(name);
    }
    Ok(seen)
}
