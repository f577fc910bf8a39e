package relative

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Sides are tables of vectors by distance along the rows and the columns of an image, or of the
// windows that it is cut into, which queries are multiplied with (decomposed relative positions, Li et al. 2022).
type Sides struct {
	*site.Other
	graph    *site.Graph
	meetings []axes.Meeting
	given    map[string]*eval.Value // what was resized, without content
}

// join adds a further table: one mechanism, of which the tables with most rows tell how far it
// reaches.
func (t *Sides) join(found *site.Other) {
	have, other := t.Detected.Scheme.(schemes.Other), found.Detected.Scheme.(schemes.Other)
	if have.Rows < other.Rows {
		have.Rows = other.Rows
		t.Detected.Scheme = have
	}
	t.Detected.Capacity = 0
	t.Detected.Where = append(t.Detected.Where, found.Detected.Where...)
}

// foldedSide reads vectors between the places of a side of a picture that stand in the file
// themselves, the table that they were looked up in being gone; nil where it is something else.
func (m *Search) foldedSide(x axes.Meeting) *site.Other {
	if m.graph.ImageInput() == nil || m.graph.TokenInput() != nil {
		return nil
	}
	v := x.Scope.Enlarge(x.Known)
	if !v.Known() || v.Floats == nil || v.Shape[x.Covers[0]] != v.Shape[x.Covers[1]] || !v.Varies(x.Covers[0]) {
		return nil
	}
	side := v.Shape[x.Covers[0]]
	table, ok := rows.ReadByDistance(v.Shape, v.Floats, x.Covers[0], x.Covers[1])
	if !ok {
		return nil
	}
	e := position.Encoding{Form: report.FormBaked, Beyond: report.BeyondError, Scheme: schemes.Other{Kind: report.SchemeRelativeTable, Rows: 2*side - 1, Dim: table.Dim()},
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s multiplies the data with a vector for each of %d×%d pairs of positions", x.Node.Title(), side, side)}}}
	for _, src := range trace.Sources(x.Scope, x.Known) {
		if t := src.Tensor; t != nil && t.Type.IsFloat() {
			e.Where, e.Dtype = append(e.Where, m.graph.Where(t)), t.Type.String()
		}
	}
	return site.NewOther(e)
}

// Override tells an evaluator of the main graph's vectors that were resized: their new shapes.
func (t *Sides) Override(into map[string]*eval.Value) {
	for name, v := range t.given {
		into[name] = v
	}
}

// ResizeSides gives the tables of the whole picture a row for each distance along another side, by
// linear resampling (get_rel_pos of detectron2's layers); those of windows stay. reaches is the
// number of rows of the longest table then.
func (t *Sides) ResizeSides(from, to [2]int) (reaches int, err error) {
	instead := "export the model for the wanted picture"
	t.given = map[string]*eval.Value{}
	why := fmt.Sprintf("vectors by distance for %d×%d patches", to[0], to[1])
	for _, x := range t.meetings {
		v := x.Scope.Enlarge(x.Known)
		if !v.Known() || v.Floats == nil || v.Shape[x.Covers[0]] != v.Shape[x.Covers[1]] {
			return 0, &position.Refusal{Why: fmt.Sprintf("the vectors by distance that %s takes are too many to be read, or not between equal sides", x.Node.Title()), Instead: instead}
		}
		side := v.Shape[x.Covers[0]]
		if side != from[0] && side != from[1] {
			reaches = max(reaches, 2*side-1) // of windows
			continue
		}
		along := t.side(x)
		if along < 0 && from[0] == from[1] && to[0] != to[1] {
			return 0, &position.Refusal{Why: fmt.Sprintf("whether %s is for rows or for columns cannot be told, and the new grid has not as many of both", x.Node.Title()), Instead: instead}
		}
		if x.Scope != t.graph.Eval.Main {
			return 0, &position.Refusal{Why: fmt.Sprintf("%s stands in a function or branch", x.Node.Title()), Instead: instead}
		}
		now := to[max(along, 0)]
		if along < 0 && side != from[0] {
			now = to[1]
		}
		reaches = max(reaches, 2*now-1)
		if t.given[x.Known] != nil {
			continue // layers share it
		}
		if err := t.resize(x, v, side, now, why); err != nil {
			return 0, err
		}
	}
	t.graph.RemoveUnread(why)
	return reaches, nil
}

// side is 0 where the places that vectors lie between are the picture's rows, 1 where they are its
// columns, −1 where it is not told.
func (t *Sides) side(x axes.Meeting) int {
	in := t.graph.ImageInput()
	height, width := probe.PictureSides(in)
	switch from := x.Along[0].InputAxes(in.Name); {
	case slices.Equal(from, []int{height}):
		return 0
	case slices.Equal(from, []int{width}):
		return 1
	}
	return -1
}

// resize puts the vectors between the places of another side in the place of some.
func (t *Sides) resize(x axes.Meeting, v *eval.Value, side, now int, why string) error {
	table, ok := rows.ReadByDistance(v.Shape, v.Floats, x.Covers[0], x.Covers[1])
	if !ok {
		return &position.Refusal{Why: fmt.Sprintf("%s takes other vectors for places as far apart", x.Node.Title()), Instead: "export the model for the wanted picture"}
	}
	kernel, err := schemes.KernelNamed("bilinear")
	if err != nil {
		return err
	}
	resized, err := schemes.ResampleRows(table, 0, schemes.Grid{1, 2*side - 1, 1}, schemes.Grid{1, 2*now - 1, 1}, kernel)
	if err != nil {
		return &position.Refusal{Why: err.Error()}
	}
	vectors := make([][]float64, 2*now-1)
	for i := range vectors {
		vectors[i] = make([]float64, table.Dim())
		if err := resized.Row(i, vectors[i]); err != nil {
			return err
		}
	}
	shape, fill := table.Between(now, func(distance int) []float64 { return vectors[distance+now-1] })
	made := eval.Shaped(v.Type, shape...)
	data, err := rows.Stream(&onnx.Tensor{Type: v.Type}, int64(made.Len()), fill)
	if err != nil {
		return err
	}
	t.given[x.Known] = made
	return t.graph.Substitute(x.Scope, x.Known, made, data, "modelpatch/side", why)
}
