package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// executable is a program that answers as modelpatch check does: a line for each path on its standard
// input, and exit code 1.
func executable(t *testing.T, script string) string {
	path := filepath.Join(t.TempDir(), "modelpatch")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

const answers = `while read -r path; do
  echo '{"path":"'"$path"'","findings":[{"rule":"length-unstated","level":"note"}],"facts":{"schemes":["rope","rope"]}}'
done
exit 1
`

// TestCheck runs the pipeline on Prism: each file has its line, and what is found is counted.
func TestCheck(t *testing.T) {
	paths := strings.Fields("a b c d e f g")
	p, s := beam.NewPipelineWithRoot()
	lines, counts := Check(s, executable(t, answers), nil, beam.CreateList(s, Batches(paths, 3)))
	passert.Count(s, lines, "lines", len(paths))
	passert.Equals(s, counts, "rule length-unstated (note): 7", "scheme rope: 7")
	if err := ptest.Run(p); err != nil {
		t.Fatal(err)
	}
}

// TestLost: a process that dies, or loses lines, is an error.
func TestLost(t *testing.T) {
	for name, script := range map[string]string{"dies": "kill -9 $$\n", "refuses": "exit 2\n", "loses": "cat > /dev/null; echo '{}'\n"} {
		r := &run{Executable: executable(t, script)}
		if err := r.ProcessElement(context.Background(), []string{"a", "b"}, func(string) { t.Errorf("%s: a line", name) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
