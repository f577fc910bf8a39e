package verdict

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// Lengths that models are trained with, between which powers of two are tried.
const (
	shortestOriginal = 32
	longestOriginal  = 1 << 18
)

// candidates are changes that could have made one model of another, by the encodings
// of both and by how far they count.
func candidates(ctx context.Context, path, afterPath string, before, after position.Model, open source.Options) (out []record) {
	add := func(verb string, options any) {
		if r := change.Request(verb, options); r != nil {
			out = append(out, record{steps: []report.Request{*r}})
		}
	}
	length := 0
	was, is := change.Counts(before), change.Counts(after)
	if is > was {
		length = is
	}
	slopes, biased, steeper := biases(before, after)
	_, _, turned := turns(before, after)
	resized := resizings(before, after)
	window := verify.AddedWindow(before, after)
	switch stored, computed := rebuilt(before, after); {
	case steeper && biased:
		o := position.ALiBiOptions{MaxBias: slopes.MaxBias}
		if o.MaxBias == 0 {
			o.Slopes = slopes.Slopes
		}
		add("alibi", o)
		o.Replace = true
		add("alibi", o)
	case steeper:
		add("alibi", position.ALiBiOptions{Remove: true})
	case window.Positions > 0:
		add("window", position.WindowOptions{Positions: window.Positions, Sinks: window.Sinks})
	case stored:
		add("bake", position.BakeOptions{Length: change.Counts(after)})
	case computed:
		add("unbake", struct{}{})
	case turned:
		for _, o := range rescalings(before, after, length) {
			add("rope", o)
		}
		out = append(out, listed(ctx, path, afterPath, after, open)...)
		if length > 0 {
			add("extend", position.ExtendOptions{Length: length})
		}
	case resized != nil:
		for _, o := range resized {
			add("relative", o)
		}
	case length > 0:
		add("extend", position.ExtendOptions{Length: length})
		for _, method := range append([]string{"none"}, schemes.GrowMethods...) {
			add("extend", position.ExtendOptions{Length: length, Method: method})
		}
	case is > 0 && is < was:
		add("extend", position.ExtendOptions{Length: is, Shorter: true})
	case before.Describe().Format == position.FormatGGUF:
		add("bake", position.BakeOptions{})
		add("unbake", struct{}{})
	default:
		for _, set := range position.OperatorSets {
			out = append(out, record{exact: true, steps: []report.Request{*change.Request("operators", change.OperatorOptions{Set: set})}})
		}
		// There and back: the graph turns as it did, by other nodes, whatever length the tables had.
		there, back := change.Request("bake", position.BakeOptions{Length: cmp.Or(change.Counts(before), shortestOriginal)}), change.Request("unbake", struct{}{})
		out = append(out, record{exact: true, steps: []report.Request{*there, *back}})
	}
	old, ok1 := before.(position.Gridder)
	now, ok2 := after.(position.Gridder)
	if ok1 && ok2 && old.PatchGrid() != now.PatchGrid() && now.PatchGrid()[1] > 0 {
		for _, kernel := range schemes.Kernels {
			to := position.GridOptions{Height: now.PatchGrid()[1], Width: now.PatchGrid()[2], Kernel: kernel.Name}
			if along := now.PatchGrid()[0]; along != old.PatchGrid()[0] {
				to.Frames = along
			}
			add("grid", to)
		}
	}
	return out
}

// rescalings are options of rope that could have made one model's rotation of another's.
func rescalings(before, after position.Model, length int) (out []position.RescaleOptions) {
	rope, was, _ := turns(before, after)
	o := position.RescaleOptions{Scaling: rope.Scaling.Kind().Name}
	o.SetParameters(rope.Scaling)
	if math.Float32bits(float32(rope.Base)) != math.Float32bits(float32(was.Base)) {
		o.Base = rope.Base
		out = append(out, position.RescaleOptions{Base: rope.Base, Length: length})
	}
	o.Length = length
	if rope.Scaling.IsNone() {
		o.Factor, o.OriginalLength = 0, 0
	}
	out = append(out, o)
	for _, original := range []int{change.Counts(before), change.Counts(after)} {
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
func listed(ctx context.Context, path, afterPath string, after position.Model, open source.Options) (out []record) {
	if !slices.ContainsFunc(after.Sites(), func(s position.Site) bool {
		r, ok := s.Encoding().Scheme.(schemes.Rotary)
		return ok && r.Scaling.Kind().Listed
	}) {
		return nil
	}
	var like position.RescaleOptions
	if err := change.LikeModel(ctx, afterPath, &like, open); err == nil {
		like.From = shellWord(afterPath)
		out = append(out, record{steps: []report.Request{*change.Request("rope", like)}})
	}
	for _, list := range []string{schemes.ListShort, schemes.ListLong} {
		out = append(out, record{steps: []report.Request{*change.Request("rope", position.RescaleOptions{Scaling: schemes.ScalingLongRoPE, Use: list})}})
	}
	for _, model := range []string{afterPath, path} {
		o, file := position.RescaleOptions{Scaling: schemes.ScalingLongRoPE}, filepath.Join(filepath.Dir(model), "config.json")
		if source.IsAddress(model) {
			continue
		}
		if err := change.ReadFactors(file, &o); err == nil {
			out = append(out, record{steps: []report.Request{*change.Request("rope", o)}, factors: file})
		}
	}
	return out
}

// resizings are options of relative that could have made one model's bias by distance of another's.
func resizings(before, after position.Model) (out []position.RelativeOptions) {
	a, b := before.Sites(), after.Sites()
	for i := range min(len(a), len(b)) {
		switch is := b[i].Encoding().Scheme.(type) {
		case schemes.Buckets:
			was, ok := a[i].Encoding().Scheme.(schemes.Buckets)
			if !ok || was.Equal(is) {
				continue
			}
			var o position.RelativeOptions
			if was.MaxDistance != is.MaxDistance {
				o.MaxDistance = is.MaxDistance
			}
			if was.Buckets != is.Buckets {
				o.Buckets = is.Buckets
			}
			return []position.RelativeOptions{o}
		case schemes.Other:
			was, ok := a[i].Encoding().Scheme.(schemes.Other)
			switch {
			case !ok || was.Equal(is):
			case len(is.Window) == 2 && !slices.Equal(was.Window, is.Window):
				for _, method := range schemes.WindowMethods {
					out = append(out, position.RelativeOptions{Window: [2]int(is.Window), Method: method})
				}
				return out
			case was.MaxDistance != is.MaxDistance && is.MaxDistance > 0:
				return []position.RelativeOptions{{MaxDistance: is.MaxDistance}}
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
