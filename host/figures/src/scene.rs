//! A drawing: shapes and text on a page, written as SVG ([`crate::svg`]) and as pixels
//! ([`crate::pixels`]).

use crate::style::{Colour, TextStyle};

/// A point on the page: pixels, y down.
pub(crate) type Point = (f64, f64);

/// Width and height.
pub(crate) type Size = (f64, f64);

/// A page of shapes, in drawing order.
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) items: Vec<Item>,
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

pub(crate) enum Item {
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
    Line {
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
    /// Until [`Item::EndClip`] only what is inside shows.
    Clip {
        at: Point,
        size: Size,
    },
    EndClip,
}

/// A dashed line's dashes and gaps.
pub(crate) const DASH: [f32; 2] = [6.0, 4.0];

impl Scene {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Scene { width: width.ceil(), height: height.ceil(), items: Vec::new() }
    }

    pub(crate) fn rect(&mut self, at: Point, size: Size, fill: Colour) {
        self.items.push(Item::Rect { at, size, fill });
    }

    pub(crate) fn frame(&mut self, (x, y): Point, (w, h): Size, stroke: Colour) {
        let points = vec![(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)];
        self.polyline(points, stroke, 1.0, false);
    }

    pub(crate) fn line(&mut self, from: Point, to: Point, stroke: Colour, width: f64) {
        self.polyline(vec![from, to], stroke, width, false);
    }

    pub(crate) fn polyline(
        &mut self,
        points: Vec<Point>,
        stroke: Colour,
        width: f64,
        dashed: bool,
    ) {
        self.items.push(Item::Line { points, stroke, width, dashed });
    }

    pub(crate) fn text(&mut self, at: Point, text: &str, anchor: Anchor, style: TextStyle) {
        self.items.push(Item::Text { at, upward: false, text: text.into(), anchor, style });
    }
}
