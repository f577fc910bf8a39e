// Package importrules holds the floors of the design as a test: imports go
// down only.
package importrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/modelpatch/modelpatch"

// ground is what the kinds of ONNX sites stand on.
var ground = []string{"onnx", "onnx/eval", "patch", "position", "report", "schemes", "schemes/fit", "position/onnxpos/probe", "position/onnxpos/rows", "position/onnxpos/trace"}

// llama is what the kinds of GGUF sites stand on.
var llama = []string{"gguf", "position", "position/ggufpos/arch", "position/ggufpos/hparams", "report", "schemes"}

// rooms are what the root package is the face of; what only commands need is in them.
var rooms = []string{"internal/change", "internal/sidecar", "internal/source", "internal/target"}

// floors says what each package may import of this module. "…" ends a family
// of packages; "*" stands for all of them.
var floors = []struct {
	path string
	may  []string
}{
	{"patch", []string{"internal/regular"}},
	{"schemes", nil},
	{"report", nil},
	{"schemes/fit", []string{"schemes"}},
	{"gguf", []string{"internal/regular", "internal/watched", "patch", "report"}},
	{"internal/block", nil},
	{"internal/ranges", nil},
	{"internal/regular", nil},
	{"internal/ordered", nil},
	{"internal/matrix", nil},
	{"internal/extents", nil},
	{"internal/watched", nil},
	{"remote/address", nil},
	{"remote", []string{"internal/regular", "remote/address", "report"}},
	{"remote/process", []string{"remote/address", "report"}},
	{"onnx", []string{"internal/block", "internal/regular", "internal/watched", "patch"}},
	{"onnx/eval", []string{"onnx", "schemes"}}, // the buckets of an operator
	{"onnx/axes", []string{"internal/block", "onnx", "onnx/eval"}},
	{"position/deviation", []string{"schemes", "report"}},
	{"position/parameters", []string{"schemes", "report"}},
	{"position/trial", nil},
	{"position", []string{"internal/ranges", "schemes", "patch", "position/deviation", "position/parameters", "position/trial", "report"}},
	{"position/ggufpos/arch", []string{"gguf"}},
	{"position/ggufpos/hparams", []string{"gguf", "position", "position/ggufpos/arch", "report", "schemes"}},
	{"position/ggufpos/operator", append([]string{"schemes/fit"}, llama...)},
	{"position/ggufpos/site", llama},
	{"position/ggufpos/relative", llama},
	{"position/ggufpos/table", append([]string{"patch", "position/ggufpos/site", "schemes/fit"}, llama...)},
	{"position/ggufpos/rotary", append([]string{"patch", "position/deviation", "position/ggufpos/operator", "position/ggufpos/site", "schemes/fit"}, llama...)},
	{"position/ggufpos/attention", append([]string{"internal/matrix", "position/ggufpos/relative", "position/ggufpos/site", "position/trial"}, llama...)},
	{"position/ggufpos/tower", append([]string{"position/ggufpos/site", "position/ggufpos/table"}, llama...)},
	{"position/ggufpos", []string{"internal/spelling", "position", "position/ggufpos/…", "gguf", "schemes", "patch", "report"}},
	{"position/onnxpos/formula", nil},
	{"position/onnxpos/turning", []string{"onnx", "onnx/eval"}},
	{"position/onnxpos/probe", []string{"onnx", "onnx/eval", "position/onnxpos/formula", "position/onnxpos/turning", "report"}},
	{"position/onnxpos/rows", []string{"onnx", "patch", "position", "report", "schemes", "schemes/fit"}},
	{"position/onnxpos/trace", []string{"onnx", "onnx/eval"}},
	{"position/onnxpos/origin", []string{"onnx", "onnx/eval"}},
	{"position/onnxpos/sheet", []string{"onnx/eval", "position/onnxpos/origin", "position/onnxpos/rows"}},
	{"position/onnxpos/site", []string{"onnx", "onnx/eval", "patch", "position", "position/onnxpos/probe", "position/onnxpos/rows", "position/onnxpos/trace", "report", "schemes"}},
	{"position/onnxpos/parts", []string{"onnx", "position", "position/onnxpos/site", "position/onnxpos/trace", "report"}},
	{"position/onnxpos/cut", []string{"onnx", "onnx/eval", "position", "position/trial"}},
	{"position/onnxpos/attention", append([]string{"position/onnxpos/cut", "position/onnxpos/site", "position/trial"}, ground...)},
	{"position/onnxpos/waves", append([]string{"position/onnxpos/site"}, ground...)},
	{"position/onnxpos/rotary", append([]string{"position/parameters", "onnx/axes", "position/onnxpos/attention", "position/onnxpos/origin", "position/onnxpos/site", "position/onnxpos/turning", "position/onnxpos/waves"}, ground...)},
	{"position/onnxpos/bydistance", append([]string{"onnx/axes", "position/onnxpos/site"}, ground...)},
	{"position/onnxpos/scored", append([]string{"onnx/axes", "position/onnxpos/bydistance", "position/onnxpos/origin", "position/onnxpos/site"}, ground...)},
	{"position/onnxpos/relative", append([]string{"onnx/axes", "position/onnxpos/bydistance", "position/onnxpos/origin", "position/onnxpos/scored", "position/onnxpos/site"}, ground...)},
	{"position/onnxpos/places", []string{"onnx", "onnx/eval", "position/onnxpos/trace", "schemes", "schemes/fit"}},
	{"position/onnxpos/fault", []string{"onnx", "position", "position/onnxpos/probe", "position/onnxpos/site", "report"}},
	{"position/onnxpos/partition", []string{"onnx", "onnx/eval", "patch", "position", "position/onnxpos/trace", "schemes", "schemes/fit"}},
	{"position/onnxpos/recurrence", []string{"onnx", "onnx/eval", "position/onnxpos/site", "position/onnxpos/trace"}},
	{"position/onnxpos/ranks", []string{"onnx", "onnx/eval", "position/onnxpos/probe"}},
	{"position/onnxpos/saturation", []string{"onnx", "onnx/eval", "position/onnxpos/probe"}},
	{"position/onnxpos/length", append([]string{"position/onnxpos/saturation", "position/onnxpos/recurrence", "position/onnxpos/partition", "position/onnxpos/places", "position/onnxpos/relative", "position/onnxpos/scored", "position/onnxpos/site"}, ground...)},
	{"position/onnxpos", []string{"position", "position/onnxpos/…", "onnx", "onnx/eval", "onnx/axes", "schemes", "schemes/fit", "patch", "report"}},
	{"verify/blocked", []string{"internal/matrix"}},
	{"verify/reference", []string{"position", "position/trial", "report", "schemes", "verify/blocked"}},
	{"verify", []string{"internal/extents", "position", "position/parameters", "position/trial", "schemes", "report", "patch", "verify/reference"}},
	{"verify/engine", []string{"verify", "report"}},
	{"verify/engine/llama", nil},
	{"verify/engine/onnxruntime", nil},
	{"verify/engine/whole", []string{"report", "verify/engine", "verify/engine/llama", "verify/engine/onnxruntime"}},
	{"verify/crosscheck", []string{"verify", "onnx"}},
	{"internal/source", []string{"gguf", "internal/pythonjson", "internal/regular", "internal/spelling", "onnx", "patch", "position", "position/ggufpos", "position/onnxpos", "remote/address", "report"}},
	{"internal/sidecar", []string{"internal/pythonjson", "internal/regular", "internal/source", "patch", "position", "report"}},
	{"internal/target", []string{"internal/sidecar", "internal/source", "patch", "position", "report"}},
	{"internal/change", []string{"gguf", "internal/regular", "internal/sidecar", "internal/source", "internal/target", "onnx", "patch", "position", "position/ggufpos", "position/onnxpos", "report", "schemes", "verify"}},
	{"internal/verdict", []string{"internal/change", "internal/regular", "internal/source", "patch", "position", "report", "schemes", "verify", "verify/engine"}},
	{"", append([]string{"internal/verdict", "gguf", "onnx", "patch", "position", "report", "verify"}, rooms...)},
	{"picture/figure", nil},
	{"picture/ink", []string{"picture/figure"}},
	{"picture/layout", []string{"picture/figure", "picture/ink", "report"}},
	{"picture/svg", []string{"picture/figure", "picture/ink", "picture/layout", "report"}},
	{"picture/raster", []string{"picture/figure", "picture/ink", "picture/layout"}},
	{"picture/page", []string{"picture/figure", "picture/layout", "picture/svg", "position/parameters", "report"}},
	{"picture/terminal", []string{"picture/figure", "report"}},
	{"picture", []string{"picture/figure", "position", "position/trial", "report", "schemes"}},
	{"web/answer", []string{"", "patch", "picture", "picture/figure", "picture/layout", "picture/page", "picture/svg", "position", "report"}},
	{"artifact/…", append([]string{"", "artifact/…", "gguf", "internal/glob", "internal/pythonjson", "internal/regular", "internal/spelling", "onnx", "patch", "position", "report", "schemes", "verify"}, rooms...)},
	{"internal/…", []string{"*"}},
	{"benchmarks/…", []string{"*"}},
	{"test/…", []string{"*"}},
	{"cmd/modelpatch", []string{"", "artifact/…", "internal/…", "patch", "picture", "picture/…", "position", "position/deviation", "position/parameters", "remote/process", "report", "schemes", "verify", "verify/engine"}},
	{"cmd/modelpatch-remote", []string{"remote", "remote/process"}},
	{"cmd/modelpatch-engine", []string{"verify/engine", "verify/engine/whole"}},
	{"cmd/modelpatch-crosscheck", []string{"verify/crosscheck", "verify/engine"}},
}

// foreign says who may import a foreign module. Tests of crosscheck's
// importers may, through it.
var foreign = map[string][]string{
	"github.com/spf13/":                    {"cmd/modelpatch"},
	"go.yaml.in/":                          {"artifact/policy"},
	"github.com/expr-lang/expr":            {"artifact/policy"},
	"github.com/owulveryck/onnx-go":        {"verify/crosscheck"},
	"gorgonia.org/":                        {"verify/crosscheck"},
	"github.com/rogpeppe/go-internal":      {"tests only"},
	"github.com/santhosh-tekuri/":          {"tests only"},
	"google.golang.org/protobuf":           {"onnx", "onnx/onnxpb"},
	"golang.org/x/sys":                     {"internal/extents", "internal/matrix", "verify/blocked", "patch", "patch/…", "verify/engine", "cmd/modelpatch", "cmd/modelpatch-engine"},
	"golang.org/x/image":                   {"picture/raster"},
	"golang.org/x/crypto":                  {"cmd/modelpatch-remote"},
	"github.com/ebitengine/purego":         {"verify/engine/onnxruntime"},
	"github.com/klauspost/compress":        {"internal/source", "patch"},
	"os/exec":                              {"verify/engine/…", "remote/process", "internal/…", "benchmarks/…"},
	"net":                                  {"verify/engine/llama", "remote", "internal/testhub"}, // llama: 127.0.0.1 only, in modelpatch-engine; remote: in modelpatch-remote
	"net/http":                             {"verify/engine/llama", "remote", "internal/testhub"},
	"github.com/modelpatch/modelpatch/cmd": {"nobody"},
}

type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

func list(t *testing.T) []listed {
	t.Helper()
	c := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "./...")
	c.Dir = "../.."
	out, err := c.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", e.Stderr)
	} else if err != nil {
		t.Skipf("no go command: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// own is a package's path inside the module; false for foreign ones.
func own(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// matches reports whether a package is one of those listed.
func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		family, isFamily := strings.CutSuffix(p, "/…")
		return p == "*" || p == path || isFamily && (path == family || strings.HasPrefix(path, family+"/"))
	})
}

func TestFloors(t *testing.T) {
	for _, p := range list(t) {
		path, _ := own(p.ImportPath)
		i := slices.IndexFunc(floors, func(f struct {
			path string
			may  []string
		}) bool {
			return matches(path, []string{f.path})
		})
		if i < 0 {
			t.Errorf("%s stands on no floor: say in this test what it may import", p.ImportPath)
			continue
		}
		for _, in := range p.Imports {
			if below, ok := own(in); ok && !matches(below, floors[i].may) {
				t.Errorf("%s imports %s: not a floor below it", p.ImportPath, in)
			}
		}
	}
}

func TestForeign(t *testing.T) {
	for _, p := range list(t) {
		path, _ := own(p.ImportPath)
		for _, in := range p.Imports {
			for prefix, who := range foreign {
				exact := !strings.Contains(prefix, ".")
				if (in == prefix || !exact && strings.HasPrefix(in, prefix)) && !matches(path, who) {
					t.Errorf("%s imports %s, which is for %v", p.ImportPath, in, who)
				}
			}
		}
	}
}

// TestCrosscheckIsApart looks for the package that brings onnx-go: only the
// second executable and tests may link it.
func TestCrosscheckIsApart(t *testing.T) {
	for _, p := range list(t) {
		path, _ := own(p.ImportPath)
		if slices.Contains(p.Imports, module+"/verify/crosscheck") && path != "cmd/modelpatch-crosscheck" {
			t.Errorf("%s imports verify/crosscheck", p.ImportPath)
		}
	}
}
