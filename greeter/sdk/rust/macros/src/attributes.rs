//! What do attributes say about an argument or a field? Documentation, `#[arg(…)]`, and the part of `#[serde(…)]` that
//! changes what JSON looks like.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Expr, Lit, LitStr, Meta, Result, Token, punctuated::Punctuated};

/// The documentation of an item, as one text.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    lines.join("\n").trim().to_owned()
}

/// What `#[arg(…)]` says.
#[derive(Default)]
pub(crate) struct Rules {
    /// The value when none is given.
    pub(crate) default: Option<Expr>,
    /// Keywords of JSON Schema with their values.
    keywords: Vec<(&'static str, Expr)>,
}

/// The names in `#[arg(…)]` and the keywords of JSON Schema that they are.
const KEYWORDS: &[(&str, &str)] = &[
    ("min", "minimum"),
    ("max", "maximum"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("pattern", "pattern"),
    ("choices", "enum"),
];

impl Rules {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Rules> {
        let mut rules = Rules::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let known = KEYWORDS.iter().find(|(own, _)| *own == name).map(|(_, keyword)| *keyword);
                match known {
                    _ if name == "default" => rules.default = Some(meta.value()?.parse()?),
                    Some(keyword) => rules.keywords.push((keyword, meta.value()?.parse()?)),
                    None => {
                        let known: Vec<&str> = KEYWORDS.iter().map(|(own, _)| *own).collect();
                        return Err(meta.error(format!("`{name}` is no rule; there are default, {}", known.join(", "))));
                    }
                }
                Ok(())
            })?;
        }
        Ok(rules)
    }

    /// Code that adds the rules to `property`, a schema's object.
    pub(crate) fn apply(&self) -> TokenStream {
        let default = self.default.iter().map(|value| ("default", value));
        let rules = self.keywords.iter().map(|(keyword, value)| (*keyword, value)).chain(default);
        let set = rules.map(|(keyword, value)| {
            quote! { ::hermes_sdk::__private::set(&mut property, #keyword, ::hermes_sdk::__private::value(&#value)); }
        });
        quote! { #(#set)* }
    }
}

/// What `#[serde(…)]` says.
#[derive(Default)]
pub(crate) struct Serde {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<String>,
    pub(crate) has_default: bool,
}

impl Serde {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Serde> {
        let mut serde = Serde::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            for meta in attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)? {
                let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "rename" => serde.rename = Some(text(&meta)?),
                    "rename_all" => serde.rename_all = Some(text(&meta)?),
                    "default" => serde.has_default = true,
                    "deny_unknown_fields" | "crate" | "skip_serializing_if" => {}
                    _ => {
                        let why = format!(
                            "`Schema` does not know what `#[serde({name})]` makes of the JSON; implement `Schema` by hand"
                        );
                        return Err(syn::Error::new_spanned(meta, why));
                    }
                }
            }
        }
        Ok(serde)
    }
}

fn text(meta: &Meta) -> Result<String> {
    match meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Ok(LitStr::value(text)),
            other => Err(syn::Error::new_spanned(other, "a text is expected here")),
        },
        other => Err(syn::Error::new_spanned(other, "a text is expected here, as in `rename = \"…\"`")),
    }
}

/// A name in the case that `rename_all` asks for. Fields are written in snake case, variants in camel case.
pub(crate) fn in_case(name: &str, case: Option<&str>) -> String {
    let words: Vec<String> = words(name);
    let capital = |word: &String| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    match case {
        Some("lowercase") => words.concat(),
        Some("UPPERCASE") => words.concat().to_uppercase(),
        Some("snake_case") => words.join("_"),
        Some("SCREAMING_SNAKE_CASE") => words.join("_").to_uppercase(),
        Some("kebab-case") => words.join("-"),
        Some("PascalCase") => words.iter().map(capital).collect(),
        Some("camelCase") => words.iter().take(1).cloned().chain(words.iter().skip(1).map(capital)).collect(),
        _ => name.to_owned(),
    }
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
