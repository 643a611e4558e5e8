package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Each model gets the limit of its answer by the name that it knows.
func TestComplete(t *testing.T) {
	var asked map[string]any
	var key string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, key = nil, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"fine"}}]}`))
	}))
	defer srv.Close()
	c := New(Options{BaseURL: srv.URL, Key: func() string { return "k3y" }, Client: srv.Client()})
	for model, limit := range map[string]string{"llama3": "max_tokens", "gpt-4o-mini": "max_tokens", "gpt-5": "max_completion_tokens", "o3-mini": "max_completion_tokens"} {
		got, err := c.Complete(t.Context(), model, "well?", 7)
		if err != nil || got != "fine" || key != "Bearer k3y" {
			t.Errorf("%s: got %q, %v, key %q", model, got, err, key)
		}
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if _, there := asked[name]; there != (name == limit) {
				t.Errorf("%s: got %s %v", model, name, asked[name])
			}
		}
	}
}

// OpenAI itself is not asked without a key.
func TestComplete_NoKey(t *testing.T) {
	if _, err := New(Options{}).Complete(t.Context(), "gpt-5", "well?", 7); !errors.Is(err, ErrNoKey) {
		t.Errorf("got %v", err)
	}
}

func TestComplete_NoAnswer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"choices":[]}`))
	}))
	defer srv.Close()
	if _, err := New(Options{BaseURL: srv.URL, Client: srv.Client()}).Complete(t.Context(), "m", "well?", 7); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("got %v", err)
	}
}
