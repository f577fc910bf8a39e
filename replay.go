package modelpatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"

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
	case "set":
		return decoded(r, func(o SetOptions) *change { return setting(path, o, open, WriteOptions{}) })
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

// maxReplayBytes bounds the bytes that are written to a temporary folder for a model of
// several files; one file is looked at as it would be, without being written.
const maxReplayBytes = 4 << 30

// nearest makes the changes of requests again, one after the other, for a new file and in place where the
// format has both, and takes what comes nearer to the new file: in how many parts that differs. No changes
// come back where there was nothing to do. The caller closes the model.
func nearest(ctx context.Context, path string, steps []report.Request, open OpenOptions, after position.Model) (m position.Model, changes []report.Change, differ int, err error) {
	m, changes, err = replay(ctx, path, steps, open, false)
	if err != nil {
		return nil, nil, 0, err
	}
	if differ, err = verify.Differing(m, after); err != nil {
		return nil, nil, 0, errors.Join(err, m.Close())
	}
	if differ == 0 || changes == nil || after.Describe().Format != position.FormatGGUF {
		return m, changes, differ, nil
	}
	placed, _, err := replay(ctx, path, steps, open, true)
	if err != nil {
		return m, changes, differ, nil // it cannot be made in place
	}
	if n, err := verify.Differing(placed, after); err == nil && n < differ {
		return placed, changes, n, m.Close()
	}
	return m, changes, differ, placed.Close()
}

// replay makes the changes of requests once more: what the new file has to be, and how the encodings change. The
// last one is made in place where that is asked. The caller closes the model.
func replay(ctx context.Context, path string, steps []report.Request, open OpenOptions, inPlace bool) (m position.Model, changes []report.Change, err error) {
	if len(steps) > 0 {
		open.Assume = cmp.Or(open.Assume, steps[0].Assume)
	}
	old, err := OpenContext(ctx, path, open)
	if err != nil {
		return nil, nil, err
	}
	last := &made{Model: old, clear: func() error { return nil }}
	for i, r := range steps {
		c, err := requested(path, r, open)
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		isLast := i == len(steps)-1
		c.w.InPlace = inPlace && isLast
		d, err := c.decide(last.Model)
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		if d.Nothing != "" {
			continue
		}
		changes = append(changes, d.Changes...)
		next, err := last.remade(ctx, c, isLast)
		if err != nil && len(steps) == 1 && !inPlace {
			last.Close()
			m, err = written(ctx, c)
			return m, changes, err
		}
		if err != nil {
			return nil, nil, errors.Join(err, last.Close())
		}
		last = next
	}
	return last, changes, nil
}

// remade is the model with a change that was decided on it, unwritten; another one follows unless it is the last.
// Closing it closes m as well: the new bytes come from there.
func (m *made) remade(ctx context.Context, c *change, last bool) (*made, error) {
	plan, err := layOut(m.Model, c.w, c.length)
	if err != nil {
		return nil, err
	}
	next, err := preview(m.Model, plan)
	if err != nil {
		return nil, err
	}
	if !last {
		if err = next.Model.Close(); err == nil {
			old := m.Model
			if next.Model, err = OpenReader(ctx, next.view, plan.OutputSize(0), ShownPath(c.path), nil); err == nil {
				err = position.AssumeAs(next.Model, old)
			}
		}
		if err != nil {
			return nil, errors.Join(err, next.clear())
		}
	}
	clear := next.clear
	next.clear = func() error { return errors.Join(clear(), m.Close()) }
	return next, nil
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
	if total > maxReplayBytes {
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
	return &made{Model: m, clear: clear}, nil
}

// planned makes a plan's change again, for verify to hold the new file against. A patch file tells no changes:
// they are what its command decides.
func planned(ctx context.Context, before string, after position.Model, plan *report.Plan, open OpenOptions, o *verify.Options) (position.Model, error) {
	if plan.Request == nil {
		o.NotMade = "the plan is of a version that did not tell the options"
		return nil, nil
	}
	m, changes, _, err := nearest(ctx, before, []report.Request{*plan.Request}, open, after)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		o.Unfit = fmt.Sprintf("the plan cannot be carried out on the old file: %v", err)
	case plan.Changes == nil:
		told := *plan
		told.Changes, o.Plan = changes, &told
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

// remade makes the change of a plan again, or without one that of the candidates which comes nearest to the new
// file; nil where none can be made. A record beside the files whose change gives just the new file is the plan.
func remade(ctx context.Context, path, afterPath string, before, after position.Model, open OpenOptions, v VerifyOptions, o *verify.Options) (best position.Model, err error) {
	if v.Plan != nil {
		return planned(ctx, path, after, v.Plan, open, o)
	}
	if n, err := verify.Differing(before, after); v.Expect == report.ExpectSame || err == nil && n == 0 || verify.DeclaresAlone(before, after) {
		return nil, nil // no verb changes large weights alone, and no sizes that are declared need one
	}
	var records []record
	if v.Expect == "" {
		records = recordsBeside(path, afterPath)
	}
	least := math.MaxInt
	for _, r := range append(records, candidates(ctx, path, afterPath, before, after, open)...) {
		m, changes, n, err := nearest(ctx, path, r.steps, open, after)
		if ctx.Err() != nil {
			return best, ctx.Err()
		}
		if err != nil {
			continue // a verb that refuses has not made the new file
		}
		if n >= least || r.exact && (n > 0 || changes == nil) {
			m.Close()
			continue
		}
		if best != nil {
			best.Close()
		}
		best, least, o.Command = m, n, r.commands(path, open)
		if n == 0 && r.name != "" {
			o.Plan, o.Record = &report.Plan{Schema: report.SchemaPlan, Command: o.Command, Changes: changes}, r.name
		}
		if n == 0 {
			o.Remake = r.commandLine(path, afterPath, open)
			break
		}
	}
	return best, nil
}

// Lengths that models are trained with, between which powers of two are tried.
const (
	shortestOriginal = 32
	longestOriginal  = 1 << 18
)

// candidates are changes that could have made one model of another, by the encodings
// of both and by how far they count.
func candidates(ctx context.Context, path, afterPath string, before, after position.Model, open OpenOptions) (out []record) {
	add := func(verb string, options any) {
		if r := request(verb, options); r != nil {
			out = append(out, record{steps: []report.Request{*r}})
		}
	}
	length := 0
	was, is := counts(before), counts(after)
	if is > was {
		length = is
	}
	slopes, biased, steeper := biases(before, after)
	_, _, turned := turns(before, after)
	resized := resizings(before, after)
	switch stored, computed := rebuilt(before, after); {
	case steeper && biased:
		o := ALiBiOptions{MaxBias: slopes.MaxBias}
		if o.MaxBias == 0 {
			o.Slopes = slopes.Slopes
		}
		add("alibi", o)
		o.Replace = true
		add("alibi", o)
	case steeper:
		add("alibi", ALiBiOptions{Remove: true})
	case stored:
		add("bake", BakeOptions{Length: counts(after)})
	case computed:
		add("unbake", struct{}{})
	case turned:
		for _, o := range rescalings(before, after, length) {
			add("rope", o)
		}
		out = append(out, listed(ctx, path, afterPath, after, open)...)
		if length > 0 {
			add("extend", ExtendOptions{Length: length})
		}
	case resized != nil:
		for _, o := range resized {
			add("relative", o)
		}
	case length > 0:
		add("extend", ExtendOptions{Length: length})
		for _, method := range append([]string{"none"}, schemes.GrowMethods...) {
			add("extend", ExtendOptions{Length: length, Method: method})
		}
	case is > 0 && is < was:
		add("extend", ExtendOptions{Length: is, Shorter: true})
	case before.Describe().Format == position.FormatGGUF:
		add("bake", BakeOptions{})
		add("unbake", struct{}{})
	default:
		for _, set := range position.OperatorSets {
			out = append(out, record{exact: true, steps: []report.Request{*request("operators", OperatorOptions{Set: set})}})
		}
		// There and back: the graph turns as it did, by other nodes, whatever length the tables had.
		there, back := request("bake", BakeOptions{Length: cmp.Or(counts(before), shortestOriginal)}), request("unbake", struct{}{})
		out = append(out, record{exact: true, steps: []report.Request{*there, *back}})
	}
	old, ok1 := before.(position.Gridder)
	now, ok2 := after.(position.Gridder)
	if ok1 && ok2 && old.PatchGrid() != now.PatchGrid() && now.PatchGrid()[0] > 0 {
		for _, kernel := range schemes.Kernels {
			add("grid", GridOptions{Height: now.PatchGrid()[0], Width: now.PatchGrid()[1], Kernel: kernel.Name})
		}
	}
	return out
}

// rescalings are options of rope that could have made one model's rotation of another's.
func rescalings(before, after position.Model, length int) (out []RescaleOptions) {
	rope, was, _ := turns(before, after)
	o := RescaleOptions{Scaling: rope.Scaling.Kind().Name, Factor: rope.Scaling.Factor, OriginalLength: rope.Scaling.OriginalLength, LowFreqFactor: rope.Scaling.LowFreqFactor,
		HighFreqFactor: rope.Scaling.HighFreqFactor, BetaFast: rope.Scaling.BetaFast, BetaSlow: rope.Scaling.BetaSlow, AttentionFactor: rope.Scaling.AttentionFactor, NoTruncate: rope.Scaling.NoTruncate}
	if math.Float32bits(float32(rope.Base)) != math.Float32bits(float32(was.Base)) {
		o.Base = rope.Base
		out = append(out, RescaleOptions{Base: rope.Base, Length: length})
	}
	o.Length = length
	if rope.Scaling.IsNone() {
		o.Factor, o.OriginalLength = 0, 0
	}
	out = append(out, o)
	for _, original := range []int{counts(before), counts(after)} {
		if o.OriginalLength == 0 && !rope.Scaling.IsNone() && original > 0 {
			o.OriginalLength = original
			out = append(out, o)
			o.OriginalLength = 0
		}
	}
	if o.Length > 0 {
		o.Length = 0
		out = append(out, o)
	}
	if rope.Scaling.OriginalLength == 0 && rope.Scaling.Kind().Extends { // the frequencies do not tell it
		for o.OriginalLength = shortestOriginal; o.OriginalLength <= longestOriginal; o.OriginalLength *= 2 {
			out = append(out, o)
		}
	}
	return out
}

// listed are changes of rope by lists of factors: those of the new file itself, and those of a config.json
// beside either.
func listed(ctx context.Context, path, afterPath string, after position.Model, open OpenOptions) (out []record) {
	if !slices.ContainsFunc(after.Sites(), func(s position.Site) bool {
		r, ok := s.Encoding().Scheme.(schemes.Rotary)
		return ok && r.Scaling.Kind().Listed
	}) {
		return nil
	}
	var like RescaleOptions
	if err := LikeModel(ctx, afterPath, &like, open); err == nil {
		like.From = shellWord(afterPath)
		out = append(out, record{steps: []report.Request{*request("rope", like)}})
	}
	for _, list := range []string{schemes.ListShort, schemes.ListLong} {
		out = append(out, record{steps: []report.Request{*request("rope", RescaleOptions{Scaling: schemes.ScalingLongRoPE, Use: list})}})
	}
	for _, model := range []string{afterPath, path} {
		o, file := RescaleOptions{Scaling: schemes.ScalingLongRoPE}, filepath.Join(filepath.Dir(model), "config.json")
		if IsAddress(model) {
			continue
		}
		if err := ReadFactors(file, &o); err == nil {
			out = append(out, record{steps: []report.Request{*request("rope", o)}, factors: file})
		}
	}
	return out
}

// resizings are options of relative that could have made one model's bias by distance of another's.
func resizings(before, after position.Model) (out []RelativeOptions) {
	a, b := before.Sites(), after.Sites()
	for i := range min(len(a), len(b)) {
		switch is := b[i].Encoding().Scheme.(type) {
		case schemes.Buckets:
			was, ok := a[i].Encoding().Scheme.(schemes.Buckets)
			if !ok || was.Equal(is) {
				continue
			}
			var o RelativeOptions
			if was.MaxDistance != is.MaxDistance {
				o.MaxDistance = is.MaxDistance
			}
			if was.Buckets != is.Buckets {
				o.Buckets = is.Buckets
			}
			return []RelativeOptions{o}
		case schemes.Other:
			was, ok := a[i].Encoding().Scheme.(schemes.Other)
			switch {
			case !ok || was.Equal(is):
			case len(is.Window) == 2 && !slices.Equal(was.Window, is.Window):
				for _, method := range schemes.WindowMethods {
					out = append(out, RelativeOptions{Window: [2]int(is.Window), Method: method})
				}
				return out
			case was.MaxDistance != is.MaxDistance && is.MaxDistance > 0:
				return []RelativeOptions{{MaxDistance: is.MaxDistance}}
			}
		}
	}
	return nil
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

// biases finds the linear bias of the new model, and whether it is another than the old one's, or the one has none.
func biases(before, after position.Model) (is schemes.ALiBi, biased, differ bool) {
	linear := func(m position.Model) (schemes.ALiBi, bool) {
		for _, s := range m.Sites() {
			if a, ok := s.Encoding().Scheme.(schemes.ALiBi); ok {
				return a, true
			}
		}
		return schemes.ALiBi{}, false
	}
	was, had := linear(before)
	is, biased = linear(after)
	return is, biased, had != biased || biased && !was.Equal(is)
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
