//! The function with its scope put around the body.

use crate::arguments::Arguments;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, ItemFn, LitStr, ReturnType, Signature, Stmt, Type};

/// `function` recorded as a scope.
pub fn function(arguments: Arguments, mut function: ItemFn) -> syn::Result<TokenStream> {
    refuse_const(&function.sig)?;
    let body = if function.sig.asyncness.is_some() {
        async_body(&arguments, &function)
    } else if arguments.err {
        fallible_body(&arguments, &function)
    } else {
        plain_body(&arguments, &function)
    };
    function.block.stmts = vec![Stmt::Expr(Expr::Verbatim(body), None)];
    Ok(function.into_token_stream())
}

fn refuse_const(sig: &Signature) -> syn::Result<()> {
    match &sig.constness {
        Some(constness) => Err(Error::new(
            constness.span(),
            "a const fn cannot be recorded: it may run while compiling; \
             open a `hodo::scope!` where it is called",
        )),
        None => Ok(()),
    }
}

/// The `scope!` or `begin!` call with name and attributes.
fn open(arguments: &Arguments, sig: &Signature, call: TokenStream) -> TokenStream {
    let own_name = || LitStr::new(&sig.ident.unraw().to_string(), sig.ident.span());
    let name = arguments.name.clone().unwrap_or_else(own_name);
    let pairs = &arguments.pairs;
    quote!(#call(#name #(, #pairs)*))
}

/// The guard comes first, so it closes after every other local is dropped.
fn plain_body(arguments: &Arguments, function: &ItemFn) -> TokenStream {
    let open = open(arguments, &function.sig, quote!(::hodo::scope!));
    let scope = local("scope");
    let statements = &function.block.stmts;
    quote!(let #scope = #open; #(#statements)*)
}

/// A closure takes the body so that `return` and `?` end it and the result can be looked at.
fn fallible_body(arguments: &Arguments, function: &ItemFn) -> TokenStream {
    let ItemFn { sig, block, .. } = function;
    let open = open(arguments, sig, quote!(::hodo::scope!));
    let (scope, result) = (local("scope"), local("result"));
    let output = output_type(sig).map(|ty| quote!(-> #ty));
    quote! {
        let mut #scope = #open;
        #[allow(clippy::redundant_closure_call)]
        let #result = (move || #output #block)();
        if let ::core::result::Result::Err(error) = &#result {
            #scope.fail_with(error);
        }
        #result
    }
}

/// The handle begins at the first poll, under whatever awaits the function.
fn async_body(arguments: &Arguments, function: &ItemFn) -> TokenStream {
    let ItemFn { sig, block, .. } = function;
    let open = open(arguments, sig, quote!(::hodo::begin!));
    let statements = &block.stmts;
    let hint = output_hint(sig);
    let scope = local("scope");
    let wrap = if arguments.err {
        quote!(::hodo::__private::in_fallible_scope)
    } else {
        quote!(::hodo::__private::in_scope)
    };
    quote! {
        let #scope = #open;
        #wrap(async move { #hint #(#statements)* }, #scope).await
    }
}

/// Code that never runs, which tells the compiler what the async block returns.
fn output_hint(sig: &Signature) -> Option<TokenStream> {
    let ty = output_type(sig)?;
    let never = local("never");
    Some(quote_spanned! {ty.span()=>
        #[allow(unreachable_code, clippy::diverging_sub_expression, clippy::let_unit_value,
                clippy::needless_return, clippy::empty_loop)]
        if false {
            let #never: #ty = loop {};
            return #never;
        }
    })
}

/// The declared type, unless it cannot be written inside a body.
fn output_type(sig: &Signature) -> Option<&Type> {
    match &sig.output {
        ReturnType::Type(_, ty) if can_be_named(ty) => Some(ty),
        _ => None,
    }
}

fn can_be_named(ty: &Type) -> bool {
    !quote!(#ty).into_iter().any(mentions_impl) && !matches!(ty, Type::Never(_))
}

fn mentions_impl(tree: proc_macro2::TokenTree) -> bool {
    match tree {
        proc_macro2::TokenTree::Ident(ident) => ident == "impl",
        proc_macro2::TokenTree::Group(group) => group.stream().into_iter().any(mentions_impl),
        _ => false,
    }
}

/// A name the user's code cannot see.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
