package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/internal/block"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxText bounds names and other strings that are held.
const maxText = 1 << 20

// parser turns the wire format into the index. Field numbers are those of the
// ONNX specification's onnx.proto.
type parser struct {
	*cursor
	file     *File
	reserved int64 // estimated bytes of the index so far
	most     int64 // that it may take
	depth    int

	// What is made of many small things is made in blocks.
	frames     block.Of[frame]
	nodes      block.Of[Node]
	attributes block.Of[Attribute]
	tensors    block.Of[Tensor]
	strings    block.Of[string]
	lists      block.Of[*Attribute]
	wires      block.Of[wire]
	fields     block.Of[field]
	places     block.Of[input]
	numbers    block.Of[int32]
	contents   block.Of[byte]
	texts      strings.Builder
	words      map[string]string
	// Lists whose length is not known yet; messages inside one another use
	// them as stacks.
	inputs []input
	makes  []int32
	given  []*Attribute
}

// each calls visit for every field of the message in fr.
func (p *parser) each(fr *frame, place string, visit func(field) error) error {
	return p.eachOf(fr, place, -1, visit)
}

// eachOf is each for the message at an index of a list, −1 for one that is
// alone.
func (p *parser) eachOf(fr *frame, list string, index int, visit func(field) error) error {
	if p.depth++; p.depth > maxDepth {
		return &FormatError{Offset: fr.start, Place: placeOf(list, index), What: fmt.Sprintf("messages nested more than %d deep", maxDepth)}
	}
	for at := fr.start; at < fr.end; {
		f, err := p.next(at, fr.end, p.depth)
		if err != nil {
			return placed(placed(err, fieldName(list, f.number)), placeOf(list, index))
		}
		if err := visit(f); err != nil {
			return placed(err, placeOf(list, index))
		}
		at = f.end
	}
	p.depth--
	return nil
}

// placeOf is a place for people: the name of a list and the index in it.
func placeOf(list string, index int) string {
	if index < 0 {
		return list
	}
	return fmt.Sprintf("%s[%d]", list, index)
}

// fieldName names a field whose own bytes are at fault, "" where the message
// around it says enough.
func fieldName(place string, n protowire.Number) string {
	switch place {
	case "":
		return map[protowire.Number]string{7: "graph", 8: "opset_import", 25: "functions"}[n]
	case "graph":
		return map[protowire.Number]string{1: "node", 5: "initializer", 11: "input", 12: "output", 13: "value_info", 15: "sparse_initializer"}[n]
	}
	return ""
}

// placed adds an outer place to an error's path while it returns, so that
// good input pays nothing for it.
func placed(err error, place string) error {
	var fe *FormatError
	if place != "" && errors.As(err, &fe) {
		if fe.Place == "" {
			fe.Place = place
		} else {
			fe.Place = place + "." + fe.Place
		}
	}
	return err
}

// sub is the frame of a message inside another.
func (p *parser) sub(fr *frame, f field) *frame {
	out := p.frames.One()
	*out = frame{parent: fr, tag: f.tag, length: f.length, start: f.start, end: f.end}
	return out
}

func isMessage(f field, n protowire.Number) bool {
	return f.number == n && f.kind == protowire.BytesType
}

func isVarint(f field, n protowire.Number) bool {
	return f.number == n && f.kind == protowire.VarintType
}

func (p *parser) text(f field) (string, error) {
	if err := p.reserve(f, f.end-f.start); err != nil {
		return "", err
	}
	b, err := p.content(f, maxText)
	return p.keep(b), err
}

// word is text for names that come again and again: of operators, attributes,
// domains.
func (p *parser) word(f field) (string, error) {
	if err := p.reserve(f, f.end-f.start); err != nil {
		return "", err
	}
	b, err := p.content(f, maxText)
	if word, met := p.words[string(b)]; met || err != nil {
		return word, err
	}
	if err := p.reserve(f, weightEntry); err != nil {
		return "", err
	}
	word := p.keep(b)
	p.words[word] = word
	return word, nil
}

// keep makes a string of bytes that are about to change.
func (p *parser) keep(b []byte) string {
	const room = 4 << 10
	if len(b) > room/4 {
		return string(b)
	}
	if p.texts.Cap()-p.texts.Len() < len(b) {
		p.texts = strings.Builder{}
		p.texts.Grow(room)
	}
	from := p.texts.Len()
	p.texts.Write(b)
	return p.texts.String()[from:]
}

// name reads the name of a value that a node makes or reads; −1 for "".
func (p *parser) name(g *Graph, f field) (value int32, err error) {
	if err := p.reserve(f, weightName+f.end-f.start); err != nil {
		return -1, err
	}
	b, err := p.content(f, maxText)
	if err != nil || len(b) == 0 {
		return -1, err
	}
	if value, met := g.wiring.numbers[string(b)]; met {
		return value, nil // without making the string once more
	}
	return g.wiring.add(p.keep(b), &p.wires), nil
}

// What entries of the index weigh in memory, about: the cheapest in a file are
// two bytes long.
const (
	weightItem  = 256 // a node, attribute, initializer, value info, graph or function
	weightName  = 160 // the name of a value that a node reads or makes
	weightEntry = 96  // a dimension or another entry of a list
	weightValue = 8   // a number of a list
)

// reserve counts what the index takes, so that a file of empty messages cannot
// fill the memory (facts/BAD-INPUTS §4).
func (p *parser) reserve(f field, weight int64) error {
	if p.reserved += weight; p.reserved > p.most {
		return &FormatError{Offset: f.tag, What: fmt.Sprintf("an index of more than %d bytes: too many nodes, constants and attributes", p.most)}
	}
	return nil
}

// repeat notes a place that gives two answers.
func (p *parser) repeat(t *Tensor, kind RepeatKind, what string) {
	p.file.Repeats = append(p.file.Repeats, Repeat{kind, t, what})
}

// model reads the fields of the file.
func (p *parser) model() error {
	m := p.file
	return p.each(m.top, "", func(f field) (err error) {
		if f.number != 7 && f.number != 25 {
			if err = p.reserve(f, weightEntry); err != nil {
				return err
			}
			m.rest = append(m.rest, f)
		}
		switch {
		case isVarint(f, 1):
			m.IRVersion = int64(f.value)
		case isMessage(f, 2):
			m.Producer, err = p.text(f)
		case isMessage(f, 3):
			m.ProducerVersion, err = p.text(f)
		case isMessage(f, 7):
			if err = p.reserve(f, weightItem); err != nil {
				return err
			}
			fr := p.sub(m.top, f)
			if m.Graph == nil {
				m.Graph = newGraph(fr, nil, nil, maxHint)
			}
			// A graph that occurs twice is merged: its fields are appended.
			err = p.graph(m.Graph, fr)
		case isMessage(f, 8):
			err = p.opset(p.sub(m.top, f), m.Opsets)
		case isMessage(f, 25):
			if err = p.reserve(f, weightItem); err != nil {
				return err
			}
			fn := &Function{}
			m.Functions = append(m.Functions, fn)
			err = p.function(fn, p.sub(m.top, f), len(m.Functions)-1)
		}
		return err
	})
}

func (p *parser) opset(fr *frame, into map[string]int64) error {
	domain, version := "", int64(0)
	err := p.each(fr, "opset_import", func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			domain, err = p.text(f)
		case isVarint(f, 2):
			version = int64(f.value)
		}
		return err
	})
	if domain == "ai.onnx" {
		domain = ""
	}
	into[domain] = version
	return err
}

func (p *parser) function(fn *Function, fr *frame, index int) error {
	fn.Graph = newGraph(fr, nil, nil, maxInnerHint)
	fn.Opsets = map[string]int64{}
	list := func(into *[]string, f field) error {
		if err := p.reserve(f, weightEntry); err != nil {
			return err
		}
		s, err := p.text(f)
		*into = append(*into, s)
		return err
	}
	err := p.eachOf(fr, "functions", index, func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			fn.Name, err = p.text(f)
			fn.Graph.Name = fn.Name
		case isMessage(f, 4):
			err = list(&fn.Inputs, f)
		case isMessage(f, 5):
			err = list(&fn.Outputs, f)
		case isMessage(f, 6):
			err = list(&fn.Attributes, f)
		case isMessage(f, 7):
			err = p.node(fn.Graph, fr, f)
		case isMessage(f, 9):
			err = p.opset(p.sub(fr, f), fn.Opsets)
		case isMessage(f, 10):
			fn.Domain, err = p.text(f)
		case isMessage(f, 11):
			if err = p.reserve(f, weightItem); err != nil {
				return err
			}
			a := &Attribute{file: p.file}
			fn.Defaults = append(fn.Defaults, a)
			err = p.attribute(a, &Node{Graph: fn.Graph}, p.sub(fr, f))
		case isMessage(f, 12):
			err = p.valueInfo(&fn.Graph.ValueInfos, fr, f)
		}
		return err
	})
	return err
}

func newGraph(fr *frame, parent *Graph, owner *Node, most int64) *Graph {
	g := &Graph{Parent: parent, Owner: owner, frame: fr}
	g.wiring.start(min((fr.end-fr.start)/bytesPerValue, most))
	return g
}

func (p *parser) graph(g *Graph, fr *frame) error {
	err := p.each(fr, "graph", func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			err = p.node(g, fr, f)
		case isMessage(f, 2):
			g.Name, err = p.text(f)
		case isMessage(f, 5):
			err = p.initializer(g, p.sub(fr, f), f)
		case isMessage(f, 11):
			err = p.valueInfo(&g.Inputs, fr, f)
		case isMessage(f, 12):
			err = p.valueInfo(&g.Outputs, fr, f)
		case isMessage(f, 13):
			err = p.valueInfo(&g.ValueInfos, fr, f)
		case isMessage(f, 15):
			if err = p.reserve(f, weightItem); err == nil {
				err = p.sparse(g, p.sub(fr, f))
			}
		}
		return err
	})
	return err
}

func (p *parser) initializer(g *Graph, fr *frame, f field) error {
	if err := p.reserve(f, weightItem); err != nil {
		return err
	}
	t := p.tensors.One()
	t.file = p.file
	g.Initializers = append(g.Initializers, t)
	if err := p.tensor(t, fr, "initializer", len(g.Initializers)-1); err != nil {
		return err
	}
	if g.wiring.addConstant(t, &p.wires) {
		p.repeat(t, RepeatInitializer, fmt.Sprintf("initializer %q occurs twice", t.Name))
	}
	return nil
}

func (p *parser) node(g *Graph, parent *frame, f field) error {
	if err := p.reserve(f, weightItem); err != nil {
		return err
	}
	n := p.nodes.One()
	n.Graph, n.frame, n.index = g, p.sub(parent, f), len(g.Nodes)
	g.Nodes = append(g.Nodes, n)
	inputs, makes, given := len(p.inputs), len(p.makes), len(p.given)
	var named attributeNames
	err := p.eachOf(n.frame, "node", n.index, func(f field) (err error) {
		var value int32
		switch {
		case isMessage(f, 1):
			value, err = p.name(g, f)
			p.inputs = append(p.inputs, input{f.tag, f.end, value, value})
		case isMessage(f, 2):
			if value, err = p.name(g, f); value >= 0 {
				g.wiring.values[value].producer, g.wiring.values[value].place = n, int32(len(p.makes)-makes)
			}
			p.makes = append(p.makes, value)
		case isMessage(f, 3):
			n.Name, err = p.text(f)
		case isMessage(f, 4):
			n.Op, err = p.word(f)
		case isMessage(f, 5):
			err = p.nodeAttribute(n, p.given[given:], &named, f)
		case isMessage(f, 7):
			n.Domain, err = p.word(f)
			if n.Domain == "ai.onnx" {
				n.Domain = ""
			}
		}
		return err
	})
	n.Attributes = p.lists.Copy(p.given[given:])
	p.given = p.given[:given]
	p.wire(n, p.inputs[inputs:], p.makes[makes:])
	p.inputs, p.makes = p.inputs[:inputs], p.makes[:makes]
	return err
}

// wire gives a node its inputs and outputs.
func (p *parser) wire(n *Node, in []input, makes []int32) {
	n.inputs, n.makes = p.places.Copy(in), p.numbers.Copy(makes)
	n.Inputs, n.Outputs = p.strings.Many(len(in)), p.strings.Many(len(makes))
	for i, x := range in {
		n.Inputs[i] = n.Graph.wiring.text(x.value)
	}
	for i, value := range makes {
		n.Outputs[i] = n.Graph.wiring.text(value)
	}
}

// attributeNames are the names that a node's attributes have so far, once they
// are too many to be looked through for each.
type attributeNames map[string]bool

// fewAttributes is how many are looked through: hardly a node has more.
const fewAttributes = 16

// seen reports whether one of the attributes before has the name of the next one.
func (a *attributeNames) seen(name string, before []*Attribute) bool {
	if len(before) < fewAttributes {
		return slices.ContainsFunc(before, func(b *Attribute) bool { return b.Name == name })
	}
	if *a == nil {
		*a = attributeNames{}
		for _, b := range before {
			(*a)[b.Name] = true
		}
	}
	again := (*a)[name]
	(*a)[name] = true
	return again
}

// nodeAttribute reads an attribute of a node that has some already.
func (p *parser) nodeAttribute(n *Node, before []*Attribute, named *attributeNames, f field) error {
	if err := p.reserve(f, weightItem); err != nil {
		return err
	}
	a := p.attributes.One()
	a.file = p.file
	err := p.attribute(a, n, p.sub(n.frame, f))
	if named.seen(a.Name, before) {
		p.repeat(nil, RepeatAttribute, fmt.Sprintf("attribute %q of node %q occurs twice", a.Name, n.Name))
	}
	p.given = append(p.given, a)
	return err
}

func (p *parser) attribute(a *Attribute, n *Node, fr *frame) error {
	a.frame = fr
	subgraph := func(f field) (*Graph, error) {
		if err := p.reserve(f, weightItem); err != nil {
			return nil, err
		}
		inner := p.sub(fr, f)
		g := newGraph(inner, n.Graph, n, maxInnerHint)
		n.Graph.nested = true
		err := p.graph(g, inner)
		return g, err
	}
	err := p.each(fr, "attribute", func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			a.Name, err = p.word(f)
		case f.number == 2 && f.kind == protowire.Fixed32Type:
			a.F = math.Float32frombits(uint32(f.value))
		case isVarint(f, 3):
			a.I = int64(f.value)
		case isMessage(f, 4):
			if a.S = nil; f.end-f.start <= maxText {
				a.S, err = p.bytes(f, maxText)
			}
			a.Long = f.end-f.start > maxText // a model inside the model
		case isMessage(f, 5):
			a.Tensor = p.tensors.One()
			a.Tensor.file = p.file
			err = p.tensor(a.Tensor, p.sub(fr, f), "t", -1)
		case isMessage(f, 6):
			a.Graph, err = subgraph(f)
		case f.number == 7:
			err = p.floats(f, &a.Floats)
		case f.number == 8:
			err = p.varints(f, &a.Ints)
		case isMessage(f, 9):
			if err = p.reserve(f, weightEntry+f.end-f.start); err != nil {
				return err
			}
			var s []byte
			s, err = p.bytes(f, maxText)
			a.Strs = append(a.Strs, s)
		case isMessage(f, 11):
			var g *Graph
			g, err = subgraph(f)
			a.Graphs = append(a.Graphs, g)
		case isVarint(f, 20):
			a.Type = int(f.value)
		case isMessage(f, 21):
			a.Ref, err = p.text(f)
		}
		return err
	})
	if a.Type == 0 { // IR versions 1 and 2 did not state it
		a.Type = a.guessType()
	}
	return err
}

func (a *Attribute) guessType() int {
	switch {
	case a.Tensor != nil:
		return 4
	case a.Graph != nil:
		return 5
	case a.Floats != nil:
		return 6
	case a.Ints != nil:
		return 7
	case a.Strs != nil:
		return 8
	case a.S != nil:
		return 3
	case a.F != 0:
		return 1
	}
	return 2
}

// varints reads one value, or a packed list of them.
func (p *parser) varints(f field, into *[]int64) error {
	if f.kind == protowire.VarintType {
		*into = append(*into, int64(f.value))
		return nil
	}
	if f.kind != protowire.BytesType {
		return nil // another wire type: an unknown field
	}
	for at := f.start; at < f.end; {
		v, next, err := p.uvarint(at, f.end)
		if err == nil {
			err = p.reserve(f, weightValue)
		}
		if err != nil {
			return err
		}
		*into = append(*into, int64(v))
		at = next
	}
	return nil
}

func (p *parser) floats(f field, into *[]float32) error {
	if f.kind == protowire.Fixed32Type {
		*into = append(*into, math.Float32frombits(uint32(f.value)))
		return nil
	}
	if f.kind != protowire.BytesType {
		return nil
	}
	if err := p.reserve(f, f.end-f.start); err != nil {
		return err
	}
	if (f.end-f.start)%4 != 0 {
		return &FormatError{Offset: f.start, What: fmt.Sprintf("%d bytes of packed float32", f.end-f.start)}
	}
	for at := f.start; at < f.end; at += 4 {
		b, err := p.at(at, 4)
		if err != nil {
			return err
		}
		v, _ := protowire.ConsumeFixed32(b)
		*into = append(*into, math.Float32frombits(v))
	}
	return nil
}

func (p *parser) valueInfo(into *[]*ValueInfo, parent *frame, f field) error {
	if err := p.reserve(f, weightItem); err != nil {
		return err
	}
	v := &ValueInfo{frame: p.sub(parent, f)}
	*into = append(*into, v)
	return p.each(v.frame, "value_info", func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			v.Name, err = p.text(f)
		case isMessage(f, 2):
			err = p.valueType(v, p.sub(v.frame, f))
		}
		return err
	})
}

// valueType reads TypeProto; only tensors and optionals of them have shapes.
func (p *parser) valueType(v *ValueInfo, fr *frame) error {
	return p.each(fr, "type", func(f field) error {
		switch {
		case isMessage(f, 1):
			return p.tensorType(v, p.sub(fr, f))
		case isMessage(f, 9): // optional: its element type
			opt := p.sub(fr, f)
			return p.each(opt, "optional_type", func(f field) error {
				if isMessage(f, 1) {
					return p.valueType(v, p.sub(opt, f))
				}
				return nil
			})
		}
		return nil
	})
}

func (p *parser) tensorType(v *ValueInfo, fr *frame) error {
	return p.each(fr, "tensor_type", func(f field) error {
		switch {
		case isVarint(f, 1):
			v.Type = DataType(f.value)
		case isMessage(f, 2):
			v.Ranked = true
			shape := p.sub(fr, f)
			return p.each(shape, "shape", func(f field) error {
				if isMessage(f, 1) {
					return p.dim(v, p.sub(shape, f), f)
				}
				return nil
			})
		}
		return nil
	})
}

func (p *parser) dim(v *ValueInfo, fr *frame, f field) error {
	if err := p.reserve(f, weightEntry); err != nil {
		return err
	}
	d := Dim{Value: -1, frame: fr}
	err := p.each(fr, "dim", func(f field) (err error) {
		switch {
		case isVarint(f, 1): // value and name are a oneof: the last one counts
			d.Value, d.Param = int64(f.value), ""
			d.fields = append(d.fields, f)
		case isMessage(f, 2):
			d.Value = -1
			d.Param, err = p.text(f)
			d.fields = append(d.fields, f)
		}
		return err
	})
	if n, not := strconv.ParseUint(d.Param, 10, 31); not == nil && n > 1 && int(n) != len(v.Dims) {
		// torch.onnx.dynamo_export of torch 2.1 names an axis of a fixed size by the size; a number that is the axis's own, or names a
		// batch of one, may be no size.
		d.Value, d.Param = int64(n), ""
	}
	v.Dims = append(v.Dims, d)
	return err
}

func (p *parser) sparse(g *Graph, fr *frame) error {
	s := &SparseTensor{Values: &Tensor{file: p.file, frame: fr}, Indices: &Tensor{file: p.file, frame: fr}}
	g.Sparse = append(g.Sparse, s)
	return p.each(fr, "sparse_initializer", func(f field) error {
		switch {
		case isMessage(f, 1):
			return p.tensor(s.Values, p.sub(fr, f), "values", -1)
		case isMessage(f, 2):
			return p.tensor(s.Indices, p.sub(fr, f), "indices", -1)
		case f.number == 3:
			return p.varints(f, &s.Dims)
		}
		return nil
	})
}
