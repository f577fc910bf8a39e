// Package llama runs a GGUF file in llama.cpp's server: a process of its own on a free
// port of 127.0.0.1, asked by HTTP and ended with its children when it is closed.
//
// Sources: llama.cpp, tools/server/README.md (/health, /props, /v1/models, /completion,
// /embeddings).
package llama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	startTime = 90 * time.Second // until a server must be healthy
	askTime   = 60 * time.Second // for one question
	stopTime  = 5 * time.Second  // after the polite signal
	maxReply  = 64 << 20         // bytes of an answer that are read
	maxLog    = 64 << 10         // bytes of the server's own words that are kept
)

// ErrAbsent is the error of Find where there is no llama-server.
var ErrAbsent = errors.New("llama-server is not on PATH: install llama.cpp, or name it with --llama-server FILE")

// Find returns the server's executable: file, or llama-server of PATH where file is "".
func Find(file string) (string, error) {
	if file == "" {
		path, err := exec.LookPath("llama-server")
		if err != nil {
			return "", ErrAbsent
		}
		return path, nil
	}
	path, err := exec.LookPath(file)
	if err != nil {
		return "", fmt.Errorf("--llama-server %s: %w", file, err)
	}
	return path, nil
}

// Version is what the server says of itself, in a line; "" where it says nothing.
func Version(ctx context.Context, server string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, server, "--version")
	ownGroup(c)
	c.Cancel, c.WaitDelay = func() error { return endGroup(c, true) }, stopTime
	out, err := c.CombinedOutput()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "version: "); ok {
			return "llama.cpp " + v
		}
	}
	return ""
}

// Server is a running server with one model. It must be closed.
type Server struct {
	command *exec.Cmd
	url     string
	log     *tail
	done    chan struct{} // closed when the process has ended
	ended   error
	once    sync.Once
	limit   time.Duration // for one question

	Context    int // tokens that the server granted one prompt
	Vocabulary int // tokens that the model knows
}

// Start loads model with a context of so many tokens (0: what the file states). The
// cache of keys and values is of float32 and one thread computes, so that two equal
// models give equal numbers. embeddings, where not 0, starts a server for models that make vectors
// and no next token, of prompts of at most so many tokens: a prompt is computed in one piece there. The error has the
// server's own words where it refuses.
func Start(ctx context.Context, server, model string, tokens, embeddings int) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-m", model, "-c", strconv.Itoa(tokens), "-np", "1", "--host", "127.0.0.1", "--port", strconv.Itoa(port),
		"--no-warmup", "-t", "1", "-ctk", "f32", "-ctv", "f32", "-fa", "off"}
	if embeddings > 0 {
		batch := strconv.Itoa(embeddings)
		args = append(args, "--embeddings", "--pooling", "mean", "-b", batch, "-ub", batch)
	}
	s := &Server{command: exec.Command(server, args...), url: fmt.Sprintf("http://127.0.0.1:%d", port), log: &tail{}, done: make(chan struct{}), limit: askTime}
	s.command.Stdout, s.command.Stderr = s.log, s.log
	s.command.WaitDelay = stopTime
	ownGroup(s.command)
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", server, err)
	}
	go func() {
		s.ended = s.command.Wait()
		close(s.done)
	}()
	if err := s.ready(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ready waits until the server answers, and asks what it grants.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		if err := s.ask(ctx, "/health", nil, nil); err == nil {
			break
		}
		select {
		case <-s.done:
			return fmt.Errorf("llama-server does not load it: %s", s.log.complaint(s.ended))
		case <-ctx.Done():
			return fmt.Errorf("llama-server was not ready in %s", startTime)
		case <-time.After(50 * time.Millisecond):
		}
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := s.ask(ctx, "/props", nil, &props); err != nil {
		return err
	}
	var models struct {
		Data []struct {
			Meta struct {
				Vocabulary int `json:"n_vocab"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := s.ask(ctx, "/v1/models", nil, &models); err != nil {
		return err
	}
	s.Context = props.Settings.Context
	if len(models.Data) > 0 {
		s.Vocabulary = models.Data[0].Meta.Vocabulary
	}
	if s.Context <= 0 || s.Vocabulary <= 0 {
		return fmt.Errorf("llama-server tells no context or vocabulary (%d and %d): a version of 2025 or newer is needed", s.Context, s.Vocabulary)
	}
	return nil
}

// Next returns the natural logarithms of the likeliest next tokens' probabilities after
// these tokens, by token.
func (s *Server) Next(ctx context.Context, tokens []int) (map[int]float64, error) {
	var out struct {
		Probabilities []struct {
			Top []struct {
				ID      int      `json:"id"`
				LogProb *float64 `json:"logprob"`
			} `json:"top_logprobs"`
		} `json:"completion_probabilities"`
	}
	err := s.ask(ctx, "/completion", map[string]any{"prompt": tokens, "n_predict": 1, "n_probs": 32, "temperature": 0, "cache_prompt": false, "ignore_eos": true}, &out)
	if err != nil {
		return nil, err
	}
	if len(out.Probabilities) == 0 || len(out.Probabilities[0].Top) == 0 {
		return nil, errors.New("llama-server told no probabilities")
	}
	next := map[int]float64{}
	for _, t := range out.Probabilities[0].Top {
		if t.LogProb == nil { // NaN is null in its JSON
			next[t.ID] = math.NaN()
		} else {
			next[t.ID] = *t.LogProb
		}
	}
	return next, nil
}

// Embedding returns the vector that the model makes of these tokens, by index.
func (s *Server) Embedding(ctx context.Context, tokens []int) (map[int]float64, error) {
	var out struct {
		Data []struct {
			Embedding []*float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := s.ask(ctx, "/v1/embeddings", map[string]any{"input": tokens}, &out); err != nil {
		return nil, err
	}
	if len(out.Data) == 0 || len(out.Data[0].Embedding) == 0 {
		return nil, errors.New("llama-server told no embedding")
	}
	vector := map[int]float64{}
	for i, x := range out.Data[0].Embedding {
		if x == nil {
			vector[i] = math.NaN()
		} else {
			vector[i] = *x
		}
	}
	return vector, nil
}

// CrashError is a server that ended when it was asked.
type CrashError struct{ says string }

// Error says so in a sentence.
func (e *CrashError) Error() string { return e.says }

// RefusedError is an answer of the server that is an error of HTTP.
type RefusedError struct {
	Status int    // of HTTP
	Says   string // the server's words
}

// Error says the server's answer in a sentence.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("llama-server refuses (HTTP %d): %s", e.Status, e.Says)
}

// ask posts body, or gets where it is nil, and reads the answer into out.
func (s *Server) ask(ctx context.Context, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		method, content = http.MethodPost, data
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := client.Do(request)
	if err != nil {
		select {
		case <-s.done:
			return &CrashError{fmt.Sprintf("llama-server ended while it was asked %s: %s", path, s.log.complaint(s.ended))}
		case <-time.After(200 * time.Millisecond):
		}
		if ctx.Err() != nil {
			return fmt.Errorf("llama-server did not answer %s in %s", path, s.limit)
		}
		return fmt.Errorf("llama-server %s: %w", path, err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		return fmt.Errorf("llama-server %s: %w", path, err)
	}
	if reply.StatusCode != http.StatusOK {
		var said struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(data, &said) != nil || said.Error.Message == "" {
			said.Error.Message = string(data[:min(len(data), 200)])
		}
		return &RefusedError{reply.StatusCode, said.Error.Message}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("llama-server %s: no JSON: %w", path, err)
	}
	return nil
}

// client asks this machine only: proxies of the environment are left out.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Close ends the server and waits for it.
func (s *Server) Close() {
	s.once.Do(func() {
		_ = endGroup(s.command, false) // it may have ended by itself
		select {
		case <-s.done:
		case <-time.After(stopTime):
			_ = endGroup(s.command, true)
			<-s.done
		}
	})
}

// freePort is a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("no free port of 127.0.0.1 for llama-server: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// tail keeps the end of what a process writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the last maxLog bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > maxLog {
		t.text = append([]byte(nil), t.text[len(t.text)-maxLog:]...)
	}
	return len(p), nil
}

// complaint is the first line that tells of an error, without the time and the level that llama.cpp's log puts before it (common/log.cpp), so that
// two runs say the same; or how the process ended.
func (t *tail) complaint(ended error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(string(t.text)) {
		if low := strings.ToLower(line); strings.Contains(low, "error") || strings.Contains(low, "assert") {
			line = strings.TrimSpace(line)
			if after, timed := strings.CutPrefix(strings.TrimLeft(line, "0123456789."), " E "); timed {
				line = after
			}
			return line[max(0, len(line)-300):]
		}
	}
	if ended != nil {
		return ended.Error()
	}
	return "it ended without a word"
}
