package rotary

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/schemes"
)

// Rotation reads the cosines and sines that the file gives to a position, one
// a pair: from its cache, or computed from its frequencies as the graph does.
func (r *Site) Rotation(position, length int, cos, sin []float64) error {
	if r.places[0] != nil { // tables may be of one axis each
		return r.placeRotation(position, cos, sin)
	}
	if len(r.caches) > 0 {
		c := r.cacheFor(length)
		if n := c.Positions(); position >= n && r.Detected.Capacity > n && r.inWindows() {
			position %= n // rows of one window are taken again for each
		}
		if err := c.Rotation(c.Row(position, length), cos, sin); err != nil {
			return r.unread("%w", err)
		}
		return nil
	}
	f := r.FileFrequencies()
	if s := r.scheme.Scaling; s.LongFrequencies != nil && length > s.OriginalLength {
		f = s.LongFrequencies // what the graph switches to
	}
	if len(f) != len(cos) {
		return r.unread("%d frequencies for %d pairs", len(f), len(cos))
	}
	a := r.currentAmplitude()
	for i := range f {
		angle := float64(float32(float64(float32(position)) * f[i]))
		cos[i], sin[i] = math.Cos(angle)*a, math.Sin(angle)*a
	}
	return nil
}

// Untold says what the scheme does not tell: that cosines and sines grow or shrink from position to position; "" of others.
func (r *Site) Untold() string {
	if r.places[0] != nil || !r.decays(r.uses[0]) {
		return ""
	}
	return "cosines and sines grow or shrink from position to position (xPos), by numbers that are not read"
}

// unread is the error of cosines and sines that are not read: no fault where no formula is told of them.
func (r *Site) unread(why string, of ...any) error {
	err := fmt.Errorf(why, of...)
	if !r.scheme.Scaling.IsCustom() {
		return err
	}
	return untold("how its cosines and sines belong to pairs is not read: " + err.Error())
}

// untold is such an error.
type untold string

// Error says what is not read.
func (u untold) Error() string { return string(u) }

// Unread tells that it is no fault of the file.
func (untold) Unread() bool { return true }

// placeRotation reads the cosines and sines by which the graph turns a place of a grid, which is all that
// tells of it: a place turns by several coordinates.
func (r *Site) placeRotation(place int, cos, sin []float64) error {
	if place -= r.unturned(); place < 0 {
		for k := range cos {
			cos[k], sin[k] = 1, 0
		}
		return nil
	}
	for i, out := range [][]float64{cos, sin} {
		m := r.places[i]
		if m == nil || place < 0 || m.Rows() == 0 {
			return fmt.Errorf("the graph turns no place %d", place)
		}
		place %= m.Rows() // another picture's
		apart := 1
		switch width := m.Cols(); {
		case width != len(out) && width != 2*len(out):
			return r.unread("%d columns for %d pairs", width, len(out))
		case r.scheme.Layout == schemes.LayoutInterleaved: // columns are those of elements
			apart = width / len(out)
		}
		for k := range out {
			out[k] = m.At(place, k*apart)
		}
	}
	return nil
}

// unturned is how many places, of class tokens say, are put ahead of those that turn as they are.
func (r *Site) unturned() int {
	s, name, behind := r.State()
	if s == nil {
		return 0
	}
	rank := len(s.Value(name).Shape)
	axis := rank - behind
	if axis < 0 {
		return 0 // of a graph that fails there
	}
	for range maxToJoin {
		next := ""
		for _, n := range s.Consumers(name) {
			switch at := slices.Index(n.Inputs, name); {
			case n.Op == "Concat" && at > 0 && (int(n.Int("axis", 0)) == axis || int(n.Int("axis", 0))+rank == axis):
				ahead := 0
				for i := range at {
					if v := s.Input(n, i); axis < len(v.Shape) {
						ahead += v.Shape[axis]
					}
				}
				return ahead
			case n.Op == "Cast" || n.Op == "Identity":
				next = n.Output(0)
			}
		}
		if next == "" {
			return 0
		}
		name = next
	}
	return 0
}

// maxToJoin bounds the nodes between what is turned and what is put ahead of it.
const maxToJoin = 4

// FileFrequencies are the frequencies as the graph multiplies them.
func (r *Site) FileFrequencies() []float64 {
	if r.known == nil {
		r.known, _ = r.frequencies(r.uses[0])
	}
	return r.known
}

// cacheFor is the cache that a graph with several takes for a length: the
// shortest that holds it.
func (r *Site) cacheFor(length int) *rows.Cache {
	best := r.caches[0]
	for _, c := range r.caches {
		if n := c.Positions(); n >= length && (best.Positions() < length || n < best.Positions()) || best.Positions() < length && n > best.Positions() {
			best = c
		}
	}
	return best
}
