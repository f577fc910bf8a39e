// Package svg writes figures as SVG 1.1 with the styles of CSS: light and dark
// paper by prefers-color-scheme, numbers where a pointer rests, a title and a
// description for those who do not see the picture. There is no script in it,
// and nothing is loaded from anywhere.
package svg

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/report"
)

// Options say where the SVG will stand. The zero value is a file of its own.
type Options struct {
	// Inside tells that it stands in an HTML page that has [Style], under this id,
	// which no other picture of the page has.
	Inside string
	// Width is that of the page in pixels; 0: [layout.Width].
	Width float64
}

// Write returns figures as one SVG, one below the other.
func Write(figures []figure.Figure, o Options) []byte {
	p := layout.Of(figures, o.Width)
	id := o.Inside
	if id == "" {
		id = "modelpatch"
	}
	w := &writer{}
	w.text(`<svg xmlns="http://www.w3.org/2000/svg" class="modelpatch" role="img" aria-labelledby="`, id, `-title `, id, `-desc" viewBox="0 0 `, number(p.Width), " ", number(p.Height),
		`" width="`, number(p.Width), `" height="`, number(p.Height), `">`+"\n")
	var titles, says []string
	for _, f := range figures {
		titles = append(titles, f.Title)
		says = append(says, f.Title+": "+f.Description)
	}
	w.text(`<title id="`, id, `-title">`, Escape(strings.Join(titles, "; ")), "</title>\n")
	w.text(`<desc id="`, id, `-desc">`, Escape(strings.Join(says, " ")), "</desc>\n")
	if o.Inside == "" {
		w.text("<style>\n", Style(), "</style>\n")
	}
	w.text(`<rect class="paper" width="100%" height="100%"/>`, "\n")
	for _, s := range p.Shapes {
		w.shape(s)
	}
	w.text("</svg>\n")
	return []byte(w.String())
}

// Style is the CSS of the pictures.
func Style() string {
	var b strings.Builder
	b.WriteString("svg.modelpatch{" + variables(false) + `font-family:system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}` + "\n")
	b.WriteString("@media (prefers-color-scheme:dark){svg.modelpatch{" + variables(true) + "}}\n")
	b.WriteString("@media print{svg.modelpatch{" + variables(false) + "}}\n")
	b.WriteString(".modelpatch .paper{fill:var(--c1)}.modelpatch .spot{fill:transparent}.modelpatch .spot:hover{fill:var(--c2);fill-opacity:.07}" +
		".modelpatch .faint{fill-opacity:.22}.modelpatch .halo{paint-order:stroke;stroke:var(--c1);stroke-width:3px;stroke-linejoin:round}.modelpatch .bold{font-weight:600}" +
		".modelpatch .d1{stroke-dasharray:6 4}.modelpatch .d2{stroke-dasharray:2 3}.modelpatch polyline,.modelpatch .ring{fill:none}\n")
	for i := ink.Paper; i < ink.Series+ink.SeriesCount; i++ {
		n := strconv.Itoa(int(i))
		b.WriteString(".modelpatch .f" + n + "{fill:var(--c" + n + ")}.modelpatch .s" + n + "{stroke:var(--c" + n + ")}")
	}
	b.WriteString("\n")
	return b.String()
}

// variables are the colours of all inks.
func variables(dark bool) string {
	var b strings.Builder
	for i := ink.Paper; i < ink.Series+ink.SeriesCount; i++ {
		b.WriteString("--c" + strconv.Itoa(int(i)) + ":" + ink.Hex(i, dark) + ";")
	}
	return b.String()
}

type writer struct{ strings.Builder }

func (w *writer) text(parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

func (w *writer) shape(s layout.Shape) {
	at := s.Points[0]
	n := strconv.Itoa(int(s.Ink))
	switch s.Form {
	case layout.Line:
		w.text(`<polyline class="s`, n, dash(s.Dash), `" stroke-width="`, number(s.Width), `" points="`, points(s.Points), `"/>`)
	case layout.Area:
		class := "f" + n
		if s.Faint {
			class += " faint"
		}
		w.text(`<polygon class="`, class, `" points="`, points(s.Points), `"/>`)
	case layout.Circle:
		class := `f` + n
		if s.Hollow {
			class = "ring s" + n
		}
		w.text(`<circle class="`, class, `" cx="`, number(at.X), `" cy="`, number(at.Y), `" r="`, number(s.Radius), `"/>`)
	case layout.Words:
		w.words(s, n)
	case layout.Picture:
		to := s.Points[1]
		w.text(`<image x="`, number(at.X), `" y="`, number(at.Y), `" width="`, number(to.X-at.X), `" height="`, number(to.Y-at.Y),
			`" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,`, base64.StdEncoding.EncodeToString(ink.PNG(s.Heat)), `"/>`)
	case layout.Spot:
		to := s.Points[1]
		w.text(`<rect class="spot" x="`, number(at.X), `" y="`, number(at.Y), `" width="`, number(to.X-at.X), `" height="`, number(to.Y-at.Y), `"><title>`, Escape(s.Text), `</title></rect>`)
	}
	w.text("\n")
}

func (w *writer) words(s layout.Shape, n string) {
	at := s.Points[0]
	class := "f" + n
	if s.Bold {
		class += " bold"
	}
	if s.Halo {
		class += " halo"
	}
	w.text(`<text class="`, class, `" font-size="`, number(s.Size), `" x="`, number(at.X), `" y="`, number(at.Y), `"`)
	switch s.Anchor {
	case layout.Middle:
		w.text(` text-anchor="middle"`)
	case layout.End:
		w.text(` text-anchor="end"`)
	}
	if s.Upright {
		w.text(` transform="rotate(-90 `, number(at.X), " ", number(at.Y), `)"`)
	}
	w.text(">", Escape(s.Text), "</text>")
}

func dash(kind int) string {
	if kind == 0 {
		return ""
	}
	return " d" + strconv.Itoa(kind)
}

func points(all []layout.Point) string {
	var b strings.Builder
	for i, p := range all {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(number(p.X) + "," + number(p.Y))
	}
	return b.String()
}

// number is a coordinate with one digit behind the point.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// Escape makes a text fit to stand in SVG and HTML, in content and between
// quotes: a name out of a model can neither begin an element nor end an
// attribute, nor steer what shows it.
func Escape(s string) string {
	s = report.Printable(s)
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		case 0xfffe, 0xffff: // no characters of XML
			b.WriteString("\uFFFD")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
