//go:build unix

package benchmarks

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/verify/blocked"
)

// numpy is a Python with NumPy that computes attention, line by line.
type numpy struct {
	in  io.Writer
	out *bufio.Scanner
}

// startNumpy starts the Python that ENGINES_PYTHON names, or python3; without NumPy the
// benchmark is skipped.
func startNumpy(b *testing.B) *numpy {
	b.Helper()
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		b.Skipf("%s has no NumPy: %v\n%s", python, err, out)
	}
	cmd := exec.Command(python, "testdata/attention.py")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &numpy{in, bufio.NewScanner(out)}
}

// attentionRoundoff is how far two orders of sums of some thousand terms of about 1 may be
// apart in float64.
const attentionRoundoff = 1e-12

// BenchmarkAttention measures reference attention, 8 heads of 64 in float64, against NumPy
// with its BLAS: in turns, on the same numbers, whose results must be equal.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []struct {
		positions int
		causal    bool
	}{{2048, false}, {2048, true}, {8192, false}, {8192, true}} {
		b.Run(fmt.Sprintf("%d,causal=%v", c.positions, c.causal), func(b *testing.B) {
			const heads, dim = 8, 64
			peer := startNumpy(b)
			folder := b.TempDir()
			inputs, outputs := filepath.Join(folder, "in"), filepath.Join(folder, "out")
			all := trial.Normal(1, []int{heads, 3, c.positions, dim})
			store(b, inputs, all)
			var own, other, worst float64
			for b.Loop() {
				var made []float64
				begin := time.Now()
				for h := range heads {
					part := func(i int) []float64 {
						return all[(h*3+i)*c.positions*dim:][:c.positions*dim]
					}
					head := blocked.Head{Queries: c.positions, Keys: c.positions, Dim: dim, ValueDim: dim, Query: part(0), Key: part(1), Value: part(2),
						Scale: 1 / math.Sqrt(dim), Causal: c.causal}
					out, err := head.Attend()
					if err != nil {
						b.Fatal(err)
					}
					made = append(made, out...)
				}
				own += time.Since(begin).Seconds()
				store(b, outputs, made)
				fmt.Fprintln(peer.in, c.positions, heads, c.causal, inputs, outputs)
				var wall, cpu, apart float64
				if !peer.out.Scan() {
					b.Fatal("NumPy ended")
				}
				if _, err := fmt.Sscan(peer.out.Text(), &wall, &cpu, &apart); err != nil {
					b.Fatalf("%q: %v", peer.out.Text(), err)
				}
				other += wall
				worst = max(worst, apart)
			}
			b.ReportMetric(own/float64(b.N), "s-own/op")
			b.ReportMetric(other/float64(b.N), "s-numpy/op")
			b.ReportMetric(own/other, "×numpy")
			if worst > attentionRoundoff {
				b.Errorf("the outputs are apart by %g", worst)
			}
		})
	}
}

func store(b *testing.B, path string, x []float64) {
	b.Helper()
	raw := make([]byte, 0, 8*len(x))
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		b.Fatal(err)
	}
}
