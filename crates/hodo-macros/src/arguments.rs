//! What stands in the parentheses of the attribute.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, LitStr, Token};

/// `"name", err, key = value, ...`; every part may be missing.
#[derive(Default)]
pub struct Arguments {
    /// The scope's name; the function's own name when missing.
    pub name: Option<LitStr>,
    /// Whether an `Err` the function returns marks the scope as failed.
    pub err: bool,
    /// The attributes, as `scope!` takes them.
    pub pairs: Vec<Pair>,
}

/// One `key = value`.
pub struct Pair {
    key: TokenStream,
    value: Expr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut arguments = Arguments::default();
        if input.peek(LitStr) && !input.peek2(Token![=]) {
            arguments.name = Some(input.parse()?);
            comma(input)?;
        }
        while !input.is_empty() {
            arguments.parse_one(input)?;
            comma(input)?;
        }
        Ok(arguments)
    }
}

impl Arguments {
    fn parse_one(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(Ident::peek_any) && !input.peek2(Token![=]) {
            let word: Ident = input.call(Ident::parse_any)?;
            if word != "err" {
                let help = "expected `\"name\"`, `err` or `key = value`";
                return Err(syn::Error::new(word.span(), help));
            }
            self.err = true;
            return Ok(());
        }
        let pair: Pair = input.parse()?;
        // `scope!` wants the index right after the name; here its place is free.
        let at = if pair.is_index() { 0 } else { self.pairs.len() };
        self.pairs.insert(at, pair);
        Ok(())
    }
}

impl Pair {
    fn is_index(&self) -> bool {
        self.key.to_string() == "index"
    }
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = if input.peek(LitStr) {
            input.parse::<LitStr>()?.into_token_stream()
        } else {
            input.call(Ident::parse_any)?.into_token_stream()
        };
        input.parse::<Token![=]>()?;
        Ok(Pair { key, value: input.parse()? })
    }
}

impl ToTokens for Pair {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Pair { key, value } = self;
        tokens.extend(quote!(#key = #value));
    }
}

fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}
