//! What goes into statements and comes out of them, whichever driver carries it.
//!
//! The store speaks to PostgreSQL through tokio-postgres; a user's own transaction may be another driver's.
//! Statements are plain text with casts, parameters and columns are these few types, so that both
//! run the same SQL.

use bytes::{Bytes, BytesMut};
use semel_core::{Error, Result};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::error::damaged;

/// A parameter or a column.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// `bigint`, and every smaller integer or boolean that is read.
    Int(Option<i64>),
    /// `text`.
    Text(Option<String>),
    /// `bytea`.
    Bytes(Option<Bytes>),
    /// `uuid`.
    Uuid(Option<Uuid>),
    /// `bigint[]`, as a parameter only.
    Ints(Vec<Option<i64>>),
    /// `text[]`, as a parameter only.
    Texts(Vec<Option<String>>),
    /// `bytea[]`, as a parameter only.
    ByteStrings(Vec<Option<Bytes>>),
    /// `uuid[]`, as a parameter only.
    Uuids(Vec<Uuid>),
}

impl std::fmt::Debug for Value {
    /// Values are keys and payloads: only the type shows.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.type_().name())
    }
}

impl Value {
    /// A number.
    pub fn int(value: impl Into<i64>) -> Self {
        Self::Int(Some(value.into()))
    }

    /// A text.
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(Some(value.into()))
    }

    /// Some bytes.
    pub fn bytes(value: &[u8]) -> Self {
        Self::Bytes(Some(Bytes::copy_from_slice(value)))
    }

    /// Many texts, none of them null.
    pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Texts(
            values
                .into_iter()
                .map(|text| Some(text.to_owned()))
                .collect(),
        )
    }

    /// Many numbers, none of them null.
    pub(crate) fn ints(values: impl IntoIterator<Item = i64>) -> Self {
        Self::Ints(values.into_iter().map(Some).collect())
    }

    /// The first of a list, as a parameter of a statement for one item.
    pub(crate) fn alone(self) -> Self {
        match self {
            Self::Ints(values) => Self::Int(values.into_iter().next().flatten()),
            Self::Texts(values) => Self::Text(values.into_iter().next().flatten()),
            Self::ByteStrings(values) => Self::Bytes(values.into_iter().next().flatten()),
            Self::Uuids(values) => Self::Uuid(values.into_iter().next()),
            single @ (Self::Int(_) | Self::Text(_) | Self::Bytes(_) | Self::Uuid(_)) => single,
        }
    }

    /// PostgreSQL's name for it.
    pub(crate) const fn type_(&self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
            Self::Uuid(_) => Type::UUID,
            Self::Ints(_) => Type::INT8_ARRAY,
            Self::Texts(_) => Type::TEXT_ARRAY,
            Self::ByteStrings(_) => Type::BYTEA_ARRAY,
            Self::Uuids(_) => Type::UUID_ARRAY,
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.as_deref().to_sql(ty, out),
            Self::Uuid(value) => value.to_sql(ty, out),
            Self::Ints(values) => values.to_sql(ty, out),
            Self::Texts(values) => values.to_sql(ty, out),
            Self::ByteStrings(values) => {
                let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                values.to_sql(ty, out)
            }
            Self::Uuids(values) => values.to_sql(ty, out),
        }
    }

    /// Parameters are always sent as the type that they are.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(
        ty: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Self::Int(Some(i64::from_sql(ty, raw)?)),
            Type::INT4 => Self::int(i32::from_sql(ty, raw)?),
            Type::INT2 => Self::int(i16::from_sql(ty, raw)?),
            Type::BOOL => Self::int(bool::from_sql(ty, raw)?),
            Type::BYTEA => Self::bytes(raw),
            Type::UUID => Self::Uuid(Some(Uuid::from_sql(ty, raw)?)),
            _ => Self::Text(Some(String::from_sql(ty, raw)?)),
        })
    }

    fn from_sql_null(
        ty: &Type,
    ) -> std::result::Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *ty {
            Type::BYTEA => Self::Bytes(None),
            Type::UUID => Self::Uuid(None),
            Type::INT8 | Type::INT4 | Type::INT2 | Type::BOOL => Self::Int(None),
            _ => Self::Text(None),
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// One row of an answer; columns are read by their place.
#[derive(Debug, Clone)]
pub struct Row(Vec<Value>);

impl Row {
    /// A row with these columns.
    pub const fn new(columns: Vec<Value>) -> Self {
        Self(columns)
    }

    /// The number in column `at`, if it is not null.
    pub(crate) fn int(&self, at: usize) -> Result<Option<i64>> {
        match self.0.get(at) {
            Some(Value::Int(value)) => Ok(*value),
            other => Err(unexpected(at, "a number", other)),
        }
    }

    /// The number in column `at`, which is never null.
    pub(crate) fn number(&self, at: usize) -> Result<i64> {
        self.int(at)?
            .ok_or_else(|| damaged(&format!("column {at} is null")))
    }

    /// The text in column `at`, if it is not null.
    pub(crate) fn text(&self, at: usize) -> Result<Option<&str>> {
        match self.0.get(at) {
            Some(Value::Text(value)) => Ok(value.as_deref()),
            other => Err(unexpected(at, "a text", other)),
        }
    }

    /// The bytes in column `at`, if it is not null.
    pub(crate) fn bytes(&self, at: usize) -> Result<Option<&Bytes>> {
        match self.0.get(at) {
            Some(Value::Bytes(value)) => Ok(value.as_ref()),
            other => Err(unexpected(at, "bytes", other)),
        }
    }

    /// The text in column `at`, which is never null.
    pub(crate) fn word(&self, at: usize) -> Result<&str> {
        self.text(at)?
            .ok_or_else(|| damaged(&format!("column {at} is null")))
    }

    /// The digest in column `at`, which is never null.
    pub(crate) fn digest(&self, at: usize) -> Result<Uuid> {
        match self.0.get(at) {
            Some(Value::Uuid(Some(value))) => Ok(*value),
            other => Err(unexpected(at, "a digest", other)),
        }
    }
}

fn unexpected(at: usize, expected: &str, found: Option<&Value>) -> Error {
    damaged(&format!(
        "column {at} should be {expected}, found {found:?}"
    ))
}
