//! All groups of a query side by side.

use super::statistics_fields;
use super::values::{Statistics, Values};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Builder, LargeListArray, PrimitiveArray,
    StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, Field, Int64Type, UInt32Type, UInt64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The values of every group, until all are there.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<Values>,
    bytes: usize,
}

impl Groups {
    fn take(&mut self, emit_to: EmitTo) -> Vec<Values> {
        let taken = emit_to.take_needed(&mut self.groups);
        self.bytes -= taken.iter().map(Values::bytes).sum::<usize>();
        taken
    }

    fn widen(&mut self, groups: usize) {
        self.groups.resize_with(groups, Values::default);
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.widen(total_num_groups);
        let values = values[0].as_primitive::<Int64Type>();
        for (row, &group) in group_indices.iter().enumerate() {
            if let Some(value) = counted(values, opt_filter, row) {
                self.bytes += self.groups[group].push(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(statistics(self.take(emit_to))))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(state(self.take(emit_to)))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.widen(total_num_groups);
        let (small, large) = (values[0].as_list::<i64>(), values[1].as_list::<i64>());
        for (row, &group) in group_indices.iter().enumerate() {
            let (small, large) = (small.value(row), large.value(row));
            let small = small.as_primitive::<UInt32Type>().values();
            let large = large.as_primitive::<UInt64Type>().values();
            self.bytes += self.groups[group].extend(small, large);
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<Int64Type>();
        let alone = |row| {
            let mut group = Values::default();
            if let Some(value) = counted(values, opt_filter, row) {
                group.push(value);
            }
            group
        };
        Ok(state((0..values.len()).map(alone).collect()))
    }

    fn size(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Values>()
    }
}

/// The value of a row that is there and not filtered out. A duration below nothing counts as none
/// at all: only a damaged file has one.
fn counted(
    values: &PrimitiveArray<Int64Type>,
    filter: Option<&BooleanArray>,
    row: usize,
) -> Option<u64> {
    let kept = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
    let value = (kept && values.is_valid(row)).then(|| values.value(row))?;
    Some(u64::try_from(value).unwrap_or(0))
}

/// What one part of the query hands to the next: all values of each group.
pub fn state(groups: Vec<Values>) -> Vec<ArrayRef> {
    let lengths = |of: fn(&Values) -> usize| OffsetBuffer::from_lengths(groups.iter().map(of));
    let (small, large) = (lengths(|g| g.small.len()), lengths(|g| g.large.len()));
    let mut all_small = Vec::with_capacity(small.last().copied().unwrap_or(0) as usize);
    let mut all_large = Vec::with_capacity(large.last().copied().unwrap_or(0) as usize);
    for group in groups {
        all_small.extend_from_slice(&group.small);
        all_large.extend_from_slice(&group.large);
    }
    vec![list::<UInt32Type>(small, all_small), list::<UInt64Type>(large, all_large)]
}

fn list<T: ArrowPrimitiveType>(offsets: OffsetBuffer<i64>, values: Vec<T::Native>) -> ArrayRef {
    let values = PrimitiveArray::<T>::new(values.into(), None);
    let item = Arc::new(Field::new_list_field(T::DATA_TYPE, true));
    Arc::new(LargeListArray::new(item, offsets, Arc::new(values), None))
}

/// A row a group: its statistics, or null when it has no values.
pub fn statistics(groups: Vec<Values>) -> StructArray {
    let mut columns: [Int64Builder; Statistics::NAMES.len()] = Default::default();
    let mut there = Vec::with_capacity(groups.len());
    for mut group in groups {
        let found = group.statistics().map(Statistics::numbers);
        there.push(found.is_some());
        for (at, column) in columns.iter_mut().enumerate() {
            column.append_option(found.map(|found| found[at]));
        }
    }
    let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
    StructArray::new(statistics_fields(), columns.collect(), Some(NullBuffer::from(there)))
}
