package position

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// GridOptions say to which size a model's grid of image patches should be resampled.
type GridOptions struct {
	Frames        int    // patches along time of a video; 0: as many as there are
	Height, Width int    // patches; 0: from Image
	Image         int    // height of the picture in pixels, and its width where no other is given; 0: from Height and Width
	ImageWidth    int    // its width; 0: a square picture
	Kernel        string // schemes.Kernels; "": the first
	Method        string // of cosines and sines of patches: "none" or "linear"; "": the first, where the file says that it can be
	Window        [2]int // height and width of the windows that the picture is cut into, in places, zeros: as they are, where the file tells that they stay
	WindowMethod  string // of biases between patches: schemes.WindowMethods; "": the first
}

// Picture is the height and width in pixels that were asked for, zeros where patches were.
func (o GridOptions) Picture() [2]int { return [2]int{o.Image, cmp.Or(o.ImageWidth, o.Image)} }

// Resampler is implemented by sites whose graph may resample their table to the
// picture's size itself, or repeat it over the picture, so that nothing of it changes.
type Resampler interface{ Resampled() bool }

// WindowResizer is implemented by sites of biases between the places of an image window.
type WindowResizer interface {
	Site
	// ResizeWindow gives the window another size, by what the graph makes biases of, or a method of schemes.WindowMethods, "": the
	// first, where nothing speaks against it; places is one of schemes.PlaceMethods, of distances. It returns how, and what is assumed.
	ResizeWindow(to [2]int, method, places string) (how, assumes string, err error)
}

// SideResizer is implemented by sites of vectors by distance along the rows and columns of an image.
type SideResizer interface {
	Site
	// ResizeSides gives the tables of the whole picture those of another grid, and returns the rows
	// of the longest table then; tables of windows stay.
	ResizeSides(from, to [2]int) (rows int, err error)
}

// PlaceRotator is implemented by sites of cosines and sines of the places of a grid. ResizePlaces gives those of another grid of as many
// axes theirs, squeezed into the span of the old ones where that is asked for.
type PlaceRotator interface {
	Site
	ResizePlaces(to []int, squeezed bool) (says string, err error)
}

// Cropper is implemented by sites of tables of which the graph may cut out a part for the patches that there are. Crop takes a part
// of another size; false where the graph takes all of the table. It refuses a part that is not there.
type Cropper interface {
	Crop(to [2]int) (cropped bool, err error)
}

// FrameTable is implemented by sites of tables that may tell the frames of a video apart, and nothing else.
type FrameTable interface{ AlongTime() bool }

// ResizeGrid resamples the learned rows of a model's image patches, as the
// original model does for another picture size.
func ResizeGrid(m Model, o GridOptions) (_ Outcome, err error) {
	defer Caught(&err)
	if o.Method != "" && !slices.Contains(schemes.PlaceMethods, o.Method) {
		return Outcome{}, &UsageError{What: fmt.Sprintf("no method %q for pictures: there are %s", o.Method, strings.Join(schemes.PlaceMethods, ", "))}
	}
	gridder, ok := m.(Gridder)
	if !ok {
		return Outcome{}, &Refusal{Why: "files of this format state no picture size that could be changed", Instead: "convert the model anew for the wanted size"}
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	kernel, err := schemes.KernelNamed(cmp.Or(o.Kernel, schemes.Kernels[0].Name))
	if err != nil {
		return Outcome{}, &UsageError{What: err.Error()}
	}
	if o.WindowMethod != "" && !slices.Contains(schemes.WindowMethods, o.WindowMethod) {
		return Outcome{}, &UsageError{What: fmt.Sprintf("no method %q: there are %s", o.WindowMethod, strings.Join(schemes.WindowMethods, ", "))}
	}
	if err := oneGrid(m); err != nil {
		return Outcome{}, err
	}
	to, err := WantedGrid(gridder, o)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { // what keeps numbers of the picture that it was exported with follows where that one is the only one
		var refusal *Refusal
		if len(gridder.FreeSides()) > 0 && errors.As(err, &refusal) && len(refusal.Remedies) == 0 && !strings.Contains(refusal.Instead, "behind it") {
			refusal.Instead, refusal.Remedies = "", []report.Remedy{report.FixPicture(gridder.FreeSides())}
		}
	}()
	c := gridChange{m: m, g: gridder, to: to, kernel: kernel, named: o.Kernel != "", method: o.WindowMethod, window: o.Window, squeeze: o.Method == schemes.PlacesSqueezed, places: o.Method}
	if p, ok := m.(Pictured); ok && o.Window == [2]int{} {
		any, err := p.TakesPictures(to.Sides())
		if err != nil {
			return Outcome{}, err
		}
		if any != "" {
			c.out.Nothing = fmt.Sprintf("%s, and takes %s patches as it is", any, to)
			return c.out, nil
		}
	}
	for i, s := range m.Sites() {
		if done, err := c.resize(i, s); err != nil {
			return Outcome{}, err
		} else if done {
			return c.out, nil
		}
	}
	switch {
	case c.from == schemes.Grid{} && slices.ContainsFunc(m.Sites(), func(s Site) bool {
		other, ok := s.Encoding().Scheme.(schemes.Other)
		return ok && other.Kind == report.SchemeRelativeTable && s.Encoding().Form == report.FormBaked
	}):
		return Outcome{}, &Refusal{Why: "the biases of distances stand in the graph for one window, and the table that they were made from is not in the file",
			Instead: "export the model for the wanted picture"}
	case c.from == schemes.Grid{} && slices.ContainsFunc(m.Sites(), func(s Site) bool { return s.Encoding().Scheme.Name() == report.SchemeUnknown }):
		return Outcome{}, &Refusal{Why: "how this model encodes positions is not known", Instead: "export the model for the wanted picture"}
	case c.from == schemes.Grid{}:
		return Outcome{}, &Refusal{Why: "the model has no learned grid of image patches", Instead: "what follows the picture by itself has no table to resize: export the model with free axes"}
	case len(c.out.Changes) == 0 && gridder.PatchGrid() != c.to:
		c.from = gridder.PatchGrid()
		c.changes(0, "picture of %s → %s patches, with the tables as they are", c.from, c.to)
	case len(c.out.Changes) == 0:
		c.out.Nothing = fmt.Sprintf("the grid is %s already", to)
		return c.out, nil
	}
	return c.out, gridder.SetGrid(c.from, to, o.Window)
}

// gridChange is a change of the picture's size at work.
type gridChange struct {
	m       Model
	g       Gridder
	from    schemes.Grid // of what changes; of what does not where nothing does
	to      schemes.Grid
	kernel  schemes.Kernel
	named   bool   // the kernel was asked for
	method  string // of biases between patches; "": not asked for
	window  [2]int // of the windows that the picture is cut into, in places; zeros: not asked for
	squeeze bool   // cosines and sines of patches keep their span
	places  string // how places go on: schemes.PlaceMethods; "": not asked for
	out     Outcome
}

// resize gives one site the new size. done says that nothing is left to do for the model.
func (c *gridChange) resize(i int, s Site) (done bool, err error) {
	scheme := s.Encoding().Scheme
	wave, _ := scheme.(schemes.Sinusoid)
	window, isWindow := s.(WindowResizer)
	sides, isSides := s.(SideResizer)
	learned, _ := scheme.(schemes.Learned)
	frames, isFrames := s.(FrameTable)
	places, isPlaces := s.(PlaceRotator)
	grid := c.g.PatchGrid()
	if cropper, ok := s.(Cropper); ok && (s.Encoding().IsGrid() || learned.Rows > 0) && (grid.Sides() != c.to.Sides() || schemes.GridOf(learned.Grid) != c.to) {
		if cropped, err := cropper.Crop(c.to.Sides()); cropped || err != nil {
			if takes, _ := c.takes(); takes {
				c.out.Nothing = fmt.Sprintf("the graph takes a part of its table for the picture that it gets, and %s patches as it is", c.to)
				return true, nil
			}
			c.from = grid
			c.changes(i, "grid %s → %s patches, another part of its table", grid, c.to)
			if learned.Grid != nil {
				learned.Grid, learned.Rows = c.to.Axes(2), learned.Rows+c.to.Places()-grid.Places()
				c.out.Becomes = append(c.out.Becomes, Becoming{Site: i, Scheme: learned})
			}
			return false, err
		}
	}
	switch {
	case wave.Grid != nil:
		return c.resizeWaves(i, s, wave)
	case isWindow:
		return c.resizeWindow(i, window)
	case scheme.Name() == report.SchemeNone, scheme.Name() == report.SchemeConv:
		return c.follows(i)
	case isSides && grid != c.to:
		return false, c.resizeSides(i, sides)
	case learned.Grid != nil:
		return c.resizeRows(i, s, learned)
	case isPlaces && s.Encoding().IsGrid():
		return c.resizePlaces(i, places, scheme.(schemes.Rotary))
	case wave.Rows > 0 && wave.Rows == wave.Offset+grid.Places() && grid != c.to:
		return false, c.resizeLine(i, s, wave)
	case isFrames && frames.AlongTime() && learned.Rows == grid[0] && grid[0] != c.to[0]:
		return c.resizeRows(i, s, learned)
	}
	return false, nil
}

// changes notes a change of a site that no table shows.
func (c *gridChange) changes(i int, format string, of ...any) {
	c.out.Changes = append(c.out.Changes, report.Change{Encoding: ID(i), Expect: report.ExpectChanged, What: fmt.Sprintf(format, of...)})
}

// unchanged keeps the old grid of what was changed before, where there is any.
func (c *gridChange) unchanged() {
	if c.from == (schemes.Grid{}) {
		c.from = c.to
	}
}

// takes asks whether the graph takes the new picture as it is, and refuses where it runs and not all of it follows.
func (c *gridChange) takes() (bool, error) {
	takes, left := c.g.Takes(c.to)
	if left.What != "" && !left.Changeable {
		return false, &Refusal{Why: fmt.Sprintf("the graph runs with %s patches, and not all of it follows: %s", c.to, left.What), Instead: "export the model for the wanted picture"}
	}
	return takes, nil
}

// follows is for a model that has no encoding, or computes it for the picture that it gets: with free
// axes nothing may be left to do, and then it is done.
func (c *gridChange) follows(i int) (done bool, err error) {
	takes, err := c.takes()
	grid := c.g.PatchGrid()
	switch {
	case err != nil:
		return false, err
	case takes:
		c.out.Nothing = fmt.Sprintf("nothing in the graph is for one size of the picture, and it takes %s patches as it is", c.to)
		return true, nil
	case grid == schemes.Grid{}:
	case grid == c.to:
		c.unchanged()
	default:
		c.from = grid
		c.changes(i, "picture of %s → %s patches, with no table for them", grid, c.to)
	}
	return false, nil
}

// resizeWaves gives a site of sines and cosines of a grid those of another grid: their formula goes on,
// nothing is resampled.
func (c *gridChange) resizeWaves(i int, s Site, wave schemes.Sinusoid) (done bool, err error) {
	runtime := s.Encoding().Form == report.FormRuntime
	switch {
	case runtime:
		if done, err := c.follows(i); done || err != nil || c.from == c.to {
			return done, err
		}
	case slices.Equal(wave.Grid, c.to.Axes(len(wave.Grid))):
		c.unchanged()
		return false, nil
	default:
		from := schemes.GridOf(wave.Grid)
		c.from = c.g.PatchGrid().WithSides(from[1], from[2])
	}
	places := c.to.Axes(len(wave.Grid))
	if patches := c.g.PatchGrid().Axes(len(places)); runtime {
		for axis, n := range wave.Grid { // several of the first patches may make a place
			places[axis] = (n*places[axis] + max(patches[axis]-1, 0)) / max(patches[axis], 1)
		}
	}
	from := wave.Grid
	if wave, err = wave.Regrid(places, c.squeeze); err != nil {
		refusal := &Refusal{Why: err.Error(), Instead: "export the model for the wanted picture"}
		if errors.Is(err, schemes.ErrStep) {
			refusal.Remedies = []report.Remedy{report.Do("extend", "squeezes them into the span that they had", "method", schemes.PlacesSqueezed)}
		}
		return false, refusal
	}
	if runtime {
		c.out.Becomes = append(c.out.Becomes, Becoming{Site: i, Scheme: wave})
		return false, nil
	}
	count := schemes.GridOf(places).Places()
	wave.Rows = count + wave.Prefix
	want := Want{Scheme: wave, Positions: count}
	if err := s.Store(want); err != nil {
		return false, err
	}
	c.out.decide(c.m, i, want, fmt.Sprintf("grid %s → %s patches, by the formula of sines and cosines", schemes.Sizes(from), schemes.Sizes(places)), report.ExpectChanged)
	if wave.Step == 0 {
		c.out.note(schemes.PlacesUntold)
	}
	return false, nil
}

// resizeWindow gives a site of biases between patches those of another picture; windows that a picture is cut
// into stay as they are.
func (c *gridChange) resizeWindow(i int, s WindowResizer) (done bool, err error) {
	w := s.Encoding().Scheme.(schemes.Other)
	grid := c.g.PatchGrid()
	windows := w.Window != nil && grid != schemes.Grid{} && !slices.Equal(w.Window, grid[1:])
	if !windows && slices.Equal(w.Window, c.to[1:]) {
		c.unchanged()
		return false, nil
	}
	to := c.to.Sides()
	asked := windows && c.window != [2]int{} && !slices.Equal(w.Window, c.window[:])
	takes, err := c.takes()
	switch {
	case asked:
		to = c.window
	case err == nil && windows && grid == c.to:
		c.unchanged()
		return false, nil
	case err != nil:
		return false, err
	case takes && c.method != "" && c.method != schemes.WindowMethods[0]:
		return false, &Refusal{Why: "the graph resamples its biases to the size of the picture itself, in its own way", Instead: "export the model for one picture size"}
	case takes:
		does := "resamples its biases to the size of the picture"
		if windows {
			does = fmt.Sprintf("cuts pictures into windows of %d×%d patches", w.Window[0], w.Window[1])
		}
		c.out.Nothing = fmt.Sprintf("the graph %s, and takes %s patches as it is", does, c.to)
		return true, nil
	case grid == schemes.Grid{}:
		return false, &Refusal{Why: "how many patches the graph cuts a picture into, of whose windows biases are in the file, cannot be told", Instead: "export the model for the wanted picture"}
	case windows:
		c.from = grid
		c.changes(i, "picture of %s → %s patches, in windows of %d×%d as before", grid, c.to, w.Window[0], w.Window[1])
		return false, nil
	}
	how, assumes, err := s.ResizeWindow(to, c.method, c.places)
	if err != nil {
		return false, err
	}
	from := w.Window
	w.Rows, w.Window = w.Rows+schemes.WindowRows(to[0], to[1], false)-schemes.WindowRows(from[0], from[1], false), to[:]
	c.out.becomes(Becoming{Site: i, Scheme: w}, fmt.Sprintf("biases of a window of %d×%d → %d×%d patches, %s", from[0], from[1], to[0], to[1], how), report.ExpectChanged)
	c.out.note(assumes)
	if c.from = grid; !asked {
		c.from = grid.WithSides(from[0], from[1])
	}
	return false, nil
}

// resizeSides gives a site of vectors by distance those of a larger or smaller picture.
func (c *gridChange) resizeSides(i int, s SideResizer) error {
	c.from = c.g.PatchGrid()
	rows, err := s.ResizeSides(c.from.Sides(), c.to.Sides())
	if err != nil {
		return err
	}
	w := s.Encoding().Scheme.(schemes.Other)
	if rows == w.Rows {
		return nil // of windows, which stay
	}
	what := fmt.Sprintf("distances along rows and columns %d → %d rows, linear", w.Rows, rows)
	w.Rows = rows
	c.out.becomes(Becoming{Site: i, Scheme: w}, what, report.ExpectChanged)
	return nil
}

// resizeRows resamples the learned rows of a grid, unless the graph does so itself.
func (c *gridChange) resizeRows(i int, s Site, l schemes.Learned) (done bool, err error) {
	if r, ok := s.(Resampler); ok && r.Resampled() {
		takes, err := c.takes()
		grid := c.g.PatchGrid()
		switch {
		case err != nil:
			return false, err
		case takes:
			c.out.Nothing = fmt.Sprintf("the graph resamples its position table to the size of the picture, and takes %s patches as it is", c.to)
			return true, nil
		case grid == c.to:
			c.unchanged()
			return false, nil
		}
		c.from = grid
		c.changes(i, "grid %s → %s patches, of rows that the graph makes itself", grid, c.to)
		return false, nil
	}
	from, to := schemes.GridOf(l.Grid), c.to
	switch len(l.Grid) {
	case 0: // frames alone
		from, to = schemes.Grid{l.Rows, 1, 1}, schemes.Grid{c.to[0], 1, 1}
	case 2: // the same for every frame
		to[0] = 1
	}
	if from == to {
		c.unchanged()
		return false, nil
	}
	c.from = c.g.PatchGrid()
	what, kernel := fmt.Sprintf("%d → %d places along time", from[0], to[0]), c.kernel.AlongTime().Name
	if l.Grid != nil {
		c.from = c.from.WithSides(from[1], from[2])
		what, kernel = fmt.Sprintf("grid %s → %s patches", from, to), c.kernel.Name
	}
	if rows, ok := s.(Rows); ok && !c.named && l.Grid != nil && s.Encoding().Form == report.FormBaked {
		if sum, err := schemes.IsSum(rows, l.Prefix, from); err != nil || sum {
			return false, &Refusal{Why: "each row of its table is the sum of one by row and one by column, as sines multiplied by weights are, or two tables: those of another grid are not in the file",
				Remedies: []report.Remedy{report.Do("extend", "resamples them as if they were trained", "kernel", c.kernel.Name)}}
		}
	}
	want, err := resizeSite(s, l, from, to, c.kernel)
	if err != nil {
		return false, err
	}
	c.out.decide(c.m, i, want, what+", "+kernel, report.ExpectChanged)
	if !c.named && l.Grid != nil && s.Encoding().Form == report.FormBaked {
		c.out.note(schemes.RowsUntold)
	}
	return false, nil
}

// resizePlaces gives a site of cosines and sines of the places of a grid those of another one.
func (c *gridChange) resizePlaces(i int, s PlaceRotator, r schemes.Rotary) (done bool, err error) {
	to := c.to.Axes(len(r.Grid))
	if slices.Equal(r.Grid, to) {
		c.unchanged()
		return false, nil
	}
	was := r.Grid
	r.Grid = to
	if takes, err := c.takes(); err != nil {
		return false, err
	} else if takes && s.Encoding().Form == report.FormRuntime {
		c.out.Nothing = fmt.Sprintf("the graph computes its cosines and sines for the picture that it gets, and takes %s patches as it is", c.to)
		return true, nil
	}
	c.from = c.g.PatchGrid()
	says, err := s.ResizePlaces(to, c.squeeze)
	if err != nil {
		return false, err
	}
	what := strings.TrimSuffix(fmt.Sprintf("cosines and sines of a grid %s → %s patches: %s", schemes.Sizes(was), schemes.Sizes(to), says), ": ")
	c.out.becomes(Becoming{Site: i, Scheme: r}, what, report.ExpectChanged)
	if says == schemes.PlacesGoOn {
		c.out.note(schemes.PlacesUntold)
	}
	return false, nil
}

// resizeLine gives a table of sines and cosines of places that are counted row by row, as one line, those of as
// many as there are then.
func (c *gridChange) resizeLine(i int, s Site, wave schemes.Sinusoid) error {
	c.from = c.g.PatchGrid()
	wave.Rows += c.to.Places() - c.from.Places()
	want := Want{Scheme: wave, Positions: c.to.Places()}
	if err := s.Store(want); err != nil {
		return err
	}
	c.out.decide(c.m, i, want, fmt.Sprintf("grid %s → %s patches, counted as one line by the formula of sines and cosines", c.from, c.to), report.ExpectChanged)
	return nil
}

// oneGrid refuses models whose stages have learned tables for grids of their own
// (PVT): what each becomes with the picture is not in the file.
func oneGrid(m Model) error {
	var grid []int
	for _, s := range m.Sites() {
		l, ok := s.Encoding().Scheme.(schemes.Learned)
		if r, made := s.(Resampler); !ok || l.Grid == nil || made && r.Resampled() {
			continue
		}
		if grid != nil && !slices.Equal(grid, l.Grid) {
			return &Refusal{Why: fmt.Sprintf("it has learned tables of %s and of %s patches, one a stage", schemes.Sizes(grid), schemes.Sizes(l.Grid)), Instead: "export the model for the wanted picture"}
		}
		grid = l.Grid
	}
	return nil
}

// maxGrid bounds a grid's side.
const maxGrid = 1 << 14

// WantedGrid is what options ask for, in patches.
func WantedGrid(g Gridder, o GridOptions) (to schemes.Grid, err error) {
	if picture := o.Picture(); picture != [2]int{} {
		patch := g.PatchSize()
		if patch == 0 {
			return to, &Refusal{Why: "the size of a patch cannot be told from the file", Remedies: []report.Remedy{report.Do("", "names the grid itself", "grid", "HxW")}}
		}
		unit := patch
		if p, ok := g.(Pictured); ok {
			unit *= max(p.Merged(), 1)
		}
		over := g.Overlap()
		for axis, side := range picture {
			if side -= over[axis]; side < patch || side%patch != 0 {
				return to, &UsageError{What: fmt.Sprintf("a picture of %d pixels is no multiple of patches of %d", picture[axis], patch), Hint: schemes.NearestSizes(picture[axis], unit, over[axis])}
			}
		}
		o.Height, o.Width = (picture[0]-over[0])/patch, (picture[1]-over[1])/patch
	}
	to = schemes.Grid{cmp.Or(o.Frames, max(g.PatchGrid()[0], 1)), o.Height, o.Width}
	if slices.Min(to[:]) < 1 || slices.Max(to[:]) > maxGrid {
		return to, &UsageError{What: fmt.Sprintf("a grid of %s: each side must be between 1 and %d", to, maxGrid)}
	}
	if o.Frames > 1 && g.PatchGrid()[0] < 2 {
		return to, &UsageError{What: fmt.Sprintf("a grid of %s: the model takes pictures, which have no frames", to), Hint: "two numbers, height and width in patches"}
	}
	return to, nil
}

// resizeSite resamples the rows of a learned grid and returns what its site holds.
func resizeSite(s Site, l schemes.Learned, from, to schemes.Grid, k schemes.Kernel) (Want, error) {
	rows, ok := s.(Rows)
	if !ok || rows.Len() < from.Places() {
		return Want{}, &Refusal{Why: "the grid's rows cannot be read", Instead: "export the model again for the wanted size"}
	}
	prefix := min(l.Prefix, rows.Len()-from.Places()) // tokens may stand in another tensor
	resampled, err := schemes.ResampleRows(rows, prefix, from, to, k)
	if err != nil {
		return Want{}, &Refusal{Why: err.Error()}
	}
	l.Rows += to.Places() - from.Places()
	if l.Grid != nil {
		l.Grid = to.Axes(len(l.Grid))
	}
	want := Want{Scheme: l, Positions: to.Places(), Rows: resampled}
	return want, s.Store(want)
}
