package rotary

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Override tells an evaluator of the main graph's cosines and sines that were resized: their new shapes.
func (r *Site) Override(into map[string]*eval.Value) {
	for name, v := range r.given {
		into[name] = v
	}
}

// ResizePlaces puts the cosines and sines of the places of another grid where the graph turns queries and keys, in
// constants: whatever gave those of the old one, folded tables, slices of tables of each axis or nodes that compute them, goes.
func (r *Site) ResizePlaces(to []int, squeezed bool) (says string, err error) {
	if r.turning {
		return "", refusePlaces("rows before the grid turn by angles of their own")
	}
	r.given = map[string]*eval.Value{}
	for _, u := range r.uses {
		how, err := r.resizeUse(u, to, squeezed)
		if err != nil {
			return "", err
		}
		says = cmp.Or(says, how) // a part of a head may turn along an axis that stays
	}
	r.m.RemoveUnread(placesWhy)
	return says, nil
}

// alongOneAxis reads cosines and sines that turn places of a grid by one of their coordinates alone, as those do that are
// for a part of each head (V-JEPA 2, RoPE2D of CroCo): those of all axes together are those of one table of the grid.
func (r *Site) alongOneAxis(e *position.Encoding) {
	grid := r.grid()
	if r.m.ImageInput() == nil || grid == nil {
		return
	}
	if along, _ := r.m.FrameGrid(); along > 1 && len(grid) == 2 {
		grid = append([]int{along}, grid...)
	}
	parts, seen := make([]*placesInUse, len(grid)), map[*eval.Value]bool{}
	var found placesInUse
	other := false
	for i, u := range r.uses {
		if i > 0 && seen[u.cosValue] {
			continue
		}
		seen[u.cosValue] = true
		part, ok := turnedPlaces(u.cosValue, u.sinValue, grid)
		if !ok || !part.Turn() {
			return
		}
		if i == 0 {
			found = part
		}
		switch axis, alone := part.Along(); {
		case !alone:
		case parts[axis] == nil:
			parts[axis] = &part
		case !part.Same(parts[axis].Places):
			other = true // frequencies of one axis
		}
	}
	r.scheme.Grid, r.places, r.amplitude = grid, [2]fit.Matrix{found.cos, found.sin}, found.Amplitude
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: fmt.Sprintf("each column turns along one axis of %s places, by one angle from place to place", schemes.Sizes(grid))})
	var together [2]rows.Matrix
	for _, part := range parts {
		if r.part = part == nil; r.part || other || part.Prefix != found.Prefix {
			return
		}
		together = beside(together, part)
	}
	whole, ok := fit.AxialRotaryCache(together[0], together[1], rows.Precision(r.uses[0].cosValue.Type), grid)
	if !ok || whole.Rotary.Base == 0 {
		return
	}
	r.scheme, r.places = whole.Rotary, [2]fit.Matrix{together[0], together[1]}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "a part of each head turns along each axis, together " + r.scheme.String(), Residual: site.Residual(whole.Residual)})
}

// beside puts the columns of a part behind those of others, each once: both elements of a pair may have their own.
func beside(whole [2]rows.Matrix, part *placesInUse) [2]rows.Matrix {
	cos, sin := transposed(part.cos), transposed(part.sin)
	for k := range cos {
		again := false
		for before := range k {
			again = again || slices.Equal(cos[before], cos[k]) && slices.Equal(sin[before], sin[k])
		}
		for i, column := range [][]float64{cos[k], sin[k]} {
			if whole[i] == nil {
				whole[i] = make(rows.Matrix, len(column))
			}
			for place, x := range column {
				if !again {
					whole[i][place] = append(whole[i][place], x)
				}
			}
		}
	}
	return whole
}

// placesInUse are cosines and sines by which a graph turns the places of a grid.
type placesInUse struct {
	fit.Places
	axis     int // of places
	cos, sin rows.Matrix
}

// turnedPlaces reads them; false where they are not known, or a column turns along several axes.
func turnedPlaces(cos, sin *eval.Value, grid []int) (out placesInUse, ok bool) {
	if out.axis = trace.PositionAxis(cos); out.axis < 0 || trace.PositionAxis(sin) != out.axis {
		return out, false
	}
	out.cos, out.sin = trace.RowsOf(cos, out.axis), trace.RowsOf(sin, out.axis)
	out.Places, ok = fit.PlacesOf(out.cos, out.sin, rows.Precision(cos.Type), grid)
	return out, ok
}

// PlacesFollow reports whether the graph, as it is, turns the places of another grid as they go on or are squeezed: it may
// count them by numbers that stand for the old one. True where it turns no places of a grid.
func (r *Site) PlacesFollow(to schemes.Grid) bool {
	if r.scheme.Grid == nil || len(r.caches) > 0 {
		return true
	}
	e := r.m.WithPatches(to)
	if e == nil {
		return false
	}
	for _, u := range r.uses {
		was, ok := turnedPlaces(u.cosValue, u.sinValue, r.scheme.Grid)
		is, followed := turnedPlaces(e.Main.Value(u.cos), e.Main.Value(u.sin), to.Axes(len(r.scheme.Grid)))
		if !ok || !followed || u.scope != r.m.Eval.Main {
			return false
		}
		on, _, err := was.Resize(is.Grid, r.scheme.Base, false)
		squeezed, _, other := was.Resize(is.Grid, r.scheme.Base, true)
		if (err != nil || !on.Same(is.Places)) && (other != nil || !squeezed.Same(is.Places)) {
			return false
		}
	}
	return true
}

const placesWhy = "cosines and sines of another grid"

func refusePlaces(why string) *position.Refusal {
	return &position.Refusal{Why: why, Instead: "export the model for the wanted picture"}
}

// resizeUse is ResizePlaces for one place where the graph turns.
func (r *Site) resizeUse(u *rotation, to []int, squeezed bool) (says string, err error) {
	if u.ahead {
		return "", refusePlaces("its columns stand ahead of the places")
	}
	if r.shuffled {
		return "", refusePlaces("its patches stand in an order of their own, as blocks that are merged do: in which order those of another grid come is not in the file")
	}
	was, ok := turnedPlaces(u.cosValue, u.sinValue, r.scheme.Grid)
	if u.scope != r.m.Eval.Main || !ok {
		return "", refusePlaces("its columns are not known, or do not turn each along one axis of the grid, by one angle from place to place")
	}
	cos, sin, axis := was.cos, was.sin, was.axis
	if n := cos.Rows() * cos.Cols(); n != u.cosValue.Len() || n != u.sinValue.Len() {
		return "", refusePlaces("heads or pictures turn by angles of their own")
	}
	is, says, err := was.Resize(to, r.scheme.Base, squeezed)
	if err != nil {
		refusal := refusePlaces(err.Error())
		if errors.Is(err, schemes.ErrStep) {
			refusal.Remedies = []report.Remedy{report.Do("extend", "squeezes them into the span that they had", "method", schemes.PlacesSqueezed)}
		}
		return "", refusal
	}
	for i, of := range []struct {
		name string
		old  *eval.Value
		m    rows.Matrix
	}{{u.cos, u.cosValue, cos}, {u.sin, u.sinValue, sin}} {
		if r.given[of.name] != nil {
			continue
		}
		values := make([]float64, 0, (is.Prefix+is.Len())*cos.Cols())
		for _, row := range of.m[:is.Prefix] {
			values = append(values, row...)
		}
		for place := range is.Len() {
			for k := range cos.Cols() {
				c, s := is.At(place, k)
				values = append(values, []float64{c, s}[i])
			}
		}
		data, err := onnx.EncodeFloats(of.old.Type, values, nil)
		if err != nil {
			return "", refusePlaces(err.Error())
		}
		shape := slices.Clone(u.scope.Value(of.name).Shape)
		if len(shape) > len(of.old.Shape) { // rows and columns have an axis each
			shape[axis], shape[axis+1] = to[0], to[1]
		} else {
			shape[axis] = is.Prefix + is.Len()
		}
		made := eval.Shaped(of.old.Type, shape...)
		r.given[of.name] = made
		if err := r.m.Substitute(u.scope, of.name, made, patch.Bytes(data), "modelpatch/"+[]string{"cos", "sin"}[i], placesWhy); err != nil {
			return "", err
		}
	}
	return says, nil
}
