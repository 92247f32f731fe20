//! The marks of a figure on its page, which [`crate::svg`] and [`crate::pdf`] write.

use crate::font;
use crate::style::{Colour, TextStyle};

/// A point on the page: pixels, y down.
pub(crate) type Point = (f64, f64);

pub(crate) type Size = (f64, f64);

/// The point of a text that lies at its position.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

pub(crate) enum Mark {
    Rect {
        at: Point,
        size: Size,
        fill: Colour,
    },
    Polygon {
        points: Vec<Point>,
        fill: Colour,
        opacity: f64,
    },
    Polyline {
        points: Vec<Point>,
        stroke: Colour,
        width: f64,
        dashed: bool,
    },
    Circle {
        centre: Point,
        radius: f64,
        fill: Colour,
    },
    Text {
        at: Point,
        upward: bool,
        text: String,
        anchor: Anchor,
        style: TextStyle,
    },
    /// The marks from here to the next [`Mark::EndClip`] show inside this area alone.
    Clip {
        at: Point,
        size: Size,
    },
    EndClip,
}

pub(crate) struct Drawing {
    pub(crate) marks: Vec<Mark>,
    /// The corners of the area that holds every text.
    room: [Point; 2],
}

impl Drawing {
    pub(crate) fn new() -> Self {
        let room = [(f64::NEG_INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::INFINITY)];
        Drawing { marks: Vec::new(), room }
    }

    /// Holds each further text inside an area: it is moved there, and cut where it is longer than the area.
    pub(crate) fn hold_texts(&mut self, (x, y): Point, (w, h): Size) {
        self.room = [(x, y), (x + w, y + h)];
    }

    pub(crate) fn rect(&mut self, at: Point, size: Size, fill: Colour) {
        self.marks.push(Mark::Rect { at, size, fill });
    }

    pub(crate) fn polygon(&mut self, points: Vec<Point>, fill: Colour, opacity: f64) {
        self.marks.push(Mark::Polygon { points, fill, opacity });
    }

    pub(crate) fn polyline(
        &mut self,
        points: Vec<Point>,
        stroke: Colour,
        width: f64,
        dashed: bool,
    ) {
        self.marks.push(Mark::Polyline { points, stroke, width, dashed });
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, stroke: Colour, width: f64) {
        self.polyline(vec![from, to], stroke, width, false);
    }

    pub(crate) fn frame(&mut self, (x, y): Point, (w, h): Size, stroke: Colour) {
        let corners = vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)];
        self.polyline(corners, stroke, 1.0, false);
    }

    pub(crate) fn circle(&mut self, centre: Point, radius: f64, fill: Colour) {
        self.marks.push(Mark::Circle { centre, radius, fill });
    }

    pub(crate) fn text(&mut self, (x, y): Point, text: &str, anchor: Anchor, style: TextStyle) {
        let [(left, _), (right, _)] = self.room;
        let text = font::cut(text, &style, right - left).into_owned();
        let width = font::width(&text, &style);
        let before = anchor.share() * width;
        let at = (x.min(right - width + before).max(left + before), y);
        self.marks.push(Mark::Text { at, upward: false, text, anchor, style });
    }

    pub(crate) fn upward(&mut self, (x, y): Point, text: &str, style: TextStyle) {
        let [(_, top), (_, bottom)] = self.room;
        let text = font::cut(text, &style, bottom - top).into_owned();
        let half = font::width(&text, &style) / 2.0;
        let at = (x, y.min(bottom - half).max(top + half));
        self.marks.push(Mark::Text { at, upward: true, text, anchor: Anchor::Middle, style });
    }

    pub(crate) fn clip(&mut self, at: Point, size: Size) {
        self.marks.push(Mark::Clip { at, size });
    }

    pub(crate) fn end_clip(&mut self) {
        self.marks.push(Mark::EndClip);
    }
}

impl Anchor {
    /// Returns the share of a text's width that lies before its position.
    pub(crate) fn share(self) -> f64 {
        match self {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        }
    }
}
