//! What does JSON of a type look like? A struct with named fields is an object, an enum without fields a choice of texts.

use crate::attributes::{Rules, Serde, documentation, in_case};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, GenericArgument, PathArguments, Result, Type};

pub(crate) fn expand(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let serde = Serde::read(&input.attrs)?;
    let case = serde.rename_all.as_deref();
    let body = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object(fields, case)?,
            _ => {
                return Err(syn::Error::new_spanned(
                    name,
                    "`Schema` needs a struct with named fields, which become keys",
                ));
            }
        },
        Data::Enum(data) => {
            let mut choices = Vec::new();
            for variant in &data.variants {
                if !matches!(variant.fields, Fields::Unit) {
                    let why = "`Schema` needs variants without fields, which become texts; use a struct for more";
                    return Err(syn::Error::new_spanned(variant, why));
                }
                let own = Serde::read(&variant.attrs)?.rename;
                choices.push(own.unwrap_or_else(|| in_case(&variant.ident.to_string(), case)));
            }
            quote! { ::hermes_sdk::__private::choice(&[#(#choices),*]) }
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(name, "JSON has nothing like a union")),
    };
    let (generics, types, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::hermes_sdk::Schema for #name #types #bounds {
            fn schema() -> ::hermes_sdk::serde_json::Value {
                #body
            }
        }
    })
}

fn object(fields: &syn::FieldsNamed, case: Option<&str>) -> Result<TokenStream> {
    let mut adds = Vec::new();
    for field in &fields.named {
        let serde = Serde::read(&field.attrs)?;
        let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        let ident = ident.trim_start_matches("r#").to_owned();
        let key = serde.rename.unwrap_or_else(|| in_case(&ident, case));
        let rules = Rules::read(&field.attrs)?;
        if let Some(default) = &rules.default {
            let why =
                "a field's default is said by serde: `#[serde(default)]`; `default` here is for arguments of functions";
            return Err(syn::Error::new_spanned(default, why));
        }
        let required = !serde.has_default && !is_option(&field.ty);
        adds.push(property(&key, &field.ty, &documentation(&field.attrs), &rules, required));
    }
    let object = format_ident!("object");
    Ok(quote! {
        let mut #object = ::hermes_sdk::__private::Object::default();
        #(#adds)*
        #object.schema()
    })
}

/// Code that adds one property to `object`.
pub(crate) fn property(key: &str, type_: &Type, doc: &str, rules: &Rules, required: bool) -> TokenStream {
    let rules = rules.apply();
    quote! {
        {
            let mut property = <#type_ as ::hermes_sdk::Schema>::schema();
            #rules
            object.add(#key, #doc, property, #required);
        }
    }
}

/// Whether a type is an `Option`, as far as its name says.
pub(crate) fn is_option(type_: &Type) -> bool {
    let Type::Path(path) = type_ else { return false };
    path.path.segments.last().is_some_and(|last| {
        let one = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => {
                matches!(arguments.args.first(), Some(GenericArgument::Type(_))) && arguments.args.len() == 1
            }
            _ => false,
        };
        last.ident == "Option" && one
    })
}
