//! The node of every row, in as many bytes as the number of nodes needs.

use super::paths::NodeId;
use crate::Row;

/// By row a node, or none: the largest number of the width stands for that.
#[derive(Debug, PartialEq)]
pub(crate) enum NodeColumn {
    Bytes(Vec<u8>),
    Shorts(Vec<u16>),
    Words(Vec<u32>),
}

impl NodeColumn {
    /// No row has a node yet.
    pub(crate) fn new(rows: usize) -> NodeColumn {
        NodeColumn::Bytes(vec![u8::MAX; rows])
    }

    /// The node of a row.
    #[inline]
    pub(crate) fn get(&self, row: Row) -> Option<NodeId> {
        let at = row as usize;
        match self {
            NodeColumn::Bytes(of) => Some(of[at]).filter(|&n| n != u8::MAX).map(NodeId::from),
            NodeColumn::Shorts(of) => Some(of[at]).filter(|&n| n != u16::MAX).map(NodeId::from),
            NodeColumn::Words(of) => Some(of[at]).filter(|&n| n != u32::MAX),
        }
    }

    /// Gives a row its node.
    #[inline]
    pub(crate) fn set(&mut self, row: Row, node: NodeId) {
        let at = row as usize;
        match self {
            NodeColumn::Bytes(of) if node < u8::MAX.into() => of[at] = node as u8,
            NodeColumn::Shorts(of) if node < u16::MAX.into() => of[at] = node as u16,
            NodeColumn::Words(of) => of[at] = node,
            NodeColumn::Bytes(_) | NodeColumn::Shorts(_) => {
                self.widen();
                self.set(row, node);
            }
        }
    }

    #[cold]
    fn widen(&mut self) {
        *self = match self {
            NodeColumn::Bytes(of) => {
                let wider = |&n: &u8| if n == u8::MAX { u16::MAX } else { n.into() };
                NodeColumn::Shorts(of.iter().map(wider).collect())
            }
            NodeColumn::Shorts(of) => {
                let wider = |&n: &u16| if n == u16::MAX { u32::MAX } else { n.into() };
                NodeColumn::Words(of.iter().map(wider).collect())
            }
            NodeColumn::Words(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_of_nodes_is_a_list_of_them(
            len in 1_usize..300,
            set in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<u32>(), 1_u32..33), 0..300,
            ),
        ) {
            let mut column = NodeColumn::new(len);
            let mut list = vec![None; len];
            for (at, node, shift) in set {
                let (row, node) = (at.index(len), node >> (shift % 32) & !(1 << 31));
                column.set(row as Row, node);
                list[row] = Some(node);
            }
            let read: Vec<_> = (0..len as Row).map(|row| column.get(row)).collect();
            prop_assert_eq!(read, list);
        }
    }

    #[test]
    fn the_numbers_that_stand_for_none_are_nodes_in_a_wider_column() {
        let mut column = NodeColumn::new(4);
        for (row, node) in [(0, 254), (1, 255), (2, 65_535)] {
            column.set(row, node);
            assert_eq!(column.get(row), Some(node));
        }
        assert_eq!(
            [0, 1, 2, 3].map(|row| column.get(row)),
            [Some(254), Some(255), Some(65_535), None]
        );
        assert!(matches!(column, NodeColumn::Words(_)));
    }
}
