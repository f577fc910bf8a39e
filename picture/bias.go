package picture

import (
	"fmt"
	"math"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// mostHeads bounds the heads that are asked for; models have at most 256.
const mostHeads = 1 << 12

// usualDistance is how far a bias is drawn where nothing bounds it.
const usualDistance = 128

// heads are the heads whose lines are drawn: at most as many as there are colours.
func heads(n, lines int) []int { return figure.Columns(n, max(1, figure.MaxSeries/lines)) }

// linear draws ALiBi: the slope of each head, and its bias by distance.
func linear(group []subject) (f figure.Figure, ok bool, err error) {
	slopes := figure.Panel{Title: "slope by head", X: figure.Axis{Label: "head", Whole: true}, Y: figure.Axis{Label: "slope", Scale: figure.Log2}}
	by := figure.Panel{Title: "bias by distance", X: figure.Axis{Label: "distance from query to key", Whole: true}, Y: figure.Axis{Label: "added to the score"}}
	var words []string
	drawnHeads := map[string]int{} // head by the name of its line
	for _, s := range group {
		a := s.encoding.Scheme.(schemes.ALiBi)
		if a.Count() == 0 || a.Count() > mostHeads {
			return f, false, nil
		}
		values := a.SlopeValues()
		line := figure.Series{Name: label(s, "slope"), Style: figure.Points}
		negative := 0
		for _, h := range figure.Columns(len(values), figure.MaxColumns) {
			v := values[h]
			if v <= 0 {
				negative++
				v = math.NaN()
			}
			line.X, line.Y = append(line.X, float64(h)), append(line.Y, v)
		}
		if negative > 0 {
			f.Notes = append(f.Notes, label(s, fmt.Sprintf("%s with a slope of zero or below is not on the axis of slopes", plural(negative, "head"))))
		}
		slopes.Series = append(slopes.Series, line)
		if err := addBias(&by, drawnHeads, s, len(values), len(group), distances(s)); err != nil {
			return f, false, err
		}
		addEnd(&f, &by, s)
		f.Subtitle = joined(f.Subtitle, label(s, a.String()), "; ")
		words = append(words, label(s, fmt.Sprintf("slopes of %s from %s to %s", plural(len(values), "head"), figure.Number(values[0]), figure.Number(values[len(values)-1]))))
	}
	fit(&f, &by)
	addBiasDifference(&f, by, drawnHeads, group)
	f.Panels = append(f.Panels, slopes, by)
	f.Title = title(group)
	f.Description = strings.Join(words, ". ") + ". The bias falls in a straight line with the distance."
	return f, true, nil
}

// distances are those that a linear bias is drawn at: as far as it reaches, where that is known.
func distances(s subject) []int {
	far := min(s.length(usualDistance), usualDistance) + 1
	if limit := s.report.Length.Limit(); limit.Known() {
		far = min(int(limit), mostRows)
	}
	return figure.Columns(far, figure.MaxColumns)
}

// addEnd marks where a bias ends, and says what input does that is longer.
func addEnd(f *figure.Figure, p *figure.Panel, s subject) {
	switch limit, beyond := s.report.Length.Limit(), s.report.Length.Beyond; {
	case limit.Known():
		ends := fmt.Sprintf("ends at %s: longer input %s", limit.Of("positions"), report.BeyondText(beyond))
		if beyond == report.BeyondUnknown {
			ends = fmt.Sprintf("ends at %s: what longer input does is not known", limit.Of("positions"))
		}
		p.Rules = append(p.Rules, figure.Rule{Name: label(s, ends), At: float64(limit - 1), Vertical: true})
		f.Notes = append(f.Notes, label(s, ends))
		p.X.Max = max(p.X.Max, float64(limit)*1.08)
	case limit == report.NoLimit:
		f.Notes = append(f.Notes, label(s, "no limit: at longer distances the line goes on"))
	default:
		f.Notes = append(f.Notes, label(s, "where the bias ends is not known"))
	}
}

// addBias adds the bias of some heads by distance, as the file computes it, in
// which keys stand before the query.
func addBias(p *figure.Panel, drawn map[string]int, s subject, count, models int, far []int) error {
	b, ok := s.site.(position.Biaser)
	if !ok {
		return nil
	}
	last := far[len(far)-1]
	for _, h := range heads(count, models) {
		line := figure.Series{Name: label(s, fmt.Sprintf("head %d", h))}
		drawn[line.Name] = h
		for _, d := range far {
			v, err := b.Bias(h, last, last-d, last+1)
			if err != nil {
				return err
			}
			line.X, line.Y = append(line.X, float64(d)), append(line.Y, v)
		}
		p.Series = append(p.Series, line)
	}
	return nil
}

// addBiasDifference adds the second model's lines minus the first's: of the heads and at the
// places that both have.
func addBiasDifference(f *figure.Figure, p figure.Panel, heads map[string]int, group []subject) {
	if len(group) < 2 {
		return
	}
	out := figure.Panel{Title: "difference: second minus first", Difference: true, X: p.X, Y: p.Y}
	first := map[int]figure.Series{} // by head
	for _, s := range p.Series {
		h := heads[s.Name]
		a, ok := first[h]
		if !ok {
			first[h] = s
			continue
		}
		line := figure.Series{Name: fmt.Sprintf("head %d", h), Style: a.Style}
		at := map[float64]float64{}
		for j, x := range a.X {
			at[x] = a.Y[j]
		}
		for j, x := range s.X {
			if v, ok := at[x]; ok {
				line.X, line.Y = append(line.X, x), append(line.Y, s.Y[j]-v)
			}
		}
		out.Series = append(out.Series, line)
	}
	f.Differs = len(p.Series) != 2*len(out.Series) || group[0].report.Length.Limit() != group[1].report.Length.Limit()
	if len(out.Series) == 0 {
		f.Notes = append(f.Notes, "no difference is drawn: no head of both is")
		return
	}
	f.Panels = append(f.Panels, out)
}

// buckets draws T5's bias: the bucket of each distance, and its bias by head.
func buckets(group []subject) (f figure.Figure, ok bool, err error) {
	x := figure.Axis{Label: "key minus query", Whole: true}
	curve := figure.Panel{Title: "bucket by distance", X: x, Y: figure.Axis{Label: "bucket", Whole: true}}
	by := figure.Panel{Title: "bias by distance", X: x, Y: figure.Axis{Label: "added to the score"}}
	drawnHeads := map[string]int{} // head by the name of its line
	var words []string
	for _, s := range group {
		b := s.encoding.Scheme.(schemes.Buckets)
		if b.Buckets <= 0 || b.MaxDistance <= 0 || b.Heads > mostHeads {
			return f, false, nil
		}
		far := min(b.MaxDistance+b.MaxDistance/4, 1<<16)
		from := -far
		n := far + 1
		if b.Bidirectional {
			n += far
		}
		line := figure.Series{Name: label(s, "bucket"), Style: figure.Steps}
		at := figure.Columns(n, figure.MaxColumns)
		for _, i := range at {
			line.X, line.Y = append(line.X, float64(from+i)), append(line.Y, float64(b.Bucket(from+i)))
		}
		curve.Series = append(curve.Series, line)
		curve.Rules = append(curve.Rules, figure.Rule{Name: label(s, fmt.Sprintf("max distance %d", b.MaxDistance)), At: -float64(b.MaxDistance), Vertical: true})
		if biaser, ok := s.site.(position.Biaser); ok {
			for _, h := range heads(b.Heads, len(group)) {
				line := figure.Series{Name: label(s, fmt.Sprintf("head %d", h)), Style: figure.Steps}
				drawnHeads[line.Name] = h
				for _, i := range at {
					query, key := max(0, -(from+i)), max(0, from+i)
					v, err := biaser.Bias(h, query, key, far+1)
					if err != nil {
						return f, false, err
					}
					line.X, line.Y = append(line.X, float64(from+i)), append(line.Y, v)
				}
				by.Series = append(by.Series, line)
			}
		}
		f.Subtitle = joined(f.Subtitle, label(s, b.String()), "; ")
		words = append(words, label(s, fmt.Sprintf("%d buckets; distances beyond %d share the last one", b.Buckets, b.MaxDistance)))
	}
	fit(&f, &by)
	addBiasDifference(&f, by, drawnHeads, group)
	if len(group) == 2 && sameSeries(curve.Series[:1], curve.Series[1:]) {
		curve.Series = curve.Series[:1]
		curve.Series[0].Name = "bucket of both"
		curve.Rules = curve.Rules[:1]
		curve.Rules[0].Name = "max distance"
	}
	f.Panels = append(f.Panels, curve)
	if len(by.Series) > 0 {
		f.Panels = append(f.Panels, by)
	}
	f.Title = title(group)
	f.Description = strings.Join(words, ". ") + "."
	return f, true, nil
}
