package remote_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/testhub"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote"
)

// sparse is a file of known bytes with zeros between them.
type sparse struct {
	parts []part // in order
	size  int64
}

type part struct {
	at    int64
	bytes []byte
}

func (s *sparse) write(b []byte) {
	s.parts = append(s.parts, part{s.size, bytes.Clone(b)})
	s.size += int64(len(b))
}

// ReadAt reads bytes of the file.
func (s *sparse) ReadAt(p []byte, at int64) (int, error) {
	n := min(int64(len(p)), s.size-at)
	clear(p[:n])
	for _, x := range s.parts {
		if first, end := max(at, x.at), min(at+n, x.at+int64(len(x.bytes))); first < end {
			copy(p[first-at:end-at], x.bytes[first-x.at:end-x.at])
		}
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// largeGGUF is a llama with a vocabulary of so many tokens and merges, and so many bytes of weights.
func largeGGUF(tokens, merges int, weights uint64) *sparse {
	var b []byte
	u32 := func(v uint32) { b = binary.LittleEndian.AppendUint32(b, v) }
	u64 := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	text := func(s string) { u64(uint64(len(s))); b = append(b, s...) }
	key := func(name string, kind uint32) { text(name); u32(kind) }
	texts := func(name, format string, n int) {
		key(name, 9)
		u32(8)
		u64(uint64(n))
		for i := range n {
			text(fmt.Sprintf(format, i))
		}
	}
	const layers = 32
	b = append(b, "GGUF"...)
	u32(3)
	u64(2 + 9*layers)
	u64(12)
	key("general.architecture", 8)
	text("llama")
	for _, k := range []struct {
		name  string
		value uint32
	}{{"context_length", 4096}, {"embedding_length", 2048}, {"block_count", layers}, {"feed_forward_length", 2816}, {"attention.head_count", 32},
		{"attention.head_count_kv", 8}, {"vocab_size", uint32(tokens)}} {
		key("llama."+k.name, 4)
		u32(k.value)
	}
	key("tokenizer.ggml.model", 8)
	text("gpt2")
	texts("tokenizer.ggml.tokens", "token%06d", tokens)
	key("tokenizer.ggml.token_type", 9)
	u32(5)
	u64(uint64(tokens))
	for range tokens {
		u32(1)
	}
	texts("tokenizer.ggml.merges", "mer %011d", merges)
	offset := uint64(0)
	tensor := func(name string, shape ...uint64) {
		text(name)
		u32(uint32(len(shape)))
		n := uint64(2)
		for _, d := range shape {
			u64(d)
			n *= d
		}
		u32(1) // F16
		u64(offset)
		offset += (n + 31) &^ 31
	}
	width := weights / (9 * layers) / 2 / 2048 &^ 31
	tensor("token_embd.weight", 2048, width)
	for l := range layers {
		for _, name := range []string{"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"} {
			tensor(fmt.Sprintf("blk.%d.%s.weight", l, name), 2048, width)
		}
	}
	tensor("output_norm.weight", 2048)
	b = append(b, make([]byte, (32-len(b)%32)%32)...)
	s := new(sparse)
	s.write(b)
	s.size += int64(offset)
	return s
}

// largeONNX is a GPT-2 with a position table of 8 MB or none larger than it has, and further
// constants of the given sizes, which nothing reads.
func largeONNX(t *testing.T, table bool, sizes ...int64) *sparse {
	path := "../testdata/onnx/gpt2-dy23.onnx"
	if table {
		longer := filepath.Join(t.TempDir(), "m.onnx")
		if _, err := modelpatch.Extend(t.Context(), path, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 65536}, Write: modelpatch.WriteOptions{Output: longer}}); err != nil {
			t.Fatal(err)
		}
		path = longer
	}
	base, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := new(sparse)
	s.write(base)
	var heads [][]byte
	total := int64(0)
	for i, n := range sizes {
		var h []byte // of a TensorProto: dims, data_type, name, raw_data
		h = protowire.AppendVarint(protowire.AppendTag(h, 1, protowire.VarintType), uint64(n/4))
		h = protowire.AppendVarint(protowire.AppendTag(h, 2, protowire.VarintType), 1)
		h = protowire.AppendString(protowire.AppendTag(h, 8, protowire.BytesType), fmt.Sprintf("layer.%d.weight", i))
		h = protowire.AppendVarint(protowire.AppendTag(h, 9, protowire.BytesType), uint64(n))
		var tensor []byte // a field of the graph
		tensor = protowire.AppendVarint(protowire.AppendTag(tensor, 5, protowire.BytesType), uint64(int64(len(h))+n))
		heads = append(heads, append(tensor, h...))
		total += int64(len(tensor)+len(h)) + n
	}
	s.write(protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.BytesType), uint64(total))) // a graph that goes on
	for i, h := range heads {
		s.write(h)
		s.size += sizes[i]
	}
	return s
}

// TestRequests: what models of five kinds cost, at 30 ms a request (docs/remote.md). The bounds are what
// a reader with pages of 64 kB to 1 MB, and no guesses, took.
func TestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("makes large models")
	}
	var layers []int64
	for range 8 { // of a transformer of width 768
		layers = append(layers, 3072, 3072, 7077888, 9216, 2359296, 3072, 3072, 3072, 9437184, 12288, 9437184, 3072, 3072)
	}
	few := make([]int64, 16)
	for i := range few {
		few[i] = 64 << 20
	}
	small, err := os.ReadFile("../testdata/gguf/gpt2-f32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	s := new(sparse)
	s.write(small)
	for _, x := range []struct {
		name     string
		file     *sparse
		requests int
		bytes    int64
		parallel int // that so many requests are made at a time, at least
	}{
		{"large.gguf", largeGGUF(128_000, 280_000, 2_350<<20), 5, 12_600_000, 1},
		{"small.gguf", largeGGUF(8_000, 8_000, 80<<20), 3, 660_000, 1},
		{"few.onnx", largeONNX(t, true, few...), 21, 9_700_000, 4},
		{"layers.onnx", largeONNX(t, false, layers...), 106, 9_000_000, 4},
		{"tiny.gguf", s, 1, 150_000, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := testhub.StartReader(t, x.name, x.file, x.file.size, 30*time.Millisecond)
			o := quick()
			c := remote.New(t.Context(), o)
			began := time.Now()
			_, err := modelpatch.Inspect(t.Context(), h.Store+"/plain/"+x.name, modelpatch.OpenOptions{Remote: c.Reader})
			took := time.Since(began)
			if err != nil {
				t.Fatal(err)
			}
			requests, bytes := h.Used()
			t.Logf("%-12s %13d bytes: %3d requests, %8d bytes, %d at a time, %s", x.name, x.file.size, requests, bytes, h.Most(), took.Round(time.Millisecond))
			if requests > x.requests || bytes > x.bytes || h.Most() < x.parallel {
				t.Errorf("%d requests, %d bytes, %d at a time; wanted %d, %d and %d", requests, bytes, h.Most(), x.requests, x.bytes, x.parallel)
			}
		})
	}
}
