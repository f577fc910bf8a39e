// Package raster paints figures into images, for PNG files and for terminals
// that show pictures.
//
// Lines and areas are filled by golang.org/x/image/vector, words are set in Go
// Regular (Bigelow & Holmes 2016) by golang.org/x/image/font/opentype: all are
// part of the Go project. Nothing is prepared before the first picture.
package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/picture/layout"
)

// mostHeight bounds an image, in pixels: taller pages are painted smaller.
const mostHeight = 16000

// Options say how an image is painted. The zero value is two pixels a point on
// light paper.
type Options struct {
	Scale float64 // pixels a point of the layout; 0: 2
	Dark  bool
}

// PNG returns figures as a PNG, one below the other.
func PNG(figures []figure.Figure, o Options) ([]byte, error) {
	m, err := Image(figures, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Image paints figures, one below the other. The error is that of the type, which is
// part of the program.
func Image(figures []figure.Figure, o Options) (*image.RGBA, error) {
	page := layout.Of(figures)
	if o.Scale <= 0 {
		o.Scale = 2
	}
	o.Scale = min(o.Scale, mostHeight/page.Height)
	width, height := max(1, int(math.Ceil(page.Width*o.Scale))), max(1, int(math.Ceil(page.Height*o.Scale)))
	letters, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	p := &painter{Options: o, on: image.NewRGBA(image.Rect(0, 0, width, height)), letters: letters, faces: map[float64]font.Face{}}
	draw.Draw(p.on, p.on.Bounds(), image.NewUniform(p.colour(ink.Paper)), image.Point{}, draw.Src)
	for _, s := range page.Shapes {
		if err := p.paint(s); err != nil {
			return nil, err
		}
	}
	return p.on, nil
}

// painter paints shapes on an image.
type painter struct {
	Options
	on      *image.RGBA
	letters *opentype.Font
	faces   map[float64]font.Face // by size
	path    vector.Rasterizer
}

func (p *painter) colour(i ink.Ink) color.RGBA { return ink.Color(i, p.Dark) }

// through is a colour that covers what is below it in part, its channels multiplied as
// image.RGBA has them.
func through(c color.RGBA, part float64) color.RGBA {
	times := func(v uint8) uint8 { return uint8(math.Round(float64(v) * part)) }
	return color.RGBA{times(c.R), times(c.G), times(c.B), times(255)}
}

func (p *painter) paint(s layout.Shape) error {
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
		return p.words(s)
	}
	return nil
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
func (p *painter) words(s layout.Shape) error {
	face := p.faces[s.Size]
	if face == nil {
		const points = 72 // an inch: a point of the layout is a pixel times Scale
		var err error
		if face, err = opentype.NewFace(p.letters, &opentype.FaceOptions{Size: s.Size * p.Scale, DPI: points, Hinting: font.HintingNone}); err != nil {
			return err
		}
		p.faces[s.Size] = face
	}
	width := font.MeasureString(face, s.Text)
	size := int(math.Ceil(s.Size * p.Scale))
	mask := image.NewAlpha(image.Rect(0, -size, width.Ceil()+2, size/2))
	d := font.Drawer{Dst: mask, Src: image.Opaque, Face: face}
	d.DrawString(s.Text)
	if s.Bold {
		d.Dot = fixed.Point26_6{X: fixed.I(1)}
		d.DrawString(s.Text)
	}
	shift := 0.0
	switch s.Anchor {
	case layout.Middle:
		shift = float64(width) / 64 / 2
	case layout.End:
		shift = float64(width) / 64
	}
	at := image.Pt(int(math.Round(s.Points[0].X*p.Scale-shift)), int(math.Round(s.Points[0].Y*p.Scale)))
	if s.Upright {
		mask = upright(mask)
		at = image.Pt(int(math.Round(s.Points[0].X*p.Scale)), int(math.Round(s.Points[0].Y*p.Scale+shift)))
	}
	box := mask.Bounds().Add(at)
	if s.Halo {
		box := image.Rect(box.Min.X-2, at.Y-size, box.Max.X+2, at.Y+size/4).Intersect(p.on.Bounds())
		draw.Draw(p.on, box, image.NewUniform(through(p.colour(ink.Paper), 0.8)), image.Point{}, draw.Over)
	}
	draw.DrawMask(p.on, box, image.NewUniform(p.colour(s.Ink)), image.Point{}, mask, mask.Bounds().Min, draw.Over)
	return nil
}

// upright is a text turned so that it reads upwards, around its origin.
func upright(m *image.Alpha) *image.Alpha {
	b := m.Bounds()
	out := image.NewAlpha(image.Rect(b.Min.Y, -b.Max.X, b.Max.Y, -b.Min.X))
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetAlpha(y, -x-1, m.AlphaAt(x, y))
		}
	}
	return out
}
