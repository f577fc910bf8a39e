// Command skip goes over every field of an ONNX file's model and graph with
// protowire and keeps nothing: the least that a reader of the wire format does.
//
//	skip FILE
package main

import (
	"fmt"
	"os"
	"syscall"

	"google.golang.org/protobuf/encoding/protowire"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fields counts a message's fields, and those of the graph in a model.
func fields(b []byte, graph protowire.Number) (n int) {
	for len(b) > 0 {
		number, typ, size := protowire.ConsumeTag(b)
		check(protowire.ParseError(size))
		b = b[size:]
		if size = protowire.ConsumeFieldValue(number, typ, b); size < 0 {
			check(protowire.ParseError(size))
		}
		if number == graph && typ == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(b)
			n += fields(inner, 0)
		}
		b = b[size:]
		n++
	}
	return n
}

func main() {
	f, err := os.Open(os.Args[1])
	check(err)
	info, err := f.Stat()
	check(err)
	b, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	check(err)
	fmt.Println(fields(b, 7))
}
