//! GPUs among the readers: each part at its own rate, and why there are none.

use crate::gpu::{Gpus, Visible};
use crate::table::{Absent, Reader, Table};
use crate::tier::{Readers, Tier};
use hodo_record::binding::Object;

/// Readers of the GPUs of `visible`.
pub fn readers(visible: &Visible) -> Readers {
    let gpus = match Gpus::open(visible) {
        Ok(gpus) => gpus,
        Err(absent) => {
            return vec![(
                Tier::Slow,
                Box::new(Listed { json: "[]".into(), absent: vec![absent] }),
            )];
        }
    };
    let listed = Listed { json: json(&gpus), absent: gpus.notes().to_vec() };
    vec![
        (Tier::Fast, gpus.quick()),
        (Tier::Brisk, gpus.performance()),
        (Tier::Medium, gpus.steady()),
        (Tier::Slow, gpus.slow()),
        (Tier::Slow, Box::new(listed)),
    ]
}

/// Reads nothing: says which GPUs there are.
struct Listed {
    json: String,
    absent: Vec<Absent>,
}

impl Reader for Listed {
    fn read(&mut self, _: &mut Table) {}

    fn absent(&self) -> Vec<Absent> {
        self.absent.clone()
    }

    fn told(&self) -> Option<(&'static str, String)> {
        Some(("gpus", self.json.clone()))
    }
}

fn json(gpus: &Gpus) -> String {
    let cards = gpus.cards().iter().map(|card| {
        let object = Object::default().text("uuid", &card.uuid).number("index", card.index.into());
        object.text("name", &card.name).text("driver", gpus.driver()).finish().trim().to_owned()
    });
    format!("[{}]", cards.collect::<Vec<_>>().join(", "))
}
