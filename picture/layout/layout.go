// Package layout places figures on a page: it turns their numbers into shapes
// with coordinates in pixels, which svg writes and raster paints.
package layout

import (
	"sort"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/report"
)

// Point is a place on the page; y grows downwards.
type Point struct{ X, Y float64 }

// Form is what a Shape is.
type Form int

// Forms of shapes.
const (
	Line    Form = iota // through Points
	Area                // filled, bounded by Points
	Circle              // filled, or drawn where Hollow, around Points[0]
	Words               // Text at Points[0], the start of its base line unless Anchor says otherwise
	Picture             // Heat between Points[0] and Points[1]
	Spot                // invisible, between Points[0] and Points[1]: Text where a pointer rests
)

// Anchor is which part of words stands at their place.
type Anchor int

// Anchors of words.
const (
	Start Anchor = iota
	Middle
	End
)

// Shape is one thing to be drawn.
type Shape struct {
	Form    Form
	Points  []Point
	Radius  float64
	Ink     ink.Ink
	Width   float64 // of a line
	Dash    int     // of a line: 0 whole, 1 dashes, 2 dots
	Faint   bool    // an area through which others are seen
	Hollow  bool    // a circle that is drawn and not filled
	Text    string
	Size    float64
	Anchor  Anchor
	Bold    bool
	Upright bool // words that read upwards
	Halo    bool // words on a ground of their own
	Heat    *figure.Heat
}

// Page is shapes and the size of the paper below them.
type Page struct {
	Width, Height float64
	Shapes        []Shape
}

// Width is the usual width of pages: that of a column of text on most screens. Narrow is
// that of a telephone.
const (
	Width  = 760
	Narrow = 360
)

const (
	left, right = 76.0, 22.0 // beside the axes
	titleSize   = 17.0
	panelSize   = 13.0
	textSize    = 12.0
	smallSize   = 11.0
	lineHeight  = 1.35
	plotHeight  = 210.0
	headlines   = 3 // lines of a title or a subtitle
	noteLines   = 4 // and of a note
	mostNotes   = 12
)

// Of places figures one below the other on a page of a width, [Width] where it is 0 and
// [Narrow] at least.
func Of(figures []figure.Figure, width float64) Page {
	if !(width > 0) {
		width = Width
	}
	p := &page{y: 12, width: max(width, Narrow)}
	for i, f := range figures {
		if i > 0 {
			p.y += 14
			p.line(ink.Grid, 1, Point{12, p.y}, Point{p.width - 12, p.y})
			p.y += 14
		}
		p.figure(f)
	}
	return Page{Width: p.width, Height: p.y + 12, Shapes: p.shapes}
}

// Fit returns how many of the figures, from the first one on, a page of a width and a height shows: one at
// least.
func Fit(figures []figure.Figure, width, height float64) int {
	n := sort.Search(len(figures), func(i int) bool { return Of(figures[:i+1], width).Height > height })
	return max(n, min(1, len(figures)))
}

// page is a page that is being filled from the top.
type page struct {
	width  float64
	y      float64 // where the next thing begins
	shapes []Shape
}

func (p *page) add(s Shape) { p.shapes = append(p.shapes, s) }

func (p *page) line(i ink.Ink, width float64, points ...Point) {
	p.add(Shape{Form: Line, Ink: i, Width: width, Points: points})
}

func (p *page) rect(i ink.Ink, from, to Point) {
	p.add(Shape{Form: Area, Ink: i, Points: []Point{from, {to.X, from.Y}, to, {from.X, to.Y}}})
}

func (p *page) words(i ink.Ink, size float64, a Anchor, at Point, text string) {
	p.add(Shape{Form: Words, Ink: i, Size: size, Anchor: a, Points: []Point{at}, Text: text})
}

// paragraph writes a text over the width of the page, at most so many lines.
func (p *page) paragraph(i ink.Ink, size float64, bold bool, text string, lines int) {
	for _, l := range fold(report.Printable(text), size, p.width-2*14, lines, bold) {
		p.y += size * lineHeight
		p.add(Shape{Form: Words, Ink: i, Size: size, Bold: bold, Points: []Point{{14, p.y}}, Text: l})
	}
}

func (p *page) figure(f figure.Figure) {
	p.paragraph(ink.Text, titleSize, true, f.Title, headlines)
	if f.Subtitle != "" {
		p.y += 2
		p.paragraph(ink.Muted, textSize, false, f.Subtitle, headlines)
	}
	for i := 0; i < len(f.Panels); {
		row := []figure.Panel{f.Panels[i]}
		for i++; i < len(f.Panels) && len(row) < p.columns() && isSmall(row[0]) && isSmall(f.Panels[i]); i++ {
			row = append(row, f.Panels[i])
		}
		p.y += 16
		p.row(row)
	}
	p.y += 4
	for i, n := range f.Notes {
		if i == mostNotes {
			p.paragraph(ink.Muted, textSize, false, "and further notes", 1)
			break
		}
		p.y += 2
		p.paragraph(ink.Muted, textSize, false, "• "+n, noteLines)
	}
}

// isSmall reports whether a panel is a small square that others can stand beside.
func isSmall(p figure.Panel) bool {
	return p.Heat != nil && p.Heat.Columns <= 128 && p.Heat.Columns <= 2*p.Heat.Rows && p.Heat.Rows <= 2*p.Heat.Columns && p.X.Label != "column"
}

// columns is how many small squares stand side by side: each needs 180 pixels.
func (p *page) columns() int { return max(1, int(p.width/180)) }

// row places panels side by side, or one over the whole width.
func (p *page) row(panels []figure.Panel) {
	if len(panels) == 1 {
		p.panel(panels[0], 0, p.width)
		return
	}
	top, bottom := p.y, p.y
	each := p.width / float64(max(2, min(len(panels), p.columns())))
	for i, panel := range panels {
		p.y = top
		p.panel(panel, each*float64(i), each)
		bottom = max(bottom, p.y)
	}
	p.y = bottom
}

// panel draws one chart into the columns [x, x + width) of the page.
func (p *page) panel(c figure.Panel, x, width float64) {
	inner := width - 28
	for _, l := range fold(report.Printable(c.Title), panelSize, inner, 2, true) {
		p.y += panelSize * lineHeight
		p.add(Shape{Form: Words, Ink: ink.Text, Size: panelSize, Bold: true, Points: []Point{{x + 14, p.y}}, Text: l})
	}
	p.y += 6
	switch {
	case c.Heat != nil:
		p.heat(c, x, width)
	case len(c.Dials) > 0:
		p.dials(c, x, width)
	case len(c.Series) > 0:
		p.chart(c, x, width)
	}
}
