package remote_test

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/remote"
)

// Models at addresses are read by ranges, where a client is given; without one, or offline, they are refused.
func ExampleClient_Reader() {
	client := remote.New(context.Background(), remote.Options{Offline: true})
	_, err := modelpatch.Inspect(context.Background(), "hf://openai-community/gpt2/onnx/decoder_model.onnx", modelpatch.OpenOptions{Remote: client.Reader})
	fmt.Println(err)
	// Output:
	// hf://openai-community/gpt2/onnx/decoder_model.onnx: refused: addresses are not read offline
}
