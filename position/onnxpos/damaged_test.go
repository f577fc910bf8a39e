package onnxpos

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// damagedNodes is how many damaged copies are made of each file; DAMAGED_NODES
// widens it ("all" damages every node in every way).
const damagedNodes = 60

// TestDamagedNodes takes nodes of real graphs apart: an input or output left out, all of
// them, attributes gone, two inputs exchanged or equal, another operator. Fuzzing changes
// bytes and meets such graphs by luck; no rule may index what a node does not list.
func TestDamagedNodes(t *testing.T) {
	budget := damagedNodes
	patterns := []string{"../../testdata/onnx/*.onnx"}
	switch v := os.Getenv("DAMAGED_NODES"); {
	case v == "all":
		budget = 1 << 30
		patterns = append(patterns, "../../../shared/corpus/onnx/*.onnx")
	case v != "":
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		budget = n
		patterns = append(patterns, "../../../shared/corpus/onnx/*.onnx")
	}
	var paths []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Fatal("no model to damage")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > maxFuzzBytes {
				t.Skip("too large")
			}
			damages := damagesOf(b)
			if len(damages) == 0 {
				t.Fatal("no node was found to damage")
			}
			random := rand.New(rand.NewPCG(1, uint64(len(b))))
			random.Shuffle(len(damages), func(i, j int) { damages[i], damages[j] = damages[j], damages[i] })
			for _, d := range damages[:min(budget, len(damages))] {
				survives(t, d)
			}
		})
	}
}

// damage is one change of one node.
type damage struct {
	what  string
	model func() []byte
}

// survives runs all that reads a graph over a damaged one; a panic is an error of
// the test that names the damage.
func survives(t *testing.T, d damage) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v\n%s", d.what, p, debug.Stack())
		}
	}()
	b := d.model()
	file, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	m, err := find(file, eval.NewBudget(t.Context(), maxSteps))
	if err != nil {
		return
	}
	position.Inspect(m)
	for i, a := range m.Attentions() {
		if a.Run != nil && i < 2 {
			a.Run(6, nil)
		}
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 100}); err == nil {
		m.Edits()
	}
}

// field is one field of a message, with its tag.
type field struct {
	number  protowire.Number
	bytes   []byte // with tag and length
	content []byte // of a length-delimited one
}

func fieldsOf(b []byte) []field {
	var fields []field
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return fields
		}
		n := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if n < 0 {
			return fields
		}
		f := field{number: number, bytes: b[:tag+n]}
		if kind == protowire.BytesType {
			f.content, _ = protowire.ConsumeBytes(b[tag:])
		}
		fields, b = append(fields, f), b[tag+n:]
	}
	return fields
}

func message(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func joined(fields []field) []byte {
	var b []byte
	for _, f := range fields {
		b = append(b, f.bytes...)
	}
	return b
}

// with is a message in which field i has other content; without it when nil.
func with(fields []field, i int, content []byte) []byte {
	b := joined(fields[:i])
	if content != nil {
		b = append(b, message(fields[i].number, content)...)
	}
	return append(b, joined(fields[i+1:])...)
}

// The fields of onnx.proto that are damaged.
const (
	modelGraph    = 7
	graphNode     = 1
	nodeInput     = 1
	nodeOutput    = 2
	nodeOperator  = 4
	nodeAttribute = 5
)

// damagesOf lists what can be done to the nodes of a model.
func damagesOf(model []byte) []damage {
	top := fieldsOf(model)
	var damages []damage
	for g, graph := range top {
		if graph.number != modelGraph {
			continue
		}
		nodes := fieldsOf(graph.content)
		operators := map[string]bool{}
		for _, n := range nodes {
			if n.number == graphNode {
				operators[operatorOf(n)] = true
			}
		}
		names := make([]string, 0, len(operators))
		for name := range operators {
			names = append(names, name)
		}
		for i, n := range nodes {
			if n.number != graphNode {
				continue
			}
			for _, d := range nodeDamages(n, names) {
				content := d.node
				damages = append(damages, damage{
					what:  fmt.Sprintf("node %d (%s): %s", i, operatorOf(n), d.what),
					model: func() []byte { return with(top, g, with(nodes, i, content)) },
				})
			}
		}
	}
	return damages
}

func operatorOf(node field) string {
	for _, f := range fieldsOf(node.content) {
		if f.number == nodeOperator {
			return string(f.content)
		}
	}
	return ""
}

type nodeDamage struct {
	what string
	node []byte
}

func nodeDamages(node field, operators []string) []nodeDamage {
	fields := fieldsOf(node.content)
	var damages []nodeDamage
	say := func(node []byte, format string, a ...any) {
		damages = append(damages, nodeDamage{fmt.Sprintf(format, a...), append([]byte{}, node...)})
	}
	keep := func(drop func(field) bool) []byte {
		var kept []field
		for _, f := range fields {
			if !drop(f) {
				kept = append(kept, f)
			}
		}
		return joined(kept)
	}
	first := -1
	for i, f := range fields {
		switch f.number {
		case nodeInput, nodeOutput, nodeAttribute:
			say(with(fields, i, nil), "field %d of number %d is left out", i, f.number)
			if f.number == nodeAttribute {
				continue
			}
			say(with(fields, i, []byte{}), "field %d of number %d is empty", i, f.number)
			if f.number == nodeInput && first < 0 {
				first = i
			} else if f.number == nodeInput {
				say(with(fields, i, fields[first].content), "input at field %d is the first one", i)
				other := append([]field{}, fields...)
				other[i], other[first] = other[first], other[i]
				say(joined(other), "input at field %d changes places with the first one", i)
			}
		case nodeOperator:
			for _, name := range operators {
				if name != string(f.content) {
					say(with(fields, i, []byte(name)), "is a %s", name)
				}
			}
		}
	}
	for _, number := range []protowire.Number{nodeInput, nodeOutput, nodeAttribute} {
		say(keep(func(f field) bool { return f.number == number }), "all fields of number %d are left out", number)
	}
	return damages
}
