package onnxpos

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
)

// generating are the nodes of a graph that run whole models again and again: BeamSearch and its kin
// (onnxruntime docs/ContribOperators.md), whose attributes hold decoders, and encoders.
func generating(g *onnx.Graph) (out []*onnx.Node) {
	for _, n := range g.Nodes {
		if row := eval.Lookup(n.Domain, n.Op); row != nil && row.Generates {
			out = append(out, n)
		}
	}
	return out
}

// lookWithin reads the models inside of nodes that generate: each is one of its own, whose
// encodings are told, and left as they are. What two of them have alike (the first step's decoder,
// and that of all others) is told once.
func (m *Model) lookWithin(nodes []*onnx.Node) error {
	for _, n := range nodes {
		for _, a := range n.Attributes {
			if a.Graph == nil {
				continue
			}
			a.Graph.Enclose()
			file := *m.graph.File
			file.Graph = a.Graph
			inner, err := find(&file, m.graph.Budget)
			if err != nil {
				return err
			}
			for _, s := range inner.sites {
				m.addNested(n, a.Name, s)
			}
			for _, f := range inner.findings { // of the file they are the same for each
				if !slices.ContainsFunc(m.findings, func(o report.Finding) bool { return reflect.DeepEqual(o, f) }) {
					m.findings = append(m.findings, f)
				}
			}
		}
	}
	if len(nodes) > 0 && len(m.sites) == 0 {
		m.sites = append(m.sites, m.unknownAt(nodes[0].Title(), "it runs a model, and has none"))
	}
	return nil
}

// addNested adds an encoding of the model in an attribute of a node, unless another one has it.
func (m *Model) addNested(n *onnx.Node, attribute string, s site.Site) {
	e := s.Encoding()
	for _, o := range m.sites {
		if told := o.Encoding(); told.Form == e.Form && told.Capacity == e.Capacity && reflect.DeepEqual(told.Scheme, e.Scheme) {
			return
		}
	}
	o := site.NewOther(e)
	o.Why = fmt.Sprintf("its encoding is in the %s inside of %s, and models inside of nodes are read only", attribute, n.Title())
	m.sites = append(m.sites, o)
}
