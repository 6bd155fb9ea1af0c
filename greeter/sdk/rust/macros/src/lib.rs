//! How does a function become a tool? `#[tool]` reads its arguments and their documentation, `#[derive(Schema)]` the
//! fields of a type. What is wrong is said in words, at the place where it is.

mod attributes;
mod schema;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool. See `hermes_sdk::tool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = syn::parse::<syn::ItemFn>(item)
        .map_err(|error| syn::Error::new(error.span(), "`#[tool]` stands before a function"))
        .and_then(|function| tool::expand(options.into(), function));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a type one that arguments can have. See `hermes_sdk::Schema`.
#[proc_macro_derive(Schema, attributes(arg, serde))]
pub fn schema(item: TokenStream) -> TokenStream {
    let expanded = syn::parse::<syn::DeriveInput>(item).and_then(schema::expand);
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
