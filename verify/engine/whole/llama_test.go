package whole

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/llama"
)

// models are the files that come with the module.
const models = "../../../testdata"

// server is llama-server, of LLAMA_SERVER or of PATH.
func server(t *testing.T) string {
	t.Helper()
	path, err := llama.Find(os.Getenv("LLAMA_SERVER"))
	if err != nil {
		t.Skipf("llama-server: %v", err)
	}
	return path
}

func pair(before, after string, length int) engine.Pair {
	return engine.Pair{Format: strings.TrimPrefix(filepath.Ext(before), "."), Equal: true,
		Before: engine.Side{Path: before, Length: length}, After: engine.Side{Path: after, Length: length}}
}

// run runs a pair of which the engine loads at least one file.
func run(t *testing.T, p engine.Pair) []report.Check {
	t.Helper()
	checks, refuses := Run(t.Context(), p)
	if refuses != "" {
		t.Errorf("neither file is loaded: %s", refuses)
	}
	return checks
}

// standIn names what this test's own executable does in the place of llama-server.
const standIn = "MODELPATCH_TEST_SERVER"

func TestMain(m *testing.M) {
	if does := os.Getenv(standIn); does != "" {
		stand(does)
	}
	os.Exit(m.Run())
}

// stand serves an embedding model as llama-server does: it refuses to predict, and prompts longer than its batch.
func stand(does string) {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("version: of a test")
		os.Exit(0)
	}
	flag := func(name string, otherwise int) int {
		if i := slices.Index(os.Args, name); i >= 0 {
			otherwise, _ = strconv.Atoi(os.Args[i+1])
		}
		return otherwise
	}
	tokens, batch := flag("-c", 0), flag("-ub", 512)
	after := strings.HasPrefix(filepath.Base(os.Args[slices.Index(os.Args, "-m")+1]), "after")
	if after && (does == "unloadable" || does == "no room" && tokens > 1000) {
		fmt.Fprintln(os.Stderr, "error: failed to allocate compute buffers")
		os.Exit(1)
	}
	text := func(path, body string) {
		http.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	refuse := func(w http.ResponseWriter, says string) {
		http.Error(w, `{"error":{"message":"`+says+`"}}`, http.StatusInternalServerError)
	}
	text("/health", `{"status":"ok"}`)
	text("/props", fmt.Sprintf(`{"default_generation_settings":{"n_ctx":%d}}`, tokens))
	text("/v1/models", `{"data":[{"meta":{"n_vocab":100}}]}`)
	http.HandleFunc("/completion", func(w http.ResponseWriter, _ *http.Request) { refuse(w, "this model makes no logits") })
	http.HandleFunc("/v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []int }
		err := json.NewDecoder(r.Body).Decode(&asked)
		switch n := len(asked.Input); {
		case err != nil || n > batch || does == "refuses" && n > 600 || does == "nothing":
			refuse(w, fmt.Sprintf("input (%d tokens) is too large to process", n))
		case does == "crashes" && n > 600:
			os.Exit(1)
		default:
			fmt.Fprintf(w, `{"data":[{"embedding":[%d,1]}]}`, asked.Input[0])
		}
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+strconv.Itoa(flag("--port", 0)), nil))
	os.Exit(1)
}

// TestEmbeddingModels: vectors are compared in batches that hold the prompt, and what the engine refuses is not run:
// only a file that it does not load as it loads the one before, or that crashes it, is a fault.
func TestEmbeddingModels(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		does, want, says string // verdicts of the checks, and the last one's words
		refuses          bool
	}{
		{"embeds", "pass pass", "elements of the embedding after 8, 298, 596 tokens; the file after also runs 2044", false},
		{"refuses", "pass pass skipped", "not run: the file after with 2044 tokens: llama-server refuses (HTTP 500): input (2044 tokens) is too large to process", false},
		{"crashes", "pass pass fail", "the file after with 2044 tokens: llama-server ended while it was asked /v1/embeddings", false},
		{"no room", "skipped", "not run: the file after: llama-server does not load it: error: failed to allocate compute buffers", false},
		{"unloadable", "fail", "the file before runs there, and the file after does not: llama-server does not load it: error: failed to allocate compute buffers", false},
		{"nothing", "skipped", "not run: the file before: 8 tokens: llama-server refuses (HTTP 500): input (8 tokens) is too large to process; the file after: ", true},
	} {
		t.Run(c.does, func(t *testing.T) {
			t.Setenv(standIn, c.does)
			p := pair("before.gguf", "after.gguf", 600)
			p.After.Length, p.LlamaServer = 5000, self
			checks, refuses := Run(t.Context(), p)
			var verdicts []string
			for _, k := range checks {
				verdicts = append(verdicts, k.Verdict)
			}
			if got := strings.Join(verdicts, " "); got != c.want || !strings.Contains(checks[len(checks)-1].Why, c.says) || (refuses != "") != c.refuses {
				t.Errorf("%s, %q: %+v", got, refuses, checks)
			}
		})
	}
}

func TestLlamaServer(t *testing.T) {
	p := pair(filepath.Join(models, "gguf/llama-plain.gguf"), filepath.Join(models, "gguf/llama-plain.gguf"), 32)
	p.LlamaServer = server(t)
	for _, k := range run(t, p) {
		if k.Verdict != report.CheckPass {
			t.Errorf("the same file: %s: %s", k.Verdict, k.Why)
		}
		t.Log(k.Why)
	}
	p.After.Path = filepath.Join(t.TempDir(), "broken.gguf")
	data, err := os.ReadFile(p.Before.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.After.Path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if k := run(t, p); len(k) != 1 || k[0].Verdict != report.CheckFail {
		t.Errorf("half a file: %+v", k)
	} else {
		t.Log(k[0].Why)
	}
}

// TestServerThatEnds has another program in the server's place: it ends at once.
func TestServerThatEnds(t *testing.T) {
	p := pair(filepath.Join(models, "gguf/llama-plain.gguf"), filepath.Join(models, "gguf/llama-plain.gguf"), 32)
	p.LlamaServer = "true"
	if _, err := llama.Find(p.LlamaServer); err != nil {
		t.Skip("no program named true")
	}
	if k, refuses := Run(t.Context(), p); len(k) != 1 || k[0].Verdict != report.CheckSkipped || refuses == "" {
		t.Errorf("got %+v, %q", k, refuses)
	}
}

func TestNoServer(t *testing.T) {
	p := pair("a.gguf", "b.gguf", 32)
	p.LlamaServer = filepath.Join(t.TempDir(), "none")
	if k := run(t, p); len(k) != 1 || k[0].Verdict != report.CheckSkipped || !strings.Contains(k[0].Why, "none") {
		t.Errorf("got %+v", k)
	}
}

func TestLengths(t *testing.T) {
	for n, want := range map[int]string{0: "4, 8", 1: "1", 8: "4, 8", 48: "8, 24, 48"} {
		if got := list(lengths(n)); got != want {
			t.Errorf("lengths(%d) = %s, want %s", n, got, want)
		}
	}
}
