package modelpatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&position.UsageError{}, 2}, {&patch.SameFileError{}, 2},
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
