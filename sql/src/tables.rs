//! The tables of all runs of a session, each as one.

use crate::source::Source;
use crate::spoilt::Spoilt;
use crate::{SqlError, schema};
use datafusion::datasource::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::Result as Found;
use datafusion::prelude::SessionContext;
use hodo_trace::packed::Table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds every table, with the rows of all `sources`.
pub fn register(context: &SessionContext, sources: &[Source]) -> Result<(), SqlError> {
    for table in Table::ALL {
        let spoilt = sources.iter().find_map(|source| source.spoilt.get(table.name()));
        let provider = match spoilt {
            Some(why) => Ok(Arc::new(Spoilt::new(table, why)) as Arc<dyn TableProvider>),
            None => provider(context, table, by_store(sources, table)?),
        };
        let added = provider.and_then(|provider| context.register_table(table.name(), provider));
        added.map_err(|e| SqlError::Source(format!("cannot read {}: {e}", table.name())))?;
    }
    Ok(())
}

/// Files and folders of a table, those of one store together.
type Places = BTreeMap<String, Vec<ListingTableUrl>>;

fn by_store(sources: &[Source], table: Table) -> Result<Places, SqlError> {
    let mut places = Places::new();
    for source in sources {
        for url in source.places(table.name())? {
            let place = ListingTableUrl::try_new(url, None);
            let place = place.map_err(|e| SqlError::Source(e.to_string()))?;
            places.entry(place.object_store().as_str().to_owned()).or_default().push(place);
        }
    }
    Ok(places)
}

fn provider(
    context: &SessionContext,
    table: Table,
    places: Places,
) -> Found<Arc<dyn TableProvider>> {
    let mut parts = places.into_values().map(|places| listing(context, table, places));
    let first = parts.next().unwrap_or_else(|| Ok(Arc::new(EmptyTable::new(schema::of(table)))))?;
    let mut rest = parts.peekable();
    if rest.peek().is_none() {
        return Ok(first);
    }
    let mut all = context.read_table(first)?;
    for part in rest {
        all = all.union(context.read_table(part?)?)?;
    }
    Ok(all.into_view())
}

fn listing(
    context: &SessionContext,
    table: Table,
    places: Vec<ListingTableUrl>,
) -> Found<Arc<dyn TableProvider>> {
    let format = ParquetFormat::default().with_options(context.copied_table_options().parquet);
    let config = ListingTableConfig::new_with_multi_paths(places)
        .with_listing_options(ListingOptions::new(Arc::new(format)))
        .with_schema(schema::of(table));
    let cache = context.runtime_env().cache_manager.get_file_statistic_cache();
    Ok(Arc::new(ListingTable::try_new(config)?.with_cache(cache)))
}
