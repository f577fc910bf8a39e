package modelpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// requested is the change that a plan asks for.
func requested(path string, r report.Request, open OpenOptions) (*change, error) {
	switch r.Verb {
	case "extend":
		return decoded(r, func(o ExtendOptions) *change { return extending(path, o, open, WriteOptions{}) })
	case "grid":
		return decoded(r, func(o GridOptions) *change { return resizing(path, o, open, WriteOptions{}) })
	case "rope":
		return decoded(r, func(o RescaleOptions) *change { return rescaling(path, o, open, WriteOptions{}) })
	case "operators":
		return decoded(r, func(o OperatorOptions) *change { return lowering(path, o, open, WriteOptions{}) })
	case "bake":
		return decoded(r, func(o BakeOptions) *change { return baking(path, o, open, WriteOptions{}) })
	case "unbake":
		return decoded(r, func(struct{}) *change { return unbaking(path, open, WriteOptions{}) })
	case "relative":
		return decoded(r, func(o RelativeOptions) *change { return relating(path, o, open, WriteOptions{}) })
	case "alibi":
		return decoded(r, func(o ALiBiOptions) *change { return biasing(path, o, open, WriteOptions{}) })
	}
	return nil, fmt.Errorf("the verb %q is none of this version's", r.Verb)
}

// decoded makes a change of a request's options, all of which must be known.
func decoded[O any](r report.Request, make func(O) *change) (*change, error) {
	var o O
	d := json.NewDecoder(bytes.NewReader(r.Options))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("its options are not those of this version: %w", err)
	}
	return make(o), nil
}

// mostMadeAgain bounds the bytes that are written to a temporary folder for a model of
// several files; one file is looked at as it would be, without being written.
const mostMadeAgain = 4 << 30

// nearest makes the change of a request again, for a new file and in place where the
// format has both, and takes what comes nearer to the new file: in how many parts that
// differs. The caller closes the model.
func nearest(ctx context.Context, path string, r report.Request, open OpenOptions, after position.Model) (m position.Model, changes []report.Change, differ int, err error) {
	m, changes, err = again(ctx, path, r, open, false)
	if err != nil {
		return nil, nil, 0, err
	}
	if differ, err = verify.Differing(m, after); err != nil {
		return nil, nil, 0, errors.Join(err, m.Close())
	}
	if _, ok := m.(*made); differ == 0 || !ok || after.Describe().Format != position.FormatGGUF {
		return m, changes, differ, nil
	}
	placed, _, err := again(ctx, path, r, open, true)
	if err != nil {
		return m, changes, differ, nil // it cannot be made in place
	}
	if n, err := verify.Differing(placed, after); err == nil && n < differ {
		return placed, changes, n, m.Close()
	}
	return m, changes, differ, placed.Close()
}

// again makes the change of a request once more: what the new file has to be, and how
// the encodings change. The caller closes the model.
func again(ctx context.Context, path string, r report.Request, open OpenOptions, inPlace bool) (m position.Model, changes []report.Change, err error) {
	c, err := requested(path, r, open)
	if err != nil {
		return nil, nil, err
	}
	c.w.InPlace = inPlace
	old, err := OpenContext(ctx, path, open)
	if err != nil {
		return nil, nil, err
	}
	d, err := c.decide(old)
	if err != nil {
		old.Close()
		return nil, nil, err
	}
	if d.Nothing != "" {
		return old, d.Changes, nil
	}
	plan, err := layOut(old, c.w, c.length)
	if err == nil {
		m, err = preview(old, plan)
	}
	if err != nil {
		if old.Close(); inPlace {
			return nil, nil, err
		}
		m, err = written(ctx, c)
		return m, d.Changes, err
	}
	return &made{m, old.Close}, d.Changes, nil // the new bytes come from the old model
}

// written makes a change of a model of several files in a temporary folder.
func written(ctx context.Context, c *change) (_ position.Model, err error) {
	m, err := OpenContext(ctx, c.path, c.open)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, f := range m.Describe().Files {
		total += f.Bytes
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	if total > mostMadeAgain {
		return nil, fmt.Errorf("its files have %d bytes, and to make the change again they would be written", total)
	}
	folder, err := os.MkdirTemp("", "modelpatch-")
	if err != nil {
		return nil, err
	}
	clear := func() error { return os.RemoveAll(folder) }
	c.w = WriteOptions{Output: filepath.Join(folder, filepath.Base(ShownPath(c.path))), Force: true}
	result, err := c.run(ctx)
	if err == nil && result.Nothing != "" {
		err = errors.New(result.Nothing)
	}
	if err == nil {
		m, err = OpenContext(ctx, c.w.Output, c.open)
	}
	if err != nil {
		return nil, errors.Join(err, clear())
	}
	return &made{m, clear}, nil
}

// planned makes a plan's change again, for verify to hold the new file against.
func planned(ctx context.Context, before string, after position.Model, plan *report.Plan, open OpenOptions, o *verify.Options) (position.Model, error) {
	if plan.Request == nil {
		o.NotMade = "the plan is of a version that did not tell the options"
		return nil, nil
	}
	m, changes, _, err := nearest(ctx, before, *plan.Request, open, after)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		o.Unfit = fmt.Sprintf("the plan cannot be carried out on the old file: %v", err)
	case !sameChanges(changes, plan.Changes):
		o.Unfit = "the plan is another one than its command makes of the old file"
	}
	return m, nil
}

// sameChanges compares decisions as JSON has them.
func sameChanges(a, b []report.Change) bool {
	if len(a) != len(b) || len(a) == 0 {
		return len(a) == len(b)
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err1 != nil || err2 != nil {
		return false
	}
	var u, v any
	return json.Unmarshal(x, &u) == nil && json.Unmarshal(y, &v) == nil && reflect.DeepEqual(u, v)
}

// remade makes the change of a plan again, or without one that of the candidates which
// comes nearest to the new file; nil where none can be made.
func remade(ctx context.Context, path string, before, after position.Model, open OpenOptions, v VerifyOptions, o *verify.Options) (best position.Model, err error) {
	if v.Plan != nil {
		return planned(ctx, path, after, v.Plan, open, o)
	}
	if v.Expect == report.ExpectSame {
		return nil, nil
	}
	least := math.MaxInt
	for _, r := range candidates(before, after) {
		m, _, n, err := nearest(ctx, path, r, open, after)
		if ctx.Err() != nil {
			return best, ctx.Err()
		}
		if err != nil {
			continue // a verb that refuses has not made the new file
		}
		if n >= least {
			m.Close()
			continue
		}
		if best != nil {
			best.Close()
		}
		best, least, o.Command = m, n, commandOf(path, r, open)
		if n == 0 {
			break
		}
	}
	return best, nil
}

// commandOf says a request as a command line does.
func commandOf(path string, r report.Request, open OpenOptions) string {
	c, err := requested(path, r, open)
	if err != nil {
		return r.Verb
	}
	return c.command
}

// Lengths that models are trained with, between which powers of two are tried.
const (
	shortestOriginal = 32
	longestOriginal  = 1 << 18
)

// candidates are changes that could have made one model of another, by the encodings
// of both and by how far they count.
func candidates(before, after position.Model) (out []report.Request) {
	add := func(verb string, options any) {
		if r := request(verb, options); r != nil {
			out = append(out, *r)
		}
	}
	length := 0
	if was, is := counts(before), counts(after); is > was && is > 0 {
		length = is
	}
	rope, was, turned := turns(before, after)
	switch stored, computed := rebuilt(before, after); {
	case stored:
		add("bake", BakeOptions{Length: counts(after)})
	case computed:
		add("unbake", struct{}{})
	case before.Describe().Format == position.FormatGGUF && !turned && length == 0:
		add("bake", BakeOptions{})
		add("unbake", struct{}{})
	case biased(after) && !biased(before):
		for _, s := range after.Sites() {
			if a, ok := s.Encoding().Scheme.(schemes.ALiBi); ok && a.MaxBias > 0 {
				add("alibi", ALiBiOptions{MaxBias: a.MaxBias})
				add("alibi", ALiBiOptions{MaxBias: a.MaxBias, Replace: true})
				break
			}
		}
	case turned:
		o := RescaleOptions{Scaling: rope.Scaling.Kind().Name, Factor: rope.Scaling.Factor, OriginalLength: rope.Scaling.OriginalLength, LowFreqFactor: rope.Scaling.LowFreqFactor,
			HighFreqFactor: rope.Scaling.HighFreqFactor, BetaFast: rope.Scaling.BetaFast, BetaSlow: rope.Scaling.BetaSlow, AttentionFactor: rope.Scaling.AttentionFactor, NoTruncate: rope.Scaling.NoTruncate}
		if math.Float32bits(float32(rope.Base)) != math.Float32bits(float32(was.Base)) {
			o.Base = rope.Base
			add("rope", RescaleOptions{Base: rope.Base, Length: length})
		}
		o.Length = length
		if rope.Scaling.IsNone() {
			o.Factor, o.OriginalLength = 0, 0
		}
		add("rope", o)
		for _, original := range []int{counts(before), counts(after)} {
			if o.OriginalLength == 0 && !rope.Scaling.IsNone() && original > 0 {
				o.OriginalLength = original
				add("rope", o)
				o.OriginalLength = 0
			}
		}
		if o.Length > 0 {
			o.Length = 0
			add("rope", o)
		}
		if rope.Scaling.OriginalLength == 0 && rope.Scaling.Kind().Extends { // the frequencies do not tell it
			for o.OriginalLength = shortestOriginal; o.OriginalLength <= longestOriginal; o.OriginalLength *= 2 {
				add("rope", o)
			}
		}
		if length > 0 {
			add("extend", ExtendOptions{Length: length})
		}
	case length > 0:
		add("extend", ExtendOptions{Length: length})
		for _, method := range append([]string{"none"}, schemes.GrowMethods...) {
			add("extend", ExtendOptions{Length: length, Method: method})
		}
		if g, ok := after.(position.Gridder); ok && g.PatchGrid()[0] > 0 {
			for _, kernel := range schemes.Kernels {
				add("grid", GridOptions{Height: g.PatchGrid()[0], Width: g.PatchGrid()[1], Kernel: kernel.Name})
			}
		}
	}
	return out
}

// rebuilt reports whether an encoding that was computed when the model runs is stored
// now, or the other way round.
func rebuilt(before, after position.Model) (stored, computed bool) {
	a, b := before.Sites(), after.Sites()
	for i := range min(len(a), len(b)) {
		was, is := a[i].Encoding().Form == report.FormRuntime, b[i].Encoding().Form == report.FormRuntime
		stored, computed = stored || was && !is, computed || is && !was
	}
	return stored, computed
}

func biased(m position.Model) bool {
	for _, s := range m.Sites() {
		if s.Encoding().Scheme.Name() == report.SchemeAlibi {
			return true
		}
	}
	return false
}

// turns finds the first rotary encoding whose parameters differ.
func turns(before, after position.Model) (is, was schemes.Rotary, differ bool) {
	a, b := before.Sites(), after.Sites()
	for i := range min(len(a), len(b)) {
		x, ok1 := a[i].Encoding().Scheme.(schemes.Rotary)
		y, ok2 := b[i].Encoding().Scheme.(schemes.Rotary)
		if ok1 && ok2 && !x.Equal(y) {
			return y, x, true
		}
	}
	return is, was, false
}
