package verify

import (
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Pair is an encoding of one model and what became of it in another: indices into the
// Sites of both. After is −1 where the encoding is gone, Before where it is new.
type Pair struct{ Before, After int }

// Pairs finds which encodings of one model became which of another: those of one scheme in
// their order, else the table that stands under the name of another. Pairs come first in the order of
// before, encodings that are gone among them, then those that are new. Sites that tell
// the absence of an encoding (scheme none) are neither gone nor new.
func Pairs(before, after []position.Site) (out []Pair) {
	left := slices.Clone(after)
	for i, s := range before {
		j := slices.IndexFunc(left, func(t position.Site) bool {
			return t != nil && t.Encoding().Scheme.Name() == s.Encoding().Scheme.Name()
		})
		if j < 0 {
			j = samePlace(s, left)
		}
		if j >= 0 {
			left[j] = nil
		}
		if j >= 0 || s.Encoding().Scheme.Name() != report.SchemeNone {
			out = append(out, Pair{i, j})
		}
	}
	for j, t := range left {
		if t != nil && t.Encoding().Scheme.Name() != report.SchemeNone {
			out = append(out, Pair{-1, j})
		}
	}
	return out
}

// samePlace finds a table that stands where another stood: a formula's table
// with a wrong row looks trained.
func samePlace(s position.Site, left []position.Site) int {
	was := firstWhere(s)
	if rows, ok := s.(position.Rows); !ok || rows.Len() == 0 || was == nil || was.Tensor == "" {
		return -1
	}
	return slices.IndexFunc(left, func(t position.Site) bool {
		if t == nil {
			return false
		}
		rows, ok := t.(position.Rows)
		now := firstWhere(t)
		return ok && rows.Len() > 0 && now != nil && now.Tensor == was.Tensor
	})
}

func firstWhere(s position.Site) *report.Where {
	if w := s.Encoding().Where; len(w) > 0 {
		return &w[0]
	}
	return nil
}
