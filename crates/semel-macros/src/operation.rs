//! The expression that makes the operation: identity, fingerprint and policy.
//!
//! It is evaluated in a closure that returns `semel::Result`, so that a bad key is an error and no panic.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::LitStr;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::function::Function;
use crate::options::{Asked, Options, Text};

/// An expression that makes the operation, or says why there can be none.
pub(crate) fn operation(function: &Function, options: &Options) -> TokenStream {
    let root = &options.root;
    let once = &function.source.expr;
    let (name, version) = (&options.scope.name, options.scope.version);
    let tenant = match &options.tenant {
        Some(tenant) => {
            let tenant = text(tenant);
            quote!(#root::Tenant::new(#tenant)?)
        }
        None => quote!(#root::Tenant::public()),
    };
    let fingerprint = fingerprint(function, options);
    let key = match &options.key {
        Some(key) => {
            let key = text(key);
            quote!(#root::Key::new(#key)?)
        }
        None => {
            let source = format!("{name}@{version}");
            quote_spanned!(Span::mixed_site()=> fingerprint.derive_key(#source))
        }
    };
    let policy = policy(options);
    quote_spanned! {Span::mixed_site()=>
        (|| -> #root::Result<#root::once::Operation> {
            let once: &#root::Once = &(#once);
            let fingerprint: #root::Fingerprint = #fingerprint;
            let scope = #root::Scope::new(#name, #version)?;
            let identity = #root::Identity::new(#tenant, scope, #key);
            let operation = once.operation(identity, fingerprint);
            #policy
            ::core::result::Result::Ok(operation)
        })()
    }
}

fn text(text: &Text) -> TokenStream {
    match text {
        Text::Template(template) => quote_spanned!(template.span()=> ::std::format!(#template)),
        Text::Of(expr) => {
            quote_spanned!(expr.span()=> ::std::string::ToString::to_string(&(#expr)))
        }
    }
}

fn fingerprint(function: &Function, options: &Options) -> TokenStream {
    let root = &options.root;
    match &options.fingerprint {
        Asked::Off(_) => quote!(#root::Fingerprint::none()),
        Asked::Given(expr) => expr.to_token_stream(),
        Asked::Arguments => {
            let parts = function.asked().into_iter().map(|ident| {
                let name = LitStr::new(&ident.unraw().to_string(), ident.span());
                // The span of the argument, so that a missing `Serialize` is shown there.
                quote_spanned! {ident.span()=>
                    .part(#name, #root::Fingerprint::of(&#ident)?.as_bytes())
                }
            });
            quote!(#root::fingerprint::Builder::default() #(#parts)* .finish())
        }
    }
}

/// A statement that puts the operation under the policy that the options ask for.
fn policy(options: &Options) -> TokenStream {
    let root = &options.root;
    let changes: Vec<_> = [
        options.lease.map(|lease| {
            let ms = millis(lease);
            quote_spanned!(Span::mixed_site()=> policy.lease = #root::LeaseTerm::new(#ms)?;)
        }),
        retention(options),
        options.wait.map(|wait| {
            let ms = millis(wait);
            let in_progress = match wait.is_zero() {
                true => quote!(#root::InProgress::Refuse),
                false => quote!(#root::InProgress::Wait(#ms)),
            };
            quote_spanned!(Span::mixed_site()=> policy.in_progress = #in_progress;)
        }),
        options.unknown.as_ref().map(|variant| {
            quote_spanned!(Span::mixed_site()=> policy.on_unknown = #root::OnUnknown::#variant;)
        }),
        options
            .store_result
            .map(|keep| quote_spanned!(Span::mixed_site()=> policy.keep_result = #keep;)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if changes.is_empty() {
        return quote!();
    }
    quote_spanned! {Span::mixed_site()=>
        let mut policy = *once.policy();
        #(#changes)*
        let operation = operation.with_policy(policy);
    }
}

fn retention(options: &Options) -> Option<TokenStream> {
    let root = &options.root;
    let keep = match options.ttl {
        Some(ttl) => millis(ttl),
        None if options.archive => {
            quote_spanned!(Span::mixed_site()=> policy.retention.keep())
        }
        None => return None,
    };
    let then = match options.archive {
        true => quote!(archive_after),
        false => quote!(delete_after),
    };
    Some(quote_spanned! {Span::mixed_site()=>
        policy.retention = #root::Retention::#then(#keep)?;
    })
}

fn millis(duration: Duration) -> TokenStream {
    let ms = u64::try_from(duration.as_millis()).expect("durations were read from 64-bit millis");
    quote!(::core::time::Duration::from_millis(#ms))
}
