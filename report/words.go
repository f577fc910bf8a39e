package report

import (
	"fmt"
	"strings"
)

// Name is the field's name for the encoding. Its ID (e0) is for programs.
func (e Encoding) Name() string {
	if e.Scheme == SchemeLearned && e.Parameters.Grid != nil {
		return "patch table"
	}
	return EncodingName(e.Scheme)
}

// Source says where the encoding's numbers come from.
func (e Encoding) Source() string {
	form := ""
	if e.Form != nil {
		form = *e.Form
	}
	trained := e.Scheme == SchemeLearned || e.Scheme == SchemeRelativeTable
	switch {
	case e.Scheme == SchemeUnknown && form == FormRuntime:
		return "positions act in the graph in a way that is not known"
	case e.Scheme == SchemeNone:
		return orderText(e.Parameters.Order)
	case form == FormKeys:
		out := "computed by the engine from metadata keys"
		for _, w := range e.Where {
			if e.Scheme == SchemeRope && w.Tensor != "" {
				return out + ", divided by " + w.Tensor
			}
		}
		return out
	case form == FormTable && trained:
		return "rows in the file"
	case form == FormTable:
		return "table in the file"
	case form == FormCache:
		return "cosine and sine tables in the file"
	case form == FormRuntime && e.Scheme == SchemeRope && e.Parameters.Scaling == nil:
		return "cosines and sines are given by the caller"
	case form == FormRuntime:
		return "computed by the graph"
	case form == FormBaked && trained:
		return "rows in the file, folded for one length"
	case form == FormBaked:
		return "folded for one length"
	}
	return form
}

// orderText says what tells positions apart in a model without an encoding.
func orderText(order string) string {
	switch order {
	case "equivariant":
		return "positions make no difference: permuting the input permutes the output"
	case "mask":
		return "nothing but masks (causal, windows) depends on positions"
	case "operators":
		return "the order of positions acts by operators alone (recurrence, convolution, shifts)"
	}
	return "none"
}

// BeyondText says what longer input does: "fails with an error".
func BeyondText(beyond string) string {
	switch beyond {
	case BeyondError:
		return "fails with an error"
	case BeyondClamps:
		return "repeats the last position"
	case BeyondWrong:
		return "gives silently wrong numbers"
	case BeyondContinues:
		return "runs as well"
	}
	return "not known"
}

// Units are the words for what the model's length counts, and for input beyond it: patches
// where the grid of a picture is all that bounds the model.
func (r Inspect) Units() (unit, larger string) {
	grid := false
	for _, e := range r.Encodings {
		if e.Capacity != nil && e.Parameters.Grid == nil {
			return "positions", "longer input"
		}
		grid = grid || e.Parameters.Grid != nil
	}
	if grid {
		return "patches", "a larger picture"
	}
	return "positions", "longer input"
}

// PicturesText says which pictures the model takes, "" where it is not told.
func (r Inspect) PicturesText() string {
	text := r.picturesText()
	if text != "" && r.Length.Frames > 0 {
		text += fmt.Sprintf(", in videos of %d frames", r.Length.Frames)
	}
	return text
}

func (r Inspect) picturesText() string {
	l := r.Length
	switch {
	case len(l.Picture) == 2 && r.Format == "onnx":
		return fmt.Sprintf("of %d×%d pixels only", l.Picture[0], l.Picture[1])
	case len(l.Picture) == 2 && l.Multiple > 0:
		return fmt.Sprintf("scaled to %d×%d pixels; extend --image makes it any multiple of %d", l.Picture[0], l.Picture[1], l.Multiple)
	case len(l.Picture) == 2:
		return fmt.Sprintf("scaled to %d×%d pixels", l.Picture[0], l.Picture[1])
	case l.Multiple == 1:
		return "of any size"
	case l.Multiple > 1:
		return fmt.Sprintf("of any multiple of %d pixels", l.Multiple)
	}
	return ""
}

// StatedText says the length that the file states, "" where it states none.
func (r Inspect) StatedText() string {
	switch {
	case r.Length.Stated == nil:
		return ""
	case r.Format == "onnx":
		return fmt.Sprintf("exported for %d tokens", *r.Length.Stated)
	}
	return fmt.Sprintf("context length %d", *r.Length.Stated)
}

// lengthText says how far a model reaches.
func lengthText(r Inspect) string {
	l := r.Length
	unit, larger := r.Units()
	var parts []string
	if says := r.StatedText(); says != "" {
		parts = append(parts, says)
	}
	limit := l.Limit()
	switch {
	case limit == NoLimit:
		return strings.Join(append(parts, "nothing in the file limits the length"), "; ")
	case !limit.Known() && len(r.Encodings) == 0:
		return strings.Join(parts, "; ")
	case !limit.Known() && l.Stated == nil && l.Beyond == BeyondError:
		return "inputs of one size; others fail with an error"
	case !limit.Known():
		parts = append(parts, "how far it reaches is not known")
	case l.Stated == nil || *l.Stated != int(limit):
		parts = append(parts, limit.Of(unit))
	}
	switch {
	case l.Beyond != BeyondUnknown:
		parts = append(parts, larger+" "+BeyondText(l.Beyond))
	case limit.Known():
		parts = append(parts, "what "+larger+" does is not known")
	}
	return strings.Join(parts, "; ")
}

// Headline says in a sentence what a model has, and how far it reaches.
func (r Inspect) Headline() string {
	out := r.EncodingNames()
	if l := lengthText(r); l != "" {
		out += "; " + l
	}
	return out
}

// EncodingNames lists the encodings that a model has, those of one name once.
func (r Inspect) EncodingNames() string {
	var names []string
	count := map[string]int{}
	for _, e := range r.Encodings {
		name := e.Name()
		switch e.Scheme {
		case SchemeNone:
			name = "no position encoding"
		case SchemeUnknown:
			name = "an unrecognised position encoding"
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%d × %s", count[name], name)
		}
	}
	switch {
	case len(names) > 0:
	case r.Kind == KindModel:
		names = []string{"no position encoding"}
	default:
		names = []string{"a file of kind " + r.Kind + ", which encodes no positions itself"}
	}
	return strings.Join(names, " and ")
}

// Size is a number of bytes in decimal units: "12.3 kB".
func Size(n int64) string {
	const unit = 1000
	switch {
	case n == 1:
		return "1 byte"
	case n < unit:
		return fmt.Sprintf("%d bytes", n)
	case n < unit*unit-50: // what would be written 1000.0 kB is 1.0 MB
		return fmt.Sprintf("%.1f kB", float64(n)/unit)
	case n < unit*unit*unit-50*unit:
		return fmt.Sprintf("%.1f MB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/unit/unit/unit)
}

// LengthBecomes says how a context length changes: one that is stated, else the present one, where that is known.
func LengthBecomes(stated *int, present, to int) string {
	from := "not stated"
	switch {
	case stated != nil:
		from = fmt.Sprint(*stated)
	case present > 0:
		from = fmt.Sprint(present)
	}
	return fmt.Sprintf("context length %s → %d", from, to)
}
