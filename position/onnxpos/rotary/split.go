package rotary

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/attention"
)

// Split gives the rotations of all other layers copies of the constants, and of the nodes
// between those and the rotations. What is held afterwards acts in the given layers.
func (r *Site) Split(layers []int) error {
	places, _ := r.ActsIn()
	s := splitter{r: r, copies: map[string]string{}, constants: map[*onnx.Tensor]string{}}
	var stay []*rotation
	for i, acts := range attention.LayersOf(r.m, places) {
		inside := 0
		for _, layer := range acts {
			if slices.Contains(layers, layer) {
				inside++
			}
		}
		switch u := r.uses[i]; {
		case len(acts) == 0:
			return &position.Refusal{Why: fmt.Sprintf("%s turns in an attention that cannot be told: its layer is not known", u.node.Title()), Instead: "leave --layers out"}
		case inside != 0 && inside != len(acts):
			return &position.Refusal{Why: fmt.Sprintf("%s turns keys or queries that several layers share", u.node.Title()), Instead: "name all of these layers"}
		case u.scope != r.m.Eval.Main:
			return &position.Refusal{Why: fmt.Sprintf("%s stands in a function or a branch that layers share", u.node.Title()), Instead: "leave --layers out"}
		case inside == 0:
			stay = append(stay, u)
		}
	}
	for _, u := range stay {
		if err := s.detach(u); err != nil {
			return err
		}
	}
	r.uses = slices.DeleteFunc(r.uses, func(u *rotation) bool { return slices.Contains(stay, u) })
	return nil
}

// splitter is one run of Split.
type splitter struct {
	r         *Site
	copies    map[string]string       // value → its copy, or itself where it hangs on no constant of the site
	constants map[*onnx.Tensor]string // constant → its copy
}

const whySplit = "numbers of the other layers, as they were"

// detach has one rotation read copies.
func (s *splitter) detach(u *rotation) error {
	readers := []*onnx.Node{u.node}
	if !u.fused {
		readers = nil
		for i := range u.node.Inputs {
			term, ok := waveTerm(u.scope, u.node.Input(i))
			if !ok {
				return &position.Refusal{Why: fmt.Sprintf("the product behind %s is not found", u.node.Title()), Instead: "leave --layers out"}
			}
			readers = append(readers, term.Node)
		}
	}
	for _, n := range readers {
		for i, in := range n.Inputs {
			if in != u.cos && in != u.sin || in == "" {
				continue
			}
			copied, err := s.copied(in, 0)
			if err != nil {
				return err
			}
			if copied != in {
				s.r.m.RenameInput(n, i, copied, whySplit)
			}
		}
	}
	return nil
}

// maxSplitDepth bounds the nodes one behind the other between a constant and a rotation.
const maxSplitDepth = 64

// copied is the copy of a value, or the value itself where no constant of the site is
// behind it.
func (s *splitter) copied(name string, depth int) (string, error) {
	if name == "" {
		return name, nil
	}
	if out, ok := s.copies[name]; ok {
		return out, nil
	}
	s.copies[name] = name
	main := s.r.m.Eval.Main
	if t := main.Tensor(name); t != nil {
		if !slices.Contains(s.r.Owned(), t) {
			return name, nil
		}
		out, err := s.constant(t)
		s.copies[name] = out
		return out, err
	}
	n, at := main.Find(name)
	if n == nil || at != main {
		return name, nil
	}
	if depth > maxSplitDepth {
		return "", s.refuse(n, "stands too far behind the rotation")
	}
	inputs, changed := slices.Clone(n.Inputs), false
	for i, in := range n.Inputs {
		out, err := s.copied(in, depth+1)
		if err != nil {
			return "", err
		}
		inputs[i], changed = out, changed || out != in
	}
	if !changed {
		return name, nil
	}
	attributes, ok := attributesOf(n)
	if !ok {
		return "", s.refuse(n, "has an attribute that is not copied")
	}
	outputs := make([]string, len(n.Outputs))
	for i, out := range n.Outputs {
		if out != "" {
			outputs[i] = s.r.m.FreshName("modelpatch/" + out)
			s.copies[out] = outputs[i]
		}
	}
	s.r.m.InsertNodes(n, []onnx.NewNode{{Op: n.Op, Domain: n.Domain, Inputs: inputs, Outputs: outputs, Attributes: attributes}}, whySplit)
	return s.copies[name], nil
}

func (s *splitter) refuse(n *onnx.Node, what string) error {
	return &position.Refusal{Why: fmt.Sprintf("the layers turn by the same cosines and sines, and %s between them and their constants %s", n.Title(), what), Instead: "leave --layers out"}
}

// constant is the copy of a constant.
func (s *splitter) constant(t *onnx.Tensor) (string, error) {
	if name, ok := s.constants[t]; ok {
		return name, nil
	}
	data, err := t.WholeSource()
	if err != nil {
		return "", err
	}
	name, err := s.r.m.AddTable(s.r.m.File.Graph, "modelpatch/"+t.Name, t.Type, t.Dims, data, whySplit)
	s.constants[t] = name
	return name, err
}

// attributesOf are the attributes of a node to copy; false where one is a graph or a tensor.
func attributesOf(n *onnx.Node) ([]onnx.NewAttribute, bool) {
	const (
		float, integer, text, integers = 1, 2, 3, 7 // AttributeProto.AttributeType
	)
	var out []onnx.NewAttribute
	for _, a := range n.Attributes {
		v := onnx.NewAttribute{Name: a.Name}
		switch a.Type {
		case float:
			v.Value = a.F
		case integer:
			v.Value = a.I
		case text:
			v.Value = string(a.S)
		case integers:
			v.Value = a.Ints
		default:
			return nil, false
		}
		if a.Ref != "" || a.Long {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

var _ position.Splitter = (*Site)(nil)
