// Package raster paints figures into images, for PNG files and for terminals
// that show pictures.
//
// Lines, areas and letters are filled by golang.org/x/image/vector; the letters are
// those of Go Regular (Bigelow & Holmes 2016). Both are part of the Go project.
// Nothing is prepared before the first picture.
package raster

import (
	"bytes"
	"compress/zlib"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/picture/layout"
)

// MostHeight bounds an image, in pixels: taller pages are painted smaller, at less than a pixel a point so
// that nobody can read them.
const MostHeight = 16000

// Options say how an image is painted. The zero value is two pixels a point on
// light paper.
type Options struct {
	Scale float64 // pixels a point of the layout; 0: 2
	Dark  bool
	Width float64 // of the layout; 0: [layout.Width]
}

// PNG returns figures as a PNG, one below the other. The error is that of the
// compressor, which writes to memory.
func PNG(figures []figure.Figure, o Options) ([]byte, error) {
	m := Image(figures, o)
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	line := make([]byte, 1+3*m.Rect.Dx()) // the first byte says that the row is not filtered
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			copy(line[1+3*x:], m.Pix[m.PixOffset(x, y):][:3])
		}
		if _, err := z.Write(line); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return ink.File(m.Rect.Dx(), m.Rect.Dy(), ink.TrueColour, nil, b.Bytes()), nil
}

// Image paints figures, one below the other.
func Image(figures []figure.Figure, o Options) *image.RGBA {
	page := layout.Of(figures, o.Width)
	if o.Scale <= 0 {
		o.Scale = 2
	}
	o.Scale = min(o.Scale, MostHeight/page.Height)
	width, height := max(1, int(math.Ceil(page.Width*o.Scale))), max(1, int(math.Ceil(page.Height*o.Scale)))
	p := &painter{Options: o, on: image.NewRGBA(image.Rect(0, 0, width, height)), letters: letters()}
	draw.Draw(p.on, p.on.Bounds(), image.NewUniform(p.colour(ink.Paper)), image.Point{}, draw.Src)
	for _, s := range page.Shapes {
		p.paint(s)
	}
	return p.on
}

// painter paints shapes on an image.
type painter struct {
	Options
	on      *image.RGBA
	letters map[rune]letter
	path    vector.Rasterizer
}

func (p *painter) colour(i ink.Ink) color.RGBA { return ink.Color(i, p.Dark) }

// through is a colour that covers what is below it in part, its channels multiplied as
// image.RGBA has them.
func through(c color.RGBA, part float64) color.RGBA {
	times := func(v uint8) uint8 { return uint8(math.Round(float64(v) * part)) }
	return color.RGBA{times(c.R), times(c.G), times(c.B), times(255)}
}

func (p *painter) paint(s layout.Shape) {
	switch s.Form {
	case layout.Line:
		for i := range len(s.Points) - 1 {
			p.stroke(s.Points[i], s.Points[i+1], s)
		}
	case layout.Area:
		c := p.colour(s.Ink)
		if s.Faint {
			c = through(c, 0.22)
		}
		p.fill(c, s.Points)
	case layout.Circle:
		p.circle(s)
	case layout.Picture:
		p.heat(s)
	case layout.Words:
		p.words(s)
	}
}

// fill paints the inside of a polygon, over the part of the image that it covers.
func (p *painter) fill(c color.RGBA, rings ...[]layout.Point) {
	low, high := layout.Point{X: math.Inf(1), Y: math.Inf(1)}, layout.Point{X: math.Inf(-1), Y: math.Inf(-1)}
	for _, ring := range rings {
		for _, at := range ring {
			low, high = layout.Point{X: min(low.X, at.X), Y: min(low.Y, at.Y)}, layout.Point{X: max(high.X, at.X), Y: max(high.Y, at.Y)}
		}
	}
	box := image.Rect(int(math.Floor(low.X*p.Scale)), int(math.Floor(low.Y*p.Scale)), int(math.Ceil(high.X*p.Scale))+1, int(math.Ceil(high.Y*p.Scale))+1).Intersect(p.on.Bounds())
	if box.Empty() {
		return
	}
	p.path.Reset(box.Dx(), box.Dy())
	p.path.DrawOp = draw.Over
	for _, ring := range rings {
		for i, at := range ring {
			x, y := float32(at.X*p.Scale-float64(box.Min.X)), float32(at.Y*p.Scale-float64(box.Min.Y))
			if i == 0 {
				p.path.MoveTo(x, y)
			} else {
				p.path.LineTo(x, y)
			}
		}
		p.path.ClosePath()
	}
	p.path.Draw(p.on, box, image.NewUniform(c), image.Point{})
}

// dashes are the lengths of dash and gap of each kind of line, as svg has them.
var dashes = [...][2]float64{{}, {6, 4}, {2, 3}}

// stroke paints one piece of a line, in dashes where it has them.
func (p *painter) stroke(a, b layout.Point, s layout.Shape) {
	length := math.Hypot(b.X-a.X, b.Y-a.Y)
	if !(length > 0) || length > 1e5 {
		return
	}
	kind := 0
	if s.Dash > 0 && s.Dash < len(dashes) {
		kind = s.Dash
	}
	dash, gap := dashes[kind][0], dashes[kind][1]
	if kind == 0 {
		dash = length
	}
	ux, uy := (b.X-a.X)/length, (b.Y-a.Y)/length
	half := max(s.Width, 1/p.Scale) / 2
	for at := 0.0; at < length; at += dash + gap {
		end := min(at+dash, length)
		from, to := layout.Point{X: a.X + ux*at, Y: a.Y + uy*at}, layout.Point{X: a.X + ux*end, Y: a.Y + uy*end}
		if kind == 0 { // pieces of a line overlap where they meet
			from, to = layout.Point{X: from.X - ux*half/2, Y: from.Y - uy*half/2}, layout.Point{X: to.X + ux*half/2, Y: to.Y + uy*half/2}
		}
		nx, ny := -uy*half, ux*half
		p.fill(p.colour(s.Ink), []layout.Point{{X: from.X + nx, Y: from.Y + ny}, {X: to.X + nx, Y: to.Y + ny}, {X: to.X - nx, Y: to.Y - ny}, {X: from.X - nx, Y: from.Y - ny}})
	}
}

// circle paints a disc, or a ring.
func (p *painter) circle(s layout.Shape) {
	corners := int(min(96, 12+2*s.Radius))
	ring := func(radius float64, back bool) (out []layout.Point) {
		for i := range corners {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(corners))
			if back {
				sin = -sin
			}
			out = append(out, layout.Point{X: s.Points[0].X + radius*cos, Y: s.Points[0].Y + radius*sin})
		}
		return out
	}
	if s.Hollow {
		p.fill(p.colour(s.Ink), ring(s.Radius+s.Width/2, false), ring(s.Radius-s.Width/2, true))
		return
	}
	p.fill(p.colour(s.Ink), ring(s.Radius, false))
}

// heat paints the cells of a heat map.
func (p *painter) heat(s layout.Shape) {
	cells := ink.Image(s.Heat)
	from, to := s.Points[0], s.Points[1]
	x0, y0, x1, y1 := int(from.X*p.Scale), int(from.Y*p.Scale), int(to.X*p.Scale), int(to.Y*p.Scale)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			p.on.Set(x, y, cells.At((x-x0)*s.Heat.Columns/(x1-x0), (y-y0)*s.Heat.Rows/(y1-y0)))
		}
	}
}

// words sets a text. Bold is the same type, twice.
func (p *painter) words(s layout.Shape) {
	size := s.Size * p.Scale
	width := 0.0
	for _, r := range s.Text {
		width += of(p.letters, r).width * size
	}
	shift := 0.0
	switch s.Anchor {
	case layout.Middle:
		shift = width / 2
	case layout.End:
		shift = width
	}
	x0, y0 := s.Points[0].X*p.Scale, s.Points[0].Y*p.Scale
	// place is where a point of the line stands on the image.
	place := func(x, y float64) (float64, float64) { return x0 - shift + x, y0 + y }
	if s.Upright {
		place = func(x, y float64) (float64, float64) { return x0 + y, y0 + shift - x }
	}
	ax, ay := place(-2, -size)
	bx, by := place(width+3, size*0.3)
	box := image.Rect(int(math.Floor(min(ax, bx))), int(math.Floor(min(ay, by))), int(math.Ceil(max(ax, bx))), int(math.Ceil(max(ay, by)))).Intersect(p.on.Bounds())
	if box.Empty() {
		return
	}
	if s.Halo {
		draw.Draw(p.on, box, image.NewUniform(through(p.colour(ink.Paper), 0.8)), image.Point{}, draw.Over)
	}
	p.set(s, size, 0, box, place)
	if s.Bold {
		p.set(s, size, 0.9, box, place)
	}
}

// set fills the outlines of a text, moved along its line.
func (p *painter) set(s layout.Shape, size, moved float64, box image.Rectangle, place func(x, y float64) (float64, float64)) {
	p.path.Reset(box.Dx(), box.Dy())
	p.path.DrawOp = draw.Over
	at := moved
	to := func(point [2]float64) (float32, float32) {
		x, y := place(at+point[0]*size, point[1]*size)
		return float32(x - float64(box.Min.X)), float32(y - float64(box.Min.Y))
	}
	for _, r := range s.Text {
		l := of(p.letters, r)
		for i, piece := range l.pieces {
			x, y := to(piece.to)
			switch piece.kind {
			case pieceBegin:
				if i > 0 {
					p.path.ClosePath()
				}
				p.path.MoveTo(x, y)
			case pieceLine:
				p.path.LineTo(x, y)
			case pieceCurve:
				bx, by := to(piece.by)
				p.path.QuadTo(bx, by, x, y)
			}
		}
		if len(l.pieces) > 0 {
			p.path.ClosePath()
		}
		at += l.width * size
	}
	p.path.Draw(p.on, box, image.NewUniform(p.colour(s.Ink)), image.Point{})
}
