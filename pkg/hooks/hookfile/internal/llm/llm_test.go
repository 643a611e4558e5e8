package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

type server struct {
	*httptest.Server

	asked  map[string]any
	path   string
	header http.Header
}

func serve(t *testing.T, status int, answer string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked, s.path, s.header = nil, r.URL.RequestURI(), r.Header
		if err := json.NewDecoder(r.Body).Decode(&s.asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write([]byte(answer))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) client(api API, path, key string) *Client {
	return &Client{API: api, BaseURL: s.URL + path, Key: func() string { return key }, HTTP: s.Client()}
}

// Each model gets its limit in the member that it accepts.
func TestComplete(t *testing.T) {
	s := serve(t, http.StatusOK, `{"choices":[{"message":{"role":"assistant","content":"fine"}}]}`)
	c := s.client(OpenAI, "/v1/?tier=1", "k3y")
	for model, limit := range map[string]string{
		"llama3": "max_tokens", "gpt-4o-mini": "max_tokens", "gpt-6-local": "max_tokens",
		"gpt-5": "max_completion_tokens", "o3-mini": "max_completion_tokens", "gpt-6-sol": "max_completion_tokens",
	} {
		got, err := c.Complete(t.Context(), model, "well?", 7)
		if err != nil || got != "fine" || s.header.Get("Authorization") != "Bearer k3y" || s.path != "/v1/chat/completions?tier=1" {
			t.Errorf("%s: got %q, %v, path %s, headers %v", model, got, err, s.path, s.header)
		}
		if stream, ok := s.asked["stream"].(bool); !ok || stream {
			t.Errorf("%s: got stream %v, want false", model, s.asked["stream"])
		}
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if value, ok := s.asked[name]; ok != (name == limit) || ok && value != 7.0 {
				t.Errorf("%s: got %s %v", model, name, value)
			}
		}
	}
}

func TestComplete_Anthropic(t *testing.T) {
	s := serve(t, http.StatusOK, `{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"fi"},{"type":"text","text":"ne"}]}`)
	got, err := s.client(Anthropic, "", "k3y").Complete(t.Context(), "claude-x", "well?", 7)
	if err != nil || got != "fine" || s.path != "/v1/messages" || s.asked["max_tokens"] != 7.0 {
		t.Errorf("got %q, %v, path %s, request %v", got, err, s.path, s.asked)
	}
	if s.header.Get("X-Api-Key") != "k3y" || s.header.Get("Anthropic-Version") == "" || s.header.Get("Authorization") != "" {
		t.Errorf("got headers %v", s.header)
	}
}

// Only a server at another URL is asked without a key, and only in OpenAI's API.
func TestComplete_NoKey(t *testing.T) {
	s := serve(t, http.StatusOK, `{"choices":[{"message":{"content":"fine"}}]}`)
	none := func() string { return "" }
	for _, c := range []*Client{{API: OpenAI, Key: none}, {API: Anthropic, Key: none}, s.client(Anthropic, "", "")} {
		if _, err := c.Complete(t.Context(), "m", "well?", 7); !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: got %v", c.API, err)
		}
	}
	if got, err := s.client(OpenAI, "", "").Complete(t.Context(), "m", "well?", 7); err != nil || got != "fine" || s.header["Authorization"] != nil {
		t.Errorf("got %q, %v, headers %v", got, err, s.header)
	}
}

func TestComplete_NoAnswer(t *testing.T) {
	for api, answer := range map[API]string{OpenAI: `{"choices":[]}`, Anthropic: `{"content":[{"type":"thinking"}]}`} {
		if _, err := serve(t, http.StatusOK, answer).client(api, "", "k").Complete(t.Context(), "m", "well?", 7); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("%s: got %v", api, err)
		}
	}
}

func TestComplete_TooLong(t *testing.T) {
	const answer = `{"choices":[{"message":{"content":"fine"}}]}`
	for length, want := range map[int]error{wire.MaxBytes: nil, wire.MaxBytes + 1: wire.ErrTooLong} {
		s := serve(t, http.StatusOK, strings.Repeat(" ", length-len(answer))+answer)
		if _, err := s.client(OpenAI, "", "k").Complete(t.Context(), "m", "well?", 7); !errors.Is(err, want) {
			t.Errorf("%d bytes: got %v, want %v", length, err, want)
		}
	}
}

func TestComplete_Failures(t *testing.T) {
	for _, s := range []*server{serve(t, http.StatusForbidden, `{"choices":[{"message":{"content":"x"}}]}`), serve(t, http.StatusOK, "busy")} {
		for _, api := range []API{OpenAI, Anthropic} {
			if got, err := s.client(api, "", "k").Complete(t.Context(), "m", "well?", 7); err == nil || got != "" {
				t.Errorf("%s: got %q, %v", api, got, err)
			}
		}
	}
}
