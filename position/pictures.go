package position

import (
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
	Overlap() [2]int // pixels of each side that the last patch has beyond its step
	// SetGrid changes shape constants and fixed dimensions to another grid. window is the height and width, in places, of windows
	// that the picture is cut into, zeros: as they are, where the file tells that they stay.
	SetGrid(old, new schemes.Grid, window [2]int) error
	// FreeSides are what extend --fix wants for the picture's free axes: the name of each and a letter for its number.
	FreeSides() []string
}

// Pictured is implemented by models whose pictures an engine makes, and not their graph.
type Pictured interface {
	// Merged is how many patches along a side become one token: sides are multiples of as many.
	Merged() int
	// TakesPictures says why every size goes as it is, "" where one does alone; or it refuses so many rows and columns.
	TakesPictures(to [2]int) (any string, err error)
}

// Sized is implemented by models of pictures: Sizes are the height and width in pixels of those that
// they take, or that an engine makes of every other, the frames of videos, and what the sides of others are multiples
// of; zeros where that cannot be told.
type Sized interface {
	Sizes() (picture [2]int, frames, multiple int)
}

// describePictures notes the sizes in a report.
func describePictures(m Model, l *report.Length) {
	s, ok := m.(Sized)
	if !ok {
		return
	}
	var picture [2]int
	if picture, l.Frames, l.Multiple = s.Sizes(); picture[0] > 0 {
		l.Picture = picture[:]
	}
}

// Leftover is what of the old picture stays in a graph that runs with another one.
type Leftover struct {
	What       string // in words; "": nothing
	Changeable bool   // SetGrid can change it
}
