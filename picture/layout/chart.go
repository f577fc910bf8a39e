package layout

import (
	"slices"
	"sort"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
	"github.com/modelpatch/modelpatch/report"
)

// frame is where the data of a chart stand.
type frame struct {
	x, y                     axis
	left, right, top, bottom float64
}

// chart draws lines over axes.
func (p *page) chart(c figure.Panel, x, width float64) {
	p.legend(c, x, width)
	f := frame{left: x + left, right: x + width - right, top: p.y + 4}
	f.bottom = f.top + plotHeight
	low, high, ok := c.Span()
	f.x = newAxis(c.X, low, high, ok, f.left, f.right)
	if hasPoints(c) && c.X.Min == c.X.Max { // room beside the first and the last
		room := max((f.x.high-f.x.low)*0.03, 0.3)
		f.x.low, f.x.high = f.x.low-room, f.x.high+room
	}
	low, high, ok = c.Range()
	f.y = newAxis(c.Y, low, high, ok, f.bottom, f.top)
	f.y.widen(rooms(c))
	p.bands(c, f)
	p.axes(c, f)
	for i, s := range c.Series {
		p.series(s, i, f)
	}
	p.rules(c, f)
	p.marks(c, f)
	p.spots(c, f)
	p.y = f.bottom + 38
}

// rooms are the parts of the y axis that are kept free for words: of faults and
// bands below, of lines upwards above the data.
func rooms(c figure.Panel) (below, above float64) {
	const little, word = 0.03, 0.11
	if c.Y.Min == c.Y.Max {
		below, above = little, little
	}
	if len(c.Marks) > 0 {
		below += word
	}
	for _, b := range c.Bands {
		if b.Vertical {
			below += word
		}
	}
	for _, r := range c.Rules {
		if r.Vertical {
			above += word
		}
	}
	return min(below, 4*word), min(above, 4*word)
}

func hasPoints(c figure.Panel) bool {
	return slices.ContainsFunc(c.Series, func(s figure.Series) bool { return s.Style == figure.Points })
}

// dashOf is how a series is drawn besides its colour: later ones have dashes, so
// that a print without colours can be read.
func dashOf(s figure.Series, i int) int {
	switch {
	case s.Style == figure.Dashed:
		return 1
	case i >= 4:
		return 2
	}
	return 0
}

// legend names the series, in as many lines as they need.
func (p *page) legend(c figure.Panel, x, width float64) {
	if len(c.Series) < 2 {
		return
	}
	const sample, gap = 22.0, 16.0
	at := x + 14
	p.y += textSize
	for i, s := range c.Series {
		name := shorten(report.Printable(s.Name), textSize, width-28-sample)
		w := sample + 5 + measure(name, textSize, false) + gap
		if at+w > x+width && at > x+14 {
			at = x + 14
			p.y += textSize * lineHeight
		}
		colour := ink.Series + ink.Ink(i%ink.SeriesCount)
		middle := p.y - 4
		if s.Style == figure.Points {
			p.add(Shape{Form: Circle, Ink: colour, Radius: 3.5, Points: []Point{{at + sample/2, middle}}})
		} else {
			p.add(Shape{Form: Line, Ink: colour, Width: 2, Dash: dashOf(s, i), Points: []Point{{at, middle}, {at + sample, middle}}})
		}
		p.words(ink.Text, textSize, Start, Point{at + sample + 5, p.y}, name)
		at += w
	}
	p.y += 6
}

// axes draws ticks, the lines behind the data, and what the axes count.
func (p *page) axes(c figure.Panel, f frame) {
	for _, v := range f.y.ticks(6) {
		if y, ok := f.y.place(v); ok && y >= f.top-1 && y <= f.bottom+1 {
			p.line(ink.Grid, 1, Point{f.left, y}, Point{f.right, y})
			p.words(ink.Muted, smallSize, End, Point{f.left - 6, y + 4}, tick(v))
		}
	}
	for _, v := range f.x.ticks(max(5, int((f.right-f.left)/66))) {
		if x, ok := f.x.place(v); ok && x >= f.left-1 && x <= f.right+1 {
			p.line(ink.Muted, 1, Point{x, f.bottom}, Point{x, f.bottom + 4})
			p.words(ink.Muted, smallSize, Middle, Point{x, f.bottom + 16}, tick(v))
		}
	}
	p.line(ink.Muted, 1, Point{f.left, f.top}, Point{f.left, f.bottom}, Point{f.right, f.bottom})
	p.words(ink.Muted, smallSize, Middle, Point{(f.left + f.right) / 2, f.bottom + 31}, c.X.Label)
	p.add(Shape{Form: Words, Ink: ink.Muted, Size: smallSize, Anchor: Middle, Upright: true, Points: []Point{{f.left - left + 18, (f.top + f.bottom) / 2}}, Text: c.Y.Label})
}

// series draws one line, its range behind it.
func (p *page) series(s figure.Series, i int, f frame) {
	colour := ink.Series + ink.Ink(i%ink.SeriesCount)
	for _, run := range f.runs(s) {
		if len(s.Low) == len(s.X) && len(s.High) == len(s.X) && len(run) > 1 {
			p.spread(s, run, colour, f)
		}
		var points []Point
		for k, n := range run {
			x, _ := f.x.place(s.X[n])
			y, _ := f.y.place(s.Y[n])
			if s.Style == figure.Steps && k > 0 {
				points = append(points, Point{x, points[len(points)-1].Y})
			}
			points = append(points, Point{x, y})
		}
		if s.Style != figure.Points && len(points) > 1 {
			p.add(Shape{Form: Line, Ink: colour, Width: 1.8, Dash: dashOf(s, i), Points: points})
		}
		const dotted = 64 // more dots than this run together
		if s.Style == figure.Points || len(points) == 1 || s.Style == figure.Line && len(s.X) <= dotted {
			radius := 2.4
			if s.Style == figure.Points {
				radius = 3.5
			}
			for _, at := range points {
				p.add(Shape{Form: Circle, Ink: colour, Radius: radius, Points: []Point{at}})
			}
		}
	}
}

// runs are the samples of a series between its gaps.
func (f frame) runs(s figure.Series) (out [][]int) {
	var run []int
	for i := range min(len(s.X), len(s.Y)) {
		_, x := f.x.place(s.X[i])
		_, y := f.y.place(s.Y[i])
		if x && y {
			run = append(run, i)
			continue
		}
		if run != nil {
			out = append(out, run)
			run = nil
		}
	}
	if run != nil {
		out = append(out, run)
	}
	return out
}

// spread draws the range that each sample stands for.
func (p *page) spread(s figure.Series, run []int, colour ink.Ink, f frame) {
	var above, below []Point
	for _, n := range run {
		x, _ := f.x.place(s.X[n])
		high, ok := f.y.place(s.High[n])
		low, okLow := f.y.place(s.Low[n])
		if ok && okLow {
			above, below = append(above, Point{x, high}), append(below, Point{x, low})
		}
	}
	slices.Reverse(below)
	if len(above) > 1 {
		p.add(Shape{Form: Area, Ink: colour, Faint: true, Points: append(above, below...)})
	}
}

// bands shades ranges, with a word at their foot or head.
func (p *page) bands(c figure.Panel, f frame) {
	for i, b := range c.Bands {
		if b.Vertical {
			from, ok := f.x.place(b.From)
			to, okTo := f.x.place(b.To)
			if !ok || !okTo {
				continue
			}
			from, to = max(from, f.left), min(max(to, from+1), f.right)
			p.rect(ink.Shadow, Point{from, f.top}, Point{to, f.bottom})
			p.tag(b.Name, (from+to)/2, f.bottom-6-float64(i)*smallSize*1.2, f)
			continue
		}
		low, ok := f.y.place(b.From)
		high, okHigh := f.y.place(b.To)
		if !ok || !okHigh {
			continue
		}
		high, low = max(high, f.top), min(low, f.bottom)
		p.rect(ink.Shadow, Point{f.left, high}, Point{f.right, low})
		p.add(Shape{Form: Words, Ink: ink.Muted, Size: smallSize, Anchor: End, Halo: true, Points: []Point{{f.right - 6, (low+high)/2 + 4}}, Text: shorten(report.Printable(b.Name), smallSize, f.right-f.left)})
	}
}

// tag writes a word around an x, moved into the frame.
func (p *page) tag(name string, x, y float64, f frame) {
	name = shorten(report.Printable(name), smallSize, f.right-f.left)
	half := measure(name, smallSize, false) / 2
	x = min(max(x, f.left+half+3), f.right-half-3)
	p.add(Shape{Form: Words, Ink: ink.Muted, Size: smallSize, Anchor: Middle, Halo: true, Points: []Point{{x, y}}, Text: name})
}

// beside writes a word to the right of an x, or to the left where there is no room.
func (p *page) beside(name string, x, y float64, f frame) {
	name = shorten(report.Printable(name), smallSize, f.right-f.left)
	w, anchor, at := measure(name, smallSize, false), Start, x+5
	switch {
	case at+w <= f.right:
	case x-5-w >= f.left:
		anchor, at = End, x-5
	default:
		p.tag(name, x, y, f)
		return
	}
	p.add(Shape{Form: Words, Ink: ink.Text, Size: smallSize, Anchor: anchor, Halo: true, Points: []Point{{at, y}}, Text: name})
}

// rules draws lines across the data; words of neighbours are moved apart.
func (p *page) rules(c figure.Panel, f frame) {
	type level struct {
		at   float64
		name string
	}
	var across []level
	up := 0
	for _, r := range c.Rules {
		if r.Vertical {
			if x, ok := f.x.place(r.At); ok && x >= f.left && x <= f.right {
				p.add(Shape{Form: Line, Ink: ink.Rule, Width: 1.2, Dash: 2, Points: []Point{{x, f.top}, {x, f.bottom}}})
				p.beside(r.Name, x, f.top+smallSize+float64(up%8)*smallSize*1.25, f)
				up++
			}
			continue
		}
		if y, ok := f.y.place(r.At); ok && y >= f.top-1 && y <= f.bottom+1 {
			p.add(Shape{Form: Line, Ink: ink.Rule, Width: 1.2, Dash: 2, Points: []Point{{f.left, y}, {f.right, y}}})
			across = append(across, level{y, r.Name})
		}
	}
	sort.SliceStable(across, func(i, j int) bool { return across[i].at > across[j].at })
	above := f.bottom + 100
	for _, l := range across {
		y := min(l.at-4, above-smallSize*1.25)
		above = y
		name := shorten(report.Printable(l.name), smallSize, f.right-f.left)
		p.add(Shape{Form: Words, Ink: ink.Text, Size: smallSize, Anchor: End, Halo: true, Points: []Point{{f.right - 6, y}}, Text: name})
	}
}

// marks draws faults at the foot of the frame, and names the kinds.
func (p *page) marks(c figure.Panel, f frame) {
	var names []string
	for _, m := range c.Marks {
		from, ok := f.x.place(m.From)
		to, okTo := f.x.place(m.To)
		if !ok || !okTo {
			continue
		}
		from, to = max(from-2, f.left), min(to+2, f.right)
		p.rect(ink.Fault, Point{from, f.bottom - 7}, Point{max(to, from+4), f.bottom})
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if len(names) > 0 {
		name := shorten(report.Printable("marked at the foot: "+strings.Join(names, ", ")), smallSize, f.right-f.left)
		p.add(Shape{Form: Words, Ink: ink.Fault, Size: smallSize, Anchor: End, Halo: true, Points: []Point{{f.right - 3, f.bottom - 11}}, Text: name})
	}
}

// spots are the places where a pointer rests, one a sample, with the numbers of
// all series there.
func (p *page) spots(c figure.Panel, f frame) {
	said := map[float64][]string{}
	for _, s := range c.Series {
		for i := range min(len(s.X), len(s.Y)) {
			said[s.X[i]] = append(said[s.X[i]], nameOf(s, c)+s.Text(i))
		}
	}
	var at []float64
	for x := range said {
		if _, ok := f.x.place(x); ok {
			at = append(at, x)
		}
	}
	sort.Float64s(at)
	for i := 0; i < len(at); {
		j := i // the last of those that say the same
		for j+1 < len(at) && slices.Equal(said[at[j+1]], said[at[i]]) {
			j++
		}
		from, to := f.left, f.right
		if i > 0 {
			from = f.between(at[i-1], at[i])
		}
		if j+1 < len(at) {
			to = f.between(at[j], at[j+1])
		}
		where := figure.Number(at[i])
		if j > i {
			where += " … " + figure.Number(at[j])
		}
		p.add(Shape{Form: Spot, Points: []Point{{from, f.top}, {to, f.bottom}}, Text: saying(c.X.Label + " " + where + ": " + strings.Join(said[at[i]], "; "))})
		i = j + 1
	}
}

// between is the place in the middle of two numbers of the x axis.
func (f frame) between(a, b float64) float64 {
	p, _ := f.x.place(a)
	q, _ := f.x.place(b)
	return (p + q) / 2
}

// saying is what a pointer is told, cut to a size.
func saying(text string) string {
	const most = 400 // characters
	text = report.Printable(text)
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

// nameOf is what stands before a number: nothing where there is one series.
func nameOf(s figure.Series, c figure.Panel) string {
	if len(c.Series) == 1 || s.Name == "" {
		return ""
	}
	return s.Name + " "
}
