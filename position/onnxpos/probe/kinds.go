package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/turning"
)

// inputs are the model's inputs by what they carry; nil where there is none of a
// kind.
type inputs struct {
	tokens   *onnx.ValueInfo // the first matrix of whole numbers that is no mask, or of words; a list of one sequence, where nothing else carries it
	features *onnx.ValueInfo // the first of (batch, frames, channels) or the like, or the one of free length behind a memory of one length
	wave     *onnx.ValueInfo // the first matrix of samples
	image    *onnx.ValueInfo // the first picture or video
}

// kinds looks at the inputs once.
func (p *Probe) kinds() *inputs {
	if p.given != nil {
		return p.given
	}
	k := &inputs{}
	p.given = k
	first := func(place **onnx.ValueInfo, in *onnx.ValueInfo) { *place = cmp.Or(*place, in) }
	for _, in := range Given(p.File) {
		if p.isConstant(in.Name) || p.isAhead(in) && p.mayBeCache(in) { // keys or values of those before
			continue
		}
		name, rank := strings.ToLower(in.Name), len(in.Dims)
		switch {
		case in.Type == onnx.String && rank == 2:
			first(&k.tokens, in)
		case in.Type.IsInteger() && in.Type != onnx.Bool && rank == 2 && !IsMask(p.File, in) && !IsCoordinates(p.File, in):
			if !p.areColumns(in) && !areSizes(p.File, in) {
				first(&k.tokens, in)
				few := len(k.tokens.Dims) == 2 && k.tokens.Dims[1].Value > 1 && in.Dims[1].Value < 0 && anonymous(k.tokens) // a number of entities, beside words
				if few && len(rowsTaken(p.File.Graph.Wiring(), in.Name)) > 0 {
					k.tokens = in
				}
			}
		case isPicture(in):
			first(&k.image, in)
		case in.Type.IsInteger() && rank == 3 && !IsMask(p.File, in) && !IsPositions(in.Name) && !IsCoordinates(p.File, in): // of several codebooks
			first(&k.features, in)
		case !in.Type.IsFloat():
		case rank == 2 && !strings.Contains(name, "mask"):
			first(&k.wave, in)
		case rank == 3 && k.features != nil && p.isMemory(k.features) && in.Dims[1].Value < 0:
			k.features = in
		case rank == 3, rank == 4 && in.Dims[1].Value < 0 && !strings.Contains(name, "mask") && !strings.Contains(name, "past") && !strings.Contains(name, "cache"): // of several tokens a step
			first(&k.features, in)
		}
	}
	if k.tokens != nil && k.image != nil && (isMask(k.image) || p.mayBeCache(k.image) && k.tokens.Dims[1].Value == 1 && !slices.ContainsFunc(k.image.Dims[1:], func(d onnx.Dim) bool { return d.Value == 1 || d.Value == 3 })) {
		k.image = nil
	}
	if k.wave != nil && k.features != nil && k.features.Dims[0].Value > 1 && p.ComesOut(k.features) != nil { // what a recurrence goes on with, of each layer
		k.features = nil
	}
	if *k == (inputs{}) {
		lists := slices.DeleteFunc(slices.Clone(Given(p.File)), func(in *onnx.ValueInfo) bool { return !p.isList(in) })
		if i := slices.IndexFunc(lists, func(in *onnx.ValueInfo) bool { return len(lists) == 1 || namesTokens(in.Name) }); i >= 0 { // of several, users and items of a batch perhaps
			k.tokens = lists[i]
		}
	}
	return k
}

// isMemory reports whether numbers are of one length, and of several places, and no output is as long: another sequence may look at them.
func (p *Probe) isMemory(in *onnx.ValueInfo) bool {
	return in.Type.IsFloat() && len(in.Dims) == 3 && in.Dims[1].Value > 1 && in.Dims[2].Value > 0 && !slices.ContainsFunc(p.File.Graph.Outputs, func(out *onnx.ValueInfo) bool {
		return len(out.Dims) > 1 && out.Dims[1].Value == in.Dims[1].Value
	})
}

// hasTwin reports whether another input has the same sizes, as values have those of keys.
func (p *Probe) hasTwin(in *onnx.ValueInfo) bool {
	return slices.ContainsFunc(Given(p.File), func(other *onnx.ValueInfo) bool {
		return other.Name != in.Name && other.Type == in.Type && sameSizes(other, in)
	})
}

// sameSizes reports whether two values are declared with the same sizes.
func sameSizes(a, b *onnx.ValueInfo) bool {
	return slices.EqualFunc(a.Dims, b.Dims, func(a, b onnx.Dim) bool { return a.Value == b.Value })
}

// mayHaveSizes reports whether two values may have the same sizes, as far as they are declared.
func mayHaveSizes(a, b *onnx.ValueInfo) bool {
	return slices.EqualFunc(a.Dims, b.Dims, func(a, b onnx.Dim) bool { return a.Value == b.Value || min(a.Value, b.Value) < 0 })
}

// ComesOut is the output that has the keys or values of an input, with those of this call: one of the same sizes, or else one that may have them; nil
// where there is none.
func (p *Probe) ComesOut(in *onnx.ValueInfo) *onnx.ValueInfo {
	for _, fit := range []func(a, b *onnx.ValueInfo) bool{sameSizes, mayHaveSizes} {
		for _, out := range p.File.Graph.Outputs {
			if out.Type == in.Type && fit(out, in) {
				return out
			}
		}
	}
	return nil
}

// isList reports whether an input is a list of numbers that rows of a table are taken by: tokens of one sequence, or nodes of a graph,
// unless its axis is a batch by its name.
func (p *Probe) isList(in *onnx.ValueInfo) bool {
	return len(in.Dims) == 1 && in.Dims[0].Value != 1 && !namesBatch(in.Dims[0]) && p.takesRows(in)
}

// OneToken is an input of a single number that a row of a table is taken by, and that is no place by its name; nil where there is none.
func (p *Probe) OneToken() *onnx.ValueInfo {
	given := Given(p.File)
	i := slices.IndexFunc(given, func(in *onnx.ValueInfo) bool {
		return (len(in.Dims) == 0 || len(in.Dims) == 1 && in.Dims[0].Value == 1) && !IsCount(in) && p.takesRows(in)
	})
	if i < 0 {
		return nil
	}
	return given[i]
}

// takesRows reports whether rows of a table of two axes are taken by what an input holds, and that is no place by its name.
func (p *Probe) takesRows(in *onnx.ValueInfo) (list bool) {
	if !in.Type.IsInteger() || p.isConstant(in.Name) || isMask(in) || IsPositions(in.Name) {
		return false
	}
	w := p.File.Graph.Wiring()
	read(p.File, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		table, _ := w.Input(n, 0)
		if t := w.ConstantOf(table); n.Op == "Gather" && indexedBy(w, n, of) && t != nil && t.Type.IsFloat() && len(t.Dims) == 2 {
			list = true
		}
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	return list
}

// namesBatch reports whether an axis is one of sequences by its name.
func namesBatch(d onnx.Dim) bool { return strings.Contains(strings.ToLower(d.Param), "batch") }

// areColumns reports whether an integer matrix holds positions beside other data, or numbers of which each column takes rows of a table, and
// is none of tokens by its name.
func (p *Probe) areColumns(in *onnx.ValueInfo) bool {
	if IsPositions(in.Name) && besideData(p.File, in) {
		return true
	}
	taken, _ := columnsTakeRows(p.File, in)
	return taken && (IsPositions(in.Name) || !namesTokens(in.Name))
}

// TokenInput is the input that carries the sequence: the first matrix of token
// ids, else the first of features, unless they stand beside a picture.
func (p *Probe) TokenInput() *onnx.ValueInfo {
	if in := p.TokenMatrix(); in != nil || p.ImageInput() != nil {
		return in
	}
	return p.kinds().features
}

// TokenMatrix is the first integer matrix among the inputs that is no mask; a list of tokens where nothing else carries a sequence.
func (p *Probe) TokenMatrix() *onnx.ValueInfo { return p.kinds().tokens }

// TurnAxes takes the first axis of the main input for that of tokens and the second for the batch, where their names do not say which is
// which, or one for the other where they say what cannot be: each place would see itself alone. It returns what takes that back, nil where
// nothing changes.
func (p *Probe) TurnAxes() (back func()) {
	in, was, e := p.TokenInput(), p.Sizes, p.Eval
	if in == nil {
		in = p.WaveInput()
	}
	if in == nil || was.SequenceFirst || len(in.Dims) < 2 || in.Dims[0].Value >= 0 {
		return nil
	}
	s := was
	s.SequenceFirst = true
	if s.dimension(in, 0, noPicture) == was.dimension(in, 0, noPicture) && p.seesItselfAlone() {
		s = was
		s.exchanged = [2]string{in.Dims[0].Param, in.Dims[1].Param}
	}
	if s.dimension(in, 0, noPicture) == was.dimension(in, 0, noPicture) || !p.take(s) {
		return nil
	}
	return func() { p.Sizes, p.Eval, p.probes = was, e, nil }
}

// seesItselfAlone reports whether all attentions have one key at several places: they would look across the batch.
func (p *Probe) seesItselfAlone() (alone bool) {
	for _, n := range p.File.Graph.Nodes {
		if !eval.Is(n, eval.Softmax) {
			continue
		}
		shape := p.Eval.Main.Input(n, 0).Shape
		axis := n.Axis(-1, len(shape))
		if axis < 0 || axis >= len(shape) || shape[axis] != 1 {
			return false
		}
		alone = true
	}
	return alone
}

// WaveInput is a raw audio input: (batch, samples).
func (p *Probe) WaveInput() *onnx.ValueInfo {
	if p.TokenInput() != nil {
		return nil
	}
	return p.kinds().wave
}

// ImageInput is a picture: (batch, channels, height, width) or (batch, height, width,
// channels); or a video, which has frames before or behind its channels as well.
func (p *Probe) ImageInput() *onnx.ValueInfo { return p.kinds().image }

// Audio is an input of audio features: (batch, mel bins, frames).
func (p *Probe) Audio() *onnx.ValueInfo {
	if in := p.kinds().features; in != nil {
		return in
	}
	return p.WaveInput()
}

// Recording is an audio input that convolutions shorten to positions: features
// of frames, or a waveform; or a series of numbers, each perhaps a position; or a picture of any width, of a line of text. nil when there
// is none.
func (p *Probe) Recording() *onnx.ValueInfo {
	if in := p.ImageInput(); in != nil && p.isStrip(in) {
		return in
	}
	if in := p.Audio(); in != nil && (p.convolved(in.Name) || in == p.WaveInput()) && p.ImageInput() == nil {
		return in
	}
	return nil
}

// isStrip reports whether one side of a picture is free and the other is not.
func (p *Probe) isStrip(in *onnx.ValueInfo) bool {
	height, width := PictureSides(in)
	return len(in.Dims) == 4 && (in.Dims[height].Value < 0) != (in.Dims[width].Value < 0)
}

// isConstant reports whether a name of the main graph is an initializer: an input of
// that name has a default value, and is none that callers give.
func (p *Probe) isConstant(name string) bool {
	return p.File.Graph.Initializer(name) != nil
}

// FixedLength is the sequence length that the main input fixes, 0 when free, or where a text is given in parts of that length, behind keys
// and values of any number of tokens.
func (p *Probe) FixedLength() int {
	if !p.fixed.known {
		p.fixed.known, p.fixed.length, p.fixed.part = true, p.lengthOf(p.TokenInput()), 0
		if p.fixed.length > 0 && slices.ContainsFunc(p.cached(), func(c *onnx.ValueInfo) bool {
			return slices.ContainsFunc(c.Dims[1:], func(d onnx.Dim) bool { return d.Value < 0 }) && !crossed().MatchString(strings.ToLower(c.Name))
		}) {
			p.fixed.length, p.fixed.part = 0, p.fixed.length
		}
	}
	return p.fixed.length
}

// SequenceAxis is the axis of an input that runs over tokens, or frames, where it is one of sequences.
func (p *Probe) SequenceAxis(in *onnx.ValueInfo) int {
	switch {
	case len(in.Dims) == 1:
		return 0
	case in.Name == p.tokensLast:
		return 2
	case in.Dims[0].Value > 1 && namesBatch(in.Dims[1]):
		return 0
	case in.Dims[0].Value > 1 && in.Dims[1].Value == 1 && !slices.ContainsFunc(p.cached(), func(c *onnx.ValueInfo) bool { return c.Dims[0].Value == in.Dims[0].Value }):
		return 0 // sequence first, and no batch of single tokens
	}
	return 1
}

// lengthOf is the sequence length that an input fixes, 0 when free.
func (p *Probe) lengthOf(in *onnx.ValueInfo) int {
	if in == nil || p.convolved(in.Name) {
		return 0
	}
	axis := p.SequenceAxis(in)
	if len(in.Dims) == 3 && in.Dims[2].Value < 0 {
		return 0 // features first: the axis that is free runs over positions
	}
	if n := in.Dims[axis].Value; n > 1 && (in.Type.IsInteger() || in.Type == onnx.String || len(in.Dims) == 3) {
		return int(n)
	}
	return 0
}

// SetChannelsFirst tells that an input of three axes has its channels before its frames, which what
// becomes of its axes shows where no convolution does (patches cut by Reshape).
func (p *Probe) SetChannelsFirst(in *onnx.ValueInfo) {
	p.channelsFirst, p.fixed.known = in.Name, false
}

// SetTokensLast tells that an input of whole numbers has its codebooks before its tokens, which attend to each other.
func (p *Probe) SetTokensLast(in *onnx.ValueInfo) {
	p.tokensLast, p.fixed.known = in.Name, false
}

// convolved reports whether an input goes into a convolution first, or what scales its channels: then its
// axes are channels and frames.
func (p *Probe) convolved(name string) bool {
	if name == p.channelsFirst {
		return true
	}
	w := p.File.Graph.Wiring()
	for range 16 { // hostile graphs have circles
		number, used := w.Number(name)
		if !used {
			return false
		}
		readers := w.Readers(number)
		i := slices.IndexFunc(readers, func(n *onnx.Node) bool { return n.Input(0) == name && n.Op != "Shape" })
		p.Budget.Spend(1 + len(readers))
		if i < 0 {
			return false
		}
		n := readers[i]
		if !eval.Is(n, eval.Layout) {
			return n.IsConvolution() || eval.Is(n, eval.ByChannel) || ofChannels(w, n)
		}
		name = n.Output(0)
	}
	return false
}

// ofChannels reports whether a node adds to what stands first of three axes, or multiplies it with, a number for each channel.
func ofChannels(w *onnx.Wiring, n *onnx.Node) bool {
	number, ok := w.Input(n, 1)
	if !ok || !eval.Is(n, eval.Addition|eval.Scaling) {
		return false
	}
	t := w.ConstantOf(number)
	return t != nil && len(t.Dims) == 3 && t.Dims[0] > 1 && t.Dims[1] == 1 && t.Dims[2] == 1
}

// IsNumber reports whether an input holds a single whole number beside the sequence that another carries: where its positions begin, or how
// many there are, of each batch alike, and no token.
func (p *Probe) IsNumber(in *onnx.ValueInfo) bool {
	return in.Type.IsInteger() && in.Type != onnx.Bool && len(in.Dims) == 1 && in.Dims[0].Value == 1 && (p.TokenInput() != nil || p.WaveInput() != nil)
}

// Main is the input that carries the sequence: tokens, features, a picture or a recording.
func (p *Probe) Main() *onnx.ValueInfo { return cmp.Or(p.TokenInput(), p.ImageInput(), p.WaveInput()) }

// Turns reports whether pairs of numbers are turned by an input beside the main one, as by cosines and sines.
func (p *Probe) Turns(in *onnx.ValueInfo) bool {
	if p.turning == nil {
		main := p.Main()
		p.turning = turning.Of(p.File.Graph.Wiring(), slices.DeleteFunc(slices.Clone(Given(p.File)), func(in *onnx.ValueInfo) bool {
			return in == main || !in.Type.IsFloat() || len(in.Dims) < 2 || p.isAhead(in) || isMask(in) || p.isConstant(in.Name)
		}))
	}
	_, turns := p.turning[in.Name]
	return turns
}

// IsRecorded reports whether the main input is a recording.
func (p *Probe) IsRecorded() bool { return p.Recording() != nil && p.TokenMatrix() == nil }

// Counting is a text about lengths in tokens, in what the main input has.
func (p *Probe) Counting(text string) string {
	if p.IsRecorded() {
		return strings.ReplaceAll(text, "tokens", "samples or frames")
	}
	return text
}

// Tried is the size of the probe in words.
func (p *Probe) Tried() string {
	if p.ImageInput() != nil && p.TokenInput() == nil {
		height, width := PictureSides(p.ImageInput())
		tried := p.Eval.Main.Value(p.ImageInput().Name).Shape
		return fmt.Sprintf("pictures of %d×%d pixels", tried[height], tried[width])
	}
	if p.WaveInput() != nil {
		return fmt.Sprintf("recordings of %d samples", p.Sizes.Length)
	}
	return fmt.Sprintf("%d positions", p.Sizes.Length)
}

// Behind finds a node among those of which another one's inputs are made of no content, by what is asked of each; nil where there is none.
func (p *Probe) Behind(n *onnx.Node, is func(*onnx.Node) bool) *onnx.Node {
	if n.Graph != p.File.Graph {
		return nil // of a body
	}
	w := p.File.Graph.Wiring()
	queue, seen := []*onnx.Node{n}, map[*onnx.Node]bool{n: true}
	for i := 0; i < len(queue) && i < maxBehindInput; i++ {
		for k := range queue[i].Inputs {
			number, ok := w.Input(queue[i], k)
			if !ok {
				continue
			}
			made := w.Producer(number)
			if made == nil || seen[made] || !p.Eval.Main.Value(w.Name(number)).Known() {
				continue
			}
			if is(made) {
				return made
			}
			seen[made] = true
			queue = append(queue, made)
		}
	}
	p.Budget.Spend(len(seen))
	return nil
}
