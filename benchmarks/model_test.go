//go:build unix

package benchmarks

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// ggufWriter writes the parts of a GGUF file, version 3.
type ggufWriter struct {
	w  *bufio.Writer
	at int64
}

func (g *ggufWriter) raw(b []byte) { n, _ := g.w.Write(b); g.at += int64(n) }
func (g *ggufWriter) u32(v uint32) { g.raw(binary.LittleEndian.AppendUint32(nil, v)) }
func (g *ggufWriter) u64(v uint64) { g.raw(binary.LittleEndian.AppendUint64(nil, v)) }
func (g *ggufWriter) text(s string) {
	g.u64(uint64(len(s)))
	g.raw([]byte(s))
}

func (g *ggufWriter) key(name string, kind uint32) { g.text(name); g.u32(kind) }

func (g *ggufWriter) texts(name, format string, n int) {
	g.key(name, 9)
	g.u32(8)
	g.u64(uint64(n))
	for i := range n {
		g.text(fmt.Sprintf(format, i))
	}
}

type tensorShape struct {
	name string
	ne   []uint64
}

// llamaShapes are the tensors of a llama of about 2 GB in F16: 290 of them.
func llamaShapes() []tensorShape {
	const width, hidden, layers, vocabulary = 2048, 5632, 32, 128000
	out := []tensorShape{{"token_embd.weight", []uint64{width, vocabulary / 8}}}
	for l := range layers {
		for _, t := range []tensorShape{
			{"attn_norm.weight", []uint64{width}}, {"attn_q.weight", []uint64{width, width}}, {"attn_k.weight", []uint64{width, width / 4}},
			{"attn_v.weight", []uint64{width, width / 4}}, {"attn_output.weight", []uint64{width, width}}, {"ffn_norm.weight", []uint64{width}},
			{"ffn_gate.weight", []uint64{width, hidden / 2}}, {"ffn_up.weight", []uint64{width, hidden / 2}}, {"ffn_down.weight", []uint64{hidden / 2, width}},
		} {
			out = append(out, tensorShape{fmt.Sprintf("blk.%d.%s", l, t.name), t.ne})
		}
	}
	return append(out, tensorShape{"output_norm.weight", []uint64{width}})
}

// writeGGUF makes a model of about 2 GB: 290 tensors, 128k tokens, 280k merges.
func writeGGUF(tb testing.TB, path string) int64 {
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	g := &ggufWriter{w: bufio.NewWriterSize(f, 1<<20)}
	shapes := llamaShapes()
	g.raw([]byte("GGUF"))
	g.u32(3)
	g.u64(uint64(len(shapes)))
	g.u64(16)
	g.key("general.architecture", 8)
	g.text("llama")
	for _, k := range []struct {
		name  string
		value uint32
	}{{"context_length", 4096}, {"embedding_length", 2048}, {"block_count", 32}, {"feed_forward_length", 2816}, {"attention.head_count", 32},
		{"attention.head_count_kv", 8}, {"rope.dimension_count", 64}, {"vocab_size", 128000}} {
		g.key("llama."+k.name, 4)
		g.u32(k.value)
	}
	g.key("llama.rope.freq_base", 6)
	g.u32(0x48f42400) // 500000
	g.key("llama.attention.layer_norm_rms_epsilon", 6)
	g.u32(0x3727c5ac)
	g.key("tokenizer.ggml.model", 8)
	g.text("gpt2")
	g.texts("tokenizer.ggml.tokens", "token%06d", 128000)
	g.key("tokenizer.ggml.token_type", 9)
	g.u32(5)
	g.u64(128000)
	for range 128000 {
		g.u32(1)
	}
	g.texts("tokenizer.ggml.merges", "mer %07d", 280000)
	g.key("tokenizer.ggml.bos_token_id", 4)
	g.u32(1)
	offset := uint64(0)
	for _, t := range shapes {
		g.text(t.name)
		g.u32(uint32(len(t.ne)))
		n := uint64(2)
		for _, d := range t.ne {
			g.u64(d)
			n *= d
		}
		g.u32(1) // F16
		g.u64(offset)
		offset += (n + 31) &^ 31
	}
	g.raw(make([]byte, (32-g.at%32)%32))
	noise := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{1})
	io.ReadFull(r, noise)
	for left := int64(offset); left > 0; left -= int64(len(noise)) {
		g.raw(noise[:min(left, int64(len(noise)))])
	}
	if err := g.w.Flush(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		tb.Fatal(err)
	}
	return g.at
}
