package terminal

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/report"
)

// Columns is how wide figures of block characters are.
const Columns = 80

const (
	margin = 11 // columns of the numbers beside a chart
	rows   = 12 // lines of a chart
)

// colours are those of the first series in terminals that have them: blue, red,
// green, magenta, yellow, cyan, white, grey.
var colours = [figure.MaxSeries]string{"34", "31", "32", "35", "33", "36", "37", "90"}

// signs tell series apart where there are several.
var signs = [figure.MaxSeries]rune{'•', '×', '+', 'o', '*', '#', '%', '@'}

// WriteBlocks draws figures with characters, in [Columns] columns.
func WriteBlocks(figures []figure.Figure, colour bool) string {
	var b strings.Builder
	for i, f := range figures {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(cut(f.Title, Columns) + "\n")
		if f.Subtitle != "" {
			b.WriteString(cut(f.Subtitle, Columns) + "\n")
		}
		for _, p := range f.Panels {
			b.WriteString("\n" + cut(p.Title, Columns) + "\n")
			switch {
			case p.Heat != nil:
				shades(&b, p.Heat)
			case len(p.Series) > 0:
				chart(&b, p, colour)
			default:
				b.WriteString("  (-o FILE.svg draws this)\n")
			}
		}
		for _, n := range f.Notes {
			b.WriteString("note: " + report.Printable(n) + "\n")
		}
	}
	return b.String()
}

// cut is a name fit for a line.
func cut(s string, most int) string {
	s = report.Printable(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// canvas is a chart of characters, each of two by two dots where one series is
// drawn.
type canvas struct {
	dots   [rows * 2][(Columns - margin) * 2]bool
	series [rows][Columns - margin][]int // those there, counted from 1
}

// quadrants are the characters of two by two dots: upper left 1, upper right 2,
// lower left 4, lower right 8.
const quadrants = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"

// chart draws lines over axes.
func chart(b *strings.Builder, p figure.Panel, colour bool) {
	lowX, highX, okX := p.Span()
	lowY, highY, okY := p.Range()
	if p.Y.Min < p.Y.Max {
		lowY, highY = p.Y.Min, p.Y.Max
	}
	if !okX || !okY {
		b.WriteString("  (no numbers)\n")
		return
	}
	x, y := scale(p.X.Scale, lowX, highX), scale(p.Y.Scale, lowY, highY)
	var c canvas
	for k, s := range p.Series {
		c.line(s, k+1, x, y)
	}
	for line := range rows {
		label := ""
		switch line {
		case 0:
			label = figure.Number(highY)
		case rows - 1:
			label = figure.Number(lowY)
		case rows / 2:
			label = figure.Number(c.middle(p.Y.Scale, lowY, highY))
		}
		if says := ruleAt(p, y, line); says != "" {
			label = says
		}
		fmt.Fprintf(b, "%*s │%s\n", margin-2, cut(label, margin-2), strings.TrimRight(c.text(line, len(p.Series) > 1 || p.Series[0].Style == figure.Points, colour), " "))
	}
	b.WriteString(strings.Repeat(" ", margin-1) + "└" + strings.Repeat("─", Columns-margin) + "\n")
	first, last := figure.Number(lowX), figure.Number(highX)
	middle := cut(p.X.Label, Columns-margin-len([]rune(first+last))-2)
	room := Columns - margin - len([]rune(first+middle+last))
	fmt.Fprintf(b, "%s%s%s%s%s%s\n", strings.Repeat(" ", margin), first, strings.Repeat(" ", room/2), middle, strings.Repeat(" ", room-room/2), last)
	if len(p.Series) > 1 {
		for k, s := range p.Series {
			fmt.Fprintf(b, "  %s %s\n", paint(string(signs[k%len(signs)]), k+1, colour), cut(s.Name, Columns-4))
		}
	}
	for _, r := range p.Rules {
		fmt.Fprintf(b, "  %s\n", cut(r.Name, Columns-2))
	}
	for _, m := range p.Bands {
		fmt.Fprintf(b, "  %s\n", cut(m.Name, Columns-2))
	}
}

// ruleAt marks the lines at which a length stands.
func ruleAt(p figure.Panel, y func(float64) float64, line int) string {
	for _, r := range p.Rules {
		if t := y(r.At); !r.Vertical && t >= 0 && t <= 1 && int(math.Round((1-t)*(rows-1))) == line && line > 0 && line < rows-1 {
			return figure.Number(r.At) + "┄"
		}
	}
	return ""
}

// scale maps a range to 0 … 1.
func scale(s figure.Scale, low, high float64) func(float64) float64 {
	if s != figure.Linear {
		low, high = math.Log(low), math.Log(high)
	}
	return func(v float64) float64 {
		if s != figure.Linear {
			v = math.Log(v)
		}
		if high == low {
			return 0.5
		}
		return (v - low) / (high - low)
	}
}

// line draws one series: a dot at every column between its samples.
func (c *canvas) line(s figure.Series, number int, x, y func(float64) float64) {
	width, height := len(c.dots[0])-1, len(c.dots)-1
	put := func(tx, ty float64) {
		if !(tx >= 0 && tx <= 1 && ty >= 0 && ty <= 1) {
			return
		}
		column, line := int(math.Round(tx*float64(width))), int(math.Round((1-ty)*float64(height)))
		c.dots[line][column] = true
		if all := &c.series[line/2][column/2]; !slices.Contains(*all, number) {
			*all = append(*all, number)
		}
	}
	for i := range min(len(s.X), len(s.Y)) {
		at, height := x(s.X[i]), y(s.Y[i])
		put(at, height)
		if s.Style == figure.Points || i == 0 {
			continue
		}
		before, was := x(s.X[i-1]), y(s.Y[i-1])
		steps := int(math.Ceil((at - before) * float64(width)))
		for k := 1; k < min(steps, width); k++ {
			t := float64(k) / float64(steps)
			h := was + t*(height-was)
			if s.Style == figure.Steps {
				h = was
			}
			put(before+t*(at-before), h)
		}
	}
}

// at is the series that a cell shows: of several that meet there, each has its turn from column to column.
func (c *canvas) at(line, column int) int {
	all := c.series[line][column]
	if len(all) == 0 {
		return 0
	}
	return all[column%len(all)]
}

// middle is the number at the line in the middle.
func (c *canvas) middle(s figure.Scale, low, high float64) float64 {
	const t = 1 - float64(rows/2)/float64(rows-1)
	if s == figure.Linear {
		return low + t*(high-low)
	}
	return low * math.Pow(high/low, t)
}

// text is one line of the canvas: a sign for each series, or the dots of the only one.
func (c *canvas) text(line int, signed, colour bool) string {
	var b strings.Builder
	shapes := []rune(quadrants)
	var run []rune // of one series
	for column := range c.series[line] {
		number := c.at(line, column)
		sign := ' '
		switch {
		case number == 0:
		case signed:
			sign = signs[(number-1)%len(signs)]
		default:
			bits := 0
			for k, is := range []bool{c.dots[2*line][2*column], c.dots[2*line][2*column+1], c.dots[2*line+1][2*column], c.dots[2*line+1][2*column+1]} {
				if is {
					bits |= 1 << k
				}
			}
			sign = shapes[bits]
		}
		run = append(run, sign)
		if column+1 == len(c.series[line]) || c.at(line, column+1) != number {
			b.WriteString(paint(string(run), number, colour))
			run = run[:0]
		}
	}
	return b.String()
}

// paint colours a sign on terminals.
func paint(s string, number int, colour bool) string {
	if !colour || number == 0 {
		return s
	}
	return "\x1b[" + colours[(number-1)%len(colours)] + "m" + s + "\x1b[0m"
}

// shades draws a heat map by the size of its numbers.
func shades(b *strings.Builder, h *figure.Heat) {
	const ramp = " ░▒▓█"
	levels := []rune(ramp)
	low := 0.0
	if h.Sequential {
		low = h.Floor
	}
	for _, y := range figure.Columns(h.Rows, rows*2) {
		b.WriteString("  ")
		for _, x := range figure.Columns(h.Columns, Columns-2) {
			v := h.Values[y*h.Columns+x]
			if math.IsNaN(v) {
				b.WriteByte('?')
				continue
			}
			if !h.Sequential {
				v = math.Abs(v)
			}
			t := (v - low) / (h.Limit - low)
			if !(t > 0) {
				t = 0
			}
			b.WriteRune(levels[int(math.Round(min(t, 1)*float64(len(levels)-1)))])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "  by size: blank %s, full %s and more\n", figure.Number(low), figure.Number(h.Limit))
}

// Sparkline is numbers as a line of bars with the least and the greatest beside
// it, ▁▂▃ … █ from zero; NaN is "!".
func Sparkline(values []float64, width int) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if len(values) == 0 || low > high {
		return "no numbers"
	}
	var b strings.Builder
	n := min(width, len(values))
	for g := range n {
		group := values[g*len(values)/n : (g+1)*len(values)/n]
		top, broken := 0.0, false
		for _, v := range group {
			broken = broken || math.IsNaN(v)
			top = max(top, v)
		}
		switch {
		case broken:
			b.WriteByte('!')
		case high <= 0 || math.IsInf(high, 0):
			b.WriteRune(bars[0])
		default:
			b.WriteRune(bars[min(int(top/high*float64(len(bars))), len(bars)-1)])
		}
	}
	return b.String() + " " + figure.Number(low) + "…" + figure.Number(high)
}
