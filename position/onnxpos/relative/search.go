// Package relative finds encodings of the distance of query and key in an ONNX graph:
// ALiBi's linear bias, T5's buckets, tables of biases and of vectors by distance,
// sinusoids of distances (Transformer-XL). A
// Search is told of what is added to scores and gives the sites. Two of them hold
// other numbers, ALiBi and Buckets; the others are told.
package relative

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/scored"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// Search looks for encodings of the distance of query and key in a graph.
// While the graph is walked it is told of what is added to scores (Bias);
// afterwards it is asked for the sites, one method a mechanism. It does not change the
// graph.
type Search struct {
	lookups
	biases     []*bias
	read       int // numbers of large ones that were read
	contracted []axes.Meeting
	sites      []site.Site
	products   *scored.Search
	longer     *eval.Evaluator // with one token more; nil: not yet evaluated
	weighed    []trace.Place   // products of sines of distances with weights
}

// New begins a search, which asks where numbers come from, and what products with vectors pairs get.
func New(g *site.Graph, origins *origin.Maps, products *scored.Search) *Search {
	return &Search{lookups: lookups{graph: g, origins: origins}, products: products}
}

// Explained calls visit for each bias that was found, where it is added and by what
// name, and for each product of sines of distances with weights.
func (m *Search) Explained(visit func(s *eval.Scope, n *onnx.Node, names ...string)) {
	for _, b := range m.biases {
		visit(b.scope, b.node, b.name)
	}
	for _, p := range m.weighed {
		visit(p.Scope, p.Node)
	}
}

// behindWeights reports whether what meets the data is made of sines of distances that were multiplied with weights, which are told as such.
func (m *Search) behindWeights(x axes.Meeting) bool {
	weighed := func(n *onnx.Node) bool {
		return slices.ContainsFunc(m.weighed, func(p trace.Place) bool { return p.Node == n })
	}
	from, _ := x.Scope.Find(x.Known)
	return from != nil && (weighed(from) || m.graph.Behind(from, weighed) != nil)
}

// Contracted takes a place where data are multiplied with numbers that vary along their
// positions in a sum over features, or where such vectors are added to those of pairs.
func (m *Search) Contracted(x axes.Meeting) { m.contracted = append(m.contracted, x) }
