package deviation

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Asked is what a scaling was asked for by, and how many positions the encoding holds; 0: not given, nothing bounds it.
type Asked struct {
	Factor                     float64
	Length, Original, Capacity int
}

// Capped says that an engine which reads keys stops at the stated length,
// whatever the scaling (llama.cpp's server: n_ctx_slot is at most
// n_ctx_train). No length is above most.
func (a Asked) Capped(from, to schemes.Rotary, d report.Inspect, most int) string {
	if d.Format != formatGGUF || a.Length != 0 || a.Factor <= 1 || d.Length.Stated == nil {
		return ""
	}
	stated := *d.Length.Stated
	original := to.Scaling.OriginalLength
	if original == 0 {
		original = from.Scaling.TrainedLength(0, stated)
	}
	reach := math.Floor(float64(original) * a.Factor)
	if reach <= float64(stated) || reach > float64(most) {
		return ""
	}
	return fmt.Sprintf("llama.cpp caps the context at the stated length, %d, unless the length that the scaling reaches, %.0f, is stated as well (option len)", stated, reach)
}

// Doubts are what was asked for against itself or against the file, and what the file will not tell.
func (a Asked) Doubts(from, to schemes.Rotary, d report.Inspect) (out []string) {
	const rounded = 1.01 // converters round
	s, t := to.Scaling, to.Scaling.Kind()
	if t.Reach != nil && float64(a.Length) > rounded*t.Reach(s) {
		out = append(out, fmt.Sprintf("%s ×%s from %d reaches %.0f positions, fewer than the length of %d", t.Title, schemes.Text(s.Factor), s.OriginalLength, t.Reach(s), a.Length))
	}
	if stated := d.Length.Stated; stated != nil && from.Scaling.IsNone() && a.Original > max(*stated, a.Capacity) {
		out = append(out, fmt.Sprintf("an original length of %d is more than the %d positions that the model has", a.Original, max(*stated, a.Capacity)))
	}
	if d.Format != formatGGUF && t.Bounds != nil && s.OriginalLength > 0 {
		at := func(length int) [2]float64 { return t.Bounds(to, to.Base, length) }
		if l := s.OriginalLength; at(l) == at(2*l) || at(l) == at(l/2) {
			out = append(out, fmt.Sprintf("frequencies do not tell the original length: what extends the new file needs --original-length %d again", l))
		}
	}
	return out
}
