//! The stores a session may read: those of its runs. Nothing a query names can reach another.

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use url::Url;

/// Stores by scheme and host.
#[derive(Debug, Default)]
pub struct Stores(Mutex<HashMap<String, Arc<dyn ObjectStore>>>);

fn key(url: &Url) -> String {
    url[..url::Position::BeforePath].to_owned()
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key(url), store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = || DataFusionError::Plan(format!("{url} belongs to no run of this session"));
        stores.get(&key(url)).cloned().ok_or_else(missing)
    }
}
