package sidecar

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/internal/pythonjson"
)

// jsonNumber is a number in a JSON text, or a text where one is looked for.
type jsonNumber struct {
	pointer, text string
	at            int64
}

// jsonNumbers lists the numbers of a JSON text at the given pointers, in the
// order of their places; nil when it is not JSON. A pointer that occurs twice is
// left out: readers disagree about which one counts.
func jsonNumbers(data []byte, pointers []string) []jsonNumber {
	text := data
	data = pythonjson.Plain(text)
	if !json.Valid(data) { // deeper than 10,000 levels is not
		return nil
	}
	var paths [][]string
	for _, p := range pointers {
		paths = append(paths, strings.Split(p, "/")[1:])
	}
	w := jsonWalk{data: data, numbers: []jsonNumber{}, found: map[string]int{}}
	w.value(paths, 0)
	return slices.DeleteFunc(w.numbers, func(n jsonNumber) bool {
		return w.found[n.pointer] > 1 || !bytes.HasPrefix(text[n.at:], []byte(n.text)) // NaN is no number
	})
}

// jsonWalk goes through a sound JSON text once, from front to back.
type jsonWalk struct {
	data    []byte
	at      int // the next byte
	numbers []jsonNumber
	found   map[string]int // by pointer
}

// value passes a value at a depth. paths are the pointers that lead through it;
// nothing is kept of what lies on none.
func (w *jsonWalk) value(paths [][]string, depth int) {
	switch w.next(" \t\r\n"); w.data[w.at] {
	case '{', '[':
		w.members(w.data[w.at] == '{', paths, depth)
	case '"':
		start := w.at
		w.text()
		w.number(start, paths, depth) // in quotes, which is no number to programs and is told
	default:
		start := w.at
		for w.at < len(w.data) && strings.IndexByte(" \t\r\n,]}", w.data[w.at]) < 0 {
			w.at++
		}
		if c := w.data[start]; c == '-' || c >= '0' && c <= '9' {
			w.number(start, paths, depth)
		}
	}
}

// next passes bytes of a set.
func (w *jsonWalk) next(set string) {
	for w.at < len(w.data) && strings.IndexByte(set, w.data[w.at]) >= 0 {
		w.at++
	}
}

// text passes a string and returns it with its quotes.
func (w *jsonWalk) text() []byte {
	start := w.at
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.data[start:w.at]
}

// members passes an object or an array.
func (w *jsonWalk) members(object bool, paths [][]string, depth int) {
	w.at++
	for {
		w.next(" \t\r\n,")
		if c := w.data[w.at]; c == '}' || c == ']' {
			w.at++
			return
		}
		var inside [][]string
		if object {
			inside = through(paths, depth, w.text())
			w.next(" \t\r\n:")
		}
		w.value(inside, depth+1)
	}
}

// through returns the paths whose name at a depth is the given key, in quotes.
func through(paths [][]string, depth int, quoted []byte) (inside [][]string) {
	if len(paths) == 0 {
		return nil
	}
	key := string(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(quoted, '\\') >= 0 && json.Unmarshal(quoted, &key) != nil {
		return nil
	}
	for _, p := range paths {
		if len(p) > depth && p[depth] == key {
			inside = append(inside, p)
		}
	}
	return inside
}

// number notes a number at the end of a pointer.
func (w *jsonWalk) number(start int, paths [][]string, depth int) {
	for _, p := range paths {
		if len(p) != depth || depth == 0 {
			continue
		}
		n := jsonNumber{"/" + strings.Join(p, "/"), string(w.data[start:w.at]), int64(start)}
		if w.found[n.pointer]++; w.found[n.pointer] == 1 {
			w.numbers = append(w.numbers, n)
		}
	}
}
