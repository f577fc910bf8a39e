package layout

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/report"
)

// heat draws a heat map with its axes and what its colours mean.
func (p *page) heat(c figure.Panel, x, width float64) {
	h := c.Heat
	if h.Columns <= 0 || h.Rows <= 0 {
		return
	}
	small := width < p.width
	room := left
	if small {
		room = 44
	}
	w := width - room - right
	height := math.Min(260, math.Max(60, float64(h.Rows)*6))
	if isSmall(c) {
		side := math.Min(w, 220)
		w, height = side, side*float64(h.Rows)/float64(h.Columns)
		if height > 260 {
			w, height = w*260/height, 260
		}
	}
	f := frame{left: x + room, right: x + room + w, top: p.y + 2, bottom: p.y + 2 + height}
	p.add(Shape{Form: Picture, Heat: h, Points: []Point{{f.left, f.top}, {f.right, f.bottom}}})
	f.x = cells(c.X, h.X, h.Columns, f.left, f.right)
	f.y = cells(c.Y, h.Y, h.Rows, f.top, f.bottom)
	ticks := int(max(3, min(8, w/50)))
	for _, v := range f.x.ticks(ticks) {
		if at, ok := f.x.place(v); ok && at >= f.left && at <= f.right {
			p.line(ink.Muted, 1, Point{at, f.bottom}, Point{at, f.bottom + 4})
			p.words(ink.Muted, smallSize, Middle, Point{at, f.bottom + 16}, tick(v))
		}
	}
	for _, v := range f.y.ticks(5) {
		if at, ok := f.y.place(v); ok && at >= f.top && at <= f.bottom {
			p.line(ink.Muted, 1, Point{f.left - 4, at}, Point{f.left, at})
			p.words(ink.Muted, smallSize, End, Point{f.left - 6, at + 4}, tick(v))
		}
	}
	p.words(ink.Muted, smallSize, Middle, Point{(f.left + f.right) / 2, f.bottom + 30}, c.X.Label)
	upright := x + 12
	if !small {
		upright = x + 18
	}
	p.add(Shape{Form: Words, Ink: ink.Muted, Size: smallSize, Anchor: Middle, Upright: true, Points: []Point{{upright, (f.top + f.bottom) / 2}}, Text: c.Y.Label})
	p.y = f.bottom + 36
	p.key(h, f.left, x+width-f.left)
}

// cells is an axis over the cells of a heat map: the middles of the first and the
// last stand for two numbers.
func cells(a figure.Axis, ends [2]float64, n int, from, to float64) axis {
	half := 0.5
	if n > 1 {
		half = (ends[1] - ends[0]) / float64(n-1) / 2
	}
	return axis{Axis: a, from: from, to: to, low: ends[0] - half, high: ends[1] + half}
}

// key draws the scale of a heat map's colours, from an x on in the room that there is.
func (p *page) key(h *figure.Heat, x, room float64) {
	const widest, height, gap = 120.0, 9.0, 5.0
	bar := &figure.Heat{Columns: ink.Levels, Rows: 1, Limit: 1, Sequential: h.Sequential}
	for i := range ink.Levels {
		t := float64(i) / (ink.Levels - 1)
		if !h.Sequential {
			t = 2*t - 1
		}
		bar.Values = append(bar.Values, t)
	}
	low := -h.Limit
	if h.Sequential {
		low = h.Floor
	}
	first, says := figure.Number(low), figure.Number(h.Limit)
	if slices.ContainsFunc(h.Values, math.IsNaN) {
		says += "; grey: NaN"
	}
	at := x + measure(first, smallSize, false) + gap
	w := min(widest, max(20, room-(at-x)-measure(says, smallSize, false)-2*gap))
	p.words(ink.Muted, smallSize, Start, Point{x, p.y + height}, first)
	p.add(Shape{Form: Picture, Heat: bar, Points: []Point{{at, p.y}, {at + w, p.y + height}}})
	p.words(ink.Muted, smallSize, Start, Point{at + w + gap, p.y + height}, says)
	p.y += height + 8
}

// dials draws clocks side by side.
func (p *page) dials(c figure.Panel, x, width float64) {
	each := (width - 28) / float64(max(len(c.Dials), 4))
	radius := each/2 - 16
	top := p.y
	for i, d := range c.Dials {
		middle := Point{x + 14 + each*(float64(i)+0.5), top + radius + 6}
		p.add(Shape{Form: Circle, Hollow: true, Ink: ink.Muted, Width: 1, Radius: radius, Points: []Point{middle}})
		p.line(ink.Grid, 1, Point{middle.X - radius, middle.Y}, Point{middle.X + radius, middle.Y})
		p.line(ink.Grid, 1, Point{middle.X, middle.Y - radius}, Point{middle.X, middle.Y + radius})
		for k := range d.X {
			at := Point{middle.X + limited(d.X[k]/d.Radius)*radius, middle.Y - limited(d.Y[k]/d.Radius)*radius}
			if math.IsNaN(at.X) || math.IsNaN(at.Y) {
				continue
			}
			if k == 0 {
				p.line(ink.Series, 1.8, middle, at)
			}
			if k+1 < len(d.X) && len(d.X) > 1 {
				next := Point{middle.X + limited(d.X[k+1]/d.Radius)*radius, middle.Y - limited(d.Y[k+1]/d.Radius)*radius}
				if !math.IsNaN(next.X) && !math.IsNaN(next.Y) {
					p.add(Shape{Form: Line, Ink: ink.Series + 5, Width: 0.7, Points: []Point{at, next}})
				}
			}
			dot := Shape{Form: Circle, Ink: ink.Series, Radius: 2.6, Points: []Point{at}}
			if k == 0 {
				dot.Ink, dot.Radius = ink.Series+1, 4
			}
			p.add(dot)
			p.add(Shape{Form: Spot, Points: []Point{{at.X - 4, at.Y - 4}, {at.X + 4, at.Y + 4}},
				Text: report.Printable(d.Name) + ", position " + figure.Number(d.Positions[k]) + ": cosine " + figure.Number(d.X[k]) + ", sine " + figure.Number(d.Y[k])})
		}
		p.words(ink.Text, smallSize, Middle, Point{middle.X, top + 2*radius + 26}, report.Printable(d.Name))
	}
	p.y = top + 2*radius + 32
	p.words(ink.Muted, smallSize, Start, Point{x + 14, p.y + 10}, "the larger dot with the hand is the first position")
	p.y += 14
}

// limited keeps a hand on the page.
func limited(v float64) float64 { return min(max(v, -1.3), 1.3) }
