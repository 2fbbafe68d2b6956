//! The function that takes the place of the annotated one.
//!
//! Names that the expansion makes up have `mixed_site` hygiene: they neither see nor shadow the user's.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, GenericParam, Ident, Pat, Path, Receiver, ReceiverKind, Signature};

use crate::function::Function;
use crate::operation::operation;
use crate::options::Options;

/// The visible function and, where the body uses `self`, the method that holds the body.
pub(crate) fn expand(function: &Function, options: &Options) -> TokenStream {
    let root = &options.root;
    let uses_self = mentions(&function.item.block.to_token_stream(), "self");
    let task = match &function.receiver {
        Some(receiver) if uses_self => method_task(function, options, receiver),
        _ => block_task(function, options),
    };
    let Task {
        before,
        run,
        method,
    } = task;
    let (value, error) = (&function.value, &function.error);
    let operation = operation(function, options);
    let classify = match &options.on_error {
        Some(expr) => expr.to_token_stream(),
        None => quote_spanned!(Span::mixed_site()=> |_| #root::OnFailure::Keep),
    };
    let attrs = function.item.attrs.iter().map(|attribute| match method {
        Some(_) => expect_as_allow(attribute),
        None => attribute.to_token_stream(),
    });
    let vis = &function.item.vis;
    let signature = visible_signature(function, root);
    // The types are written out with their own spans, so that a missing `Serialize` is shown there.
    let types = quote!(#value, #error, _, _, _);
    let body = quote_spanned! {Span::mixed_site()=>
        let operation = match #operation {
            ::core::result::Result::Ok(operation) => operation,
            ::core::result::Result::Err(error) => {
                return ::core::result::Result::Err(#root::once::Error::Refused(
                    #root::once::Refusal::Invalid(error),
                ));
            }
        };
        #before
        operation.run_classified::<#types>(#classify, #run).await
    };
    quote! {
        #(#attrs)*
        #vis #signature { #body }
        #method
    }
}

/// What the spawned task does.
struct Task {
    /// Statements of the visible function: what must be cloned before the task is made.
    before: TokenStream,
    /// The closure that is run once.
    run: TokenStream,
    /// A method beside the visible one, if the body needs `self`.
    method: Option<TokenStream>,
}

/// The body as an async block.
fn block_task(function: &Function, options: &Options) -> Task {
    let (root, block) = (&options.root, &function.item.block);
    let (value, error) = (&function.value, &function.error);
    let (before, rebind_once) = kept_once(function);
    let mutable = function.arguments.iter().filter_map(|argument| {
        let (ident, mutability) = (&argument.ident, argument.mutability?);
        Some(quote!(let #mutability #ident = #ident;))
    });
    let run_name = run_name(options);
    let result = quote!(::core::result::Result<#value, #error>);
    let run = quote_spanned! {Span::mixed_site()=>
        move |#run_name: #root::once::Run| async move {
            // Never taken; it tells the compiler what `?` and `return` in the body lead to.
            if let ::core::option::Option::Some(result) = ::core::option::Option::None::<#result> {
                return result;
            }
            #rebind_once
            #(#mutable)*
            #[allow(clippy::diverging_sub_expression)]
            let result: #result = #block;
            #[allow(unreachable_code)]
            result
        }
    };
    Task {
        before,
        run,
        method: None,
    }
}

/// The body as a method of its own, so that `self` means in it what it always means.
fn method_task(function: &Function, options: &Options, receiver: &Receiver) -> Task {
    let root = &options.root;
    let (before, rebind_once) = kept_once(function);
    let this = &receiver.self_token;
    let kept_this = Ident::new("this", Span::mixed_site());
    let (clone_this, pass_this) = match receiver.kind {
        // The span of the receiver, so that a missing `Clone` is shown there.
        ReceiverKind::Reference(..) => (
            quote_spanned!(receiver.span()=> let #kept_this = ::core::clone::Clone::clone(#this);),
            quote!(&#kept_this),
        ),
        _ => (quote!(), quote!(#this)),
    };
    let passed = passed_to_method(function);
    let method = method_signature(function, options, &passed);
    let (name, generics) = (&method.ident, turbofish(&method));
    let run = quote_spanned! {Span::mixed_site()=>
        move |run: #root::once::Run| async move {
            #rebind_once
            Self::#name #generics(#pass_this, run, #(#passed),*).await
        }
    };
    let attrs = function.item.attrs.iter().filter(|a| is_for_body(a));
    let block = &function.item.block;
    Task {
        before: quote!(#before #clone_this),
        run,
        method: Some(quote!(#(#attrs)* #[doc(hidden)] #method #block)),
    }
}

/// The arguments that the body uses and that can be moved into its task.
fn passed_to_method(function: &Function) -> Vec<&Ident> {
    let block = function.item.block.to_token_stream();
    let arguments = function.arguments.iter().filter(|argument| {
        let is_movable =
            !argument.is_borrowed_source || function.borrowed_once() == Some(&argument.ident);
        is_movable && mentions(&block, &argument.ident.unraw().to_string())
    });
    arguments.map(|argument| &argument.ident).collect()
}

fn method_signature(function: &Function, options: &Options, passed: &[&Ident]) -> Signature {
    let (root, run_name) = (&options.root, run_name(options));
    let mut signature = function.item.sig.clone();
    let ident = &function.item.sig.ident;
    signature.ident = format_ident!("__semel_{}", ident.unraw(), span = ident.span());
    let inputs = signature.inputs.into_iter().filter(|input| match input {
        FnArg::Receiver(_) => true,
        FnArg::Typed(typed) => name_of(&typed.pat).is_some_and(|name| passed.contains(&name)),
    });
    signature.inputs = inputs.collect();
    let run = syn::parse_quote!(#run_name: #root::once::Run);
    signature.inputs.insert(1, run);
    signature
}

/// A borrowed `Once` is cloned for a body that uses it: it is cheap to clone.
fn kept_once(function: &Function) -> (TokenStream, TokenStream) {
    let block = function.item.block.to_token_stream();
    let used = function
        .borrowed_once()
        .filter(|ident| mentions(&block, &ident.unraw().to_string()));
    let Some(once) = used else {
        return (quote!(), quote!());
    };
    let kept = Ident::new("kept_once", Span::mixed_site());
    (
        quote!(let #kept = ::core::clone::Clone::clone(#once);),
        quote!(let #once = &#kept;),
    )
}

fn run_name(options: &Options) -> Ident {
    let unnamed = || Ident::new("_run", Span::mixed_site());
    options.run.clone().unwrap_or_else(unnamed)
}

/// The signature that callers see: arguments by plain name, and an answer or a refusal.
fn visible_signature(function: &Function, root: &Path) -> Signature {
    let mut signature = function.item.sig.clone();
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(typed) => {
                if let Pat::Ident(pat) = typed.pat.as_mut() {
                    pat.mutability = None;
                }
            }
        }
    }
    let (value, error) = (&function.value, &function.error);
    signature.output = syn::parse_quote! {
        -> ::core::result::Result<#root::once::Answer<#value>, #root::once::Error<#error>>
    };
    signature
}

/// Type and const arguments written out: a body may depend on one that no argument mentions.
fn turbofish(signature: &Signature) -> Option<TokenStream> {
    let params = signature.generics.params.iter();
    let names: Vec<_> = params
        .filter_map(|param| match param {
            GenericParam::Type(ty) => Some(&ty.ident),
            GenericParam::Const(constant) => Some(&constant.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    (!names.is_empty()).then(|| quote!(::<#(#names),*>))
}

fn name_of(pat: &Pat) -> Option<&Ident> {
    match pat {
        Pat::Ident(pat) => Some(&pat.ident),
        _ => None,
    }
}

/// Whether a body uses a name, in format strings too. May say yes for another thing of that name.
fn mentions(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Punct(_) => false,
    })
}

/// Conditions and lint levels concern the body wherever it goes.
fn is_for_body(attribute: &Attribute) -> bool {
    const FOR_BODY: [&str; 6] = ["cfg", "allow", "expect", "warn", "deny", "forbid"];
    FOR_BODY.iter().any(|name| attribute.path().is_ident(name))
}

/// What a lint is expected for is in the body; without it the expectation would go unfulfilled.
fn expect_as_allow(attribute: &Attribute) -> TokenStream {
    match (&attribute.meta, attribute.path().is_ident("expect")) {
        (syn::Meta::List(list), true) => {
            let lints = &list.tokens;
            quote!(#[allow(#lints)])
        }
        _ => attribute.to_token_stream(),
    }
}
