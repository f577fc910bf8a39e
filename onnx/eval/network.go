package eval

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/schemes"
)

func skipNormalization(c *call) ([]*Value, error) {
	a := c.need(0)
	same := a.unknown()
	out := []*Value{same, nil, nil, nil}
	if b := c.need(1); strings.HasPrefix(c.node.Op, "Skip") && a.Ranked && b.Ranked {
		if shape, err := broadcast(a.Shape, b.Shape); err != nil || !slices.Equal(shape, a.Shape) {
			return nil, c.fail("shapes %v and %v", a.Shape, b.Shape)
		}
	}
	if strings.HasPrefix(c.node.Op, "Skip") {
		out[3] = same
	}
	return out, nil
}

// layerNormalization computes small known rows; of others the shape stays.
func layerNormalization(c *call) ([]*Value, error) {
	a, scale, bias := c.need(0), c.need(1), c.need(2)
	out := a.unknown()
	k := len(a.Shape)
	axis := int(c.node.Int("axis", -1))
	if !a.Known() || a.Floats == nil && a.stored == nil || k == 0 || a.Len() > c.most() || axis != -1 && axis != k-1 || !scale.Known() ||
		scale.Len() != a.Shape[k-1] || c.input(2) != nil && (!bias.Known() || bias.Len() != a.Shape[k-1]) || !a.Type.IsFloat() {
		return c.statistics(out, axis), nil
	}
	epsilon := c.node.Float("epsilon", 1e-5)
	n := a.Shape[k-1]
	out.Floats = make([]float64, a.Len())
	for first := 0; first < len(out.Floats); first += n {
		mean, variance := 0.0, 0.0
		for i := range n {
			mean += a.Number(first+i) / float64(n)
		}
		for i := range n {
			variance += (a.Number(first+i) - mean) * (a.Number(first+i) - mean) / float64(n)
		}
		for i := range n {
			x := (a.Number(first+i) - mean) / math.Sqrt(variance+epsilon) * scale.Number(i)
			if c.input(2) != nil {
				x += bias.Number(i)
			}
			out.Floats[first+i] = round(a.Type, x)
		}
	}
	return c.statistics(out.from(a), axis), nil
}

// statistics are a normalised value and, where they are wanted, the mean and the inverse deviation of each of its rows.
func (c *call) statistics(out *Value, axis int) []*Value {
	if len(c.node.Outputs) < 2 || !out.Ranked {
		return one(out)
	}
	if axis < 0 {
		axis += len(out.Shape)
	}
	rows := slices.Clone(out.Shape)
	for d := max(axis, 0); d < len(rows); d++ {
		rows[d] = 1
	}
	return []*Value{out, Shaped(onnx.Float, rows...), Shaped(onnx.Float, rows...)}
}

func matMulNBits(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked || len(a.Shape) == 0 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	shape[len(shape)-1] = int(c.node.Int("N", 0))
	return one(Shaped(a.Type, shape...)), nil
}

func einsum(c *call) ([]*Value, error) {
	a := c.node.Attribute("equation")
	if a == nil {
		return nil, nil
	}
	equation := string(a.S)
	var ranks []int
	for i := range c.in {
		v := c.need(i)
		if !v.Ranked {
			return one(&Value{Type: v.Type}), nil
		}
		ranks = append(ranks, len(v.Shape))
	}
	terms, right, ok := Subscripts(c.node, ranks...)
	if !ok {
		return nil, c.fail("%s of %d operands", equation, len(c.in))
	}
	sizes := map[rune]int{}
	for i, term := range terms {
		v := c.need(i)
		if len(term) != len(v.Shape) {
			return nil, c.fail("%s of %v", equation, v.Shape)
		}
		for d, letter := range term {
			if n, ok := sizes[letter]; ok && n != v.Shape[d] && n != 1 && v.Shape[d] != 1 {
				return nil, c.fail("%s: %c is %d and %d", equation, letter, n, v.Shape[d])
			}
			sizes[letter] = max(sizes[letter], v.Shape[d])
		}
	}
	out := Shaped(wide(c.need(0).Type, c.in...))
	out.Shape = []int{}
	for i, letter := range right { // i counts bytes
		n, ok := sizes[letter]
		if !ok || strings.ContainsRune(right[:i], letter) {
			return nil, c.fail("%s: %c stands twice, or in no input", equation, letter)
		}
		out.Shape = append(out.Shape, n)
	}
	return one(einsumContent(c, out, terms, right, sizes)), nil
}

// firstHidden is the first of the letters that stand for the axes of an
// ellipsis, the last axis first: broadcasting aligns them from there.
const (
	firstHidden = '0'
	maxHidden   = 10
)

// Subscripts reads the equation of an Einsum of operands of the given ranks: a letter an axis,
// one byte each, with ellipses written out as digits and, where it names no result, the letters that
// stand once in order of the alphabet (ONNX Einsum, as numpy's). Not ok where it is for other operands.
func Subscripts(n *onnx.Node, ranks ...int) (terms []string, right string, ok bool) {
	a := n.Attribute("equation")
	if a == nil || strings.ContainsFunc(string(a.S), func(r rune) bool { return r >= utf8.RuneSelf || r >= '0' && r <= '9' }) {
		return nil, "", false
	}
	left, right, explicit := strings.Cut(strings.ReplaceAll(string(a.S), " ", ""), "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(ranks) {
		return nil, "", false
	}
	longest := ""
	for i, term := range terms {
		before, after, dots := strings.Cut(term, "...")
		if !dots {
			continue
		}
		hidden := ""
		axes := ranks[i] - len(before) - len(after)
		if axes > maxHidden {
			return nil, "", false
		}
		for axis := range max(axes, 0) {
			hidden = string(rune(firstHidden+axis)) + hidden
		}
		terms[i] = before + hidden + after
		if len(hidden) > len(longest) {
			longest = hidden
		}
	}
	if explicit {
		return terms, strings.Replace(right, "...", longest, 1), true
	}
	var once []rune
	for _, letter := range strings.Join(terms, "") {
		if letter >= firstHidden+maxHidden && strings.Count(left, string(letter)) == 1 {
			once = append(once, letter)
		}
	}
	slices.Sort(once)
	return terms, longest + string(once), true
}

// einsumContent computes small known products, such as positions times
// frequencies.
func einsumContent(c *call, out *Value, terms []string, right string, sizes map[rune]int) *Value {
	letters := []rune(right)
	for _, term := range terms {
		for _, l := range term {
			if !slices.Contains(letters, l) {
				letters = append(letters, l)
			}
		}
	}
	shape := make([]int, len(letters))
	for i, l := range letters {
		shape[i] = sizes[l]
	}
	if onnx.Size(shape) > c.maxMultiplications() || !c.keeps(out) || !allKnown(c.in...) || !out.Type.IsFloat() {
		return out
	}
	for i, term := range terms {
		summed := func(d int) bool { return !strings.ContainsRune(right, []rune(term)[d]) }
		if out.state = len(terms) == 2 && toldAlike(c.in[i], c.in[1-i], summed); out.state {
			return out
		}
	}
	walkers := make([]walker, len(terms))
	for i, term := range terms {
		own := newWalker(c.in[i].Shape, c.in[i].Shape).strides
		walkers[i].strides = make([]int, len(letters))
		for d, l := range []rune(term) {
			walkers[i].strides[slices.Index(letters, l)] += own[d]
		}
	}
	factors := make([][]float64, len(terms))
	for k := range factors {
		factors[k] = c.in[k].numbers()
	}
	out.Floats = make([]float64, out.Len())
	c.works(onnx.Size(shape))
	inner := onnx.Size(shape[utf8.RuneCountInString(right):])
	eachRow(shape, walkers, func(i, n int, at, steps []int) {
		for j := range n {
			x := 1.0
			for k, factor := range factors {
				x *= factor[at[k]+j*steps[k]]
			}
			sum := &out.Floats[(i+j)/inner]
			*sum = round(out.Type, *sum+x)
		}
	})
	return out.from(c.in...)
}

// nchwc is the domain of ONNX Runtime's operators on blocks of channels, the last of which
// may be filled up.
const nchwc = "com.microsoft.nchwc"

// channelsLast is an operator that takes channels ahead of rows and columns, or behind them where the node says so.
func channelsLast(plain operator) operator {
	return func(c *call) ([]*Value, error) {
		x := c.need(0)
		rank := len(x.Shape)
		if !c.node.ChannelsLast() || rank < 3 {
			return plain(c)
		}
		inner := *c
		inner.in = slices.Clone(c.in)
		inner.in[0] = Shaped(x.Type, slices.Concat(x.Shape[:1], x.Shape[rank-1:], x.Shape[1:rank-1])...)
		out, err := plain(&inner)
		for i, v := range out {
			if len(v.Shape) == rank {
				out[i] = Shaped(v.Type, slices.Concat(v.Shape[:1], v.Shape[2:], v.Shape[1:2])...)
			}
		}
		return out, err
	}
}

func convolution(c *call) ([]*Value, error) {
	a, w := c.need(0), c.need(1)
	rank := len(a.Shape) - 2
	if !a.Ranked || rank < 1 {
		return one(&Value{Type: a.Type}), nil
	}
	kernel := c.node.Ints("kernel_shape")
	channels := a.Shape[1]
	if strings.Contains(c.node.Op, "Conv") {
		if !w.Ranked || len(w.Shape) != rank+2 {
			return one(&Value{Type: a.Type}), nil
		}
		filter := c.node.FilterShape(w.Shape)
		channels = filter[0]
		if group := int(c.node.Int("group", 1)); filter[1]*group != a.Shape[1] && c.node.Domain != nchwc {
			return nil, c.fail("%d channels, the weights take %d", a.Shape[1], filter[1]*group)
		}
		if kernel == nil {
			for _, d := range filter[2:] {
				kernel = append(kernel, int64(d))
			}
		}
	}
	if len(kernel) != rank {
		return one(&Value{Type: a.Type}), nil
	}
	strides, dilations, pads := c.node.Ints("strides"), c.node.Ints("dilations"), c.node.Ints("pads")
	auto := string(c.text("auto_pad"))
	for _, v := range slices.Concat(kernel, strides, dilations, pads) {
		if v < -maxContent || v > maxContent {
			return nil, c.fail("a window of %d", v)
		}
	}
	shape := []int{a.Shape[0], channels}
	for i := range rank {
		s, d, p := 1, 1, 0
		if i < len(strides) {
			s = max(int(strides[i]), 1)
		}
		if i < len(dilations) {
			d = int(dilations[i])
		}
		if len(pads) == 2*rank {
			p = int(pads[i] + pads[i+rank])
		}
		n := a.Shape[i+2]
		if strings.HasPrefix(auto, "SAME") {
			shape = append(shape, (n+s-1)/s)
			continue
		}
		out := n + p - d*(int(kernel[i])-1) - 1
		if c.node.Int("ceil_mode", 0) == 1 {
			out += s - 1
		}
		if out < 0 {
			return nil, c.fail("%v is smaller than the kernel %v", a.Shape, kernel)
		}
		count := out/s + 1
		if c.node.Int("ceil_mode", 0) == 1 && len(pads) == 2*rank && (count-1)*s >= n+int(pads[i]) {
			count-- // a window that would start in the padding
		} else if c.node.Int("ceil_mode", 0) == 1 && len(pads) == 0 && (count-1)*s >= n {
			count--
		}
		shape = append(shape, count)
	}
	t := a.Type
	if c.node.Op == "ConvInteger" {
		t = onnx.Int32
	}
	out := Shaped(t, shape...)
	plain := c.node.Op == "Conv" && c.node.Domain != nchwc || c.node.Op == "FusedConv" && c.input(3) == nil // filters of nchwc stand in blocks
	if alone := !slices.ContainsFunc(kernel, func(n int64) bool { return n != 1 }); alone && plain && c.node.Int("group", 1) == 1 && slices.Equal(shape[2:], a.Shape[2:]) {
		out = c.activates(c.pointwise(out))
	}
	return one(out), nil
}

// pointwise computes the small known product of places on a grid and weights that a convolution of single places is.
func (c *call) pointwise(out *Value) *Value {
	const axes = "bcxyz"
	if len(out.Shape) > len(axes) {
		return out
	}
	terms, sizes := []string{axes[:len(out.Shape)], "oc"}, map[rune]int{'o': out.Shape[1]}
	for i, l := range terms[0] {
		sizes[l] = c.in[0].Shape[i]
	}
	product, bias := *c, c.input(2)
	product.in = c.in[:2]
	out = einsumContent(&product, out, terms, "bo"+terms[0][2:], sizes)
	if out.Floats == nil || bias == nil {
		return out
	}
	if !bias.Known() || bias.Len() != out.Shape[1] {
		return out.unknown()
	}
	places := onnx.Size(out.Shape[2:])
	for i := range out.Floats {
		out.Floats[i] = round(out.Type, out.Floats[i]+bias.Number(i/places%out.Shape[1]))
	}
	return out.from(bias)
}

func globalPool(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked || len(a.Shape) < 2 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	for i := 2; i < len(shape); i++ {
		shape[i] = 1
	}
	return one(Shaped(a.Type, shape...)), nil
}

func recurrent(c *call) ([]*Value, error) {
	x, r := c.need(0), c.need(2)
	if !x.Ranked || len(r.Shape) != 3 {
		return one(&Value{Type: x.Type}), nil
	}
	if len(x.Shape) != 3 {
		return nil, c.fail("a sequence of shape %v, where three axes are wanted", x.Shape)
	}
	directions, hidden := r.Shape[0], r.Shape[2]
	if c.node.Op == "DynamicQuantizeLSTM" { // its weights stand the other way round
		hidden = r.Shape[1]
	}
	last := Shaped(x.Type, directions, x.Shape[1], hidden)
	if c.node.Int("layout", 0) == 1 {
		return []*Value{Shaped(x.Type, x.Shape[0], x.Shape[1], directions, hidden)}, nil
	}
	for _, i := range []int{5, 6} { // initial_h, initial_c
		if v := c.input(i); v != nil && v.Ranked && (c.node.Op == "LSTM" || i == 5) && !slices.Equal(v.Shape, last.Shape) {
			return nil, c.fail("an initial state of %v, where %v is wanted", v.Shape, last.Shape)
		}
	}
	return []*Value{Shaped(x.Type, x.Shape[0], directions, x.Shape[1], hidden), last, last}, nil
}

// causalConvolution is CausalConvWithState: each channel convolved along the last axis, or the second of
// channels last, behind a state of what came before.
func causalConvolution(c *call) ([]*Value, error) {
	x, w := c.need(0), c.need(1)
	same := x.unknown()
	if len(x.Shape) != 3 || len(w.Shape) != 3 || c.node.Int("state_window", 0) > 0 {
		return []*Value{same, {Type: x.Type}}, nil
	}
	before := (w.Shape[2] - 1) * int(c.node.Int("dilation", 1))
	if c.node.Int("channels_last", 0) == 1 {
		return []*Value{same, Shaped(x.Type, x.Shape[0], before, x.Shape[2])}, nil
	}
	return []*Value{same, Shaped(x.Type, x.Shape[0], x.Shape[1], before)}, nil
}

// linearAttention is LinearAttention: (batch, positions, heads · d) of queries, keys and values, and a state
// of (batch, heads, d of keys, d of values).
func linearAttention(c *call) ([]*Value, error) {
	q, k, v := c.need(0), c.need(1), c.need(2)
	heads, keys := int(c.node.Int("q_num_heads", 0)), int(c.node.Int("kv_num_heads", 0))
	if len(q.Shape) != 3 || len(k.Shape) != 3 || len(v.Shape) != 3 || heads < 1 || keys < 1 {
		return []*Value{{Type: q.Type}, {Type: q.Type}}, nil
	}
	out := Shaped(q.Type, q.Shape[0], q.Shape[1], max(heads, keys)*(v.Shape[2]/keys))
	if c.node.Int("state_window", 0) > 0 {
		return []*Value{out, {Type: q.Type}}, nil
	}
	return []*Value{out, Shaped(q.Type, q.Shape[0], keys, k.Shape[2]/keys, v.Shape[2]/keys)}, nil
}

// attention is ai.onnx Attention: (batch, heads, length, dim) or, with
// q_num_heads, (batch, length, width).
func attention(c *call) ([]*Value, error) {
	q, v := c.need(0), c.need(2)
	if len(q.Shape) < 3 || len(v.Shape) < 3 {
		return one(&Value{Type: q.Type}), nil
	}
	shape := slices.Clone(q.Shape)
	if len(shape) == 4 && len(v.Shape) == 4 {
		shape[3] = v.Shape[3]
	} else if len(shape) == 3 && len(v.Shape) == 3 {
		heads, kv := c.node.Int("q_num_heads", 1), c.node.Int("kv_num_heads", 1)
		if kv > 0 {
			shape[2] = v.Shape[2] / int(kv) * int(heads)
		}
	}
	if mask := c.input(3); mask != nil && mask.Ranked && len(mask.Shape) >= 2 {
		past := c.input(4)
		if k := c.need(1); k.Ranked && len(k.Shape) >= 2 && (past == nil || len(past.Shape) == 4) {
			length, keys := shape[len(shape)-2], k.Shape[len(k.Shape)-2]
			if past != nil {
				keys += past.Shape[2]
			}
			if last := mask.Shape[len(mask.Shape)-1]; last > 1 && last < keys && c.scope.eval.File.Opsets[""] >= paddedMaskOpset {
				keys = last // the rest is masked
			}
			if _, err := broadcast(mask.Shape[len(mask.Shape)-2:], []int{length, keys}); err != nil {
				return nil, c.fail("mask: %v", err)
			}
		}
	}
	out := []*Value{Shaped(q.Type, shape...)}
	return attentionContent(c, append(out, c.present(4, 1), c.present(5, 2))), nil
}

// paddedMaskOpset is the operator set from which Attention takes masks that are
// shorter than the keys.
const paddedMaskOpset = 24

// present is the key or value output of an attention with a past.
func (c *call) present(past, k int) *Value {
	p, key := c.input(past), c.need(k)
	if p == nil || !p.Ranked || len(p.Shape) != 4 || !key.Ranked {
		return nil
	}
	shape := slices.Clone(p.Shape)
	n := 0
	if len(key.Shape) == 4 {
		n = key.Shape[2]
	} else if len(key.Shape) == 3 {
		n = key.Shape[1]
	}
	shape[2] += n
	return Shaped(p.Type, shape...)
}

// fusedAttention is com.microsoft Attention: input (batch, length, width).
func fusedAttention(c *call) ([]*Value, error) {
	a, bias := c.need(0), c.need(2)
	if len(a.Shape) != 3 {
		return one(&Value{Type: a.Type}), nil
	}
	past := 0
	if p := c.input(4); p != nil {
		if past = -1; len(p.Shape) == 5 { // keys and values, of each sequence and head
			past = p.Shape[3]
		}
	}
	if err := c.biased(5, a.Shape[1], a.Shape[1], past); err != nil {
		return nil, err
	}
	width := a.Shape[2]
	if bias.Ranked && len(bias.Shape) == 1 && c.node.Attribute("qkv_hidden_sizes") == nil {
		width = bias.Shape[0] / 3
	}
	if out := fusedAttentionContent(c); out != nil {
		return one(out), nil
	}
	t := a.Type
	if t.IsInteger() { // QAttention gives numbers of its scales' type, which is the bias'
		t = bias.Type
	}
	return one(Shaped(t, a.Shape[0], a.Shape[1], width)), nil
}

// biased fails where a bias, input i, is not for so many queries and keys, and those of the past (−1: not known): as many of each as that, or
// one.
func (c *call) biased(i, queries, keys, past int) error {
	bias := c.input(i)
	if bias == nil || len(bias.Shape) != 4 || past < 0 {
		return nil
	}
	if _, err := broadcast(bias.Shape[2:], []int{queries, keys + past}); err != nil {
		return c.fail("attention_bias: %v", err)
	}
	return nil
}

// headAttention are the attentions with separate query, key and value.
func headAttention(c *call) ([]*Value, error) {
	q, v := c.need(0), c.need(2)
	if len(q.Shape) != 3 {
		return one(&Value{Type: q.Type}), nil
	}
	if out := headAttentionContent(c); out != nil {
		return out, nil
	}
	if k := c.input(1); c.node.Op == "MultiHeadAttention" && k != nil && len(k.Shape) == 3 {
		past := 0
		if p := c.input(6); p != nil {
			if past = -1; len(p.Shape) == 4 {
				past = p.Shape[2]
			}
		}
		if err := c.biased(5, q.Shape[1], k.Shape[1], past); err != nil {
			return nil, err
		}
	}
	shape := slices.Clone(q.Shape)
	heads, kv := int(c.node.Int("num_heads", 1)), int(c.node.Int("kv_num_heads", 0))
	switch {
	case c.node.Op == "MultiHeadAttention" && len(v.Shape) == 3:
		shape[2] = v.Shape[2]
	case kv > 0 && heads > 0 && c.input(1) == nil: // packed query, key and value
		shape[2] = shape[2] / (heads + 2*kv) * heads
	}
	out := []*Value{Shaped(q.Type, shape...)}
	if p := c.need(3); c.node.Op == "GroupQueryAttention" && len(p.Shape) == 4 {
		present := slices.Clone(p.Shape)
		present[2] += shape[1]
		out = append(out, Shaped(q.Type, present...), Shaped(q.Type, present...))
	}
	return out, nil
}

func embedLayerNormalization(c *call) ([]*Value, error) {
	ids, words, positions := c.need(0), c.need(2), c.need(3)
	if len(ids.Shape) != 2 || len(words.Shape) != 2 {
		return one(&Value{Type: words.Type}), nil
	}
	if len(positions.Shape) == 2 && c.input(8) == nil && ids.Shape[1] > positions.Shape[0] {
		return nil, c.fail("%d positions, the table has %d", ids.Shape[1], positions.Shape[0])
	}
	if index := c.input(8); c.node.Op == "EmbedLayerNormalization" && index != nil && len(index.Shape) == 2 && index.Shape[1] != ids.Shape[1] {
		return nil, c.fail("%d position_ids for %d tokens", index.Shape[1], ids.Shape[1])
	}
	tokens := Shaped(onnx.Int32, ids.Shape[0]) // that the mask lets through, of each sequence
	if mask := c.input(7); mask != nil && mask.Known() && mask.Ints != nil && slices.Equal(mask.Shape, ids.Shape) {
		tokens.from(mask)
		tokens.Ints = make([]int64, ids.Shape[0])
		for i, x := range mask.Ints {
			tokens.Ints[i/max(ids.Shape[1], 1)] += x
		}
	}
	rows := []int{ids.Shape[0], ids.Shape[1], words.Shape[1]}
	return []*Value{Shaped(words.Type, rows...), tokens, Shaped(words.Type, rows...)}, nil
}

func resize(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	axes := c.node.Ints("axes") // of which sizes and scales are; all without it
	if sizes, ok := dims(c.need(3)); ok && c.input(3) != nil {
		shape, ok := along(a.Shape, axes, sizes)
		if !ok {
			return one(&Value{Type: a.Type}), nil
		}
		c.keepAspect(a.Shape, shape)
		if !Shaped(a.Type, shape...).sound() {
			return nil, c.fail("sizes %v", sizes)
		}
		return one(a.resampled(shape, c.most())), nil
	}
	scales := c.input(2)
	if c.node.Op == "Upsample" {
		scales = c.input(1)
	}
	var by []float64
	if scales != nil && scales.Known() {
		by = scales.numbers()
	} else if at := c.node.Attribute("scales"); at != nil { // of Upsample before operator set 9, and of ONNX Runtime's on blocks of channels
		for _, x := range at.Floats {
			by = append(by, float64(x))
		}
		for _, x := range at.Ints {
			by = append(by, float64(x))
		}
	}
	by, ok := along(slices.Repeat([]float64{1}, len(a.Shape)), axes, by)
	if !ok {
		return one(&Value{Type: a.Type}), nil
	}
	shape := make([]int, len(a.Shape))
	for i := range shape {
		n := float64(a.Shape[i]) * by[i]
		if !(n >= 0 && n < 1<<40) {
			return nil, c.fail("scale %v of %v", by[i], a.Shape)
		}
		shape[i] = int(n)
	}
	return one(a.resampled(shape, c.most())), nil
}

// along puts numbers for some axes into those of all; not ok where there are others than axes.
func along[T any](all []T, axes []int64, some []T) ([]T, bool) {
	if len(axes) == 0 {
		return slices.Clone(some), len(some) == len(all)
	}
	out := slices.Clone(all)
	for i, axis := range axes {
		at, ok := axisOf(axis, len(all))
		if !ok || len(axes) != len(some) {
			return nil, false
		}
		out[at] = some[i]
	}
	return out, true
}

// keepAspect makes the sizes of the axes that a Resize names those of one scale, the largest with which none is larger than is asked for, or the least
// with which none is smaller (ai.onnx Resize, keep_aspect_ratio_policy).
func (c *call) keepAspect(from, to []int) {
	policy, axes := string(c.text("keep_aspect_ratio_policy")), c.node.Ints("axes")
	if policy != "not_larger" && policy != "not_smaller" {
		return
	}
	scale := 0.0
	resized := func(i int) bool {
		return from[i] > 0 && (len(axes) == 0 || slices.ContainsFunc(axes, func(axis int64) bool { return onnx.Dimension(axis, len(from)) == i }))
	}
	for i := range from {
		if one := float64(to[i]) / float64(from[i]); resized(i) && (scale == 0 || one < scale == (policy == "not_larger")) {
			scale = one
		}
	}
	for i := range from {
		if resized(i) {
			to[i] = int(math.Floor(scale*float64(from[i]) + 0.5))
		}
	}
}

// resampled is a value of another size whose content are the nearest elements:
// what matters here is which constants it comes from and that it varies.
func (v *Value) resampled(shape []int, most int) *Value {
	out := v
	for axis, n := range shape {
		if n == v.Shape[axis] || v.Shape[axis] == 0 {
			continue
		}
		if n > most || onnx.Size(shape) > most {
			return Shaped(v.Type, shape...)
		}
		indices := make([]int, n)
		for i := range indices {
			indices[i] = i * v.Shape[axis] / n
		}
		out = out.take(axis, indices, most)
	}
	if out == v {
		return v.view(v.Shape)
	}
	return out
}

func topK(c *call) ([]*Value, error) {
	a := c.need(0)
	k, ok := c.need(1).Scalar()
	if !a.Ranked || !ok {
		return nil, nil
	}
	axis, ok := axisOf(c.node.Int("axis", -1), len(a.Shape))
	if !ok {
		return nil, c.fail("axis of %v", a.Shape)
	}
	shape := slices.Clone(a.Shape)
	shape[axis] = int(k)
	of, places := Shaped(a.Type, shape...), Shaped(onnx.Int64, shape...)
	if !a.Known() || a.Data || a.Len() > maxContent || k < 0 || int(k) > a.Shape[axis] {
		return []*Value{of, places}, nil
	}
	c.works(a.Len() * bits.Len(uint(a.Shape[axis])))
	places.Ints = make([]int64, places.Len())
	content, inner := make([]float64, places.Len()), onnx.Size(shape[axis+1:])
	ranked(a, axis, c.node.Int("largest", 1) == 1, func(line int, order []int) {
		for i := range int(k) {
			at := (line/inner*int(k)+i)*inner + line%inner
			places.Ints[at], content[at] = int64(order[i]), a.Number((line/inner*a.Shape[axis]+order[i])*inner+line%inner)
		}
	})
	if of.Floats = content; a.Type.IsInteger() {
		of.Floats, of.Ints = nil, make([]int64, len(content))
		for i, x := range content {
			of.Ints[i] = int64(x)
		}
	}
	return []*Value{of.from(a), places.from(a)}, nil
}

// ranked calls visit for each line of a known value along an axis, with the places of the line's numbers, the largest or the least first.
func ranked(v *Value, axis int, largest bool, visit func(line int, order []int)) {
	n, inner := v.Shape[axis], onnx.Size(v.Shape[axis+1:])
	order := make([]int, n)
	for line := range v.Len() / max(n, 1) {
		number := func(i int) float64 { return v.Number((line/inner*n+i)*inner + line%inner) }
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			if largest {
				i, j = j, i
			}
			return cmp.Compare(number(i), number(j))
		})
		visit(line, order)
	}
}

// ifOp runs the branch that is taken; both, where the condition is not known.
func ifOp(c *call) ([]*Value, error) {
	yes, no := c.node.Attribute("then_branch"), c.node.Attribute("else_branch")
	if yes == nil || no == nil || yes.Graph == nil || no.Graph == nil {
		return nil, nil
	}
	condition, known := c.need(0).Scalar()
	if known {
		return c.taken(yes.Graph, no.Graph, condition != 0)
	}
	then, other := c.scope.branch(c.node, yes.Graph), c.scope.branch(c.node, no.Graph)
	if then == nil || other == nil {
		return nil, nil
	}
	a, b := then.results(), other.results()
	for i := range a {
		if i >= len(b) || !a[i].Ranked || !b[i].Ranked || !slices.Equal(a[i].Shape, b[i].Shape) {
			a[i] = &Value{Type: a[i].Type}
			continue
		}
		a[i] = Shaped(a[i].Type, a[i].Shape...)
	}
	return a, nil
}

// taken runs both branches of an If whose condition is known, so that both can be
// looked at. What fails in the one that is not taken does not count.
func (c *call) taken(yes, no *onnx.Graph, condition bool) ([]*Value, error) {
	e := c.scope.eval
	failures := len(e.Failures)
	run := func(g *onnx.Graph, counts bool) *Scope {
		if !counts {
			e.doubtful++
			defer func() { e.doubtful-- }()
		}
		return c.scope.branch(c.node, g)
	}
	taken, other := run(yes, condition), run(no, !condition)
	if taken == nil || other == nil {
		return nil, nil
	}
	if !condition {
		taken, other = other, taken
	}
	kept := e.Failures[:failures]
	for _, f := range e.Failures[failures:] {
		if !f.Scope.within(other) {
			kept = append(kept, f)
			e.stopAt(f)
		}
	}
	e.Failures = kept
	return taken.results(), nil
}

// within reports whether a scope is another or lies in a branch or call inside
// it.
func (s *Scope) within(other *Scope) bool {
	for ; s != nil; s = s.Outer {
		if s == other {
			return true
		}
	}
	return false
}

func (s *Scope) results() []*Value {
	var out []*Value
	for _, name := range s.Results {
		out = append(out, s.held(name))
	}
	return out
}

// relativePositionBias is T5's bias for every query and key, of a table with a row a
// bucket and a column a head (ONNX Runtime, ContribOperators.md).
func relativePositionBias(c *call) ([]*Value, error) {
	table := c.need(0)
	queries, ok1 := c.need(1).Scalar()
	keys, ok2 := c.need(2).Scalar()
	if len(table.Shape) != 2 || !ok1 || !ok2 || queries < 0 || keys < 0 || queries > maxAxis || keys > maxAxis {
		return one(&Value{Type: table.Type}), nil
	}
	n, heads := table.Shape[0], table.Shape[1]
	out := Shaped(table.Type, 1, heads, int(queries), int(keys))
	buckets := schemes.Buckets{Buckets: n, MaxDistance: int(c.node.Int("max_distance", 128)), Bidirectional: c.node.Int("is_bidirectional", 0) == 1}
	if !table.Known() || out.Len() > c.most() || n < 4 || buckets.MaxDistance <= n {
		return one(out), nil
	}
	c.works(out.Len())
	out.Floats = make([]float64, out.Len())
	for i := range out.Floats {
		k, q, h := i%int(keys), i/int(keys)%int(queries), i/int(keys)/int(queries)
		out.Floats[i] = table.Number(buckets.Bucket(k-q)*heads + h)
	}
	return one(out.from(table)), nil
}

// maxAxis bounds an axis that is asked for by number.
const maxAxis = 1 << 30
