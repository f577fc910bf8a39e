// Command ollama reads a GGUF file's keys and tensors with Ollama's reader.
//
//	ollama FILE
package main

import (
	"fmt"
	"os"

	"github.com/ollama/ollama/fs/ggml"
)

func main() {
	f, err := os.Open(os.Args[1])
	if err == nil {
		var model *ggml.GGML
		if model, err = ggml.Decode(f, 1024); err == nil { // arrays above 1024 elements are skipped
			fmt.Println(model.KV().Architecture(), len(model.Tensors().Items()))
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
