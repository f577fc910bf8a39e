package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
)

// TestInspectInterrupted ends inspect by a signal while it waits for its input.
func TestInspectInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped by name: signals (Windows has none)")
	}
	cmd := exec.Command("modelpatch", "inspect", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // the command is up and reads; earlier it would end as well
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		t.Error("the signal was not heeded")
	}
}

// stubborn is a command that heeds no context for four seconds. With a path it has begun to write.
func stubborn() {
	cmd := interruptible(&cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			if _, err := patch.OS.Create(args[0]); err != nil {
				return err
			}
		}
		time.Sleep(4 * time.Second)
		return nil
	}})
	cmd.SetArgs(os.Args[1:])
	os.Exit(modelpatch.ExitCode(cmd.ExecuteContext(context.Background())))
}

// TestTerminated: a command that only reads ends within a second of SIGTERM, whatever it is at; one that has begun to
// write takes its time.
func TestTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped by name: signals (Windows has none)")
	}
	for _, c := range []struct {
		args []string
		code int
		soon bool
	}{{nil, modelpatch.ExitInterrupted, true}, {[]string{filepath.Join(t.TempDir(), "begun")}, modelpatch.ExitDone, false}} {
		cmd := exec.Command("stubborn", c.args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond) // it is up
		start := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if d, code := time.Since(start), cmd.ProcessState.ExitCode(); code != c.code || c.soon != (d < 3*time.Second) { // a busy machine takes more than the second that is promised
			t.Errorf("%v: exit code %d after %v", c.args, code, d)
		}
	}
}
