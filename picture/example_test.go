package picture_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/svg"
)

// Draw what an encoding computes.
func ExampleOf() {
	m, err := modelpatch.Open(context.Background(), "../testdata/gguf/gpt2-f32.gguf", modelpatch.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	figures, err := picture.Of(m, "gpt2", picture.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	drawn := svg.Write(figures, svg.Options{})
	fmt.Println(len(figures), bytes.HasPrefix(drawn, []byte("<svg")))
	// Output:
	// 1 true
}
