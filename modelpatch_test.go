package modelpatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Say how far a model counts.
func ExampleInspect() {
	r, err := modelpatch.Inspect("testdata/gguf/gpt2-f32.gguf", modelpatch.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := r.Encodings[0]
	fmt.Println(e.Scheme, *e.Parameters.Rows, *r.Length.Capacity, r.Length.Beyond)
	// Output: learned 24 24 error
}

// Make a model count twice as far, as a new file.
func ExampleExtend() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	longer := filepath.Join(folder, "longer.gguf")
	result, err := modelpatch.Extend(context.Background(), "testdata/gguf/gpt2-f32.gguf",
		modelpatch.ExtendOptions{Length: 48}, modelpatch.OpenOptions{}, modelpatch.WriteOptions{Output: longer})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range result.Plan.Changes {
		fmt.Println(c.What, "-", c.Expect)
	}
	// Output:
	// position table 24 → 48 rows, tile - same-on-prefix
	// context length 24 → 48 - same-on-prefix
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&position.UsageError{}, 2}, {&position.UsageError{}, 2}, {&patch.SameFileError{}, 2},
		{&gguf.FormatError{}, 3}, {&modelpatch.InputError{}, 3}, {&patch.InputError{Err: os.ErrInvalid}, 3}, {errors.New("any"), 3},
		{&position.Refusal{}, 4}, {&patch.RefusedError{}, 4},
		{&patch.OutputError{Err: os.ErrInvalid}, 5},
		{context.Canceled, 130},
	} {
		if got := modelpatch.ExitCode(c.err); got != c.want {
			t.Errorf("%T: %d, want %d", c.err, got, c.want)
		}
		if c.err != nil {
			if got := modelpatch.ExitCode(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
				t.Errorf("wrapped %T: %d, want %d", c.err, got, c.want)
			}
		}
	}
}

// A check that fails drops the new file, and an old one stays.
func TestCheckDropsTheFile(t *testing.T) {
	target := filepath.Join(t.TempDir(), "new.gguf")
	no := errors.New("no")
	_, err := modelpatch.Extend(context.Background(), "testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{Length: 48}, modelpatch.OpenOptions{},
		modelpatch.WriteOptions{Output: target, Check: func(_ context.Context, before, after string, p report.Plan) (*report.Verify, error) {
			if r, err := modelpatch.Inspect(after, modelpatch.OpenOptions{}); err != nil || *r.Length.Capacity != 48 {
				t.Errorf("the new file is not complete: %v", err)
			}
			return nil, no
		}})
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(target)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}
