// Command walk reads every key and tensor record of a GGUF file and keeps
// nothing: the least that a reader of the whole header does.
//
//	walk FILE
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
)

// sizes of values by type; 0: not of a fixed size.
var sizes = [13]uint64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

type walker struct{ r *bufio.Reader }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (w walker) number(n int) uint64 {
	b, err := w.r.Peek(n)
	check(err)
	w.r.Discard(n)
	if n == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func (w walker) skip(n uint64) {
	_, err := w.r.Discard(int(n))
	check(err)
}

func (w walker) text() { w.skip(w.number(8)) }

func (w walker) value(typ uint64) {
	switch typ {
	case 8:
		w.text()
	case 9:
		element, n := w.number(4), w.number(8)
		if element != 8 {
			w.skip(n * sizes[element])
			return
		}
		for range n {
			w.text()
		}
	default:
		w.skip(sizes[typ])
	}
}

func main() {
	f, err := os.Open(os.Args[1])
	check(err)
	w := walker{bufio.NewReaderSize(f, 64<<10)}
	w.skip(8)
	tensors, pairs := w.number(8), w.number(8)
	for range pairs {
		w.text()
		w.value(w.number(4))
	}
	for range tensors {
		w.text()
		w.skip(8*w.number(4) + 4 + 8)
	}
	fmt.Println(pairs, tensors)
}
