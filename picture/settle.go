package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
)

// settle takes charts out of a picture that show nothing: lines and maps of one number, which
// a note says in their place, and charts that an earlier one repeats. Maps of one quantity get
// one scale of colours. The first chart of a figure stays where it would be left without any.
func settle(figures []figure.Figure) {
	var drawn []placed
	limits := map[[2]string]float64{}
	for i := range figures {
		f := &figures[i]
		all := f.Panels
		f.Panels = nil
		for _, p := range all {
			value, flat := flatness(p)
			of := slices.IndexFunc(drawn, func(other placed) bool { return repeats(p, other.panel) })
			switch {
			case flat && p.Difference && value == neutral(f.Kind)+" throughout":
				f.Notes = append(f.Notes, p.Title+": none")
				continue
			case flat:
				f.Notes = append(f.Notes, p.Title+": "+value)
				f.Differs = f.Differs || p.Difference
				continue
			case of >= 0:
				f.Notes = append(f.Notes, fmt.Sprintf("%s: as in %s", p.Title, drawn[of].figure))
				continue
			}
			f.Panels = append(f.Panels, p)
			drawn = append(drawn, placed{p, f.Title})
			f.Differs = f.Differs || p.Difference
		}
		if i := slices.IndexFunc(all, func(p figure.Panel) bool { return !p.Difference }); len(f.Panels) == 0 && i >= 0 {
			f.Panels = all[i : i+1]
		}
		if f.Compared && !f.Differs && len(f.Panels) > 0 {
			f.Panels = f.Panels[:1]
		}
		for _, p := range f.Panels {
			if p.Heat != nil {
				limits[quantity(*f, p)] = max(limits[quantity(*f, p)], p.Heat.Limit)
			}
		}
	}
	for _, f := range figures {
		for _, p := range f.Panels {
			if p.Heat != nil {
				p.Heat.Limit = limits[quantity(f, p)]
			}
		}
	}
}

// neutral is the number of a difference that is none: rotations are compared by quotients.
func neutral(kind string) string {
	if kind == figure.KindRotation {
		return "1"
	}
	return "0"
}

// placed is a panel and the title of the figure that it stands in.
type placed struct {
	panel  figure.Panel
	figure string
}

// quantity names what the colours of a map stand for. What is added to scores is one quantity
// in all figures; the numbers of a table are one in each.
func quantity(f figure.Figure, p figure.Panel) [2]string {
	of := f.Encoding
	if f.Kind == figure.KindScores {
		of = ""
	}
	return [2]string{of, fmt.Sprint(p.X.Label, p.Y.Label, p.Difference)}
}

// flatness says the number that all lines of a panel, or all cells of a map of differences, have; several where
// each line has its own. A panel with marks is not flat: faults are to be seen.
func flatness(p figure.Panel) (value string, flat bool) {
	var lists [][]float64
	if p.Heat != nil && p.Difference {
		lists = [][]float64{slices.Clone(p.Heat.Values)}
	}
	for _, s := range p.Series {
		lists = append(lists, slices.Concat(s.Y, s.Low, s.High))
	}
	if len(lists) == 0 || len(p.Marks) > 0 {
		return "", false
	}
	var values, named []string
	where := " throughout"
	for i, list := range lists {
		kept := slices.DeleteFunc(list, math.IsNaN)
		if len(kept) < len(list) {
			if p.Difference {
				return "", false // what only one of the two has
			}
			where = " for all others"
		}
		v, ok := constant(kept)
		if !ok {
			return "", false
		}
		values = append(values, figure.Number(v))
		if len(p.Series) > 1 {
			named = append(named, p.Series[i].Name+" "+figure.Number(v))
		}
	}
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return values[0] + where, true
	}
	return strings.Join(named, ", ") + where, true
}

// constant returns the number that a list has everywhere but for rounding.
func constant(list []float64) (float64, bool) {
	const rounding = 1e-6
	if len(list) == 0 {
		return 0, false
	}
	low, high := slices.Min(list), slices.Max(list)
	return list[0], high-low <= rounding*math.Max(math.Abs(low), math.Abs(high)) // neither of NaN nor of infinity
}

// repeats reports whether a panel shows what another one does.
func repeats(a, b figure.Panel) bool {
	return a.Title == b.Title && len(a.Series) > 0 && sameSeries(a.Series, b.Series) &&
		slices.Equal(a.Rules, b.Rules) && slices.Equal(a.Bands, b.Bands) && slices.Equal(a.Marks, b.Marks)
}

// sameSeries reports whether lines lie on each other, whatever they are called.
func sameSeries(a, b []figure.Series) bool {
	return slices.EqualFunc(a, b, func(s, t figure.Series) bool { return sameNumbers(s.X, t.X) && sameNumbers(s.Y, t.Y) })
}

// sameNumbers is slices.Equal in which NaN equals NaN.
func sameNumbers(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}
