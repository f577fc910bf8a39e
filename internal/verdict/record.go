package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// record is a change that could have led from one file to another: one that a file beside them tells of, or a guess.
type record struct {
	name    string // of the file that tells of it; "": a guess
	steps   []report.Request
	factors string // the file of the factors in a guess; "": none
	exact   bool   // only where it makes just the new file it says something about it
}

// commands says the steps as command lines do.
func (r record) commands() string {
	var out []string
	for _, step := range r.steps {
		out = append(out, change.Command(step))
	}
	return strings.Join(out, " and ")
}

// commandLine is a line for a shell that makes the change's plan and has verify take it; "" where no single command
// makes the change.
func (r record) commandLine(path, after string) string {
	if len(r.steps) != 1 {
		return ""
	}
	command := strings.ReplaceAll(r.commands(), "--factors FILE", "--factors "+shellWord(r.factors))
	before := shellWord(path)
	return "modelpatch " + command + " " + before + " --dry-run --json > plan.json && modelpatch verify " + before + " " + shellWord(after) + " --plan plan.json"
}

// plainWord is what a shell takes as it stands.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,=-]*$`) })

// shellWord quotes a path for a shell where it needs that.
func shellWord(path string) string {
	if plainWord().MatchString(path) {
		return path
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

const (
	// maxPlan bounds a plan file; plans are some hundred bytes an edit.
	maxPlan = 64 << 20
	// maxPlanCommas bounds the members of a plan, which take more memory than
	// their text.
	maxPlanCommas = 1 << 20
	// maxRecord bounds a file that nobody named, and mostRecords how many of them are looked at.
	maxRecord, mostRecords = 4 << 20, 32
)

// ReadPlan reads the plan of a change: what a changing command printed with --json, the statement that it wrote with
// --provenance, or its patch or undo patch.
func ReadPlan(path string) (*report.Plan, error) {
	data, _, err := regular.Read(path, maxPlan)
	if err != nil {
		return nil, source.CannotOpen(path, err)
	}
	p, err := planIn(data)
	if err != nil {
		return nil, &source.InputError{Path: path, What: "not a plan", Why: err.Error()}
	}
	return p, nil
}

// planIn finds the plan in the content of a file. One of a patch tells no changes.
func planIn(data []byte) (*report.Plan, error) {
	if bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) { // zstd
		f, err := patch.ReadPatch(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		p := &report.Plan{Schema: report.SchemaPlan, Command: f.Change}
		if err := json.Unmarshal(f.Request, &p.Request); err != nil || p.Request == nil {
			return nil, errors.New("the patch does not tell which command made it")
		}
		return p, nil
	}
	if bytes.Count(data, []byte(",")) > maxPlanCommas {
		return nil, errors.New("it has more than a million members")
	}
	var s struct {
		report.Plan
		Type      string `json:"_type"`
		Predicate struct {
			Run struct {
				Byproducts []struct {
					Name    string `json:"name"`
					Content []byte `json:"content"`
				} `json:"byproducts"`
			} `json:"runDetails"`
		} `json:"predicate"`
	}
	err := json.Unmarshal(data, &s)
	if err == nil && s.Type == change.StatementType {
		for _, b := range s.Predicate.Run.Byproducts {
			if b.Name == report.CheckPlan {
				err = json.Unmarshal(b.Content, &s.Plan)
			}
		}
	}
	if err != nil || s.Schema != report.SchemaPlan {
		return nil, errors.New("it must be a plan as a changing command prints it with --json, its --provenance, or its patch")
	}
	if s.Changes == nil {
		s.Changes = []report.Change{}
	}
	return &s.Plan, nil
}

// recordsBeside lists the changes that plans, statements and patches in the folders of two files tell of, and those
// of all undo patches of the second from each on.
func recordsBeside(before, after string) (out []record) {
	read := func(path string) *report.Request {
		data, _, err := regular.Read(path, maxRecord)
		if err != nil {
			return nil
		}
		p, err := planIn(data)
		if err != nil {
			return nil
		}
		return p.Request
	}
	var folders []string
	for _, path := range []string{after, before} {
		if folder := filepath.Dir(path); !source.IsAddress(path) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		// A record of the same change to another model explains it as well: that of the file's own name comes first.
		slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
			own := func(e os.DirEntry) int {
				return len(e.Name()) - len(strings.TrimPrefix(e.Name(), filepath.Base(after)))
			}
			return own(b) - own(a)
		})
		for _, e := range entries {
			name := filepath.Join(folder, e.Name())
			if len(out) == mostRecords || !recordsChange(name) {
				continue
			}
			if r := read(name); r != nil {
				out = append(out, record{name: e.Name(), exact: true, steps: []report.Request{*r}})
			}
		}
	}
	if source.IsAddress(after) {
		return out
	}
	undos := change.UndosOf(after)
	slices.SortFunc(undos, func(a, b change.UndoPatch) int { return a.Number - b.Number })
	var chain []report.Request
	for _, u := range slices.Backward(undos[max(0, len(undos)-mostRecords):]) {
		r := read(u.Path)
		if r == nil {
			break
		}
		if chain = append([]report.Request{*r}, chain...); len(chain) > 1 {
			out = append(out, record{name: filepath.Base(u.Path) + " and those after it", exact: true, steps: chain})
		}
	}
	return out
}

// recordsChange reports whether a file may be a patch, a plan or a statement about a change, by its name and first bytes.
func recordsChange(path string) bool {
	switch filepath.Ext(path) {
	case patch.Suffix:
		return true
	case ".json", ".jsonl":
		f, _, err := regular.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		head := make([]byte, source.HeadBytes)
		n, _ := io.ReadFull(f, head) // a short file, or one that cannot be read, has no such word
		return bytes.Contains(head[:n], []byte(report.SchemaPlan)) || bytes.Contains(head[:n], []byte(change.StatementType))
	}
	return false
}
