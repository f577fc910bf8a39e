package llama

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// standIn names what this test's own executable does in the place of llama-server.
const standIn = "MODELPATCH_TEST_SERVER"

func TestMain(m *testing.M) {
	if does := os.Getenv(standIn); does != "" {
		stand(does)
	}
	os.Exit(m.Run())
}

// stand is a server that loads everything, and does something else than to answer when it
// is asked for the next token.
func stand(does string) {
	text := func(path, body string) {
		http.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	text("/health", `{"status":"ok"}`)
	text("/props", `{"default_generation_settings":{"n_ctx":64}}`)
	text("/v1/models", `{"data":[{"meta":{"n_vocab":100}}]}`)
	http.HandleFunc("/completion", func(w http.ResponseWriter, _ *http.Request) {
		switch does {
		case "crash":
			fmt.Fprintln(os.Stderr, "ggml.c:1: GGML_ASSERT(a == b) failed")
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			panic(err)
		case "hang":
			time.Sleep(time.Hour)
		case "words":
			fmt.Fprint(w, "all is well")
		case "nothing":
			fmt.Fprint(w, "{}")
		case "none":
			fmt.Fprint(w, `{"completion_probabilities":[{"top_logprobs":[]}]}`)
		case "error":
			http.Error(w, `{"error":{"message":"out of memory"}}`, http.StatusInternalServerError)
		}
	})
	if does == "wordless" {
		http.DefaultServeMux = http.NewServeMux()
		text("/health", "yes")
		text("/props", "no")
	}
	port := os.Args[slices.Index(os.Args, "--port")+1]
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+port, nil))
	os.Exit(1)
}

// TestServerThatFails has servers that crash, hang or answer rubbish in the middle of a run:
// each is an error with a sentence, and none is waited for.
func TestServerThatFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ does, want string }{
		{"crash", "llama-server ended while it was asked /completion: ggml.c:1: GGML_ASSERT(a == b) failed"},
		{"hang", "llama-server did not answer /completion in 1s"},
		{"words", "llama-server /completion: no JSON: invalid character 'a'"},
		{"nothing", "llama-server told no probabilities"},
		{"none", "llama-server told no probabilities"},
		{"error", "llama-server refuses (HTTP 500): out of memory"},
	} {
		t.Run(c.does, func(t *testing.T) {
			t.Setenv(standIn, c.does)
			s, err := Start(t.Context(), self, "m.gguf", 64, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.limit = time.Second
			if _, err := s.Next(t.Context(), []int{1, 2, 3}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Setenv(standIn, "wordless")
	if s, err := Start(t.Context(), self, "m.gguf", 64, 0); err == nil || !strings.Contains(err.Error(), "/props: no JSON") {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestComplaint: what is told of a log is its first error, the same in every run.
func TestComplaint(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{"0.00.001.000 I loading\n0.00.010.728 E llama_model_load: error loading model: no\n0.00.010.900 E error: later\n", "llama_model_load: error loading model: no"},
		{"x.cpp:1448: GGML_ASSERT(a != b) failed\n", "x.cpp:1448: GGML_ASSERT(a != b) failed"},
		{"12 Errors\n", "12 Errors"},
		{"nothing of it\n", "killed"},
	} {
		log := &tail{}
		if _, err := log.Write([]byte(c.log)); err != nil {
			t.Fatal(err)
		}
		if got := log.complaint(errors.New("killed")); got != c.want {
			t.Errorf("%q: %q, want %q", c.log, got, c.want)
		}
	}
}
