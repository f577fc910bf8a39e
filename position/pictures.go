package position

import (
	"fmt"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Gridder is implemented by models of images: they know their patch size, and
// change what hangs on the size of the picture.
type Gridder interface {
	// PatchSize is the side of a patch in pixels, 0 when it cannot be told.
	PatchSize() int
	// PatchGrid is how many patches the picture or video has along each axis, zeros when
	// there is none.
	PatchGrid() schemes.Grid
	// Takes reports whether the graph runs, as it is, with a picture of so many
	// patches: its axes are free, it resamples its table itself, and all that was of the
	// old size follows. Where it runs and something does not, left says what.
	Takes(grid schemes.Grid) (takes bool, left Leftover)
	// SetGrid changes shape constants and fixed dimensions to another grid.
	SetGrid(old, new schemes.Grid) error
}

// Pictured is implemented by models whose pictures an engine makes, and not their graph: it takes some sizes
// alone, or all.
type Pictured interface{ Pictures() Pictures }

// Sized is implemented by models of pictures: Sizes are the height and width in pixels of those that
// they take, or that an engine makes of every other, and what the sides of others are multiples
// of; zeros where that cannot be told.
type Sized interface {
	Sizes() (picture [2]int, multiple int)
}

// describePictures notes the sizes in a report.
func describePictures(m Model, l *report.Length) {
	s, ok := m.(Sized)
	if !ok {
		return
	}
	var picture [2]int
	if picture, l.Multiple = s.Sizes(); picture[0] > 0 {
		l.Picture = picture[:]
	}
}

// Pictures are the sizes that an engine takes.
type Pictures struct {
	Multiple int    // patches along a side that become one token: sides are multiples of them
	Largest  int    // patches along a side at most
	Square   bool   // both sides are one number
	Any      string // why every size goes as it is; "" where one does alone
	Only     string // why that one cannot be another; "" where it can
}

// refuse refuses a grid that the engine does not take.
func (p Pictures) refuse(to [2]int, patch int) error {
	switch {
	case p.Only != "":
		return &Refusal{Why: "the size of its pictures cannot change: " + p.Only, Instead: "convert the model anew for the wanted size"}
	case p.Square && to[0] != to[1]:
		return &Refusal{Why: fmt.Sprintf("llama.cpp scales every picture to a square for this projector, and %d×%d patches are none", to[0], to[1]),
			Remedies: []report.Remedy{report.Do("extend", "", "image", fmt.Sprint(max(to[0], to[1])*patch))}}
	case max(to[0], to[1]) > p.Largest:
		return &Refusal{Why: fmt.Sprintf("llama.cpp takes pictures of at most %d pixels a side", p.Largest*patch), Remedies: []report.Remedy{report.Do("extend", "", "image", fmt.Sprint(p.Largest/p.Multiple*p.Multiple*patch))}}
	}
	for _, side := range to {
		if side%p.Multiple != 0 {
			return &UsageError{What: fmt.Sprintf("a side of %d patches (%d pixels): the projector makes one token of %d×%d patches", side, side*patch, p.Multiple, p.Multiple),
				Hint: schemes.NearestSizes(side*patch, p.Multiple*patch)}
		}
	}
	return nil
}

// Leftover is what of the old picture stays in a graph that runs with another one.
type Leftover struct {
	What       string // in words; "": nothing
	Changeable bool   // SetGrid can change it
}
