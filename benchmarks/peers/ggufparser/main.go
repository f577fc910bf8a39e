// Command ggufparser reads a GGUF file with gguf-parser-go.
//
//	ggufparser FILE
package main

import (
	"fmt"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
)

func main() {
	f, err := parser.ParseGGUFFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(f.Architecture().Architecture, len(f.TensorInfos))
}
