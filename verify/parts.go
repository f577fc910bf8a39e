package verify

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
)

// defaultAlignment is what general.alignment is where a file does not state it
// (ggml/docs/gguf.md).
const defaultAlignment = 32

// isOptional reports whether a part states what holds without it: the type of a value
// inside a graph, which engines infer, or the alignment that a file has in any case.
func isOptional(p position.Part) bool {
	return p.Kind == innerType || p.Kind == "key" && p.Name == "general.alignment" && p.Number != nil && *p.Number == defaultAlignment
}

// isRoom reports whether a part is room for later keys, which no engine reads.
func isRoom(p position.Part) bool { return p.Kind == "key" && p.Where.Key == "modelpatch.reserve" }

// description is the kind of parts that no engine computes with.
const description = "description"

// innerType is the kind of parts that state the type of a value inside a graph.
const innerType = "type"

type partKey struct{ kind, name string }

// keyed are parts by kind and name.
func keyed(list []position.Part) map[partKey]position.Part {
	out := make(map[partKey]position.Part, len(list))
	for _, p := range list {
		out[partKey{p.Kind, p.Name}] = p
	}
	return out
}

// smallPart is the most bytes of a part that belongs to no position and is compared
// with that of the change made again: a larger one is compared with the old file's.
const smallPart = 1 << 16

// Differing counts the parts in which a new file differs from a change that was made
// again. Parts that belong to no position are compared where they are small.
func Differing(again, after position.Model) (int, error) {
	want, err := partsOf(again)
	if err != nil {
		return 0, err
	}
	got, err := partsOf(after)
	if err != nil {
		return 0, err
	}
	n := 0
	for key, q := range got {
		w, ok := want[key]
		if delete(want, key); !ok || !alike(w, q) {
			n++
		}
	}
	return n + len(want), nil
}

// partsOf are the parts of a model by kind and name.
func partsOf(m position.Model) (map[partKey]position.Part, error) {
	p, ok := m.(position.Parted)
	if !ok {
		return nil, fmt.Errorf("files of this format are not taken apart")
	}
	list, err := p.Parts()
	if err != nil {
		return nil, err
	}
	return keyed(list), nil
}

// alike reports whether two parts are equal, but for the content of large ones that belong to
// no position.
func alike(p, q position.Part) bool {
	return p.Head == q.Head && p.Size == q.Size && (!q.Position && q.Size > smallPart || firstDifference(p, q) < 0)
}

// firstDifference is the first byte at which two parts of one size differ, −1
// when they are equal.
func firstDifference(p, q position.Part) int64 {
	first := int64(-1)
	at, err := eachDifference(p, q, func(x, _ []byte, at int64) bool {
		first = at
		return false
	})
	if err != nil && first < 0 {
		return at
	}
	return first
}

// eachDifference reads two parts of one size side by side. From the first differing byte
// of each step on, it hands the rest of both steps and their place to tell, until that
// returns false. After an error, at is the start of the step that could not be read.
func eachDifference(p, q position.Part, tell func(x, y []byte, at int64) bool) (at int64, err error) {
	const step = 1 << 16
	x, y := p.Open(), q.Open()
	bufX, bufY := make([]byte, min(step, p.Size)), make([]byte, min(step, p.Size))
	for at < p.Size {
		n := int(min(step, p.Size-at))
		_, err1 := io.ReadFull(x, bufX[:n])
		_, err2 := io.ReadFull(y, bufY[:n])
		if err := firstOf(err1, err2); err != nil {
			return at, err
		}
		if !bytes.Equal(bufX[:n], bufY[:n]) {
			i := 0
			for bufX[i] == bufY[i] {
				i++
			}
			if !tell(bufX[i:n], bufY[i:n], at+int64(i)) {
				return at, nil
			}
		}
		at += int64(n)
	}
	return at, nil
}

// DeclaresAlone reports whether a new file declares sizes of values that the old one left free, and differs in
// nothing else, no node or constant: content is read where all else is alike.
func DeclaresAlone(before, after position.Model) bool {
	old, err1 := partsOf(before)
	now, err2 := partsOf(after)
	if err1 != nil || err2 != nil {
		return false
	}
	differs, content := false, [][2]position.Part{}
	for key, q := range now {
		p, ok := old[key]
		switch {
		case !ok && !isOptional(q):
			return false
		case ok && q.Declared && p.Head != q.Head:
			if differs = true; !fills(p, q) {
				return false
			}
		case ok && q.Kind != description && (p.Head != q.Head || p.Size != q.Size):
			return false
		case ok && q.Size > 0 && q.Kind != description:
			content = append(content, [2]position.Part{p, q})
		}
		delete(old, key)
	}
	for _, p := range old {
		if !isOptional(p) {
			return false
		}
	}
	return differs && !slices.ContainsFunc(content, func(pair [2]position.Part) bool { return firstDifference(pair[0], pair[1]) >= 0 })
}

// fills reports whether a declared type states sizes that were free, and is else the same.
func fills(p, q position.Part) bool {
	kind, _, _ := strings.Cut(p.Head, " ")
	other, _, _ := strings.Cut(q.Head, " ")
	if kind != other || len(p.Dims) != len(q.Dims) {
		return false
	}
	for d, n := range p.Dims {
		if n != 0 && n != q.Dims[d] {
			return false
		}
	}
	return true
}

// declaresLength reports whether a declared size differs only as lengths do: where it
// was a multiple of the old one, or is free in one of the files.
func declaresLength(p, q position.Part, old, new int64) bool {
	kind, _, _ := strings.Cut(p.Head, " ")
	other, _, _ := strings.Cut(q.Head, " ")
	if kind != other || len(p.Dims) != len(q.Dims) {
		return false
	}
	for d, a := range p.Dims {
		b := q.Dims[d]
		if a != b && a != 0 && b != 0 && b-a != new-old && (old < 2 || a%old != 0 || b != a/old*new) {
			return false
		}
	}
	return true
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
