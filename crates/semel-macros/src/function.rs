//! The annotated function, checked: async, owned arguments with names, a `Result` with both types.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Error, Expr, FnArg, GenericArgument, Ident, ItemFn, Pat, PathArguments, Receiver, ReceiverKind,
    Result, ReturnType, Safety, Token, Type, UnOp,
};

use crate::options::{Asked, Options};

/// A function that can be run once.
pub(crate) struct Function {
    pub(crate) item: ItemFn,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) source: Source,
    /// `T` of `Result<T, E>`.
    pub(crate) value: Type,
    /// `E` of `Result<T, E>`.
    pub(crate) error: Type,
}

/// One argument by name.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    pub(crate) mutability: Option<Token![mut]>,
    /// Whether it is the borrowed argument that the `Once` comes from.
    pub(crate) is_borrowed_source: bool,
    /// Whether it is part of what is asked.
    pub(crate) counts: bool,
}

/// Where the `Once` comes from.
pub(crate) struct Source {
    pub(crate) expr: Expr,
    /// The argument that the expression starts from.
    argument: Option<Ident>,
    /// Whether that argument is itself the `Once`.
    is_argument: bool,
}

impl Function {
    pub(crate) fn new(item: ItemFn, options: &Options) -> Result<Self> {
        check_kind(&item)?;
        let (value, error) = result_types(&item.sig.output, item.sig.ident.span())?;
        let receiver = receiver(&item)?;
        let idents = argument_idents(&item)?;
        let source = source(&item, options, receiver.as_ref(), &idents)?;
        check_skip(options, &idents)?;
        check_run(options, &idents)?;
        let arguments = arguments(&item, options, &source)?;
        check_derived_key(&item, options, &arguments)?;
        Ok(Self {
            receiver,
            arguments,
            source,
            value,
            error,
            item,
        })
    }

    /// The argument that is itself the `Once`, if it is borrowed.
    pub(crate) fn borrowed_once(&self) -> Option<&Ident> {
        let mut arguments = self.arguments.iter();
        let borrowed = arguments.find(|argument| argument.is_borrowed_source)?;
        self.source.is_argument.then_some(&borrowed.ident)
    }

    /// The arguments that are part of what is asked, in the order of their names.
    pub(crate) fn asked(&self) -> Vec<&Ident> {
        let counting = self.arguments.iter().filter(|argument| argument.counts);
        let mut asked: Vec<_> = counting.map(|argument| &argument.ident).collect();
        asked.sort();
        asked
    }
}

fn check_kind(item: &ItemFn) -> Result<()> {
    let sig = &item.sig;
    if sig.asyncness.is_none() {
        let message = "expected an `async fn`: claiming and settling wait for the store";
        return Err(Error::new(sig.fn_token.span, message));
    }
    if let Some(token) = sig.constness {
        return Err(Error::new(
            token.span,
            "expected a function that is not const",
        ));
    }
    if let Safety::Unsafe(token) = sig.safety {
        return Err(Error::new(
            token.span,
            "expected a function that is not unsafe",
        ));
    }
    if let Some(abi) = &sig.abi {
        return Err(Error::new_spanned(
            abi,
            "expected a function without an ABI",
        ));
    }
    Ok(())
}

fn result_types(output: &ReturnType, name: Span) -> Result<(Type, Type)> {
    const EXPECTED: &str = "expected `-> Result<T, E>`: both types are stored and read back";
    let ReturnType::Type(_, ty) = output else {
        return Err(Error::new(name, EXPECTED));
    };
    let expected = || Error::new_spanned(ty, EXPECTED);
    let Type::Path(path) = ty.as_ref() else {
        return Err(expected());
    };
    let last = path.path.segments.last().ok_or_else(expected)?;
    let PathArguments::AngleBracketed(given) = &last.arguments else {
        return Err(expected());
    };
    let types: Vec<_> = given.args.iter().collect();
    match (last.ident == "Result", types.as_slice()) {
        (true, [GenericArgument::Type(value), GenericArgument::Type(error)]) => {
            check_named(value)?;
            check_named(error)?;
            Ok((value.clone(), error.clone()))
        }
        (true, [GenericArgument::Type(_)]) => Err(Error::new_spanned(
            ty,
            "expected the error type too, as in `Result<T, E>`: it is stored and read back",
        )),
        _ => Err(expected()),
    }
}

fn check_named(ty: &Type) -> Result<()> {
    match ty {
        Type::ImplTrait(_) | Type::Infer(_) => Err(Error::new_spanned(
            ty,
            "expected a type that can be named: it is stored and read back",
        )),
        _ => Ok(()),
    }
}

fn receiver(item: &ItemFn) -> Result<Option<Receiver>> {
    let Some(FnArg::Receiver(receiver)) = item.sig.inputs.first() else {
        return Ok(None);
    };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => Err(Error::new_spanned(
            receiver,
            "expected `&self` or `self`: the body runs in a task of its own, on a clone of `self`",
        )),
        ReceiverKind::Typed(_, ty) => check_owned(ty).map(|()| Some(receiver.clone())),
        _ => Ok(Some(receiver.clone())),
    }
}

fn argument_idents(item: &ItemFn) -> Result<Vec<Ident>> {
    let typed = item.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    let ident = |pat: &Pat| match pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Ok(pat.ident.clone()),
        _ => Err(Error::new_spanned(
            pat,
            "expected a name: arguments are fingerprinted by name; take the pattern apart in the body",
        )),
    };
    typed.map(|typed| ident(&typed.pat)).collect()
}

fn source(
    item: &ItemFn,
    options: &Options,
    receiver: Option<&Receiver>,
    idents: &[Ident],
) -> Result<Source> {
    let named_once = idents.iter().find(|ident| *ident == "once");
    let expr: Expr = match (&options.once, named_once, receiver) {
        (Some(expr), _, _) => expr.clone(),
        (None, Some(ident), _) => syn::parse_quote!(#ident),
        (None, None, Some(receiver)) => {
            let this = &receiver.self_token;
            syn::parse_quote!(#this.once)
        }
        (None, None, None) => {
            let message = "expected an argument `once: &Once`, or the option `once = …` that says \
                           where the `Once` is";
            return Err(Error::new(item.sig.ident.span(), message));
        }
    };
    let root = root_of(&expr).filter(|root| idents.contains(root));
    Ok(Source {
        is_argument: matches!(expr, Expr::Path(_)),
        argument: root,
        expr,
    })
}

/// The name that an expression starts from: `state` in `&state.pools.once()`.
fn root_of(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident().cloned(),
        Expr::Field(field) => root_of(&field.base),
        Expr::MethodCall(call) => root_of(&call.receiver),
        Expr::Reference(reference) => root_of(&reference.expr),
        Expr::Paren(paren) => root_of(&paren.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => root_of(&unary.expr),
        _ => None,
    }
}

fn check_skip(options: &Options, idents: &[Ident]) -> Result<()> {
    let stray = options.skip.iter().find(|name| !idents.contains(name));
    stray.map_or(Ok(()), |name| {
        let message = format!("expected the name of an argument, found `{name}`");
        Err(Error::new(name.span(), message))
    })
}

fn check_run(options: &Options, idents: &[Ident]) -> Result<()> {
    match &options.run {
        Some(run) if idents.contains(run) => {
            let message = format!("expected a name that no argument has, found `{run}`");
            Err(Error::new(run.span(), message))
        }
        _ => Ok(()),
    }
}

fn arguments(item: &ItemFn, options: &Options, source: &Source) -> Result<Vec<Argument>> {
    let mut arguments = Vec::new();
    for input in &item.sig.inputs {
        let FnArg::Typed(typed) = input else {
            continue;
        };
        let Pat::Ident(pat) = typed.pat.as_ref() else {
            unreachable!("patterns without a name are refused before");
        };
        let is_source = source.argument.as_ref() == Some(&pat.ident);
        if !is_source {
            check_owned(&typed.ty)?;
        }
        let counts = !is_source && !options.skip.contains(&pat.ident);
        if counts && matches!(options.fingerprint, Asked::Arguments) {
            check_ordered(typed.ty.to_token_stream())?;
        }
        arguments.push(Argument {
            ident: pat.ident.clone(),
            mutability: pat.mutability,
            is_borrowed_source: is_source && matches!(typed.ty.as_ref(), Type::Reference(_)),
            counts,
        });
    }
    Ok(arguments)
}

/// The body outlives the call, so nothing that it uses may be borrowed from the caller.
fn check_owned(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => match &reference.lifetime {
            Some(lifetime) if lifetime.ident == "static" => check_owned(&reference.elem),
            _ => Err(borrowed(reference.and_token.span)),
        },
        Type::Array(array) => check_owned(&array.elem),
        Type::Group(group) => check_owned(&group.elem),
        Type::Paren(paren) => check_owned(&paren.elem),
        Type::Tuple(tuple) => tuple.elems.iter().try_for_each(check_owned),
        Type::Path(path) => {
            let arguments = path.path.segments.iter().map(|segment| &segment.arguments);
            let angled = arguments.filter_map(|arguments| match arguments {
                PathArguments::AngleBracketed(angled) => Some(&angled.args),
                PathArguments::None | PathArguments::Parenthesized(_) => None,
            });
            angled.flatten().try_for_each(check_owned_argument)
        }
        _ => Ok(()),
    }
}

fn check_owned_argument(argument: &GenericArgument) -> Result<()> {
    match argument {
        GenericArgument::Type(ty) => check_owned(ty),
        GenericArgument::Lifetime(lifetime) if lifetime.ident != "static" => {
            Err(borrowed(lifetime.span()))
        }
        _ => Ok(()),
    }
}

fn borrowed(span: Span) -> Error {
    let message = "expected an owned type: the body runs in a task of its own and may outlive the \
                   caller";
    Error::new(span, message)
}

/// A set whose order is random is another JSON array in every process, and so another fingerprint. Maps are JSON
/// objects, whose order does not count.
fn check_ordered(ty: TokenStream) -> Result<()> {
    for token in ty {
        match token {
            TokenTree::Ident(ident) if is_unordered_set(&ident.to_string()) => {
                let message = format!(
                    "`{ident}` has another order in every process, so equal arguments would have different \
                     fingerprints: use `BTreeSet`, or leave the argument out with `skip` or `fingerprint`"
                );
                return Err(Error::new(ident.span(), message));
            }
            TokenTree::Group(group) => check_ordered(group.stream())?,
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    Ok(())
}

/// The sets of the standard library and of the usual crates: `HashSet`, `AHashSet`, `FxHashSet`, `DashSet`.
fn is_unordered_set(name: &str) -> bool {
    name.ends_with("HashSet") || name == "DashSet"
}

fn check_derived_key(item: &ItemFn, options: &Options, arguments: &[Argument]) -> Result<()> {
    let is_derived = options.key.is_none() && matches!(options.fingerprint, Asked::Arguments);
    if is_derived && !arguments.iter().any(|argument| argument.counts) {
        let message = "no argument is left to derive a key from, so only the first call would run: \
                       add `key`";
        return Err(Error::new(item.sig.ident.span(), message));
    }
    Ok(())
}
