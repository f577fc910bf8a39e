//go:build unix

package benchmarks

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// tool builds modelpatch once for the benchmark.
func tool(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "modelpatch")
	cmd := exec.Command("go", "build", "-o", path, "github.com/modelpatch/modelpatch/cmd/modelpatch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

// usage is what one process cost.
type usage struct {
	wall, cpu time.Duration
	rss       int64 // bytes
	written   int64 // bytes given to the disk, in the kernel's count: by folio, which may be 1 MB for 4 bytes
}

// run runs a command and says what it cost; sync waits for the disk as well.
func run(b *testing.B, sync bool, name string, args ...string) usage {
	var complaints bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &complaints
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, complaints.String())
	}
	if sync {
		syncFile(b, args[len(args)-1])
	}
	wall := time.Since(begin)
	ru := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), ru.Maxrss * 1024, ru.Oublock * 512}
}

func syncFile(b *testing.B, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkExtendGGUF2GB writes a new 2 GB file with another length, against
// cp and sync of the same file in the same run, alternating.
func BenchmarkExtendGGUF2GB(b *testing.B) {
	model := filepath.Join(b.TempDir(), "model.gguf")
	writeGGUF(b, model)
	checkTail(b, model, extendTurns(b, model, "--len", "8192"))
}

// extendTurns measures writing a model of another length or picture as a new file, which it
// returns, against cp and sync.
func extendTurns(b *testing.B, model string, flag ...string) (longer string) {
	modelpatch := tool(b)
	folder := b.TempDir()
	copied := filepath.Join(folder, "copy")
	longer = filepath.Join(folder, "longer"+filepath.Ext(model))
	copyModel := func() usage {
		os.Remove(copied)
		settle()
		return run(b, true, "cp", "--reflink=never", model, copied)
	}
	extend := func() usage {
		os.Remove(longer)
		settle()
		return run(b, false, modelpatch, append(append([]string{"extend"}, flag...), model, "-o", longer)...)
	}
	copyModel() // warm the cache
	extend()
	var t turns
	for b.Loop() {
		t.run(copyModel, extend)
	}
	t.report(b, "extend")
	return longer
}

// checkTail compares the tensor data of both files: the same bytes, counted
// from the end.
func checkTail(b *testing.B, before, after string) {
	x, err1 := os.Open(before)
	y, err2 := os.Open(after)
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	defer x.Close()
	defer y.Close()
	const tail = 1 << 30
	x.Seek(-tail, io.SeekEnd)
	y.Seek(-tail, io.SeekEnd)
	p, q := make([]byte, 1<<20), make([]byte, 1<<20)
	for range tail / len(p) {
		io.ReadFull(x, p)
		io.ReadFull(y, q)
		if !bytes.Equal(p, q) {
			b.Fatal("untouched bytes differ")
		}
	}
}
