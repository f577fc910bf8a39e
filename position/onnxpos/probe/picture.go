package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// waveLengths are numbers of samples that recordings are tried with: strided
// convolutions make a frame of hundreds in trained models, of a few in small
// ones.
var waveLengths = []int{100, 400, 1000, 4000, 16000}

// minFrames is how many frames a probe must have, so that axes are told apart.
const minFrames = 5

// seriesLengths are tried behind waveLengths, for a series of single numbers whose table is shorter.
var seriesLengths = []int{50, 25, 12}

// waveLength is the least number of samples of which the graph makes frames; where it makes none, as many as it runs with.
func (p *Probe) waveLength(s Sizes) int {
	usual := waveLengths[3]
	runs := 0
	for _, n := range slices.Concat(waveLengths, seriesLengths) {
		s.Length = n
		e := p.Evaluate(s)
		if len(e.Failures) > 0 || len(p.File.Graph.Outputs) == 0 {
			continue
		}
		if out := e.Main.Value(p.File.Graph.Outputs[0].Name); len(out.Shape) >= 2 && out.Shape[1] >= minFrames {
			return n
		}
		if runs == 0 || n == usual {
			runs = n
		}
	}
	return cmp.Or(runs, usual)
}

// imageSizes are the sides that free image axes are tried with, the usual ones
// of trained models and of small ones.
var imageSizes = []int{32, 224, 384, 256, 336, 512, 518, 64, 16, 448, 128}

// pictureAxis says what an axis of a picture is.
type pictureAxis uint8

const (
	noPicture pictureAxis = iota
	pictures              // of the batch
	channels
	frames  // of a video
	rows    // its height
	columns // its width
)

// isPicture reports whether an input is a picture or a video: four or five axes of floating-point
// numbers, or of bytes as a camera gives them. Two axes of one name are pairs of tokens or nodes, and as
// many channels as one likes with rows and columns of one size are places with features.
func isPicture(in *onnx.ValueInfo) bool {
	name := strings.ToLower(in.Name)
	if k := len(in.Dims); k == 4 && !coloured(in.Dims[1]) && !coloured(in.Dims[3]) && (repeats(in.Dims[1], in.Dims[2]) || repeats(in.Dims[2], in.Dims[3]) || in.Dims[1].Value < 0 && min(in.Dims[2].Value, in.Dims[3].Value) >= 0 && !strings.Contains(strings.ToLower(in.Dims[1].Param), "channel")) {
		return false
	}
	return (len(in.Dims) == 4 || len(in.Dims) == 5) && (in.Type.IsFloat() || in.Type == onnx.Uint8) && !strings.Contains(name, "past") && !strings.Contains(name, "cache")
}

// repeats reports whether two axes have one name.
func repeats(a, b onnx.Dim) bool {
	return a.Value < 0 && b.Value < 0 && a.Param != "" && a.Param == b.Param
}

// IsVideo reports whether a picture has an axis of frames.
func IsVideo(in *onnx.ValueInfo) bool { return len(in.Dims) == 5 }

// maxChannels is how many colours a picture has at the most, with one for transparency.
const maxChannels = 4

// coloured reports whether an axis has a size that is one of colours.
func coloured(d onnx.Dim) bool { return d.Value > 0 && d.Value <= maxChannels }

// PictureSides are the axes of a picture's height and width: the last two, or the two
// before its channels where those stand last (ONNX-ML tools that convert TensorFlow).
func PictureSides(in *onnx.ValueInfo) (height, width int) {
	last := len(in.Dims) - 1
	if coloured(in.Dims[last]) && !slices.ContainsFunc(in.Dims[1:last-1], coloured) {
		return last - 2, last - 1
	}
	return last - 1, last
}

// channelAxis is the axis of a picture's channels. Of the two axes before a video's rows it is the one
// that has a size where the other one is free, else the one of as many as colours.
func channelAxis(in *onnx.ValueInfo) int {
	height, width := PictureSides(in)
	switch {
	case width < len(in.Dims)-1:
		return width + 1
	case height == 2:
		return 1
	}
	first, second := in.Dims[1], in.Dims[2]
	if (first.Value < 0) != (second.Value < 0) {
		if first.Value < 0 {
			return 2
		}
		return 1
	}
	if coloured(second) && (!coloured(first) || second.Value == 3 && first.Value != 3) {
		return 2
	}
	return 1
}

// frameAxis is the axis of a video's frames, −1 of a picture.
func frameAxis(in *onnx.ValueInfo) int {
	height, _ := PictureSides(in)
	if height < 2 || !IsVideo(in) {
		return -1
	}
	if height == 2 {
		return 1
	}
	return 3 - channelAxis(in)
}

// FixedFrames is how many frames a video has, 0 where it is none or leaves them to the caller.
func FixedFrames(in *onnx.ValueInfo) int {
	if axis := frameAxis(in); axis >= 0 {
		return int(max(in.Dims[axis].Value, 0))
	}
	return 0
}

// HasColours reports whether a picture has as many channels as colours, or it is free: then
// it is no map of features.
func HasColours(in *onnx.ValueInfo) bool { return in.Dims[channelAxis(in)].Value <= maxChannels }

// axisOf says what an axis of a picture is.
func axisOf(in *onnx.ValueInfo, axis int) pictureAxis {
	height, width := PictureSides(in)
	switch axis {
	case 0:
		return pictures
	case height:
		return rows
	case width:
		return columns
	case frameAxis(in):
		return frames
	}
	return channels
}

// FreeImage reports whether an image input leaves its height to the caller.
func (p *Probe) FreeImage() bool {
	in := p.ImageInput()
	if in == nil {
		return false
	}
	height, _ := PictureSides(in)
	return in.Dims[height].Value < 0
}

// FreeSides are what extend --fix wants for the free axes of the picture: the name of each and a letter for its number.
func (p *Probe) FreeSides() (out []string) {
	in := p.ImageInput()
	if in == nil {
		return nil
	}
	letters := map[pictureAxis]string{frames: "T", rows: "H", columns: "W"}
	for i, d := range in.Dims {
		if letter := letters[axisOf(in, i)]; letter != "" && d.Value < 0 {
			out = append(out, cmp.Or(d.Param, fmt.Sprintf("%s:%d", in.Name, i))+"="+letter)
		}
	}
	return out
}

// FreeFrames reports whether the input is a video that leaves its frames to the caller.
func (p *Probe) FreeFrames() bool {
	in := p.ImageInput()
	return in != nil && IsVideo(in) && in.Dims[frameAxis(in)].Value < 0
}

// imageSize chooses the side, and of a video the frames, at which the graph runs.
func (p *Probe) imageSize(s Sizes) Sizes {
	sides, lengths := []int{s.Image}, []int{s.Frames}
	if p.FreeFrames() {
		lengths = frameCounts
	}
	if p.FreeImage() {
		sides = slices.Clone(imageSizes)
		if patch := p.PatchSize(); patch > 0 {
			for n := 1; n <= maxProbedGrid; n++ {
				sides = append(sides, n*patch)
			}
			// One patch goes with a table of any number of them: last.
			one := slices.DeleteFunc(slices.Clone(sides), func(side int) bool { return side > patch })
			sides = append(slices.DeleteFunc(sides, func(side int) bool { return side <= patch }), one...)
		}
	}
	for _, s.Image = range sides {
		for _, s.Frames = range lengths {
			if e := p.Failing(s, func(eval.Failure) bool { return true }); len(e.Failures) == 0 {
				return s
			}
		}
	}
	s.Image, s.Frames = imageSizes[0], frameCounts[0]
	return s
}

// frameCounts are the frames that videos are tried with, the usual ones of trained models and of small ones.
var frameCounts = []int{16, 8, 32, 4, 64, 2, 10, 96, 1}

// maxProbedGrid bounds the grids that a free picture is tried with.
const maxProbedGrid = 64

// maxEnlarged bounds how often larger inputs are tried.
const maxEnlarged = 3

// maxAgain bounds the numbers that a graph computes which is evaluated again with a longer input: both evaluations are kept.
const maxAgain = 1 << 24

// Enlarged reports whether a larger input than the first one was looked for.
func (p *Probe) Enlarged() bool { return p.enlarged > 0 }

// Enlarge evaluates the graph anew with a larger picture, or a longer recording or text; false where
// none helps.
func (p *Probe) Enlarge() bool {
	if p.enlarged++; p.enlarged > maxEnlarged {
		return false
	}
	s := p.Sizes
	if !p.FreeImage() {
		if p.Audio() == nil && p.TokenInput() == nil || p.FixedLength() > 0 || p.isStep() || p.Eval.Work() > maxAgain {
			return false
		}
		s.Length *= 4
		return p.take(s)
	}
	for _, s.Image = range imageSizes {
		if s.Image > 2*p.Sizes.Image && p.take(s) {
			return true
		}
	}
	return false
}

// FailsInBatches is what fails with several pictures at once and not with one, where their number is free; nil where nothing does.
func (p *Probe) FailsInBatches() error {
	in := p.ImageInput()
	if in == nil || in.Dims[0].Value >= 0 || p.Sizes.Batch != 1 {
		return nil
	}
	known := p.FailsAnyway()
	for _, s := range batches {
		size := p.Sizes
		size.Batch = s
		for _, f := range p.Failing(size, nil).Failures {
			if !known[f.Node] {
				return fmt.Errorf("with %d pictures at once: %s: %w", s, f.Node.Title(), f.Err)
			}
		}
	}
	return nil
}

// batches are numbers of pictures that are tried: windows are counted with them, and a count by an old number of windows
// may be right for some.
var batches = []int{2, 3, 7, 17}

// Lengthen probes at another length, where the graph runs there.
func (p *Probe) Lengthen(length int) bool {
	s := p.Sizes
	s.Length = length
	return p.take(s)
}

// take makes other sizes those of the probe, where the graph runs there.
func (p *Probe) take(s Sizes) bool {
	e := p.Evaluate(s)
	if len(e.Failures) > 0 {
		return false
	}
	p.Sizes, p.Eval, p.probes = s, e, nil
	return true
}

// Patches is a node of whose output two axes are the rows and columns of an image in patches: a
// convolution, or a Reshape that cuts pictures apart.
type Patches struct {
	Node          *onnx.Node
	Rows, Columns int
}

// patches is what makes an image's patches: the first convolution over its two axes, unless a table
// says that it is something further on.
func (p *Probe) patches() *Patches {
	if p.ImageInput() == nil && p.Audio() == nil {
		return nil
	}
	if p.Patches != nil {
		return p.Patches
	}
	if n := p.firstConvolution(); n != nil {
		axis := len(n.Ints("strides"))
		if p.Eval != nil {
			axis = len(p.Eval.Main.Value(n.Output(0)).Shape) - 2
		}
		return PatchesOf(n, axis)
	}
	if in := p.ImageInput(); in != nil && p.Eval != nil {
		return p.CutApart(len(p.File.Graph.Nodes), 0, 0)
	}
	return nil
}

// PatchesOf are the patches that a convolution makes, whose rows are the given axis of its output, or the one before where its channels stand last.
func PatchesOf(n *onnx.Node, rows int) *Patches {
	if n.ChannelsLast() {
		rows--
	}
	return &Patches{n, rows, rows + 1}
}

// CutApart is the last Reshape ahead of a node that cuts a picture into so many rows and columns of patches, each beside
// the pixels of a patch along it; with zeros the first, whatever their number, of square patches.
func (p *Probe) CutApart(before, rows, columns int) *Patches {
	in := p.ImageInput()
	if in == nil {
		return nil
	}
	height, width := PictureSides(in)
	picture := p.Eval.Main.Value(in.Name).Shape
	if width >= len(picture) || picture[height] < 1 || picture[width] < 1 {
		return nil
	}
	p.Budget.Spend(before)
	for i := range before {
		n := p.File.Graph.Nodes[i]
		if rows > 0 {
			n = p.File.Graph.Nodes[before-1-i]
		}
		if n.Op != "Reshape" {
			continue
		}
		shape := p.Eval.Main.Value(n.Output(0)).Shape
		for a := 0; a+3 < len(shape); a++ {
			of := shape[a : a+4]
			if of[0]*of[1] == picture[height] && of[2]*of[3] == picture[width] && (rows == of[0] && columns == of[2] || rows == 0 && of[1] == of[3] && of[1] > 1) {
				return &Patches{Node: n, Rows: a, Columns: a + 2}
			}
		}
	}
	return nil
}

func (p *Probe) firstConvolution() *onnx.Node {
	c := &p.convolution
	if !c.searched {
		c.searched = true
		p.Budget.Spend(len(p.File.Graph.Nodes))
		if i := slices.IndexFunc(p.File.Graph.Nodes, (*onnx.Node).IsConvolution); i >= 0 {
			c.first = p.File.Graph.Nodes[i]
		}
	}
	switch {
	case c.first == nil:
		return nil
	case p.Eval == nil: // sizes are still being chosen
		if len(c.first.Ints("strides")) >= 2 {
			return c.first
		}
	case len(p.Eval.Main.Value(c.first.Output(0)).Shape) >= 4:
		return c.first
	}
	return nil // over one axis
}

// PatchesIn are the rows and columns of patches of an image, of the frames of a video, or of a
// spectrogram; zeros when there are none.
func (p *Probe) PatchesIn(e *eval.Evaluator) (h, w int) {
	if made := p.patches(); made != nil {
		if v := e.Main.Value(made.Node.Output(0)); len(v.Shape) > made.Columns {
			return v.Shape[made.Rows], v.Shape[made.Columns]
		}
	}
	return 0, 0
}

// PatchesWithin is how many patches a picture of one size has where a table of so many distances lies along a whole side of it; 0 where it
// does not, as one of windows, or the size is free.
func (p *Probe) PatchesWithin(distances int) int {
	h, w := p.PatchesIn(p.Eval)
	if p.ImageInput() == nil || p.TokenInput() != nil || p.FreeImage() || h < 2 || w < 2 || distances != 2*h-1 && distances != 2*w-1 {
		return 0
	}
	return h * w
}

// PatchGrid is the height and width of the picture in patches.
func (p *Probe) PatchGrid() [2]int {
	h, w := p.PatchesIn(p.Eval)
	return [2]int{h, w}
}

// FrameGrid is how many patches of a video lie along time, 1 of a picture, and how many frames are in one.
func (p *Probe) FrameGrid() (patches, frames int) {
	in := p.ImageInput()
	if in == nil || !IsVideo(in) {
		return 1, 1
	}
	patches = max(p.Eval.Main.Value(in.Name).Shape[p.frameAxis()], 1)
	made := p.patches()
	if made == nil {
		return patches, 1
	}
	switch v, rows := p.Eval.Main.Value(made.Node.Output(0)), made.Rows; {
	case len(v.Shape) == 5 && rows == 3 && v.Shape[2] > 0:
		return v.Shape[2], max(patches/v.Shape[2], 1)
	case len(v.Shape) > 5 && rows > 1 && v.Shape[rows-2]*v.Shape[rows-1] == patches: // a Reshape cuts frames apart as well
		return v.Shape[rows-2], max(v.Shape[rows-1], 1)
	}
	return patches, 1
}

// IsFrames reports whether an axis of an input is that of a video's frames.
func (p *Probe) IsFrames(input string, axis int) bool {
	in := p.ImageInput()
	return in != nil && IsVideo(in) && in.Name == input && axis == p.frameAxis()
}

// frameAxis is frameAxis of the video. Where both axes before its rows have a size that colours may have, the channels are as many as the
// filters of the first convolution take.
func (p *Probe) frameAxis() int {
	in := p.ImageInput()
	first := p.firstConvolution()
	axis := frameAxis(in)
	if axis > 2 || axis < 1 || first == nil {
		return axis
	}
	filter := p.File.Graph.Initializer(first.Input(first.Filter()))
	if filter == nil || len(filter.Dims) < 4 {
		return axis
	}
	if takes := filter.Dims[1] * first.Int("group", 1); in.Dims[3-axis].Value > 0 && in.Dims[3-axis].Value != takes && in.Dims[axis].Value == takes {
		return 3 - axis
	}
	return axis
}

// PatchSize is the side of the square of pixels that is a patch of an image, 0 when there is none.
func (p *Probe) PatchSize() int {
	made := p.patches()
	if made == nil {
		return 0
	}
	s := made.Node.Ints("strides")
	if len(s) == 3 { // over frames as well
		s = s[1:]
	}
	switch {
	case p.Patches != nil, len(s) == 0, len(s) == 2 && !p.readsPicture(made, int(s[0])): // by what is ahead of it as well
		return p.pixels()
	case len(s) == 2 && s[0] == s[1]:
		return int(s[0])
	}
	return 0
}

// Overlap is how many pixels of each side of a picture of one size the last patch has beyond its step, zeros where patches do not overlap.
func (p *Probe) Overlap() (over [2]int) {
	in := p.ImageInput()
	if in == nil || p.FreeImage() {
		return over
	}
	height, width := PictureSides(in)
	shape, sides := p.Eval.Main.Value(in.Name).Shape, p.PatchGrid()
	for axis, d := range []int{height, width} {
		if d < len(shape) {
			over[axis] = max(shape[d]-sides[axis]*p.PatchSize(), 0)
		}
	}
	return over
}

// readsPicture reports whether a convolution with a stride makes its rows of those of the picture,
// but for one at the end.
func (p *Probe) readsPicture(made *Patches, stride int) bool {
	in := p.ImageInput()
	if p.Eval == nil || in == nil {
		return true
	}
	height, _ := PictureSides(in)
	v, out := p.Eval.Main.Value(in.Name), p.Eval.Main.Value(made.Node.Output(0))
	if height < 0 || len(v.Shape) <= height || len(out.Shape) <= made.Rows || stride < 1 {
		return true
	}
	return max(v.Shape[height]/stride-out.Shape[made.Rows], out.Shape[made.Rows]-v.Shape[height]/stride) <= 1
}

// pixels is the side of the square of pixels of which there are as many as patches,
// 0 where there is none.
func (p *Probe) pixels() int {
	h, w := p.PatchesIn(p.Eval)
	v := p.Eval.Main.Value(p.ImageInput().Name)
	height, width := PictureSides(p.ImageInput())
	if h < 1 || w < 1 || len(v.Shape) <= width || v.Shape[height]%h != 0 || v.Shape[width]%w != 0 || v.Shape[height]/h != v.Shape[width]/w {
		return 0
	}
	return v.Shape[height] / h
}

// WithPatches is the graph evaluated with a picture or video of so many patches along time, its height and its width;
// nil where what changes is not free, or it fails.
func (p *Probe) WithPatches(grid [3]int) *eval.Evaluator {
	side := p.PatchSize()
	if side == 0 {
		return nil
	}
	was, frames := p.FrameGrid()
	return p.withPicture(grid[0]*frames, grid[0] != was, [2]int{grid[1] * side, grid[2] * side}, p.PatchGrid() != [2]int(grid[1:]))
}

// WithPicture is WithPatches for a height and width in pixels, and as many frames.
func (p *Probe) WithPicture(size [2]int) *eval.Evaluator {
	return p.withPicture(p.Sizes.Frames, false, size, true)
}

// takesSides reports whether a picture leaves a side to the caller, and has those of the given ones that it does not.
func (p *Probe) takesSides(size [2]int) bool {
	fixed := p.FixedSides()
	return (fixed[0] == 0 || fixed[1] == 0) && (fixed[0] == 0 || fixed[0] == size[0]) && (fixed[1] == 0 || fixed[1] == size[1])
}

// FixedSides are the height and width of the picture, 0 where they are left to the caller; ones where no input is a picture.
func (p *Probe) FixedSides() (sides [2]int) {
	in := p.ImageInput()
	if in == nil {
		return [2]int{1, 1}
	}
	height, width := PictureSides(in)
	for i, axis := range []int{height, width} {
		sides[i] = int(max(in.Dims[axis].Value, 0))
	}
	return sides
}

func (p *Probe) withPicture(frames int, otherFrames bool, size [2]int, otherSize bool) *eval.Evaluator {
	if otherFrames && !p.FreeFrames() || otherSize && !p.takesSides(size) || !otherSize && !otherFrames && !p.FreeImage() || len(p.Eval.Failures) > 0 {
		return nil
	}
	s := p.Sizes
	s.Image, s.Width, s.Frames = size[0], size[1], frames
	if e := p.Failing(s, func(eval.Failure) bool { return true }); len(e.Failures) == 0 {
		return e
	}
	return nil
}

// CutsOff reports whether patches stand side by side, and pixels beyond the last whole one are not read.
func (p *Probe) CutsOff() bool {
	n := p.firstConvolution()
	if n == nil || p.Patches != nil || slices.ContainsFunc(n.Ints("pads"), func(pad int64) bool { return pad != 0 }) {
		return false
	}
	filter := n.FilterShape(p.Eval.Main.Input(n, n.Filter()).Shape)
	side, k := p.PatchSize(), len(filter)
	return k >= 4 && filter[k-2] == side && filter[k-1] == side
}

// MaxPrefix is the most tokens that stand before an image's patches: a class
// token, a distillation token, registers.
const MaxPrefix = 16
