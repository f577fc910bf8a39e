package position

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// RelativeOptions say how a bias by buckets of relative distance is to be cut. Zero
// values are not asked for.
type RelativeOptions struct {
	MaxDistance int // from which on all distances share the last bucket
	Buckets     int
	Window      [2]int // height and width of an image window, in patches
	Method      string // of Window: schemes.WindowMethods; "": the first
}

// Rebucketer is implemented by sites of biases by bucket of distance whose buckets can
// be others.
type Rebucketer interface {
	Biaser
	// Rebucket makes the model take these buckets, as edits. rows is the bias of
	// each bucket, one number a head; nil: the table stays.
	Rebucket(to schemes.Buckets, rows [][]float64) error
}

// DistanceResizer is implemented by sites of tables with a row for each distance, at whose end
// distances are clipped.
type DistanceResizer interface {
	Site
	Substituter
	// ResizeDistances makes the model tell distances up to most apart, in both directions: rows
	// beyond the old reach repeat the farthest. What is folded for one length is made for so many positions; 0: as many as now.
	ResizeDistances(most, positions int) error
	// Folded reports whether the distances of all pairs stand in the file, for one length.
	Folded() bool
}

// maxBuckets bounds a table of buckets; models have 32 or 64.
const maxBuckets = 1 << 12

// maxBucketDistance bounds the distance to which buckets are told apart.
const maxBucketDistance = 1 << 20

// Relative changes the buckets of a model's relative bias. With another number of
// buckets each takes the mean of the old bias over the distances that fall into it.
func Relative(m Model, o RelativeOptions) (_ Outcome, err error) {
	defer Caught(&err)
	switch {
	case o.Window != [2]int{}:
		return o.window(m)
	case o.Method != "":
		return Outcome{}, &UsageError{What: "--method without --window: it says how the table of a window is resized"}
	case o.MaxDistance == 0 && o.Buckets == 0:
		return Outcome{}, &UsageError{What: "nothing asked for: a max distance, a number of buckets or a window is needed"}
	case o.MaxDistance < 0 || o.MaxDistance > maxBucketDistance:
		return Outcome{}, &UsageError{What: fmt.Sprintf("--max-distance %d: it must be between 2 and %d", o.MaxDistance, maxBucketDistance)}
	case o.Buckets < 0 || o.Buckets > maxBuckets:
		return Outcome{}, &UsageError{What: fmt.Sprintf("--buckets %d: it must be between 4 and %d", o.Buckets, maxBuckets)}
	}
	if err := cmp.Or(needsModel(m.Describe()), whole(m)); err != nil {
		return Outcome{}, err
	}
	out, found := Outcome{}, false
	for i, s := range m.Sites() {
		if r, ok := s.(DistanceResizer); ok && o.Buckets == 0 {
			found = true
			ends := s.Encoding().Capacity
			if err := resizeDistances(r, i, o.MaxDistance, 0, &out); err != nil {
				return Outcome{}, err
			}
			if ends > 0 && o.MaxDistance >= ends {
				out.note(fmt.Sprintf("anything else in the graph that ends at %d positions stays: extend --len %d takes it along", ends, o.MaxDistance+1))
			}
			continue
		}
		from, ok := s.Encoding().Scheme.(schemes.Buckets)
		if !ok {
			continue
		}
		found = true
		if err := o.rebucket(m, i, from, &out); err != nil {
			return Outcome{}, err
		}
	}
	switch {
	case !found:
		return Outcome{}, &Refusal{Why: "the model has no relative bias by buckets of distance, and no table of distances that are clipped", Instead: "inspect says what it has"}
	case out.Changes != nil:
		out.Nothing = ""
	case out.Nothing == "" && o.Buckets == 0:
		out.Nothing = fmt.Sprintf("the model tells distances up to %d apart already", o.MaxDistance)
	case out.Nothing == "":
		out.Nothing = "the model's buckets are these already"
	}
	return out, nil
}

// window resizes the biases of an image window, with all that hangs on the size of the picture.
func (o RelativeOptions) window(m Model) (Outcome, error) {
	if o.MaxDistance != 0 || o.Buckets != 0 {
		return Outcome{}, &UsageError{What: "--window with --max-distance or --buckets: a window has a bias for each distance, and no buckets"}
	}
	windows := false
	for _, s := range m.Sites() {
		if _, ok := s.(WindowResizer); !ok {
			continue
		}
		windows = true
		w, _ := s.Encoding().Scheme.(schemes.Other)
		if g, ok := m.(Gridder); ok && w.Window != nil && g.PatchGrid() != (schemes.Grid{}) && !slices.Equal(w.Window, g.PatchGrid().Axes(2)) {
			return Outcome{}, &Refusal{Why: fmt.Sprintf("the picture of %s patches is cut into windows of %s", g.PatchGrid(), schemes.Sizes(w.Window)),
				Remedies: []report.Remedy{report.Do("extend", "", "image", "SIZE", "window", fmt.Sprintf("%dx%d", o.Window[0], o.Window[1]))}}
		}
	}
	if !windows && !slices.Contains(schemes.WindowMethods, o.Method) && o.Method != "" {
		return Outcome{}, &UsageError{What: fmt.Sprintf("no method %q: there are %s", o.Method, strings.Join(schemes.WindowMethods, ", "))}
	}
	if !windows {
		return Outcome{}, &Refusal{Why: "the model has no biases between the places of an image window", Instead: "inspect says what it has"}
	}
	return ResizeGrid(m, GridOptions{Height: o.Window[0], Width: o.Window[1], WindowMethod: o.Method})
}

// resizeDistances gives a table of distances another reach.
func resizeDistances(s DistanceResizer, i, most, positions int, out *Outcome) error {
	to := s.Encoding().Scheme.(schemes.Other)
	from := (to.Rows - 1) / 2
	if from == most && to.MaxDistance == from {
		return nil
	}
	if err := s.ResizeDistances(most, positions); err != nil {
		return err
	}
	to = s.Stored().(schemes.Other)
	expect := report.ExpectChanged
	if most > from {
		expect = report.ExpectSameOnPrefix
		out.note(fmt.Sprintf("rows of distances beyond %d repeat the farthest: the model computes what it did until it is trained further%s", from, map[bool]string{true: "; rows that an export for fewer tokens than the model has rows for left out are not in the file"}[s.Folded()]))
	} else {
		out.note(fmt.Sprintf("distances beyond %d share its row: a model may need fine-tuning", most))
	}
	out.becomes(Becoming{Site: i, Scheme: to}, fmt.Sprintf("distances up to %d → %d, %d rows", from, most, to.Rows), expect)
	return nil
}

// rebucket changes one site, unless no distance between as many positions as the model takes gets another bucket.
func (o RelativeOptions) rebucket(m Model, i int, from schemes.Buckets, out *Outcome) error {
	s := m.Sites()[i]
	to := from
	if o.MaxDistance > 0 {
		to.MaxDistance = o.MaxDistance
	}
	if o.Buckets > 0 {
		to.Buckets = o.Buckets
	}
	single := to.Buckets / 2 // distances that have a bucket of their own
	if to.Bidirectional {
		single /= 2
		if to.Buckets%2 != 0 {
			return &UsageError{What: fmt.Sprintf("--buckets %d: half of them are for keys after the query, so that the number must be even", to.Buckets)}
		}
	}
	switch {
	case single < 1:
		return &UsageError{What: fmt.Sprintf("--buckets %d: too few to tell near from far", to.Buckets)}
	case to.MaxDistance <= single:
		return &UsageError{What: fmt.Sprintf("--max-distance %d: the nearest %d distances have buckets of their own, and it must be beyond them", to.MaxDistance, single)}
	}
	if n := Length(m, m.Describe()).Capacity; n != nil && to.Buckets == from.Buckets && !to.Equal(from) && from.AlikeWithin(*n, to.MaxDistance) {
		out.Nothing = fmt.Sprintf("the model takes %d positions, and no distance between them gets another bucket", *n)
		return nil
	}
	if to.Equal(from) {
		return nil
	}
	r, ok := s.(Rebucketer)
	if !ok {
		why := "the buckets of this bias cannot be others"
		if m.Describe().Format == FormatGGUF {
			why = "llama.cpp counts T5's buckets to a distance of 128, whatever the file says"
		}
		return &Refusal{Why: why, Instead: "an ONNX file of the model can be changed"}
	}
	var rows [][]float64
	if to.Buckets != from.Buckets {
		var err error
		if rows, err = to.MeanRows(from, r.Bias, func(b int) ([]float64, error) { return oldRow(r, from, b) }); err != nil {
			return err
		}
		out.note("each new bucket has the mean of the old bias over its distances: a model may need fine-tuning")
	}
	if err := r.Rebucket(to, rows); err != nil {
		return err
	}
	out.becomes(Becoming{Site: i, Scheme: to}, fmt.Sprintf("%d buckets to distance %d → %d to %d", from.Buckets, from.MaxDistance, to.Buckets, to.MaxDistance), report.ExpectChanged)
	return nil
}

// RowsOfBuckets is implemented by biases whose rows can be read by the number of a
// bucket, also of one that no distance reaches.
type RowsOfBuckets interface {
	BucketRow(bucket int) ([]float64, error)
}

func oldRow(r Rebucketer, from schemes.Buckets, bucket int) ([]float64, error) {
	if b, ok := r.(RowsOfBuckets); ok {
		return b.BucketRow(bucket)
	}
	return make([]float64, from.Heads), nil
}
