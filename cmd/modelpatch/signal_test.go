package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
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
