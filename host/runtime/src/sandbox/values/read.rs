//! Which functions does a component export, with which types and descriptions? Read off its bytes; nothing is run.

use super::shape::{Case, Field, Function, Functions, Shape};
use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{FunctionKind, Handle, Resolve, Type, TypeDefKind, WorldId, WorldItem};

/// Most types in one function: types that name each other twice grow as powers of two.
const TYPES: usize = 2000;
/// How deep types may stand in types.
const DEPTH: usize = 32;

/// Reads the functions of a component in its binary form.
///
/// # Errors
/// Why its types cannot be read.
pub fn functions_of(binary: &[u8]) -> Result<Functions, String> {
    // The bytes are a stranger's, and reading types is not what the reader was hardened for.
    let decoded = std::panic::catch_unwind(|| decode(binary));
    match decoded.map_err(|_| "its types cannot be read".to_owned())?.map_err(|error| format!("{error:#}"))? {
        DecodedWasm::Component(resolve, world) => Ok(of_world(&resolve, world)),
        DecodedWasm::WitPackage(..) => Err("it is a package of types, not a component".into()),
    }
}

/// Reads the functions that a world of a WIT text exports.
///
/// # Errors
/// What is wrong with the text, or that it has no such world.
pub fn functions_of_wit(text: &str, world: &str) -> Result<Functions, String> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("given.wit", text).map_err(|error| format!("{error:#}"))?;
    let world = resolve.select_world(&[package], Some(world)).map_err(|error| format!("{error:#}"))?;
    Ok(of_world(&resolve, world))
}

/// Reads the one interface of a WIT text: its full name and its functions.
///
/// # Errors
/// What is wrong with the text, or that it has none or several.
pub fn interface_of_wit(text: &str) -> Result<(String, Functions), String> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("given.wit", text).map_err(|error| format!("{error:#}"))?;
    let mut interfaces = resolve.packages[package].interfaces.values();
    let (Some(id), None) = (interfaces.next(), interfaces.next()) else {
        return Err("its text has not exactly one interface".into());
    };
    let path = resolve.id_of(*id).ok_or("its interface has no name")?;
    let mut functions = Functions::default();
    for function in resolve.interfaces[*id].functions.values() {
        functions.add(&resolve, Some(&path), function);
    }
    Ok((path, functions))
}

fn of_world(resolve: &Resolve, world: WorldId) -> Functions {
    let mut functions = Functions::default();
    for (key, item) in &resolve.worlds[world].exports {
        match item {
            WorldItem::Interface { id, .. } => {
                let interface = resolve.name_world_key(key);
                for function in resolve.interfaces[*id].functions.values() {
                    functions.add(resolve, Some(&interface), function);
                }
            }
            WorldItem::Function(function) => functions.add(resolve, None, function),
            WorldItem::Type { .. } => {}
        }
    }
    functions
}

impl Functions {
    fn add(&mut self, resolve: &Resolve, interface: Option<&String>, function: &wit_parser::Function) {
        match read(resolve, interface, function) {
            Ok(function) => self.usable.push(function),
            Err(why) => {
                let path = interface
                    .map_or_else(|| function.name.clone(), |interface| format!("{interface}#{}", function.name));
                self.refused.push((path, why));
            }
        }
    }
}

fn read(resolve: &Resolve, interface: Option<&String>, function: &wit_parser::Function) -> Result<Function, String> {
    match function.kind {
        FunctionKind::Freestanding => {}
        FunctionKind::AsyncFreestanding => return Err("it is async, which no call waits for yet".into()),
        _ => return Err("it belongs to a resource, and nothing of one call outlives it".into()),
    }
    let mut reader = Reader { resolve, left: TYPES };
    let params = function.params.iter().map(|param| {
        let shape = reader.shape(&param.ty, 0).map_err(|why| format!("its parameter `{}` {why}", param.name))?;
        Ok(Field { name: param.name.clone(), docs: reader.docs_of(&param.ty), shape })
    });
    let params: Vec<Field> = params.collect::<Result<_, String>>()?;
    let result = function.result.as_ref().map(|result| reader.shape(result, 0));
    let result = result.transpose().map_err(|why| format!("its result {why}"))?;
    let docs = function.docs.contents.clone().unwrap_or_default();
    Ok(Function {
        interface: interface.cloned(),
        name: function.name.clone(),
        docs: docs.trim().to_owned(),
        params,
        result,
    })
}

struct Reader<'a> {
    resolve: &'a Resolve,
    left: usize,
}

impl Reader<'_> {
    /// What WIT says about a type that has a name, for a parameter, which cannot have words of its own.
    fn docs_of(&self, type_: &Type) -> String {
        let Type::Id(id) = type_ else { return String::new() };
        self.resolve.types[*id].docs.contents.as_deref().unwrap_or_default().trim().to_owned()
    }

    fn shape(&mut self, type_: &Type, depth: usize) -> Result<Shape, String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| format!("has more than {TYPES} types"))?;
        if depth > DEPTH {
            return Err(format!("has types deeper than {DEPTH}"));
        }
        Ok(match type_ {
            Type::Bool => Shape::Bool,
            Type::U8 => Shape::U8,
            Type::U16 => Shape::U16,
            Type::U32 => Shape::U32,
            Type::U64 => Shape::U64,
            Type::S8 => Shape::S8,
            Type::S16 => Shape::S16,
            Type::S32 => Shape::S32,
            Type::S64 => Shape::S64,
            Type::F32 => Shape::F32,
            Type::F64 => Shape::F64,
            Type::Char => Shape::Char,
            Type::String => Shape::String,
            Type::ErrorContext => return Err("has an error context, which no JSON can be".into()),
            Type::Id(id) => {
                let resolve = self.resolve;
                self.defined(&resolve.types[*id].kind, depth + 1)?
            }
        })
    }

    fn boxed(&mut self, type_: &Type, depth: usize) -> Result<Box<Shape>, String> {
        self.shape(type_, depth).map(Box::new)
    }

    fn defined(&mut self, kind: &TypeDefKind, depth: usize) -> Result<Shape, String> {
        let docs = |docs: &wit_parser::Docs| docs.contents.as_deref().unwrap_or_default().trim().to_owned();
        Ok(match kind {
            TypeDefKind::Type(type_) => self.shape(type_, depth)?,
            TypeDefKind::List(Type::U8) => Shape::Bytes,
            TypeDefKind::List(type_) => Shape::List(self.boxed(type_, depth)?),
            TypeDefKind::FixedLengthList(type_, length) => Shape::Fixed(self.boxed(type_, depth)?, *length),
            TypeDefKind::Map(key, value) => Shape::Map(self.boxed(key, depth)?, self.boxed(value, depth)?),
            TypeDefKind::Option(type_) => Shape::Option(self.boxed(type_, depth)?),
            TypeDefKind::Tuple(tuple) => {
                Shape::Tuple(tuple.types.iter().map(|type_| self.shape(type_, depth)).collect::<Result<_, _>>()?)
            }
            TypeDefKind::Record(record) => {
                let field = |field: &wit_parser::Field| {
                    let shape = self.shape(&field.ty, depth)?;
                    Ok(Field { name: field.name.clone(), docs: docs(&field.docs), shape })
                };
                Shape::Record(record.fields.iter().map(field).collect::<Result<_, String>>()?)
            }
            TypeDefKind::Variant(variant) => {
                let case = |case: &wit_parser::Case| {
                    let shape = case.ty.as_ref().map(|type_| self.shape(type_, depth)).transpose()?;
                    Ok(Case { name: case.name.clone(), docs: docs(&case.docs), shape })
                };
                Shape::Variant(variant.cases.iter().map(case).collect::<Result<_, String>>()?)
            }
            TypeDefKind::Enum(names) => Shape::Enum(names.cases.iter().map(|case| case.name.clone()).collect()),
            TypeDefKind::Flags(flags) => Shape::Flags(flags.flags.iter().map(|flag| flag.name.clone()).collect()),
            TypeDefKind::Result(result) => {
                let ok = result.ok.as_ref().map(|type_| self.boxed(type_, depth)).transpose()?;
                let err = result.err.as_ref().map(|type_| self.boxed(type_, depth)).transpose()?;
                Shape::Result(ok, err)
            }
            TypeDefKind::Resource | TypeDefKind::Handle(Handle::Own(_) | Handle::Borrow(_)) => {
                return Err("has a resource, and nothing of one call outlives it".into());
            }
            TypeDefKind::Future(_) | TypeDefKind::Stream(_) => return Err("has a stream, which no JSON can be".into()),
            TypeDefKind::Unknown => return Err("has a type that is not known".into()),
        })
    }
}
