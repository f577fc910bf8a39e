//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// badFile is a row of the manifest that ../shared/badfiles/make_badfiles.py
// writes beside its files (facts/BAD-INPUTS §3).
type badFile struct {
	File, Kind, Cmd, Why string
	Exit                 int
	Words                []string `json:"message_must_mention"`
}

// What one run may take. The address space of a Go process is near 1 GB before
// it has done anything; headers in these files claim 8 GB and more.
const (
	addressSpaceKiB = 4 << 20
	residentKiB     = 64 << 10
)

// TestBadFiles runs the built tool on every bad file under a limit of address
// space: exit codes, words and memory are as the manifest and the limits say.
func TestBadFiles(t *testing.T) {
	shared := filepath.Join("..", "..", "..", "shared", "badfiles")
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("skipped by name: bad files (%s is absent)", shared)
	}
	t.Run("kept", func(t *testing.T) { runBadFiles(t, shared) })
	t.Run("made", func(t *testing.T) {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("skipped by name: the further bad files (no python3 to make them)")
		}
		folder := t.TempDir()
		if out, err := exec.Command(python, filepath.Join(shared, "make_badfiles.py"), "--all", folder).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		runBadFiles(t, folder)
	})
}

func runBadFiles(t *testing.T, folder string) {
	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []badFile
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, c := range newRoot(&console{}, "").Commands() {
		commands = append(commands, c.Name())
	}
	for _, row := range rows {
		if row.Cmd == "" || row.Kind == "data" {
			continue // only data for another row
		}
		t.Run(row.File, func(t *testing.T) {
			args := strings.Fields(row.Cmd)
			if !slices.Contains(commands, args[0]) {
				t.Skipf("skipped by name: there is no command %q", args[0])
			}
			row.run(t, folder, append(args, row.File))
		})
	}
}

func (row badFile) run(t *testing.T, folder string, args []string) {
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v "$0" && exec modelpatch "$@"`, strconv.Itoa(addressSpaceKiB)}, args...)...)
	cmd.Dir = folder
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != row.Exit {
		t.Errorf("exit code %d, want %d (%s)\n%s", code, row.Exit, row.Why, out)
	}
	for _, word := range row.Words {
		if !strings.Contains(strings.ToLower(string(out)), strings.ToLower(word)) {
			t.Errorf("%q is not in\n%s", word, out)
		}
	}
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && used.Maxrss > residentKiB {
		t.Errorf("%d KiB of memory", used.Maxrss)
	}
}
