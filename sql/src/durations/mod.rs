//! `durations(duration_ns)`: exact mean, p50, p95, p99 and maximum of a group as one struct, by the
//! same rules as `hodo report`, in one pass over the values.

mod groups;
mod values;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Fields, Int64Type, UInt32Type, UInt64Type,
};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use groups::Groups;
use std::sync::Arc;
use values::{Statistics, Values};

/// The function.
pub fn function() -> AggregateUDF {
    AggregateUDF::from(DurationStatistics {
        signature: Signature::exact(vec![DataType::Int64], Volatility::Immutable),
    })
}

fn statistics_fields() -> Fields {
    Statistics::NAMES.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect()
}

fn list_of(item: DataType) -> DataType {
    DataType::LargeList(Arc::new(Field::new_list_field(item, true)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DurationStatistics {
    signature: Signature,
}

impl AggregateUDFImpl for DurationStatistics {
    fn name(&self) -> &str {
        "durations"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(statistics_fields()))
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |part, item| Field::new(format!("{}[{part}]", args.name), list_of(item), true);
        Ok(vec![
            Arc::new(field("small", DataType::UInt32)),
            Arc::new(field("large", DataType::UInt64)),
        ])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::default()))
    }
}

/// The values of a query that groups by nothing.
#[derive(Debug, Default)]
struct One(Values);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Int64Type>().iter().flatten() {
            self.0.push(u64::try_from(value).unwrap_or(0));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let row = groups::statistics(vec![std::mem::take(&mut self.0)]);
        Ok(ScalarValue::Struct(Arc::new(row)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = groups::state(vec![std::mem::take(&mut self.0)]);
        state.iter().map(|list| ScalarValue::try_from_array(list, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (small, large) = (states[0].as_list::<i64>(), states[1].as_list::<i64>());
        for row in 0..small.len() {
            let (small, large) = (small.value(row), large.value(row));
            let small = small.as_primitive::<UInt32Type>().values();
            self.0.extend(small, large.as_primitive::<UInt64Type>().values());
        }
        Ok(())
    }
}
