package remote_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/remote"
)

// TestProxy: the proxy of the environment is asked, also where it is private itself; addresses of private networks
// that are written as numbers are refused all the same.
func TestProxy(t *testing.T) {
	if at := os.Getenv("REMOTE_TEST_PROXIED"); at != "" { // the environment is read once a process
		o := quick()
		o.AllowPrivate = strings.HasPrefix(at, "http:")
		f, err := remote.New(t.Context(), o).Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if f.Size() != 5 {
			t.Fatal(f.Size())
		}
		return
	}
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte("model")))
	}))
	defer proxy.Close()
	run := func(at string) (string, error) {
		c := exec.Command(os.Args[0], "-test.run=^TestProxy$")
		c.Env = append(os.Environ(), "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "REMOTE_TEST_PROXIED="+at)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("http://models.example/m.gguf"); err != nil {
		t.Error(out)
	}
	if out, err := run("https://models.example/m.gguf"); err == nil || !strings.Contains(out, "Forbidden") {
		t.Error(out)
	}
	before := len(asked)
	if out, err := run("https://10.1.2.3/m.gguf"); err == nil || !strings.Contains(out, "of a private network or this machine") || len(asked) != before {
		t.Error(out)
	}
	if want := "GET http://models.example/m.gguf, CONNECT models.example:443"; strings.Join(asked[:2], ", ") != want {
		t.Errorf("the proxy was asked for %v", asked)
	}
}
