//! GPU work of one process: a slice for every kernel, copy and set, and an arrow from its launch.

use super::events::Page;
use super::names::Category;
use super::proto::{AnnotationValue, DebugAnnotation, TrackEvent, event};
use super::tracks::Track;
use crate::ConvertError;
use crate::gpu::{self, Arg, Launch, Launcher, Piece, Pieces, Stream, Title};
use std::io::Write;

impl<W: Write> Page<'_, '_, '_, W> {
    /// Writes the work by stream.
    pub fn gpu(&mut self, on_piece: &mut impl FnMut()) -> Result<(), ConvertError> {
        let mut pieces = Pieces::new(self.process, self.timeline);
        // Flows have one number each in the whole trace.
        let mut flow = u64::from(self.sequence) << 40;
        for (stream, rows) in gpu::streams(self.process) {
            pieces.next_stream();
            for row in rows {
                let piece = pieces.place(row);
                let arrow = piece.launch.map(|launch| (launch, flow));
                flow += 1;
                if let Some((launch, flow)) = arrow {
                    self.launch(launch, flow)?;
                }
                self.piece(stream, &piece, arrow.map(|(_, flow)| flow))?;
                on_piece();
            }
        }
        Ok(())
    }

    /// A moment on the launching thread, where the arrow begins.
    fn launch(&mut self, launch: Launch, flow: u64) -> Result<(), ConvertError> {
        let track = match launch.by {
            Launcher::Thread(number) => Track::Thread(number),
            Launcher::Silent(os_tid) => Track::Silent(os_tid),
        };
        let event = TrackEvent {
            r#type: Some(event::INSTANT),
            track_uuid: Some(self.uuid(track)?),
            name_iid: Some(self.names.launch()),
            category_iids: vec![self.names.category(Category::Launch)],
            flow_ids: vec![flow],
            ..TrackEvent::default()
        };
        self.event(launch.at_ns, event)
    }

    fn piece(
        &mut self,
        stream: Stream,
        piece: &Piece,
        flow: Option<u64>,
    ) -> Result<(), ConvertError> {
        let track_uuid = Some(self.uuid(Track::Stream(stream, piece.lane))?);
        let title = Title::of(&piece.work);
        let sort = match title {
            Title::Kernel(_) => Category::Kernel,
            Title::Copy(..) => Category::Copy,
            Title::Set(_) => Category::Set,
        };
        let begin = TrackEvent {
            r#type: Some(event::SLICE_BEGIN),
            track_uuid,
            name_iid: Some(self.names.title(title, self.process)),
            category_iids: vec![self.names.category(Category::Gpu), self.names.category(sort)],
            debug_annotations: self.about(piece),
            terminating_flow_ids: flow.into_iter().collect(),
            ..TrackEvent::default()
        };
        self.event(piece.start_ns, begin)?;
        let end =
            TrackEvent { r#type: Some(event::SLICE_END), track_uuid, ..TrackEvent::default() };
        self.event(piece.end_ns, end)
    }

    fn about(&mut self, piece: &Piece) -> Vec<DebugAnnotation> {
        let args = gpu::args(self.process, piece);
        let annotation = |(key, arg): (gpu::Key, Arg<'_>)| DebugAnnotation {
            name_iid: Some(self.names.gpu_key(key)),
            value: Some(match arg {
                Arg::Text(text) => AnnotationValue::TextIid(self.names.value(&text)),
                Arg::Number(number) => AnnotationValue::Uint(number),
                Arg::Id(id) => AnnotationValue::Pointer(id.0),
                Arg::Yes => AnnotationValue::Bool(true),
            }),
            ..DebugAnnotation::default()
        };
        args.into_iter().map(annotation).collect()
    }
}
