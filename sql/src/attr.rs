//! `attr(attributes, 'key')`: one attribute of a scope or mark as text, null where it has none.

use datafusion::arrow::array::{Array, ArrayRef, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::as_string_array;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use serde_json::Value;
use std::sync::Arc;

/// The function.
pub fn function() -> ScalarUDF {
    ScalarUDF::from(Attr { signature: Signature::string(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Attr {
    signature: Signature,
}

impl ScalarUDFImpl for Attr {
    fn name(&self) -> &str {
        "attr"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let texts: Vec<ArrayRef> =
            columns.iter().map(|c| cast(c, &DataType::Utf8)).collect::<Result<_, _>>()?;
        let (documents, keys) = (as_string_array(&texts[0])?, as_string_array(&texts[1])?);
        let mut found = StringBuilder::new();
        for row in 0..documents.len() {
            let there = documents.is_valid(row) && keys.is_valid(row);
            found.append_option(
                there.then(|| value(documents.value(row), keys.value(row))).flatten(),
            );
        }
        Ok(ColumnarValue::Array(Arc::new(found.finish())))
    }
}

/// Text as it is, everything else as JSON.
fn value(document: &str, key: &str) -> Option<String> {
    // Most documents lack most keys, and looking is cheaper than reading.
    if key.is_ascii() && !document.contains(key) && !document.contains('\\') {
        return None;
    }
    let Value::Object(mut fields) = serde_json::from_str(document).ok()? else { return None };
    match fields.remove(key)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attribute_is_taken_out() {
        let document =
            r#"{"variant":"beam","size":32,"on":true,"Gr\u00f6\u00dfe":1.5,"none":null}"#;
        assert_eq!(value(document, "variant").as_deref(), Some("beam"));
        assert_eq!(value(document, "size").as_deref(), Some("32"));
        assert_eq!(value(document, "on").as_deref(), Some("true"));
        assert_eq!(value(document, "Größe").as_deref(), Some("1.5"));
        assert_eq!(value(document, "none"), None);
        assert_eq!(value(document, "beam"), None);
        assert_eq!(value("{\"a", "a"), None);
    }
}
