//! The `#[hodo::scoped]` attribute; use it through the `hodo` crate, which documents it.

mod arguments;
mod expand;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Records every call of a function as a scope. See `hodo::scoped`.
#[proc_macro_attribute]
pub fn scoped(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as arguments::Arguments);
    let function = parse_macro_input!(item as ItemFn);
    expand::function(arguments, function).unwrap_or_else(syn::Error::into_compile_error).into()
}
