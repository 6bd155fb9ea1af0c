//! Which types does a function have, as far as JSON can say them? What cannot be JSON has no shape.

/// A type whose values can be JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// An integer of 8 bits with a sign.
    S8,
    /// An integer of 8 bits.
    U8,
    /// An integer of 16 bits with a sign.
    S16,
    /// An integer of 16 bits.
    U16,
    /// An integer of 32 bits with a sign.
    S32,
    /// An integer of 32 bits.
    U32,
    /// An integer of 64 bits with a sign.
    S64,
    /// An integer of 64 bits.
    U64,
    /// A number of 32 bits.
    F32,
    /// A number of 64 bits.
    F64,
    /// One letter.
    Char,
    /// A text.
    String,
    /// `list<u8>`: bytes, in Base64.
    Bytes,
    /// Some of one type.
    List(Box<Shape>),
    /// So many of one type.
    Fixed(Box<Shape>, u32),
    /// Pairs of key and value.
    Map(Box<Shape>, Box<Shape>),
    /// Some types in order.
    Tuple(Vec<Shape>),
    /// Types by name.
    Record(Vec<Field>),
    /// One of some cases, each with a value or without.
    Variant(Vec<Case>),
    /// One of some names.
    Enum(Vec<String>),
    /// Some of some names.
    Flags(Vec<String>),
    /// A value or nothing.
    Option(Box<Shape>),
    /// What came of something, or why nothing did.
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
}

/// A type with a name: a field, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, as it is in WIT.
    pub name: String,
    /// What WIT says about it.
    pub docs: String,
    /// Its type.
    pub shape: Shape,
}

/// One case of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What WIT says about it.
    pub docs: String,
    /// What it carries.
    pub shape: Option<Shape>,
}

/// A function that a component exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The interface that exports it, with its version; none if the component itself does.
    pub interface: Option<String>,
    /// Its own name.
    pub name: String,
    /// What WIT says about it.
    pub docs: String,
    /// Its parameters in order.
    pub params: Vec<Field>,
    /// What it returns.
    pub result: Option<Shape>,
}

impl Function {
    /// By what it is called: `INTERFACE#NAME`, or its name.
    pub fn path(&self) -> String {
        match &self.interface {
            Some(interface) => format!("{interface}#{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The functions of a component, and those that no JSON can call, each with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// What can be called.
    pub usable: Vec<Function>,
    /// What cannot, by path.
    pub refused: Vec<(String, String)>,
}

impl Shape {
    /// Whether `null` is a value of it.
    pub(super) fn has_null(&self) -> bool {
        matches!(self, Shape::Option(_))
    }
}
