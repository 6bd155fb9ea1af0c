//! How does a page look? A picture of the view, of the whole page or of an element, up to a size.

use super::act::bounds;
use super::{Failure, Reason, Tabs, failure, wit};
use base64::Engine;
use chromiumoxide::cdp::browser_protocol::page::{
    CaptureScreenshotFormat, CaptureScreenshotParams, GetLayoutMetricsParams, Viewport,
};

/// Longest picture of a whole page, in pixels.
const TALLEST: f64 = 16_384.0;
/// Largest picture, in bytes.
const PICTURE: usize = 16 << 20;

impl Tabs {
    pub(super) async fn screenshot(&mut self, id: u32, picture: wit::Picture) -> Result<wit::Image, Failure> {
        let open = self.at(id).await?;
        let mut cut = false;
        let mut wanted = CaptureScreenshotParams { format: Some(CaptureScreenshotFormat::Png), ..Default::default() };
        match picture {
            wit::Picture::View => {}
            wit::Picture::Whole => {
                let size = open.ask(GetLayoutMetricsParams::default()).await?.css_content_size;
                cut = size.height > TALLEST || size.width > TALLEST;
                wanted.capture_beyond_viewport = Some(true);
                wanted.clip = Some(clip((0.0, 0.0, size.width.max(1.0), size.height.max(1.0))));
            }
            wit::Picture::Element((document, element)) => {
                let (session, frame) = self.place(id, document).await?;
                let quad = self.quad(&open, &session, element).await?;
                let (left, top) = self.offset(&open, id, &session, &frame).await?;
                let (x, y, width, height) = bounds(&quad);
                wanted.clip = Some(clip((x + left, y + top, width, height)));
            }
        }
        let taken = open.ask(wanted).await?;
        let data = base64::engine::general_purpose::STANDARD.decode(AsRef::<[u8]>::as_ref(&taken.data));
        let data = data.map_err(|_| failure(Reason::Refused, "the browser gave no picture"))?;
        match data.len() > PICTURE {
            true => {
                Err(failure(Reason::TooLarge, format!("the picture has {} bytes, more than {PICTURE}", data.len())))
            }
            false => Ok(wit::Image { data, cut }),
        }
    }
}

fn clip((x, y, width, height): (f64, f64, f64, f64)) -> Viewport {
    Viewport { x, y, width: width.min(TALLEST), height: height.min(TALLEST), scale: 1.0 }
}
